"""Small whole incidents, each read as a user would read it: through `cl.read(...).findings()` and through `scan --format json`.

A folder is one incident; `expected.toml` says how an expert reads it. Written by hand in the shapes that the programs
print; hosts, pids and UUIDs are made up. Keys: `stories` (templates of wording.en.toml that must be told), `cause` and
`verdict` (accepted for the first finding), `first_event` (`file:line`, `none` or `any`), `causal`, `must` and
`must_not` (words of the findings), `looks_like` (causes it is mistaken for, which nothing may claim) and `confusion`
(the entry of `confused_with` in causes.toml that says so).
"""

import json
import re
import tomllib
from collections.abc import Iterator
from contextlib import chdir
from dataclasses import fields
from fnmatch import fnmatch
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import crashlens as cl
from crashlens.catalog.causes import cause
from crashlens.cli import main
from crashlens.conclude.wording import LANGUAGES, wording
from crashlens.findings import Finding, exit_status

HERE = Path(__file__).parent
FOLDERS = sorted(path.parent for path in HERE.glob("*/expected.toml"))
CLAIMS = {"supported", "consistent"}
LEAST_WORDS = 0.6  # share of the words of an evidence text that must stand in the line it names; cases/README.md
CAUSAL = re.compile(
    r"\b(caus(e|es|ed|ing)\s+(by|the|it|a|an)\b|caused|because|due to|leads? to|led to|result(s|ed) in|root cause)",
    re.IGNORECASE,
)
CAUSAL_KO = re.compile("때문|야기|원인이")
CONTRACT = jsonschema.Draft202012Validator(
    json.loads((resources.files("crashlens.catalog") / "findings.schema.json").read_text("utf-8"))
)


@cache
def expected(folder: Path) -> dict[str, Any]:
    return tomllib.loads((folder / "expected.toml").read_text("utf-8"))


def inputs(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name != "expected.toml")


@cache
def findings(folder: Path, lang: str = "en") -> tuple[Finding, ...]:
    """Findings of the inputs of `folder`, their paths as given."""
    about = expected(folder)
    with chdir(folder):
        return tuple(cl.read(inputs(folder), tz=about.get("tz"), year=about.get("year")).findings(lang=lang))


def place(finding: Finding) -> str:
    at = finding.first_event
    return "none" if at is None else f"{Path(at.source).name}:{at.line}"


def sentences(value: object) -> Iterator[str]:
    """Every text that a finding says, quoted log lines and the causal sentence left out."""
    if isinstance(value, Finding):
        for item in fields(value):
            if item.name not in {"causal", "cause", "verdict", "rule_ids", "thresholds", "hosts", "devices", "id"}:
                yield from sentences(getattr(value, item.name))
    elif isinstance(value, str):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from sentences(item)
    elif hasattr(value, "__dataclass_fields__"):
        for item in fields(value):  # pyright: ignore[reportArgumentType]
            if item.name not in {"text", "place", "rule_id", "cause"}:
                yield from sentences(getattr(value, item.name))


PLACEHOLDERS = {"{at_time}": "at (?:[0-9: -]+ UTC|an unknown time)"}  # a tight one tells apart templates alike


def told_by(finding: Finding) -> set[str]:
    """The stories whose template makes the summary of this finding."""
    shapes = {
        name: "".join(
            PLACEHOLDERS.get(part, ".*") if part.startswith("{") else re.escape(part)
            for part in re.split(r"(\{\w+\})", row["summary"])
        )
        for name, row in wording("en")["story"].items()
    }
    return {name for name, shape in shapes.items() if re.fullmatch(shape, finding.summary, re.DOTALL)}


