"""What must be collected to decide a question, what stays open without it, and how would it be collected?"""

from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any, Literal

from crashlens.catalog.signals import signals
from crashlens.catalog.toml_text import toml_document
from crashlens.errors import DataFileError
from crashlens.schemas import STEPS

NeedKind = Literal["sample", "steps", "kernel_log", "job_log"]
_SENTENCES = ("asks", "leaves_open", "still_possible", "asks_ko", "leaves_open_ko", "still_possible_ko")


@dataclass(frozen=True, slots=True)
class Need:
    """One thing that helps to decide a question.

    Attributes:
        signal: Column of `samples` or `steps`, or the name of a kind of log.
        kind: Where it is looked for.
        group: Needs of one group stand in for each other.
        decides: Whether the question is open without this group.
        bits: For clocks_event_reasons: bits that the source must report on; 0 otherwise.
        collect_with: The command or setting that would have collected it.
        collect_with_ko: The same where it is prose, in Korean; a command stays as it is.
    """

    signal: str
    kind: NeedKind
    group: str
    decides: bool
    bits: int
    collect_with: str
    collect_with_ko: str


@dataclass(frozen=True, slots=True)
class Question:
    """One question and what it needs.

    Attributes:
        id: Short name.
        asks: The question, as a sentence.
        leaves_open: What stays open where a need is missing.
        still_possible: What can be said nevertheless.
        asks_ko, leaves_open_ko, still_possible_ko: The same in Korean.
        needs: What helps to decide it.
    """

    id: str
    asks: str
    leaves_open: str
    still_possible: str
    asks_ko: str
    leaves_open_ko: str
    still_possible_ko: str
    needs: tuple[Need, ...]


@dataclass(frozen=True, slots=True)
class LogSigns:
    """How a kind of log shows in the tables: format names in `sources`, components in `events`."""

    formats: frozenset[str]
    components: frozenset[str]


@lru_cache(maxsize=1)
def _document() -> dict[str, Any]:
    return toml_document(files("crashlens.catalog").joinpath("questions.toml").read_text("utf-8"))


@lru_cache(maxsize=1)
def questions() -> tuple[Question, ...]:
    """Every question, in the order in which they are asked.

    Raises:
        DataFileError: A need names a column that no table has.
    """
    columns = {"sample": {item.name for item in signals()}, "steps": {column.name for column in STEPS.columns}}
    faults: list[str] = []
    found: list[Question] = []
    for row in _document()["question"]:
        needs = tuple(_need(one) for one in row["need"])
        faults += [
            f"questions.toml: {row['id']}: no column of {need.kind} is called {need.signal}"
            for need in needs
            if need.kind in columns and need.signal not in columns[need.kind]
        ]
        said = {name: row[name] for name in _SENTENCES}
        found.append(Question(id=row["id"], needs=needs, **said))
    if faults:
        raise DataFileError("The questions", faults)
    return tuple(found)


def _need(row: dict[str, Any]) -> Need:
    collect_with = row["collect_with"]
    return Need(
        row["signal"], row["kind"], row["group"], row.get("decides", False), row.get("bits", 0), collect_with,
        row.get("collect_with_ko", collect_with),
    )  # fmt: skip


def enough_share() -> float:
    """Share of samples with a value, 0 to 1, from which a signal counts as collected (suggested, uncalibrated)."""
    return float(_document()["enough"]["share"])


def log_signs(kind: NeedKind) -> LogSigns:
    """How a log of `kind` (kernel_log, job_log) shows in the tables."""
    row = _document()["logs"][kind]
    return LogSigns(frozenset(row["formats"]), frozenset(row["components"]))
