"""Findings as plain data: the JSON form, what a fingerprint depends on, and the exit status of a list of them."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from importlib import resources
from itertools import permutations

import jsonschema
import pytest

from crashlens.findings import (
    SCHEMA,
    Alternative,
    Answer,
    Effect,
    Evidence,
    Finding,
    NextCheck,
    Place,
    Threshold,
    Verdict,
    exit_status,
)
from crashlens.timebase import Window

AT = datetime(2026, 10, 1, 9, 8, 25, 830749, tzinfo=UTC)
WINDOW = Window(AT, datetime(2026, 10, 1, 9, 18, 28, tzinfo=UTC))
PLAIN = Finding(
    cause="gpu_hardware.uncorrectable_ecc",
    verdict="supported",
    summary="A GPU reported an uncorrectable memory error.",
    first_event=Place("logs/kern.log", 12),
    evidence=(
        Evidence(Place("logs/kern.log", 12), "first", "NVRM: Xid 94", "kernel.xid", AT, "contained"),
        Evidence(Place("train.log", 7), "downstream", "ran for 600041 milliseconds"),
    ),
    does_not_prove=("why it occurred",),
    next_checks=(NextCheck("Which counters moved?", None, "some: drain", "none: read on"),),
    id="F-01",
)
FULL = replace(
    PLAIN,
    causal="It was caused by Xid 94.",
    window=WINDOW,
    hosts=("gpu-node-07",),
    devices=("GPU-f311e162",),
    ranks=(0, 5),
    effects=(
        Effect(
            "sm_clock_mhz", 1980.0, 1395.0, 0.7045, (0.70, 0.71), (WINDOW, WINDOW), (288, 507), "median", 7, "GPU-f"
        ),
        Effect("tokens_per_s", 84014.0, 60670.0, 0.722, None, None, (4, 5), "median"),
    ),
    alternatives=(Alternative("fabric.nvlink_error", "SXid records"),),
    unknown=("DRAM or SRAM",),
    rule_ids=("kernel.xid",),
    thresholds=(Threshold("burst_silence_s", 180.0, "s", "a guide"),),
)


def test_a_plain_finding_as_json() -> None:
    assert PLAIN.to_json() == {
        "id": "F-01",
        "cause": "gpu_hardware.uncorrectable_ecc",
        "verdict": "supported",
        "summary": "A GPU reported an uncorrectable memory error.",
        "causal": None,
        "first_event": {"source": "logs/kern.log", "line": 12},
        "evidence": [
            {
                "source": "logs/kern.log",
                "line": 12,
                "role": "first",
                "text": "NVRM: Xid 94",
                "rule_id": "kernel.xid",
                "time_utc": "2026-10-01T09:08:25.830749+00:00",
                "note": "contained",
            },
            {
                "source": "train.log",
                "line": 7,
                "role": "downstream",
                "text": "ran for 600041 milliseconds",
                "rule_id": None,
                "time_utc": None,
                "note": "",
            },
        ],
        "does_not_prove": ["why it occurred"],
        "unknown": [],
        "next_checks": [
            {
                "question": "Which counters moved?",
                "command": None,
                "expect": "some: drain",
                "otherwise": "none: read on",
            }
        ],
        "window": None,
        "hosts": [],
        "devices": [],
        "ranks": [],
        "effects": [],
        "alternatives": [],
        "rule_ids": [],
        "thresholds": [],
        "fingerprint": PLAIN.fingerprint,
    }


def test_the_first_effect_stands_alone_too() -> None:
    answer = FULL.to_json()
    assert answer["effect"] == answer["effects"][0]
    times = ["2026-10-01T09:08:25.830749+00:00", "2026-10-01T09:18:28+00:00"]
    assert answer["effect"] == {
        "metric": "sm_clock_mhz",
        "subject": "GPU-f",
        "before": 1980.0,
        "after": 1395.0,
        "ratio": 0.7045,
        "interval": [0.70, 0.71],
        "windows": [times, times],
        "n": [288, 507],
        "method": "median",
        "seed": 7,
    }
    assert (answer["effects"][1]["interval"], answer["effects"][1]["windows"]) == (None, None)
    assert answer["window"] == times
    assert answer["thresholds"] == [{"name": "burst_silence_s", "value": 180.0, "unit": "s", "source": "a guide"}]


def test_an_answer_fits_its_published_schema() -> None:
    schema = json.loads((resources.files("crashlens.catalog") / "findings.schema.json").read_text("utf-8"))
    source = {"path": "logs/kern.log", "sha256": "0" * 64, "format": "text_log", "lines": 15}
    answer = Answer((PLAIN, replace(FULL, id="F-02")), ({"question": "Which error came first?"},), (source,)).to_json()
    jsonschema.validate(json.loads(json.dumps(answer)), schema)
    assert (answer["schema"], SCHEMA) == ("crashlens.findings/1", "crashlens.findings/1")
    assert [finding["id"] for finding in answer["findings"]] == ["F-01", "F-02"]
    assert answer["sources"] == [source]


def test_a_fingerprint_is_of_cause_verdict_and_lines_in_any_order() -> None:
    places = [Evidence(Place(f"{name}.log", line), "context", "x") for name in "ab" for line in (1, 20)]
    prints = {replace(PLAIN, evidence=tuple(order)).fingerprint for order in permutations(places)}
    assert len(prints) == 1
    reworded = replace(FULL, summary="In other words.", id="F-07", evidence=PLAIN.evidence[::-1], first_event=None)
    assert reworded.fingerprint == PLAIN.fingerprint


@pytest.mark.parametrize(
    "other",
    [
        replace(PLAIN, cause="gpu_hardware.row_remap_failed"),
        replace(PLAIN, verdict="consistent"),
        replace(PLAIN, evidence=PLAIN.evidence[:1]),
        replace(PLAIN, evidence=(replace(PLAIN.evidence[0], place=Place("logs/kern.log", 13)), PLAIN.evidence[1])),
    ],
)
def test_another_conclusion_has_another_fingerprint(other: Finding) -> None:
    assert other.fingerprint != PLAIN.fingerprint


@pytest.mark.parametrize(
    ("verdicts", "status"),
    [
        ((), 3),
        (("benign",), 0),
        (("benign", "benign"), 0),
        (("undecided",), 3),
        (("benign", "undecided"), 3),
        (("consistent",), 1),
        (("supported",), 1),
        (("undecided", "benign", "consistent"), 1),
        (("supported", "undecided"), 1),
    ],
)
def test_unknown_is_never_zero(verdicts: tuple[Verdict, ...], status: int) -> None:
    assert exit_status([replace(PLAIN, verdict=verdict) for verdict in verdicts]) == status


def test_a_place_is_written_as_editors_read_it() -> None:
    assert str(Place("logs/kern.log", 12)) == "logs/kern.log:12"
