"""`findings.schema.json` describes what an Answer writes: it accepts a full one and refuses every broken one."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any

import pytest
from jsonschema import Draft202012Validator

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
)
from crashlens.timebase import Window

SCHEMA_DOCUMENT = json.loads(files("crashlens.catalog").joinpath("findings.schema.json").read_text(encoding="utf-8"))
CHECKER = Draft202012Validator(SCHEMA_DOCUMENT)

BEFORE = Window(datetime(2026, 10, 1, 8, 5, tzinfo=UTC), datetime(2026, 10, 1, 8, 25, tzinfo=UTC))
AFTER = Window(datetime(2026, 10, 1, 8, 28, tzinfo=UTC), datetime(2026, 10, 1, 9, 8, 25, tzinfo=UTC))

FULL = Finding(
    id="F-01",
    cause="thermal.slowdown",
    verdict="supported",
    summary="GPU 5 ran at lower clocks under a thermal reason.",
    causal="The heat of GPU 5 lowered the throughput.",
    first_event=Place("run/gpu.csv", 7),
    evidence=(
        Evidence(
            Place("run/gpu.csv", 7), "first", "88, 0x20", None, datetime(2026, 10, 1, 8, 25, 1, 5, tzinfo=UTC), "first"
        ),
        Evidence(Place("run/kern.log", 12), "context", "NVRM: Xid 94", "kernel.xid"),
    ),
    does_not_prove=("why it is hot",),
    unknown=("inlet temperature",),
    next_checks=(NextCheck("Is the inlet hot?", None, "hot: the room", "not hot: the slot"),),
    window=AFTER,
    hosts=("gpu-node-07",),
    devices=("GPU-1",),
    ranks=(5,),
    effects=(
        Effect(
            "tokens_per_s",
            84000.0,
            60300.0,
            0.718,
            (0.71, 0.72),
            (BEFORE, AFTER),
            (380, 550),
            "block bootstrap",
            7,
            "run",
        ),
        Effect("sm_clock_mhz", 1980, 1395, 0.705, None, None, (2, 2), "too few values"),
    ),
    alternatives=(Alternative("power.software_cap", "bit 0x4 is not set"),),
    rule_ids=("kernel.xid",),
    thresholds=(Threshold("thermal_share_of_loaded", 0.1, "1", "uncalibrated"),),
)
PLAIN = Finding(
    id="F-02",
    cause="unknown.insufficient_evidence",
    verdict="undecided",
    summary="The input does not decide.",
    first_event=None,
    evidence=(),
    does_not_prove=("that nothing is wrong",),
    next_checks=(NextCheck("Is there a kernel log?", "journalctl -k", "read it", "nothing to read"),),
)
SOURCES = (
    {"path": "run/gpu.csv", "sha256": "0" * 64, "format": "nvidia_smi_csv", "lines": 9},
    {"path": "run/junk.bin", "sha256": None, "format": None, "lines": None},
)


def document() -> dict[str, Any]:
    answer = Answer((FULL, PLAIN), coverage=({"question": "thermal", "decidable": "yes"},), sources=SOURCES)
    return json.loads(json.dumps(answer.to_json()))


def complaints(value: dict[str, Any]) -> list[str]:
    return [error.json_path for error in CHECKER.iter_errors(value)]


def test_the_schema_is_itself_valid() -> None:
    Draft202012Validator.check_schema(SCHEMA_DOCUMENT)
    assert SCHEMA_DOCUMENT["properties"]["schema"]["const"] == SCHEMA


def test_an_answer_with_every_field_and_one_with_the_fewest_pass() -> None:
    assert complaints(document()) == []
    assert complaints(Answer(()).to_json()) == []


def test_the_schema_knows_every_key_that_an_answer_writes() -> None:
    full, plain = document()["findings"]
    described = SCHEMA_DOCUMENT["$defs"]["finding"]
    assert set(full) == set(described["properties"])
    assert set(plain) == set(described["required"])
    for name, item in (
        ("evidence", full["evidence"][0]),
        ("effect", full["effect"]),
        ("next_check", full["next_checks"][0]),
    ):
        assert set(item) == set(SCHEMA_DOCUMENT["$defs"][name]["properties"])


def broken(change: Callable[[dict[str, Any]], object]) -> list[str]:
    value = document()
    change(value)
    return complaints(value)


@pytest.mark.parametrize(
    ("change", "where"),
    [
        (lambda d: d.update(schema="crashlens.findings/2"), "$.schema"),
        (lambda d: d.update(findings=d["findings"] * 5), "$.findings"),
        (lambda d: d.pop("coverage"), "$"),
        (lambda d: d["findings"][0].update(verdict="certain"), "$.findings[0].verdict"),
        (lambda d: d["findings"][0].update(cause="heat"), "$.findings[0].cause"),
        (lambda d: d["findings"][0].update(evidence=[]), "$.findings[0].evidence"),
        (lambda d: d["findings"][0].update(does_not_prove=[]), "$.findings[0].does_not_prove"),
        (lambda d: d["findings"][0].update(next_checks=[]), "$.findings[0].next_checks"),
        (lambda d: d["findings"][0].update(root_cause="x"), "$.findings[0]"),
        (lambda d: d["findings"][0].update(window=["2026-10-01 08:00"] * 2), "$.findings[0].window"),
        (lambda d: d["findings"][0].update(ranks=["5"]), "$.findings[0].ranks[0]"),
        (lambda d: d["findings"][0]["evidence"][0].update(line=0), "$.findings[0].evidence[0].line"),
        (lambda d: d["findings"][0]["evidence"][0].update(role="cause"), "$.findings[0].evidence[0].role"),
        (lambda d: d["findings"][0]["evidence"][0].update(text=None), "$.findings[0].evidence[0].text"),
        (lambda d: d["findings"][0]["effect"].update(interval=[0.7]), "$.findings[0].effect.interval"),
        (lambda d: d["findings"][0]["effect"].update(ratio="0.7"), "$.findings[0].effect.ratio"),
        (lambda d: d["findings"][0]["thresholds"][0].update(source=""), "$.findings[0].thresholds[0].source"),
        (lambda d: d["findings"][1].update(first_event={"source": "a"}), "$.findings[1].first_event"),
        (lambda d: d["sources"][0].update(sha256="abc"), "$.sources[0].sha256"),
        (lambda d: d["sources"][0].pop("lines"), "$.sources[0]"),
    ],
)
def test_a_broken_answer_is_refused_at_the_broken_place(change: Callable[[dict[str, Any]], object], where: str) -> None:
    assert broken(change) == [where]


def test_an_undecided_finding_may_have_no_evidence_but_a_consistent_one_may_not() -> None:
    assert broken(lambda d: d["findings"][1].update(verdict="benign")) == []
    assert broken(lambda d: d["findings"][1].update(verdict="consistent")) == ["$.findings[1].evidence"]
