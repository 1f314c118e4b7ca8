import pytest

from crashlens.timebase import Window, to_us
from crashlens.views.scales import UTC, rows_on, time_scales


def seconds(made, scale):
    return tuple(round((end - to_us(made.start)) / 1e6, 1) for end in (scale.start_us, scale.end_us))


def test_what_is_placed_shares_one_axis(made) -> None:
    case = made.tables(made.run(polls=21), [made.event(2, 1, 30.0, "kernel.xid")])
    scales, left_out = time_scales(case, [], None)
    assert [(scale.key, scale.path) for scale in scales] == [(UTC, "")]
    assert seconds(made, scales[0]) == (-1.5, 101.5)
    assert left_out == 0


def test_a_window_is_the_axis(made) -> None:
    window = Window(made.after(10), made.after(20))
    scales, _ = time_scales(made.tables(made.run()), [], window)
    assert seconds(made, scales[0]) == (10.0, 20.0)


def test_evidence_stretches_the_axis_within_reason(made) -> None:
    case = made.tables(made.run(polls=21))
    near = made.finding(made.evidence("kern.log", 1, "counter", time_utc=made.after(300)))
    far = made.finding(made.evidence("kern.log", 1, "counter", time_utc=made.after(86_400)))
    assert seconds(made, time_scales(case, [near], None)[0][0]) == (-4.5, 304.5)
    assert seconds(made, time_scales(case, [far], None)[0][0]) == (-1.5, 101.5)


def test_a_clock_that_is_not_placed_has_its_own_axis(made) -> None:
    samples = [made.sample(0, second, placed=False) for second in (0, 5, 10)]
    case = made.tables(samples, [made.event(2, 1, 30.0, "kernel.xid")])
    scales, _ = time_scales(case, [], None)
    assert [(scale.key, scale.kind, scale.path) for scale in scales] == [
        ("utc", "utc", ""),
        ("0:local", "local", "telemetry.csv"),
    ]
    assert rows_on(case.samples, UTC).height == 0
    assert rows_on(case.samples, "0:local")["time_us"].to_list() == [row["clock_us"] for row in samples]


def test_clocks_beyond_the_third_are_counted(made) -> None:
    samples = [{**made.sample(0, 1.0, placed=False), "clock_id": f"{number}:local"} for number in range(5)]
    scales, left_out = time_scales(made.tables(samples), [], None)
    assert (len(scales), left_out) == (3, 2)


@pytest.mark.parametrize("events", [[], [("info", 5.0)]])
def test_without_samples_the_axis_follows_the_records(made, events) -> None:
    rows = [made.event(2, 1, second, "a.b", severity=severity) for severity, second in events]
    scales, _ = time_scales(made.tables(events=rows), [], None)
    assert [seconds(made, scale) for scale in scales] == [(-25.0, 35.0)] * len(events)