def claimed(finding: Finding) -> bool:
    benign = finding.cause.startswith("none.") and finding.verdict == "benign"
    return finding.verdict in CLAIMS or benign


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_an_incident_is_read_as_an_expert_reads_it(folder: Path) -> None:
    about, found = expected(folder), findings(folder)
    first = found[0]
    assert (first.cause, first.verdict) in {(c, v) for c in about["cause"] for v in about["verdict"]}
    if about["first_event"] != "any":
        assert place(first) == about["first_event"]
    told = set().union(*map(told_by, found))
    assert set(about["stories"]) <= told
    assert sum(finding.causal is not None for finding in found) == int(about["causal"])
    said = " ".join(text for finding in found for text in (*sentences(finding), finding.causal or ""))
    assert [word for word in about.get("must", []) if word not in said] == []
    assert [word for word in about.get("must_not", []) if word in said] == []
    wrong = about.get("looks_like", [])
    assert [f.cause for f in found if claimed(f) and any(fnmatch(f.cause, pattern) for pattern in wrong)] == []


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_json_of_an_incident_keeps_the_contract(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    options = [f"--tz={expected(folder)['tz']}"] if "tz" in expected(folder) else []
    status = main(["scan", "--format", "json", *options, *inputs(folder)])
    out, err = capsys.readouterr()
    answer = json.loads(out)
    CONTRACT.validate(answer)
    assert err == ""
    assert [(f["cause"], f["verdict"], f["summary"]) for f in answer["findings"]] == [
        (f.cause, f.verdict, f.summary) for f in findings(folder)
    ]
    readable = [row for row in answer["sources"] if row["state"] != "not_read"]
    assert status == (exit_status(findings(folder)) if readable else 2)
    assert 1 <= len(answer["findings"]) <= 8
    for finding in answer["findings"]:
        assert finding["does_not_prove"]
        assert finding["next_checks"]
        assert finding["unknown"]
        assert finding["evidence"] or finding["verdict"] == "undecided"
        assert cause(finding["cause"]).id == finding["cause"]
        assert all(backed(item) for item in finding["evidence"])


def backed(item: dict[str, Any]) -> bool:
    """Whether most words of an evidence text stand in the line it names; a text of k lines is compared with k lines."""
    lines = Path(item["source"]).read_bytes().decode("utf-8", "replace").removesuffix("\n").split("\n")
    words = item["text"].split()
    there = "\n".join(lines[item["line"] - 1 : item["line"] + item["text"].strip().count("\n")])
    return bool(words) and sum(word in there for word in words) >= LEAST_WORDS * len(words)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_no_sentence_but_the_causal_one_says_what_made_what(folder: Path) -> None:
    texts = [text for finding in findings(folder) for text in sentences(finding)]
    assert len(texts) > 5, "too few sentences were looked at"
    assert [text for text in texts if CAUSAL.search(text)] == []


def test_the_search_for_causal_words_can_fail() -> None:
    made = ["It was caused by heat.", "slow due to heat", "heat leads to it", "it resulted in a stop", "the root cause"]
    assert [text for text in made if not CAUSAL.search(text)] == []


def test_every_story_is_told_by_an_incident() -> None:
    told = {name for folder in FOLDERS for name in expected(folder)["stories"]}
    # Told of a window only, and of rule files only: tests/test_samples_end_to_end.py, tests/test_own_rules.py.
    elsewhere = {"outside_window", "own_rules"}
    assert sorted(set(wording("en")["story"]) - told) == sorted(elsewhere)


def test_the_summary_of_each_story_names_only_its_story() -> None:
    # Otherwise the check above would count one story for another.
    several = {
        name
        for folder in FOLDERS
        for finding in findings(folder)
        if len(told_by(finding)) != 1
        for name in told_by(finding)
    }
    assert several == set()


MAIN_CAUSES = [
    "communication.collective_hang",
    "communication.mismatched_collective",
    "communication.peer_connection_lost",
    "gpu_hardware.fallen_off_bus",
    "gpu_hardware.repeating_fault",
    "gpu_hardware.row_remap_failed",
    "gpu_hardware.row_remap_pending",
    "gpu_hardware.uncorrectable_ecc",
    "gpu_memory.oom_fragmentation",
    "gpu_memory.oom_other_process",
    "gpu_memory.out_of_memory",
    "host_memory.cgroup_oom",
    "host_memory.node_oom",
    "network.rdma_link",
    "power.brake",
    "power.cap_below_limit",
    "power.software_cap",
    "process.killed_sender_unknown",
    "thermal.slowdown",
    "application.gpu_exception",
    "application.unhandled_exception",
    "clocks.hw_slowdown",
    "scheduler.preemption_or_requeue",
    "scheduler.time_limit",
    "scheduler.insufficient_gpu",
    "container.gpu_runtime_missing",
    "container.driver_requirement",
    "container.device_access_lost",
    "container.mig_device_id",
    "runtime.cuda_library_mismatch",
    "runtime.package_conflict",
    "runtime.cpu_fallback",
    "runtime.partial_cpu_placement",
    "runtime.conv_algorithm",
    "runtime.tensorrt_version_mismatch",
    "runtime.tensorrt_device_mismatch",
    "runtime.gpu_arch_not_in_build",
    "runtime.forward_compat_unsupported",
    "runtime.driver_library_mismatch",
    "runtime.attention_backend",
    "serving.kv_cache_pressure",
    "serving.request_queueing",
    "fabric.fabric_manager",
]


@pytest.mark.parametrize("name", MAIN_CAUSES)
def test_a_main_cause_has_an_incident_and_a_look_alike(name: str) -> None:
    assert [folder for folder in FOLDERS if name in {finding.cause for finding in findings(folder)}]
    alike = [expected(folder)["confusion"] for folder in FOLDERS if name in expected(folder).get("looks_like", [])]
    assert set(alike) & set(cause(name).confused_with)


# Causes with two incidents of their own and one look-alike each. Whoever adds the rules of a family appends its causes.
TWICE_TOLD = [
    "application.gpu_exception",
    "application.long_task_before_barrier",
    "application.numerical_divergence",
    "application.unhandled_exception",
    "communication.mismatched_collective",
    "communication.peer_connection_lost",
    "communication.rank_missing_or_slow",
    "container.device_access_lost",
    "container.driver_requirement",
    "container.gpu_runtime_missing",
    "container.image_bloat",
    "container.mig_device_id",
    "fabric.fabric_manager",
    "fabric.nvlink_error",
    "gpu_hardware.correctable_ecc_rate",
    "gpu_hardware.fallen_off_bus",
    "gpu_hardware.firmware_fault",
    "gpu_hardware.pcie_link",
    "gpu_hardware.repeating_fault",
    "gpu_hardware.reset_required",
    "gpu_hardware.row_remap_failed",
    "gpu_hardware.row_remap_pending",
    "gpu_hardware.uncorrectable_ecc",
    "gpu_memory.arena_growth",
    "gpu_memory.oom_fragmentation",
    "gpu_memory.oom_other_process",
    "gpu_memory.out_of_memory",
    "host_memory.allocation_refused",
    "host_memory.cgroup_oom",
    "host_memory.node_oom",
    "host_memory.shm_exhausted",
    "network.rdma_link",
    "process.killed_sender_unknown",
    "process.native_crash",
    "runtime.attention_backend",
    "runtime.conv_algorithm",
    "runtime.cpu_fallback",
    "runtime.cuda_library_mismatch",
    "runtime.driver_library_mismatch",
    "runtime.forward_compat_unsupported",
    "runtime.gpu_arch_not_in_build",
    "runtime.host_device_copy",
    "runtime.launch_bound",
    "runtime.package_conflict",
    "runtime.partial_cpu_placement",
    "runtime.slow_session_start",
    "runtime.tensorrt_device_mismatch",
    "runtime.tensorrt_version_mismatch",
    "runtime.version_regression",
    "scheduler.insufficient_gpu",
    "scheduler.preemption_or_requeue",
    "scheduler.time_limit",
    "serving.kv_cache_pressure",
    "serving.prefill_starvation",
    "serving.request_queueing",
]


@pytest.mark.parametrize("name", TWICE_TOLD)
def test_a_cause_of_these_families_has_two_incidents_and_a_look_alike(name: str) -> None:
    own = [folder.name for folder in FOLDERS if any(f.cause == name and claimed(f) for f in findings(folder))]
    assert len(own) >= 2, own
    alike = [about["confusion"] for folder in FOLDERS if name in (about := expected(folder)).get("looks_like", [])]
    assert set(alike) & set(cause(name).confused_with), alike


def test_the_state_of_a_hang_has_two_incidents_and_a_look_alike() -> None:
    # It may end undecided: that a collective did not end is a state, and why it did not is another cause.
    name = "communication.collective_hang"
    assert len([folder for folder in FOLDERS if findings(folder)[0].cause == name]) >= 2
    alike = [about["confusion"] for folder in FOLDERS if name in (about := expected(folder)).get("looks_like", [])]
    assert set(alike) & set(cause(name).confused_with), alike


def plain_sentences(lang: str) -> list[str]:
    """Every template of a language outside [causal.*]; commands and cause ids are no sentences."""

    def texts(value: object, key: str) -> Iterator[str]:
        if isinstance(value, dict):
            for name, item in value.items():
                yield from texts(item, name)
        elif isinstance(value, list):
            for item in value:
                yield from texts(item, key)
        elif isinstance(value, str) and key not in {"command", "cause"}:
            yield value

    return list(texts({name: item for name, item in wording(lang).items() if name != "causal"}, ""))


def test_no_english_template_outside_causal_is_causal() -> None:
    assert [text for text in plain_sentences("en") if CAUSAL.search(text)] == []


@pytest.mark.parametrize("lang", [lang for lang in LANGUAGES if lang != "en"])
def test_no_other_language_is_causal_or_lacks_a_template(lang: str) -> None:
    if not (resources.files("crashlens.conclude") / f"wording.{lang}.toml").is_file():
        pytest.skip(f"wording.{lang}.toml is not there yet")
    assert [text for text in plain_sentences(lang) if CAUSAL_KO.search(text)] == []
    for folder in FOLDERS:
        ours, theirs = findings(folder), findings(folder, lang)
        assert [(f.cause, f.verdict, f.first_event) for f in ours] == [
            (f.cause, f.verdict, f.first_event) for f in theirs
        ]
        assert [f.causal is None for f in ours] == [f.causal is None for f in theirs]
