import random

import polars as pl
import pytest

from crashlens.timebase import to_us
from crashlens.views.devices import gpu_lines
from crashlens.views.scales import time_scales
from crashlens.views.tracks import tracks_of


def drawn(case, findings=()):
    scale = time_scales(case, findings, None)[0][0]
    return tracks_of(case, scale, gpu_lines(case.gpus, findings, polled=set(case.gpus["gpu_key"])))


def points(made, tracks, track="temperature"):
    rows = tracks.tracks.filter(pl.col("track") == track)
    return [((row["time_us"] - to_us(made.start)) / 1e6, row["value"]) for row in rows.to_dicts()]


def test_a_gap_longer_than_three_cadences_breaks_the_line(made) -> None:
    samples = [made.sample(0, second, gpu_temperature_c=50.0 + second) for second in (0, 5, 10, 15, 56, 61)]
    got = drawn(made.tables(samples))
    assert points(made, got) == [(0, 50), (5, 55), (10, 60), (15, 65), (35.5, None), (56, 106), (61, 111)]
    assert got.longest_gap_s == 15.0


def test_three_cadences_do_not(made) -> None:
    samples = [made.sample(0, second, gpu_temperature_c=50.0 + second) for second in (0, 5, 10, 15, 30)]
    assert [value for _, value in points(made, drawn(made.tables(samples)))] == [50, 55, 60, 65, 80]


def test_a_missing_value_breaks_the_line_and_is_never_zero(made) -> None:
    values = {0: 60.0, 5: 61.0, 10: None, 15: 63.0, 20: 64.0}
    samples = [made.sample(0, second, gpu_temperature_c=value) for second, value in values.items()]
    assert points(made, drawn(made.tables(samples))) == [(0, 60), (5, 61), (10, None), (15, 63), (20, 64)]


def test_a_sample_without_neighbours_is_marked_as_alone(made) -> None:
    samples = [made.sample(0, second, gpu_temperature_c=50.0 + second) for second in (0, 5, 10, 100, 200, 205, 210)]
    rows = drawn(made.tables(samples)).tracks
    assert rows.filter(pl.col("alone"))["value"].to_list() == [150.0]


def test_gpus_are_never_joined_to_each_other(made) -> None:
    got = drawn(made.tables(made.run(gpus=3, polls=2)))
    rows = got.tracks.filter(pl.col("track") == "temperature")
    assert rows.group_by("gpu_key", maintain_order=True).len().rows() == [("s0:0", 2), ("s0:1", 2), ("s0:2", 2)]


def test_no_spike_is_lost_when_there_are_more_samples_than_pixels(made) -> None:
    generator = random.Random(7)
    values = [60.0 + generator.random() for _ in range(20_000)]
    values[12_345], values[777] = 91.0, 20.0
    samples = [made.sample(0, number * 0.1, gpu_temperature_c=value) for number, value in enumerate(values)]
    kept = drawn(made.tables(samples)).tracks.filter(pl.col("track") == "temperature")
    assert kept.height <= 2 * 340 + 2
    assert (kept["value"].max(), kept["value"].min()) == (91.0, 20.0)
    assert (kept["value"].first(), kept["value"].last()) == (values[0], values[-1])


def test_a_level_stretch_needs_its_two_ends_only(made) -> None:
    assert points(made, drawn(made.tables(made.run(gpus=1, polls=50)))) == [(0, 60), (245, 60)]


def test_power_comes_with_its_enforced_limit(made) -> None:
    got = drawn(made.tables(made.run(gpus=1, power_draw_w=650.0, enforced_power_limit_w=700.0)))
    assert got.titles["power"] == "Power draw, W (dashed: enforced limit)"
    assert {value for _, value in points(made, got, "power/enforced limit")} == {700.0}


def test_utilization_is_drawn_in_percent(made) -> None:
    got = drawn(made.tables(made.run(gpus=1, gpu_utilization_ratio=0.5)))
    assert {value for _, value in points(made, got, "utilization")} == {50.0}


def test_a_signal_that_was_not_collected_has_no_panel(made) -> None:
    got = drawn(made.tables(made.run(gpus=1)))
    assert list(got.titles) == ["temperature"]


def test_a_step_is_the_median_over_its_ranks(made) -> None:
    steps = [
        made.step(1, 1.0, 100.0, rank=0),
        made.step(1, 1.1, 300.0, rank=1),
        made.step(1, 1.2, 200.0, rank=2),
        made.step(2, 2.0, 90.0),
    ]
    assert points(made, drawn(made.tables(steps=steps)), "throughput") == [(1.0, 200.0), (2.0, 90.0)]


def bands(made, masks, seconds):
    samples = [made.sample(0, second, clocks_event_reasons=mask) for second, mask in zip(seconds, masks, strict=True)]
    got = drawn(made.tables(samples)).bands
    return [
        (row["reason_class"], *((row[end] - to_us(made.start)) / 1e6 for end in ("start_us", "end_us")))
        for row in got.to_dicts()
    ]


def test_a_reason_lasts_until_the_next_sample(made) -> None:
    assert bands(made, [0, 0x40, 0x40, 0, 0], [0, 5, 10, 15, 20]) == [("thermal", 5, 15)]


def test_a_gap_ends_a_reason_at_its_last_sample(made) -> None:
    got = bands(made, [0x40, 0x40, 0x40, 0x40, 0x40], [0, 5, 10, 60, 65])
    assert got == [("thermal", 0, 10), ("thermal", 60, 65)]


def test_two_reasons_at_once_are_two_bands_and_a_parent_bit_is_none(made) -> None:
    assert bands(made, [0x4C, 0, 0], [0, 5, 10]) == [("power_cap", 0, 5), ("thermal", 0, 5)]


def test_an_unknown_mask_says_nothing(made) -> None:
    assert bands(made, [None, None, 0x1], [0, 5, 10]) == [("idle", 10, 10)]


@pytest.mark.parametrize("devices", [(), ("GPU-1",)])
def test_only_a_named_gpu_is_affected(made, devices) -> None:
    case = made.tables(made.run(gpus=3))
    got = drawn(case, [made.finding(devices=devices)])
    assert set(got.tracks.filter(pl.col("affected"))["gpu_key"]) == ({"s0:1"} if devices else set())


def test_row_order_does_not_matter(made) -> None:
    samples = made.run(gpus=3, polls=30, clocks_event_reasons=0x4)
    shuffled = random.Random(3).sample(samples, len(samples))
    one, other = (drawn(made.tables(rows)) for rows in (samples, shuffled))
    assert one.tracks.equals(other.tracks)
    assert one.bands.equals(other.bands)


def test_nothing_read_is_nothing_drawn(made) -> None:
    case = made.tables(events=[made.event(2, 1, 0.0, "kernel.xid")])
    got = drawn(case)
    assert (got.titles, got.tracks.height, got.bands.height, got.longest_gap_s) == ({}, 0, 0, None)
