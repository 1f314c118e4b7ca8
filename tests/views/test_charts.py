import re
from xml.etree import ElementTree as ET

import pytest

from crashlens.errors import UnknownTimeZoneError
from crashlens.timebase import Window
from crashlens.views import mime
from crashlens.views.charts import timeline
from crashlens.views.encoding import gpu_colours

NAMED, OTHERS = gpu_colours().affected[0], gpu_colours().others
SVG = "{http://www.w3.org/2000/svg}"


def busy(made, gpus=8, polls=60):
    """Eight GPUs, 40 s without telemetry, an Xid on GPU 1 and the waits that follow."""
    run = made.run(
        gpus, polls, power_draw_w=650.0, enforced_power_limit_w=700.0, sm_clock_mhz=1980.0, clocks_event_reasons=0x4
    )
    start = int(made.after(100).timestamp() * 1e6)
    samples = [row for row in run if not start <= row["clock_us"] < start + 40_000_000]
    events = [
        made.event(2, 8, 150.0, "kernel.xid", xid=94),
        made.event(1, 30, 260.0, "nccl.watchdog_timeout", time_marks="end", ran_ms=100_000),
    ]
    return made.tables(samples, events, [made.step(number, number * 4.0, 41_000.0) for number in range(1, 37)])


def found(made):
    return made.finding(
        made.evidence("kern.log", 8, "first", rule_id="kernel.xid", time_utc=made.after(150)),
        made.evidence("train.log", 30, "downstream", rule_id="nccl.watchdog_timeout", time_utc=made.after(260)),
        devices=("GPU-1",),
    )


def lines(svg: str) -> list[tuple[str, str]]:
    """Colour and path of every series, in the order they are drawn."""
    marks = [group for group in ET.fromstring(svg).iter(f"{SVG}g") if "mark-line" in group.get("class", "")]
    paths = [path for group in marks for path in group.iter(f"{SVG}path")]
    return [(path.get("stroke", ""), path.get("d", "")) for path in paths]


def words(svg: str) -> list[str]:
    return ["".join(text.itertext()) for text in ET.fromstring(svg).iter(f"{SVG}text")]


def plot_ends(svg: str) -> set[tuple[float, float]]:
    """Left end and width of every framed plot area, in pixels of the picture."""
    ends: set[tuple[float, float]] = set()

    def walk(node: ET.Element, left: float) -> None:
        moved = re.match(r"translate\(([-\d.]+)", node.get("transform", ""))
        left += float(moved[1]) if moved else 0.0
        if node.tag == f"{SVG}path" and node.get("class") == "background" and node.get("stroke") == "#e5e7eb":
            corner = re.match(r"M([-\d.]+),[-\d.]+h([\d.]+)", node.get("d", ""))
            assert corner is not None
            ends.add((left + float(corner[1]), float(corner[2])))
        for child in node:
            walk(child, left)

    walk(ET.fromstring(svg), 0.0)
    return ends


@pytest.fixture(scope="module")
def chart(made):
    return timeline(busy(made), findings=[found(made)])


def test_the_named_gpu_is_in_colour_and_drawn_last(chart) -> None:
    colours = [colour for colour, _ in lines(chart.svg) if colour in (NAMED, OTHERS)]
    per_panel = [OTHERS] * 7 + [NAMED]
    assert colours == per_panel * 3


def test_a_gap_is_a_gap(chart) -> None:
    temperature = next(path for colour, path in lines(chart.svg) if colour == NAMED)
    assert temperature.count("M") == 2


def test_plot_areas_of_all_panels_align(chart) -> None:
    assert len(plot_ends(chart.svg)) == 1


def test_panels_axis_and_marks_are_labelled(chart) -> None:
    said = words(chart.svg)
    for label in (
        "GPU temperature, °C",
        "Power draw, W (dashed: enforced limit)",
        "SM clock, MHz",
        "Clocks event reasons",
        "power cap",
        "Throughput, tokens/s",
        "Xid 94",
        "watchdog timeout",
        "GPU 1, named by a finding",
        "other GPUs (7)",
        "2026-10-01, UTC",
        "08:02",
    ):
        assert label in said


