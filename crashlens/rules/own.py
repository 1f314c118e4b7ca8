"""Rules of somebody's own: files beside the shipped ones, checked as hostile input, then one rule set with them.

A rule file holds no code, and what it says is bounded: its size, the number and length of its patterns, and the time
that a pattern takes. Every fault of every file is reported at once.
"""

import hashlib
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from crashlens.errors import DataFileError, NoSuchInputError
from crashlens.rules.lint import lint_pattern
from crashlens.rules.load import COMPONENTS, load_rules, shipped_rules
from crashlens.rules.model import Harmless, Rule, RuleSet, StepLine

MOST_BYTES = 256 * 1024  # of one file
MOST_ROWS = 300  # rules, step lines, sequences and harmless rows of all files together
LONGEST_PATTERN = 2000
LONGEST_RECORD = 2000  # lines that one record may be read on for

_ID = re.compile(r"[a-z0-9_]{1,40}(?:\.[a-z0-9_]{1,40}){1,3}")


def load_own(*paths: str | os.PathLike[str]) -> RuleSet:
    """The shipped rules and those of your own files, as one rule set. Exported as `crashlens.rules.load`.

    A rule of yours whose `replaces` names a shipped one takes its place. An id that is taken otherwise is a fault.

    Args:
        paths: Rule files (TOML). Without any it is the shipped rules.

    Raises:
        NoSuchInputError: A file is not there or cannot be read.
        DataFileError: A file is wrong; `faults` names every fault of every file as `file:line: what`.

    >>> import crashlens as cl
    >>> len(cl.rules.load().own)
    0
    """
    return own_rules([(os.fspath(path), _text(path)) for path in paths])


def own_rules(files: Sequence[tuple[str, str]]) -> RuleSet:
    """The shipped rules and those of `(name, TOML text)` pairs, as one rule set.

    Raises:
        DataFileError: A text is wrong; `faults` names every fault as `file:line: what`.
    """
    shipped = shipped_rules()
    if not files:
        return shipped
    large = [f"{name}: it holds more than {MOST_BYTES:,} bytes" for name, text in files if len(text) > MOST_BYTES]
    if large:
        raise DataFileError("The rule set", large)
    own = load_rules(files, beside=shipped)
    faults = [*_row_faults(own), *_replaced_faults(own, shipped)]
    if faults:
        raise DataFileError("The rule set", faults)
    replaced = {old for rule in own.rules for old in rule.replaces}
    items = (*own.rules, *own.step_lines, *own.sequences, *own.harmless)
    return RuleSet(
        rules=(*(rule for rule in shipped.rules if rule.id not in replaced), *own.rules),
        step_lines=(*shipped.step_lines, *own.step_lines),
        sequences=(*shipped.sequences, *own.sequences),
        digest=hashlib.sha256(f"{shipped.digest} {own.digest}".encode()).hexdigest()[:16],
        harmless=(*shipped.harmless, *own.harmless),
        own_files=tuple(files),
        own=frozenset(item.id for item in items),
    )


def only_own(rule_set: RuleSet) -> RuleSet:
    """The same rules without the shipped ones."""
    own = rule_set.own
    return RuleSet(
        rules=tuple(rule for rule in rule_set.rules if rule.id in own),
        step_lines=tuple(item for item in rule_set.step_lines if item.id in own),
        sequences=(),
        digest=rule_set.digest,
        harmless=rule_set.harmless,
        own_files=rule_set.own_files,
        own=own,
    )


def _text(path: str | os.PathLike[str]) -> str:
    try:
        with Path(path).open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise NoSuchInputError(
            f'The rule file "{os.fspath(path)}" cannot be read ({error.strerror}); nothing was loaded.',
            way_out="Give the path of a TOML file with [[rule]] tables.",
        ) from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataFileError("The rule set", [f"{os.fspath(path)}: it is not UTF-8: {error.reason}"]) from None


def _row_faults(own: RuleSet) -> list[str]:
    """What the shape of a row allows and a file of somebody else must not do."""
    items = (*own.rules, *own.step_lines, *own.sequences, *own.harmless)
    if len(items) > MOST_ROWS:
        return [f"{items[-1].place}: there are {len(items):,} rows, at most {MOST_ROWS} are loaded"]
    faults: list[tuple[str, str, str]] = []
    for item in items:
        if not _ID.fullmatch(item.id):
            faults.append((item.place, item.id[:80], "an id is words of a-z, 0-9 and _ joined by dots: team.what"))
        if isinstance(item, Rule | StepLine | Harmless):
            faults += [(item.place, item.id, what) for what in _pattern_faults(item)]
        if isinstance(item, Rule | Harmless) and (unknown := item.applies_to - COMPONENTS or not item.applies_to):
            named = ", ".join(sorted(unknown)) if isinstance(unknown, frozenset) else "empty"
            faults.append((item.place, item.id, f"applies_to is {named}, not some of {', '.join(sorted(COMPONENTS))}"))
        if isinstance(item, Rule) and item.record and not 1 <= item.record.within_lines <= LONGEST_RECORD:
            faults.append((item.place, item.id, f"record.within_lines is not between 1 and {LONGEST_RECORD:,}"))
        if isinstance(item, Rule) and item.joins and not 1 <= item.joins.within_lines <= LONGEST_RECORD:
            faults.append((item.place, item.id, f"joins.within_lines is not between 1 and {LONGEST_RECORD:,}"))
    return [f"{place}: {item_id}: {what}" for place, item_id, what in faults]


def _pattern_faults(item: Rule | StepLine | Harmless) -> list[str]:
    record = item.record if isinstance(item, Rule) else None
    captures = () if isinstance(item, Harmless) else item.captures
    named = [("pattern", item.pattern), *(("captures", pattern) for pattern in captures)]
    named += [("record.ends", record.ends)] if record else []
    named += [("record.also", record.also)] if record and record.also else []
    faults: list[str] = []
    for name, pattern in named:
        if len(pattern.pattern) > LONGEST_PATTERN:
            faults.append(f"{name} has {len(pattern.pattern):,} characters, at most {LONGEST_PATTERN:,} are used")
        elif slow := lint_pattern(pattern, examples=item.matches):
            faults.append(f"{name} is {slow}; give its repetitions an upper bound")
        elif pattern.search(""):
            faults.append(f"{name} matches an empty line")
    return faults


def _replaced_faults(own: RuleSet, shipped: RuleSet) -> Iterable[str]:
    """An own rule that stands in for a rule of a shipped sequence must have what the sequence asks for: the same id."""
    known = {rule.id for rule in shipped.rules}
    for rule in own.rules:
        for old in rule.replaces:
            if old not in known:
                yield f"{rule.place}: {rule.id}: replaces {old[:80]}, which is no shipped rule"
