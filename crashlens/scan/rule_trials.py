"""Does a rule do what its own examples promise? They are read as any log is, and so are files that it is tried on."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from crashlens.rules.model import Harmless, Rule, RuleSet, StepLine
from crashlens.rules.own import only_own
from crashlens.scan.harmless import HarmlessWords
from crashlens.scan.member import Block
from crashlens.scan.normalise import normalised
from crashlens.scan.records import Hit, RecordReader
from crashlens.scan.walk import LeftOut, walk

# What stands in front of a message so that its writer is known: a line of each component, in a shape that is read.
ENVELOPES = {
    "kernel": "2026-10-01T09:18:40.123456+00:00 node7 kernel: ",
    "c10d": "[rank3]:[E1001 09:18:40.715298746 ProcessGroupNCCL.cpp:607] ",
    "nccl": "node7:48213:48377 [5] NCCL WARN ",
    "process": "2026-10-01 09:18:40,123 ",
}


@dataclass(frozen=True, slots=True)
class Trial:
    """How the examples of one rule went.

    Attributes:
        item: The rule, step line or harmless row.
        missed: Examples that it should match and does not.
        fired: Examples that it must not match and does.
        others: Other rules that match its examples too.
    """

    item: Rule | StepLine | Harmless
    missed: tuple[str, ...]
    fired: tuple[str, ...]
    others: tuple[str, ...]

    @property
    def held(self) -> bool:
        """Whether every example went as promised."""
        return not self.missed and not self.fired


class Sighting(NamedTuple):
    """A record that a rule found in a file, or why the file was not read."""

    path: str
    hit: Hit | None
    why: str


def try_rules(rule_set: RuleSet, items: Sequence[Rule | StepLine | Harmless]) -> list[Trial]:
    """Every example of `items`, read with all of `rule_set`, bare and behind the envelope of each component.

    A record that goes on over several lines counts by its first line where the example does not hold its end.
    """
    kept = tuple(_kept(rule) for rule in rule_set.rules)
    trial_set = replace(rule_set, rules=kept)
    return [_harmless(rule_set, item) if isinstance(item, Harmless) else _rule(trial_set, item) for item in items]


def sightings(rule_set: RuleSet, paths: Sequence[str | os.PathLike[str]]) -> Iterator[Sighting]:
    """What the rules of `rule_set` that are not shipped find in files and folders, file by file.

    Raises:
        NoSuchInputError: A path is not there.
    """
    own = only_own(rule_set)
    for entry in walk(paths):
        if isinstance(entry, LeftOut):
            yield Sighting(entry.path, None, entry.why)
            continue
        try:
            kind = entry.unreadable_kind()
            if kind:
                yield Sighting(entry.path, None, f"it is {kind}")
                continue
            blocks = normalised(entry.blocks(), entry.head(), lambda _notice: None)
            for hit in RecordReader(own).read(blocks):
                yield Sighting(entry.path, hit, "")
        except OSError as error:
            yield Sighting(entry.path, None, str(error.strerror or error))


def _kept(rule: Rule) -> Rule:
    return rule if rule.record is None else replace(rule, record=replace(rule.record, unended="keep"))


def _rule(rule_set: RuleSet, item: Rule | StepLine) -> Trial:
    components = sorted(item.applies_to) if isinstance(item, Rule) else ["process"]
    hits = {
        text: [_ids(rule_set, "", text), *(_ids(rule_set, ENVELOPES[c], text) for c in components)]
        for text in item.matches
    }
    missed = tuple(text for text, found in hits.items() if not any(item.id in ids for ids in found))
    others = {other for found in hits.values() for ids in found if item.id in ids for other in ids} - {item.id}
    fired = tuple(
        text
        for text in item.rejects
        if any(item.id in _ids(rule_set, envelope, text) for envelope in ("", *ENVELOPES.values()))
    )
    return Trial(item, missed, fired, tuple(sorted(others)))


def _harmless(rule_set: RuleSet, item: Harmless) -> Trial:
    words, own = HarmlessWords(rule_set.harmless), HarmlessWords([item])

    def covered(text: str) -> bool:
        return any(
            own.spans(text, component) and words.judge(text, component, None)[0] != "error_like"
            for component in item.applies_to
        )

    missed = tuple(text for text in item.matches if not covered(text))
    fired = tuple(text for text in item.rejects if covered(text))
    return Trial(item, missed, fired, ())


def _ids(rule_set: RuleSet, envelope: str, text: str) -> set[str]:
    """The rules that match the lines of `text`, each behind `envelope`."""
    block = "".join(f"{envelope}{line}\n" for line in text.removesuffix("\n").split("\n"))
    return {hit.rule.id for hit in RecordReader(rule_set).read([Block(1, block.encode("utf-8", "replace"))])}
