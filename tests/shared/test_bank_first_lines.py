"""The case bank, development part: the line that an expert named first is a record under the rule that a reader named.

What each list of the two tables means stands at the top of `bank_first_lines.toml`.
"""

import importlib.util
import sys
import tomllib
from fnmatch import fnmatchcase
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import crashlens as cl

HERE = Path(__file__).parent
TRAINING = tomllib.loads((HERE / "bank_first_lines.toml").read_text("utf-8"))
RUNTIME = tomllib.loads((HERE / "bank_first_lines_runtime.toml").read_text("utf-8"))
TRAINING_KINDS = {"xid", "nccl", "oom", "launcher"}
RUNTIME_KINDS = {"slurm", "k8s", "serving", "ort", "tensorrt", "container", "cuda-driver"}
LEAST_FOUND = 0.98
NOT_A_FAILURE = ("none.*", "clocks.idle", "telemetry.*", "unknown.*", "power.software_cap")
PAD = 200

pytestmark = [pytest.mark.shared_data, pytest.mark.slow]


@pytest.fixture
def score(shared: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The scorer of the case bank as a module."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    spec = importlib.util.spec_from_file_location("crashlens_bank_score", shared / "cases" / "score.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Bank:
    """Cases of the bank, laid out and read, with or without lines in front of every log."""

    def __init__(self, folder: Path, score: ModuleType, work: Path) -> None:
        self.folder, self.score, self.work = folder, score, work
        self.cases: dict[tuple[str, int], tuple[cl.Case, dict[str, int]]] = {}

    def read(self, name: str, pad: int = 0) -> tuple[cl.Case, dict[str, int]]:
        """The case and how many lines stand in front of each of its files."""
        if (name, pad) not in self.cases:
            case = tomllib.loads((self.folder / "cases" / name / "case.toml").read_text("utf-8"))
            work = self.work / f"{name}-{pad}"
            work.mkdir()
            shift, _ = self.score.prepare(self.folder / "cases" / name, case, work, pad)
            self.cases[name, pad] = cl.read(work), shift
        return self.cases[name, pad]

    def kinds(self) -> dict[str, str]:
        rows = [row.split("\t") for row in (self.folder / "SPLIT.tsv").read_text("utf-8").splitlines()[1:]]
        return {row[0]: row[2] for row in rows if row[1] == "dev"}


@pytest.fixture
def bank(shared: Path, score: ModuleType, tmp_path: Path) -> Bank:
    return Bank(shared / "cases", score, tmp_path)


def at(case: cl.Case, table: str, file: str, line: int) -> list[dict[str, Any]]:
    """Rows of `table` that begin on this line of this file, or whose record covers it."""
    (source_id,) = case.sources.filter(case.sources["path"].str.ends_with(file))["source_id"].to_list()
    rows = [row for row in getattr(case, table).to_dicts() if row["source_id"] == source_id]
    exact = [row for row in rows if row["line"] == line]
    return exact or [row for row in rows if row["line"] <= line <= row.get("line_end", row["line"])]


def miss(bank: Bank, row: dict[str, Any], pad: int = 0) -> str | None:
    """What stands at the named line instead of the named record."""
    case, shift = bank.read(row["case"], pad)
    there = at(case, row.get("table", "events"), row["file"], row["line"] + shift.get(row["file"], 0))
    if "table" in row:
        return None if there else f"{row['case']} {row['file']}:{row['line']}: no row of {row['table']}"
    found = sorted({one["rule_id"] for one in there})
    wanted = [row["rule"]] if isinstance(row["rule"], str) else row["rule"]
    if any(fnmatchcase(rule_id, rule) for rule_id in found for rule in wanted):
        return None
    return f"{row['case']} {row['file']}:{row['line']}: not {row['rule']} but {', '.join(found) or 'nothing'}"


def assert_found(bank: Bank, table: dict[str, Any], pad: int = 0) -> None:
    rows = [*table["first"], *table["also"]]
    misses = [fault for row in rows if (fault := miss(bank, row, pad)) is not None]
    if len(misses) > (1 - LEAST_FOUND) * len(rows):
        pytest.fail(f"{len(misses)} of {len(rows)} lines were not found:\n  " + "\n  ".join(misses), pytrace=False)


def test_the_first_line_of_each_training_case_is_a_record_of_the_named_rule(bank: Bank) -> None:
    assert_found(bank, TRAINING)


def test_the_first_line_of_each_runtime_case_is_a_record_of_the_named_rule(bank: Bank) -> None:
    assert_found(bank, RUNTIME)


def test_each_case_of_these_kinds_has_its_row(bank: Bank) -> None:
    def listed(table: dict[str, Any]) -> set[str]:
        return {row["case"] for key in ("first", "also", "apart") for row in table[key]} | set(table["silent"])

    kinds = bank.kinds()
    training = {name for name, kind in kinds.items() if kind in TRAINING_KINDS or kind.startswith("trap-")}
    runtime = {name for name, kind in kinds.items() if kind in RUNTIME_KINDS}
    assert (training - listed(TRAINING), listed(TRAINING) - training) == (set(), set())
    assert (runtime - listed(RUNTIME), listed(RUNTIME) - runtime) == (set(), set())


def test_quoted_words_and_healthy_runs_are_no_failure(bank: Bank) -> None:
    faults: list[str] = []
    for name in TRAINING["silent"]:
        case, _ = bank.read(name)
        faults += [
            f"{name}: {finding.cause} {finding.verdict}"
            for finding in case.findings()
            if finding.verdict in {"supported", "consistent"}
            and not any(fnmatchcase(finding.cause, cause) for cause in NOT_A_FAILURE)
        ]
        faults += [
            f"{name}:{row['line']}: {row['rule_id']} {row['severity']}"
            for row in case.events.to_dicts()
            if row["severity"] in {"error", "fatal"}
        ]
    assert faults == []


def test_lines_in_front_of_a_log_change_nothing_but_line_numbers(bank: Bank) -> None:
    wrong: list[str] = []
    for name in sorted({row["case"] for key in ("first", "also") for row in TRAINING[key]} | set(TRAINING["silent"])):
        told: list[list[Any]] = []
        for pad in (0, PAD):
            case, shift = bank.read(name, pad)
            names = {
                row["source_id"]: next((file for file in shift if row["path"].endswith(file)), "")
                for row in case.sources.to_dicts()
            }
            events = [
                (
                    row["rule_id"],
                    row["line"] - shift.get(names[row["source_id"]], 0),
                    row["rank"],
                    row["pid"],
                    row["host"],
                )
                for row in case.events.to_dicts()
            ]
            told.append([*sorted(events, key=repr), *((f.cause, f.verdict) for f in case.findings())])
        if told[0] != told[1]:
            gone, new = ([str(item) for item in one if item not in other] for one, other in (told, told[::-1]))
            wrong.append(f"{name}: without {'; '.join(gone)}, with {'; '.join(new)}")
    assert wrong == []
