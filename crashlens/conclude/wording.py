"""The sentences: templates of one language, filled in. The only code that turns measurements into words."""

from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from importlib import resources
from typing import Any, cast

from crashlens.catalog.causes import cause
from crashlens.catalog.toml_text import toml_document
from crashlens.findings import Alternative, Finding, NextCheck, Verdict

LANGUAGES = ("en", "ko")


@dataclass(frozen=True, slots=True)
class Story:
    """What one kind of finding says, as templates."""

    summary: str
    does_not_prove: tuple[str, ...]
    unknown: tuple[str, ...]
    next_checks: tuple[NextCheck, ...]
    alternatives: tuple[Alternative, ...]


@lru_cache(maxsize=len(LANGUAGES))
def wording(lang: str) -> dict[str, Any]:
    """All templates of a language.

    Raises:
        FileNotFoundError: There is no such language; `LANGUAGES` lists them.
    """
    text = (resources.files("crashlens.conclude") / f"wording.{lang}.toml").read_text(encoding="utf-8")
    return toml_document(text)


def say(lang: str, table: str, key: str, **values: object) -> str:
    """The sentence `[table] key`, filled in."""
    template = cast("str", wording(lang)[table][key])
    return template.format_map(values)


def say_causal(lang: str, key: str, **values: object) -> str:
    """The causal sentence `[causal.key]`, filled in. Call it only where order, identity and mechanism all hold."""
    template = cast("str", wording(lang)["causal"][key]["text"])
    return template.format_map(values)


def story(lang: str, name: str) -> Story:
    """The templates of one kind of finding."""
    row: dict[str, Any] = wording(lang)["story"][name]
    return Story(
        row["summary"],
        tuple(row["does_not_prove"]),
        tuple(row["unknown"]),
        tuple(NextCheck(c["question"], c["command"], c["expect"], c["otherwise"]) for c in row["next_checks"]),
        tuple(Alternative(a["cause"], a["separated_by"]) for a in row.get("alternatives", ())),
    )


def compose(lang: str, name: str, cause_id: str, verdict: Verdict, values: dict[str, object], **parts: Any) -> Finding:
    """A finding worded by story `name`; `parts` are further attributes of `Finding`. The ceiling of the cause holds."""
    told = story(lang, name)
    if cause(cause_id).ceiling == "consistent" and verdict == "supported":
        verdict = "consistent"
    return Finding(
        cause=cause_id,
        verdict=verdict,
        summary=told.summary.format_map(values),
        does_not_prove=_filled(told.does_not_prove, values),
        unknown=_filled(told.unknown, values),
        next_checks=told.next_checks,
        alternatives=told.alternatives,
        **parts,
    )


def listed(lang: str, items: list[str]) -> str:
    """Items as one phrase; long lists are cut and counted."""
    if not items:
        return say(lang, "words", "none")
    shown = items if len(items) <= 12 else [*items[:10], f"+{len(items) - 10}"]
    return shown[0] if len(shown) == 1 else ", ".join(shown[:-1]) + f" {say(lang, 'words', 'and')} {shown[-1]}"


def number_ranges(numbers: list[int]) -> str:
    """Whole numbers in order, three or more in a row as a range: 0-4, 6, 7."""
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs)


def span(lang: str, seconds: float) -> str:
    """A stretch of time in words that a person says."""
    unit = wording(lang)["units"]
    size = abs(seconds)
    if size < 1:
        return unit["ms"].format(n=round(size * 1000))
    if size < 120:
        return unit["s"].format(n=f"{size:.1f}" if size < 10 else round(size))
    if size < 3 * 3600:
        return unit["min"].format(n=round(size / 60))
    return unit["h"].format(n=f"{size / 3600:.1f}") if size < 48 * 3600 else unit["d"].format(n=f"{size / 86400:.1f}")


def clock_text(moment: datetime) -> str:
    """A UTC time to the second."""
    return moment.strftime("%Y-%m-%d %H:%M:%S")


def _filled(templates: tuple[str, ...], values: dict[str, object]) -> tuple[str, ...]:
    return tuple(template.format_map(values) for template in templates)