def test_the_words_say_what_the_picture_shows_and_does_not(chart) -> None:
    assert chart.alt.endswith(
        "8 GPUs, GPU 1 in colour. Marked: Xid 94 (2026-10-01 08:02:30), watchdog timeout (2026-10-01 08:04:20)."
    )
    assert "broken where no sample came for more than 3 times the usual distance (15 s at most here)" in chart.caption
    assert "the order is a lead" in chart.caption


def test_the_bundle_has_picture_words_and_no_network(chart) -> None:
    made = chart._repr_mimebundle_()
    assert made[mime.CHART] == {"title": chart.title, "caption": chart.caption, "alt": chart.alt}
    assert made[mime.SVG] == chart.svg
    assert 'src="data:image/svg+xml;base64,' in made["text/html"]
    addresses = set(re.findall(r'https?://[^"\s<]+', chart.svg))
    assert addresses <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    assert "<script" not in chart.svg


def test_the_same_case_gives_the_same_picture(made, chart) -> None:
    assert timeline(busy(made), findings=[found(made)]).svg == chart.svg


def test_one_gpu_needs_no_legend(made) -> None:
    got = timeline(busy(made, gpus=1))
    assert not [said for said in words(got.svg) if said.startswith(("all GPUs", "other GPUs"))]
    assert "1 GPU." in got.alt


def test_two_samples_are_a_line_and_one_is_a_dot(made) -> None:
    two = timeline(made.tables([made.sample(0, 0.0), made.sample(0, 5.0, gpu_temperature_c=61.0)]))
    assert [path.count("L") for _, path in lines(two.svg)] == [1]
    one = timeline(made.tables([made.sample(0, 0.0)]))
    dots = [group for group in ET.fromstring(one.svg).iter(f"{SVG}g") if "mark-symbol" in group.get("class", "")]
    assert [len(list(group.iter(f"{SVG}path"))) for group in dots] == [1]


def test_nothing_to_draw_is_said(made) -> None:
    got = timeline(made.tables())
    assert (
        words(got.svg)
        == [got.caption]
        == ["No sample, no training step and no dated record lies here: nothing to draw."]
    )


def test_a_window_outside_everything_is_said_too(made) -> None:
    got = timeline(busy(made), window=Window(made.after(9000), made.after(9100)))
    assert "nothing to draw" in got.caption


def test_times_follow_the_zone_and_a_wrong_zone_raises(made) -> None:
    case = made.tables(made.run())
    assert "2026-10-01, Asia/Seoul" in words(timeline(case, show_tz="Asia/Seoul").svg)
    with pytest.raises(UnknownTimeZoneError):
        timeline(case, show_tz="Asia/Soul")


def test_a_clock_that_is_not_placed_is_drawn_on_its_own_axis(made) -> None:
    samples = [made.sample(0, second, placed=False) for second in range(0, 60, 5)]
    got = timeline(made.tables(samples, [made.event(2, 8, 30.0, "kernel.xid", xid=94)]))
    said = words(got.svg)
    assert "2026-10-01, UTC" in said
    assert "2026-10-01, local time of telemetry.csv, zone unknown" in said
    assert "nothing says how they lie to each other" in got.caption
    assert len(plot_ends(got.svg)) == 1


def test_names_from_the_input_cannot_leave_their_label(made) -> None:
    case = made.tables(made.run(gpus=2), [made.event(2, 8, 3.0, 'x"]<script>&\u202e온도🔥', xid=None)])
    got = timeline(case)
    assert "<script" not in got.svg
    assert 'x"]<script>&\\u{202E}온도🔥' in words(got.svg)


def test_a_long_recording_stays_small(made) -> None:
    samples = [
        made.sample(
            gpu,
            poll * 0.1,
            gpu_temperature_c=60.0 + (poll * 7919 + gpu * 31) % 100 / 10,
            power_draw_w=600.0 + (poll * 31) % 97,
        )
        for poll in range(3350)
        for gpu in range(8)
    ]
    assert len(timeline(made.tables(samples)).svg) < 400_000
