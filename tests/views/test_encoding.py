import math

import pytest

from crashlens.views.encoding import (
    gpu_colours,
    ink,
    mark_colours,
    panels,
    reason_classes,
    run_panels,
    style_sheet,
    unit_of,
)


def luminance(colour: str) -> float:
    """Relative luminance, WCAG 2.2."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else math.pow((c + 0.055) / 1.055, 2.4) for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("colour", [*gpu_colours().affected, gpu_colours().all_alike, gpu_colours().run])
def test_what_matters_in_a_chart_stands_out_from_the_paper(colour: str) -> None:
    assert contrast(colour, ink().paper) >= 3.0


def test_other_gpus_recede_behind_named_ones() -> None:
    others = contrast(gpu_colours().others, ink().paper)
    assert all(contrast(colour, ink().paper) > 1.5 * others for colour in gpu_colours().affected)


def test_marks_are_ink_and_no_gpu_has_their_colour() -> None:
    assert set(mark_colours()) == {"first", "downstream", "context", "counter", "other"}
    assert not set(mark_colours().values()) & set(gpu_colours().affected)
    assert all(contrast(colour, ink().paper) >= 3.0 for colour in mark_colours().values())


def test_verdict_chips_can_be_read() -> None:
    sheet = style_sheet()
    for verdict in ("supported", "consistent", "undecided", "benign"):
        rule = sheet.split(f".crashlens .cl-{verdict}{{background:")[1]
        assert contrast(rule[:7], rule.split("color:")[1][:7]) >= 4.5


def test_every_class_of_reasons_has_a_colour_of_its_own() -> None:
    names = {one.name for one in reason_classes()}
    assert names == {"idle", "configured", "power_cap", "ambiguous", "sync_boost", "thermal", "power_brake", "unknown"}
    assert len({one.colour for one in reason_classes()}) == len(names)


def test_panels_come_in_the_order_that_a_reader_expects() -> None:
    assert [panel.name for panel in (*panels(), *run_panels())] == [
        "temperature",
        "power",
        "sm_clock",
        "utilization",
        "throughput",
    ]


@pytest.mark.parametrize(
    ("column", "label"),
    [
        ("power_draw_w", "W"),
        ("nvlink_tx_bytes_per_s", "MB/s"),
        ("tokens_per_s", "/s"),
        ("step_time_s", "s"),
        ("sm_active_ratio", "%"),
    ],
)
def test_the_longest_ending_gives_the_unit(column: str, label: str) -> None:
    unit = unit_of(column)
    assert unit is not None
    assert unit.label == label


def test_a_name_without_a_unit_has_none() -> None:
    assert unit_of("rank") is None
