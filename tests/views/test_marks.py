from crashlens.catalog.causes import cause
from crashlens.timebase import to_us
from crashlens.views.marks import marks_of
from crashlens.views.scales import time_scales


def shown(case, findings=()):
    return marks_of(case, findings, time_scales(case, findings, None)[0][0])


def lanes(made, marks):
    base = to_us(made.start)
    return [
        (row["lane"], row["label"], row["role"], (row["start_us"] - base) / 1e6, (row["end_us"] - base) / 1e6)
        for row in marks.lanes.to_dicts()
    ]


def case_of_a_wait(made):
    events = [
        made.event(2, 8, 100.0, "kernel.xid", xid=94),
        *[
            made.event(1, 30 + rank, 702.0 + rank, "nccl.watchdog_timeout", time_marks="end", ran_ms=600_000)
            for rank in range(2)
        ],
        made.event(1, 3, 1.0, "python.note", severity="info"),
    ]
    return made.tables(made.run(polls=150), events)


def test_a_wait_reaches_back_to_its_start(made) -> None:
    assert lanes(made, shown(case_of_a_wait(made))) == [
        ("Xid", "Xid 94", "other", 100.0, 100.0),
        ("watchdog timeout", "watchdog timeout", "other", 102.0, 702.0),
        ("watchdog timeout", "watchdog timeout", "other", 103.0, 703.0),
    ]


def test_evidence_of_findings_is_marked_once_per_kind(made) -> None:
    found = made.finding(
        made.evidence("kern.log", 8, "first", rule_id="kernel.xid"),
        made.evidence("train.log", 30, "downstream", rule_id="nccl.watchdog_timeout"),
        made.evidence("train.log", 31, "downstream", rule_id="nccl.watchdog_timeout"),
    )
    marks = shown(case_of_a_wait(made), [found]).marks
    base = to_us(made.start)
    assert [((row[0] - base) / 1e6, *row[1:]) for row in marks.rows()] == [
        (100.0, "Xid 94", "first"),
        (702.0, "watchdog timeout ×2", "downstream"),
    ]


def test_a_first_sample_is_marked_by_its_finding(made) -> None:
    found = made.finding(made.evidence("telemetry.csv", 9, "first", time_utc=made.after(20)))
    marks = shown(made.tables(made.run(polls=21)), [found]).marks
    assert [row[1:] for row in marks.rows()] == [(f"F-01 {cause('thermal.slowdown').title}", "first")]


def test_without_findings_the_first_errors_are_marked(made) -> None:
    marks = shown(case_of_a_wait(made)).marks
    assert marks["label"].to_list() == ["Xid 94", "watchdog timeout ×2"]


def test_a_record_that_only_informs_is_drawn_where_a_finding_rests_on_it(made) -> None:
    found = made.finding(made.evidence("train.log", 3, "counter", rule_id="python.note"))
    got = lanes(made, shown(case_of_a_wait(made), [found]))
    assert got[0] == ("note", "note", "counter", 1.0, 1.0)


def test_rules_that_end_alike_keep_their_full_name(made) -> None:
    case = made.tables(events=[made.event(1, 1, 1.0, "python.killed"), made.event(1, 2, 2.0, "slurm.killed")])
    assert [row[0] for row in lanes(made, shown(case))] == ["python.killed", "slurm.killed"]


def test_what_is_outside_or_finds_no_lane_is_counted(made) -> None:
    events = [made.event(1, number, 5.0 + number, f"kind.k{number}") for number in range(15)]
    far = made.event(2, 1, 90_000.0, "kernel.xid", xid=94)
    got = shown(made.tables(made.run(polls=21), [*events, far]))
    assert (got.outside, got.more_lanes, got.marks.height) == (1, 3, 6)


def test_no_record_is_no_lane(made) -> None:
    got = shown(made.tables(made.run()))
    assert (got.lanes.height, got.marks.height, got.outside, got.more_lanes) == (0, 0, 0, 0)
