"""Blocks of lines to records: which rules match which lines, over how many lines does each record go?

Only lines with a literal of a rule are looked at, and the lines that an open record still waits for. A line may hold
several records: progress bars end in CR, and ranks that share a file glue lines together.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from crashlens.rules.matcher import ERROR_WORDS, LiteralMatcher, Matcher
from crashlens.rules.model import Record, Rule, RuleSet, StepLine
from crashlens.scan.envelope import Peeled, peel, strip_unprinted
from crashlens.scan.masking import mask_secrets
from crashlens.scan.member import Block

LONGEST_SEGMENT = 16 * 1024  # of a stretch twice as long the start, the end and what is near a literal are searched
REACH = 8 * 1024  # characters behind a literal that belong to its record, and a quarter of it before
MOST_RECORDS_PER_SEGMENT = 16
MOST_RECORDS_PER_LINE = 2**16 - 1  # what the column that numbers them can hold
_BEFORE_QUOTE = {"", " ", "\t", "(", "[", "{", "=", ",", ":"}
SHOWN_ERROR_LINES = 3  # of the lines with an error word that no rule claims, so many are named
READ_ON_FACTOR = 8  # lines of other ranks that may stand between those of one record
_GLUED = re.compile(r"(?<=[^\s\]:])(?=\[rank\d{1,6}\]:\[[IWEF])")


@dataclass
class Hit:
    """One record that a rule or step line matched.

    Attributes:
        rule: The rule, or the step line.
        line: The line that names it, from 1.
        line_end: Its last line.
        n: Its number within `line`.
        peeled: What the envelopes of `line` said.
        groups: Named captures that are not None.
        text: The raw text of `line`, or of the part of it that holds the record.
    """

    rule: Rule | StepLine
    line: int
    line_end: int
    n: int
    peeled: Peeled
    groups: dict[str, str]
    text: str


class _Open:
    """A record whose end was not seen yet."""

    def __init__(self, hit: Hit, record: Record) -> None:
        self.hit = hit
        self.record = record
        self.own_lines = record.within_lines
        self.all_lines = record.within_lines * READ_ON_FACTOR


@dataclass
class LineCounts:
    """What became of the lines of one source.

    Attributes:
        matched: Lines that a rule claimed.
        error_like: Lines with an error word that no rule claimed.
        error_lines: The first of them.
        dropped: Records beyond the most that one line may hold.
    """

    matched: int = 0
    error_like: int = 0
    error_lines: list[int] = field(default_factory=list[int])
    dropped: int = 0


@dataclass
class RecordReader:
    """Finds the records of one source, block by block.

    Attributes:
        rule_set: The rules.
        matcher: The engine that finds candidate lines; None takes the reference engine.
        counts: Lines matched, and lines with an error word that no rule claimed.
    """

    rule_set: RuleSet
    matcher: Matcher | None = None
    counts: LineCounts = field(default_factory=LineCounts)

    def __post_init__(self) -> None:
        self._items: tuple[Rule | StepLine, ...] = (*self.rule_set.rules, *self.rule_set.step_lines)
        self._engine = self.matcher or LiteralMatcher([item.literals for item in self._items])
        self._open: list[_Open] = []

    def read(self, blocks: Iterable[Block]) -> Iterator[Hit]:
        """Every record, in the order of the lines that end them."""
        for block in blocks:
            yield from self._read_block(block)
        yield from self._close_all()

    def _read_block(self, block: Block) -> Iterator[Hit]:
        data = strip_unprinted(block.data)
        raw = block.data if data is not block.data else b""
        raw_lines = raw.split(b"\n") if raw else []
        at, line = 0, block.first_line
        for candidate in self._engine.candidates(data):
            while self._open and at < candidate.start:
                end = data.find(b"\n", at)
                yield from self._line(line, _text(data[at:end], raw_lines, line - block.first_line), ())
                at, line = end + 1, line + 1
            if candidate.start < at:
                continue
            line += data.count(b"\n", at, candidate.start)
            at = candidate.end + 1
            items = tuple(self._items[number] for number in candidate.items)
            text = _text(data[candidate.start : candidate.end], raw_lines, line - block.first_line)
            found = list(self._line(line, text, items))
            if found or self._open:
                self.counts.matched += 1
            elif any(word.decode() in text[0] for word in ERROR_WORDS):
                self.counts.error_like += 1
                if len(self.counts.error_lines) < SHOWN_ERROR_LINES:
                    self.counts.error_lines.append(line)
            yield from found
            line += 1
        while self._open and at < len(data):
            end = data.find(b"\n", at)
            end = len(data) if end < 0 else end
            yield from self._line(line, _text(data[at:end], raw_lines, line - block.first_line), ())
            at, line = end + 1, line + 1

    def _line(self, line: int, text: tuple[str, str], items: tuple[Rule | StepLine, ...]) -> Iterator[Hit]:
        clean, raw = text
        n = 0
        segments = _segments(clean, [literal for item in items for literal in item.literals])
        for segment, peeled in segments:
            shown = raw if len(segments) == 1 else segment
            begun = [hit for item in items for hit in _matches(item, peeled, line, shown)]
            ended = self._feed_open(line, peeled, shown)
            opening = [_Open(hit, record) for hit in begun if (record := _record_of(hit.rule)) is not None]
            claimed = any(not _is_fallback(hit) for hit in begun)
            whole = [hit for hit in begun if _record_of(hit.rule) is None and not (claimed and _is_fallback(hit))]
            self._open += opening
            for hit in (*whole, *(hit for hit in ended if not (claimed and _is_fallback(hit)))):
                if n == MOST_RECORDS_PER_LINE:
                    self.counts.dropped += 1
                    continue
                hit.n, n = n, n + 1
                yield hit

    def _feed_open(self, line: int, peeled: Peeled, text: str) -> list[Hit]:
        done: list[Hit] = []
        still: list[_Open] = []
        ends: dict[str, re.Match[str] | None] = {}  # per rule: one line ends one record, the one that began last
        for item in reversed(self._open):
            item.all_lines -= 1
            opener = item.hit.peeled
            if (opener.rank, opener.pid) == (peeled.rank, peeled.pid):
                item.own_lines -= 1
                rule_id = item.hit.rule.id
                if rule_id not in ends:
                    ends[rule_id] = item.record.ends.search(peeled.message)
                if (found := ends[rule_id]) is not None:
                    ends[rule_id] = None
                    done.append(_ended(item, found, line, peeled, text))
                    continue
            if item.own_lines > 0 and item.all_lines > 0:
                still.append(item)
            else:
                done.extend(_unended(item))
        self._open = still[::-1]
        return done[::-1]

    def _close_all(self) -> Iterator[Hit]:
        for item in self._open:
            yield from _unended(item)
        self._open = []


def _ended(item: _Open, found: re.Match[str], line: int, peeled: Peeled, text: str) -> Hit:
    hit = item.hit
    hit.groups |= {key: value for key, value in found.groupdict().items() if value is not None}
    hit.line_end = line
    if item.record.key == "end":
        hit.groups["record_start"] = str(hit.line)
        hit.line, hit.peeled, hit.text = line, peeled, text
    return hit


def _unended(item: _Open) -> list[Hit]:
    if item.record.unended == "drop":
        return []
    item.hit.groups["record_ended"] = "no"
    return [item.hit]


def _record_of(rule: Rule | StepLine) -> Record | None:
    return rule.record if isinstance(rule, Rule) else None


def _is_fallback(hit: Hit) -> bool:
    return isinstance(hit.rule, Rule) and hit.rule.fallback


def _text(data: bytes, raw_lines: list[bytes], index: int) -> tuple[str, str]:
    """The line as it is matched and as it is shown: without and with its terminal escapes."""
    clean = data.removesuffix(b"\r").decode("utf-8", "backslashreplace")
    if not raw_lines:
        return clean, clean
    return clean, raw_lines[index].removesuffix(b"\r").decode("utf-8", "backslashreplace")


def _segments(text: str, literals: Sequence[str]) -> list[tuple[str, Peeled]]:
    """The stretches of a line that may hold a record of their own, each with what its envelopes say."""
    parts = [part for piece in text.split("\r") for part in _GLUED.split(piece)] if len(text) > 1 else [text]
    segments: list[tuple[str, Peeled]] = []
    for part in parts:
        if len(part) <= 2 * LONGEST_SEGMENT:
            if part.strip():
                segments.append((part, peel(part)))
            continue
        masked = mask_secrets(part)  # before it is cut: half a secret would not be known as one
        start, *later = _near(masked, literals)
        peeled = peel(start)
        segments += [(start, peeled), *((piece, replace(peeled, message=piece)) for piece in later)]
    return segments or [("", Peeled(""))]


def _near(text: str, literals: Sequence[str]) -> list[str]:
    """The start of a long text, its end, and what is near a literal; no character twice."""
    places = sorted({found.start() for literal in literals for found in re.finditer(re.escape(literal), text)})
    spans = [(max(0, place - REACH // 4), place + REACH) for place in places]
    start, end = 0, LONGEST_SEGMENT
    pieces: list[str] = []
    for first, behind in sorted([*spans, (len(text) - LONGEST_SEGMENT, len(text))]):
        if behind <= end:
            continue
        if first > end or end - start >= 2 * LONGEST_SEGMENT:
            pieces.append(text[start : min(end, first)])
            start = first
        end = behind
    return [*pieces, text[start:end]]


def hits_of(rule_set: RuleSet, peeled: Peeled, line: int, text: str) -> list[Hit]:
    """The records that one message makes by itself; a fallback only where no other rule fits.

    Args:
        rule_set: The rules; those whose record goes on over further lines are left out.
        peeled: The message and what its envelopes say.
        line: The line that holds it.
        text: What is kept as the text of the record.
    """
    hits = [hit for rule in rule_set.rules if rule.record is None for hit in _matches(rule, peeled, line, text)]
    claimed = any(not _is_fallback(hit) for hit in hits)
    return [hit for hit in hits if not (claimed and _is_fallback(hit))]


def _matches(item: Rule | StepLine, peeled: Peeled, line: int, text: str) -> list[Hit]:
    message = peeled.message
    if not any(literal in message for literal in item.literals):
        return []
    if isinstance(item, Rule) and peeled.component not in item.applies_to:
        return []
    hits: list[Hit] = []
    for found in islice(item.pattern.finditer(message), MOST_RECORDS_PER_SEGMENT):
        if _is_quoted(message, found.start()):
            continue
        groups = {key: value for key, value in found.groupdict().items() if value}
        for capture in item.captures:
            more = capture.search(message)
            if more:
                groups |= {key: value for key, value in more.groupdict().items() if value and key not in groups}
        hits.append(Hit(item, line, line, 0, peeled, groups, text))
    return hits


def _is_quoted(message: str, at: int) -> bool:
    """Words in quotation marks are about a failure, not one."""
    before = message[:at]
    if before.count('"') % 2 == 1 or before.count("`") % 2 == 1:
        return True
    if before.rfind("\u2018") > before.rfind("\u2019") or before.rfind("\u201c") > before.rfind("\u201d"):
        return True
    # A single mark opens a quotation only at the start of a word and where another closes it; the rest are apostrophes.
    opens = before.rfind("'")
    if opens == at - 1 >= 0:
        return True
    return opens >= 0 and before[opens - 1 : opens] in _BEFORE_QUOTE and "'" in message[at:]
