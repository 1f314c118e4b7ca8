"""Blocks of lines to records: which rules match which lines, over how many lines does each record go?

Only lines with a literal of a rule are looked at, and the lines that an open record still waits for. A line may hold
several records: progress bars end in CR, and ranks that share a file glue lines together.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, pairwise
from typing import TypeGuard

from crashlens.rules.fast_matcher import AutoMatcher
from crashlens.rules.matcher import LONG_LINE, Candidate, Matcher
from crashlens.rules.model import Record, Rule, RuleSet, StepLine
from crashlens.scan.ahead import usable_threads, work_ahead
from crashlens.scan.block_lines import BlockLines
from crashlens.scan.envelope import Peeled, peel, strip_unprinted
from crashlens.scan.harmless import MOST_JUDGED, HarmlessWords, Span, about, covers, handled
from crashlens.scan.masking import mask_secrets
from crashlens.scan.member import Block, count_lines
from crashlens.scan.rejoin import Joined, rejoined
from crashlens.scan.templates import TemplateCounts

# Of a stretch twice as long the start, the end and what is near a literal are searched.
LONGEST_SEGMENT = LONG_LINE // 2
REACH = 8 * 1024  # characters behind a literal that belong to its record, and a quarter of it before
MOST_RECORDS_PER_SEGMENT = 16
MOST_RECORDS_PER_LINE = 2**16 - 1  # what the column that numbers them can hold
_NO_HITS: list["Hit"] = []
_NOT_FED: dict[str, bool] = {}
_BEFORE_QUOTE = {"", " ", "\t", "(", "[", "{", "=", ",", ":"}
SHOWN_ERROR_LINES = 3  # of the lines with an error word that no rule claims, so many are named
READ_ON_FACTOR = 8  # lines of other ranks that may stand between those of one record
MOST_RECORD_LINES = 2000  # that a record may go on for, whatever its rule says
MOST_RECORD_CHARACTERS = 1024 * 1024
KEPT_NUMBERS = 10_000  # lines whose records are still numbered
# A progress bar ends in `examples/s]` or `s/it]`; what is printed next to it is glued to that bracket.
_GLUED = re.compile(
    r"(?:(?<=[^\s\]:])|(?<=/s\])|(?<=/it\]))(?=\[rank\d{1,6}\]:(?:\[[IWEF]| Traceback \(| [\w.]{1,80}Error: ))"
    r"|(?<=\w)(?=NCCL version \d)"
)
# What stands in front of the first may be an envelope of it; a second one begins a record of its own.
_NCCL_AGAIN = re.compile(
    r"(?<![\w.-])(?P<host>[A-Za-z0-9][\w.-]{0,80}):\d{1,10}:\d{1,10} \[-?\d{1,4}\] "
    r"(?=(?:[\w/.]{1,80}:\d{1,6} )?NCCL (?:INFO|WARN) )"
)


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
        span: Where the pattern matched in the message.
    """

    rule: Rule | StepLine
    line: int
    line_end: int
    n: int
    peeled: Peeled
    groups: dict[str, str]
    text: str
    span: tuple[int, int] = (0, 0)


class _Open:
    """A record whose end was not seen yet."""

    def __init__(self, hit: Hit, record: Record) -> None:
        self.hit = hit
        self.record = record
        self.own_lines = record.within_lines
        self.all_lines = min(record.within_lines * READ_ON_FACTOR, MOST_RECORD_LINES)
        self.characters = 0


@dataclass
class LineCounts:
    """What became of the lines of one source.

    Attributes:
        matched: Lines that a rule claimed.
        error_like: Lines with an error word that no rule claimed.
        error_lines: The first of them.
        templates: What they say, but for what differs from line to line.
        unjudged: How many of `error_like` were too many to be looked at one by one.
        harmless: Lines whose error words are advice, a quotation, a setting, code, a count of zero or a caught error.
        dropped: Records beyond the most that one line may hold.
    """

    matched: int = 0
    error_like: int = 0
    error_lines: list[int] = field(default_factory=list[int])
    templates: TemplateCounts = field(default_factory=TemplateCounts)
    unjudged: int = 0
    harmless: int = 0
    dropped: int = 0


@dataclass
class RecordReader:
    """Finds the records of one source, block by block.

    Attributes:
        rule_set: The rules.
        matcher: The engine that finds candidate lines; None takes the fast one where it is there and worth it.
        threads: How many threads may look for candidates.
        counts: Lines matched, and lines with an error word that no rule claimed.
    """

    rule_set: RuleSet
    matcher: Matcher | None = None
    counts: LineCounts = field(default_factory=LineCounts)
    threads: int = field(default_factory=usable_threads)

    def __post_init__(self) -> None:
        self._items: tuple[Rule | StepLine, ...] = (*self.rule_set.rules, *self.rule_set.step_lines)
        self._engine = self.matcher or AutoMatcher(
            [item.literals for item in self._items], [searched_pattern(item) for item in self._items]
        )
        self._open: list[_Open] = []
        self._line_end = 0  # the last line of the file that the line being read was made of
        self._numbers: dict[int, int] = {}  # records of each line so far
        self._rejoined: set[tuple[str, int]] = set()  # rule and line of what only the joined lines say
        self._words = HarmlessWords(self.rule_set.harmless)
        self._segments: list[tuple[str, Peeled]] = []  # of the line that was read last
        self._going_on: tuple[int, Peeled, frozenset[str]] | None = None  # a handled line whose record comes next
        self._fed = False  # whether the line that was read last goes on with a record

    def read(self, blocks: Iterable[Block]) -> Iterator[Hit]:
        """Every record, in the order of the lines that end them."""
        for block, (data, candidates) in work_ahead(blocks, self._search, threads=self.threads):
            yield from self._read_block(block, data, candidates)
        yield from self._close_all()

    def _search(self, block: Block) -> tuple[bytes, list[Candidate]]:
        data = strip_unprinted(block.data)
        return data, list(self._engine.candidates(data))

    def _read_block(self, block: Block, data: bytes, candidates: list[Candidate]) -> Iterator[Hit]:
        lines = BlockLines(block, data)
        at, line = 0, block.first_line
        for candidate in candidates:
            while self._open and at < candidate.start:
                end = data.find(b"\n", at)
                yield from self._read_line(lines, line, data[at:end])
                at, line = end + 1, line + 1
            if candidate.start < at:
                continue
            line += count_lines(data, at, candidate.start)
            at = candidate.end + 1
            if not (candidate.items or self._open) and self._words.judged >= MOST_JUDGED:
                self._count_unjudged()  # without reading the line
                line += 1
                continue
            items = tuple(self._items[number] for number in candidate.items)
            found = data[candidate.start : candidate.end]
            yield from self._read_line(lines, line, found, items, error=candidate.error)
            line += 1
        while self._open and at < len(data):
            end = data.find(b"\n", at)
            end = len(data) if end < 0 else end
            yield from self._read_line(lines, line, data[at:end])
            at, line = end + 1, line + 1

    def _read_line(
        self, lines: BlockLines, line: int, data: bytes, items: tuple[Rule | StepLine, ...] = (), *, error: bool = False
    ) -> list[Hit]:
        """The records of a line of a block, which may be made of several lines of the file or only be tried."""
        number, pieces = lines.number(line), lines.pieces(line)
        self._line_end = lines.last(line)
        if pieces is None:
            return self._counted(number, lines.text(line, data), items, error=error)
        found = rejoined(
            Joined(pieces, number, lines.text(line, data)[1]),
            lambda peeled: self._judged(
                [hit for item in items for hit in _matches(item, peeled, number, peeled.message)], number, peeled
            ),
            _is_fallback,
        )
        self._rejoined = {(hit.rule.id, covered) for hit in found for covered in range(hit.line, hit.line_end + 1)}
        self.counts.matched += len({covered for _, covered in self._rejoined})
        self._open += [_Open(hit, record) for hit in found if (record := _record_of(hit.rule)) is not None]
        return list(self._numbered(hit for hit in found if _record_of(hit.rule) is None))

    def _counted(
        self, line: int, text: tuple[str, str], items: tuple[Rule | StepLine, ...] = (), *, error: bool = False
    ) -> list[Hit]:
        self._fed = False
        found = self._line(line, text, items)
        if any(covered == line for _, covered in self._rejoined):
            return found  # it was counted with the joined lines
        opened = any(item.hit.line == line for item in self._open)
        if found or opened or (error and self._fed):
            self.counts.matched += 1
        elif error:
            self._count_unclaimed(line)
        return found

    def _line(self, line: int, text: tuple[str, str], items: tuple[Rule | StepLine, ...]) -> list[Hit]:
        clean, raw = text
        segments = self._segments = _segments(clean, items)
        found: list[Hit] = []
        for segment, peeled in segments:
            shown = raw if len(segments) == 1 else segment
            begun = self._begun(line, peeled, shown, items) if items else []
            ended, fed = self._feed_open(line, peeled, shown) if self._open else (_NO_HITS, _NOT_FED)
            if not begun and not ended:
                continue
            begun = [hit for hit in begun if hit.rule.id not in fed]  # the line goes on with the record that is open
            over = any(not _is_fallback(hit) for hit in begun)
            claimed = over or not all(fed.values())
            begun = [hit for hit in begun if not (claimed and _is_fallback(hit))]
            # A line that ends a traceback is not also an exception without one.
            closing = any(_is_fallback(hit) for hit in ended)
            whole = [hit for hit in begun if _record_of(hit.rule) is None and not (closing and _is_fallback(hit))]
            self._open += [_Open(hit, record) for hit in begun if (record := _record_of(hit.rule)) is not None]
            # A fallback that other rules claim the end of is dropped; what only its number of lines ended is not.
            found += self._numbered((*whole, *(hit for hit in ended if not (over and _is_fallback(hit)))))
        return found

    def _begun(self, line: int, peeled: Peeled, shown: str, items: tuple[Rule | StepLine, ...]) -> list[Hit]:
        """The records that begin in one stretch of a line."""
        begun = self._judged([hit for item in items for hit in _matches(item, peeled, line, shown)], line, peeled)
        if self._rejoined:
            begun = [hit for hit in begun if (hit.rule.id, line) not in self._rejoined]
        for hit in begun:
            hit.line_end = self._line_end
        return begun

    def _judged(self, begun: list[Hit], line: int, peeled: Peeled) -> list[Hit]:
        """Without what stands in advice, quotations, settings or code; what the writer of the line caught is marked."""
        if not any(isinstance(hit.rule, Rule) for hit in begun):
            return begun
        spans = self._words.spans(peeled.message, peeled.component)
        quoted, caught = about(spans), handled(spans)
        kept = [hit for hit in begun if not (_reads_message(hit.rule) and covers(quoted, *hit.span))]
        opened = frozenset[str]()
        if self._going_on is not None and self._going_on[0] == line - 1:
            before = self._going_on[1]
            opened = self._going_on[2] if (before.rank, before.pid) == (peeled.rank, peeled.pid) else opened
        for hit in kept:
            # Only an error can be handled: a rule of a lower severity may say just that; nothing survives a fatal one.
            if (
                _reads_message(hit.rule)
                and hit.rule.severity == "error"
                and (hit.rule.id in opened or covers(caught, *hit.span))
            ):
                hit.groups["handled"] = "yes"
        self._note_opening(line, peeled, caught)
        return kept

    def _note_opening(self, line: int, peeled: Peeled, caught: list[Span]) -> None:
        """Remember that the record of the next line belongs to what was caught here."""
        if opens := frozenset(rule_id for span in caught for rule_id in span.row.opens):
            self._going_on = (line, peeled, opens)

    def _count_unjudged(self) -> None:
        self.counts.error_like += 1
        self.counts.unjudged += 1

    def _count_unclaimed(self, line: int) -> None:
        """Count a line with an error word that no rule claimed: as error-like, as harmless, or not at all."""
        if self._words.judged >= MOST_JUDGED:
            self._count_unjudged()
            return
        counts, harmless = self.counts, False
        for _, peeled in self._segments:
            judged, spans = self._words.judge(peeled.message, peeled.component, peeled.severity)
            if judged == "error_like":
                counts.error_like += 1
                if len(counts.error_lines) < SHOWN_ERROR_LINES:
                    counts.error_lines.append(line)
                counts.templates.add(line, peeled.message)
                return
            harmless = harmless or judged == "harmless"
            self._note_opening(line, peeled, handled(spans))
        counts.harmless += harmless

    def _numbered(self, hits: Iterable[Hit]) -> Iterator[Hit]:
        """The records with their number within the line that names them, up to the most that one line may hold."""
        for hit in hits:
            n = self._numbers.get(hit.line, 0)
            if n == MOST_RECORDS_PER_LINE:
                self.counts.dropped += 1
                continue
            self._numbers[hit.line] = n + 1
            if len(self._numbers) > KEPT_NUMBERS:
                del self._numbers[next(iter(self._numbers))]
            hit.n = n
            yield hit

    def _feed_open(self, line: int, peeled: Peeled, text: str) -> tuple[list[Hit], dict[str, bool]]:
        """The records that this line ends; the rules of the open records that it belongs to: is it a fallback?"""
        done: list[Hit] = []
        fed: dict[str, bool] = {}
        still: list[_Open] = []
        ends: dict[str, re.Match[str] | None] = {}  # per rule: one line ends one record, the one that began last
        for item in reversed(self._open):
            item.all_lines -= 1
            item.characters += len(text)
            if _is_same_stream(item.hit.peeled, peeled):
                self._fed = True
                item.own_lines -= 1
                rule_id = item.hit.rule.id
                if rule_id not in ends:
                    ends[rule_id] = item.record.ends.search(peeled.message)
                if (found := ends[rule_id]) is not None and _fits(item, found):
                    ends[rule_id] = None
                    fed[rule_id] = _is_fallback(item.hit)
                    done.append(_ended(item, found, (line, self._line_end), peeled, text))
                    continue
                if rule_id not in fed and _also(item, self._line_end, peeled):
                    fed[rule_id] = _is_fallback(item.hit)
            if item.own_lines > 0 and item.all_lines > 0 and item.characters < MOST_RECORD_CHARACTERS:
                still.append(item)
            else:
                done.extend(_unended(item))
        self._open = still[::-1]
        return done[::-1], fed

    def _close_all(self) -> Iterator[Hit]:
        for item in self._open:
            yield from _unended(item)
        self._open = []


def _is_same_stream(opener: Peeled, peeled: Peeled) -> bool:
    """Whether two lines may be of one record: process, rank and output are the same, and no other machine is named."""
    if (opener.rank, opener.local_rank, opener.pid, opener.part) != (
        peeled.rank,
        peeled.local_rank,
        peeled.pid,
        peeled.part,
    ):
        return False
    return opener.host == peeled.host or opener.host is None or peeled.host is None


def _fits(item: _Open, found: re.Match[str]) -> bool:
    """Whether a line says of what its record is about the same as the record does."""
    said = found.groupdict()
    ours = item.hit.groups
    return all(said.get(name) in {None, ours.get(name, said.get(name))} for name in item.record.same)


def _also(item: _Open, line_end: int, peeled: Peeled) -> bool:
    """Whether a line on the way belongs to an open record; what it says is added."""
    found = item.record.also.search(peeled.message) if item.record.also else None
    if found is None or not _fits(item, found):
        return False
    item.hit.groups |= {key: value for key, value in found.groupdict().items() if value and key not in item.hit.groups}
    item.hit.line_end = line_end
    return True


def _ended(item: _Open, found: re.Match[str], place: tuple[int, int], peeled: Peeled, text: str) -> Hit:
    hit = item.hit
    hit.groups |= {key: value for key, value in found.groupdict().items() if value is not None}
    hit.line_end = place[1]
    if item.record.key == "end":
        hit.groups["record_start"] = str(hit.line)
        hit.line, hit.peeled, hit.text = place[0], peeled, text
    return hit


def _unended(item: _Open) -> list[Hit]:
    if item.record.unended == "drop":
        return []
    item.hit.groups["record_ended"] = "no"
    if item.all_lines <= 0 or item.characters >= MOST_RECORD_CHARACTERS:
        item.hit.groups["truncated_record"] = "yes"
    return [item.hit]


def _reads_message(rule: Rule | StepLine) -> TypeGuard[Rule]:
    return isinstance(rule, Rule) and rule.reads == "message"


def searched_pattern(item: Rule | StepLine) -> str:
    """What an engine may search for an item; empty where only its literals stand in the lines that it sees."""
    return "" if isinstance(item, Rule) and item.reads == "line" else item.pattern.pattern


def _record_of(rule: Rule | StepLine) -> Record | None:
    return rule.record if isinstance(rule, Rule) else None


def _is_fallback(hit: Hit) -> bool:
    return isinstance(hit.rule, Rule) and hit.rule.fallback


def _segments(text: str, items: Sequence[Rule | StepLine]) -> list[tuple[str, Peeled]]:
    """The stretches of a line that may hold a record of their own, each with what its envelopes say."""
    parts = [part for piece in text.split("\r") for part in _unglued(piece)] if len(text) > 1 else [text]
    segments: list[tuple[str, Peeled]] = []
    for part in parts:
        if len(part) <= 2 * LONGEST_SEGMENT:
            if part.strip():
                segments.append((part, peel(part)))
            continue
        masked = mask_secrets(part)  # before it is cut: half a secret would not be known as one
        start, *later = _near(masked, [literal for item in items for literal in item.literals])
        peeled = peel(start)
        segments += [(start, peeled), *((piece, replace(peeled, message=piece)) for piece in later)]
    return segments or [("", Peeled(""))]


def _unglued(text: str) -> list[str]:
    """The records that several writers put on one line."""
    # The words that _GLUED needs are looked for first: it is tried between any two characters.
    parts = _GLUED.split(text) if _may_be_glued(text) else [text]
    if text.count(" NCCL ") < 2:
        return parts
    cut: list[str] = []
    for part in parts:
        found = [*_NCCL_AGAIN.finditer(part)]
        host = found[0]["host"] if found else ""
        # Of a name that ends in the first host, what stands before is the end of the message it is glued to.
        ends = [one.end("host") - len(host) if one["host"].endswith(host) else one.start() for one in found[1:]]
        cut += [part[start:end] for start, end in pairwise([0, *ends, len(part)])]
    return cut


def _may_be_glued(text: str) -> bool:
    at = text.find("[rank", 1)
    while at > 0:
        if not text[at - 1].isspace():
            return True
        at = text.find("[rank", at + 1)
    return text.find("NCCL version ", 1) > 0


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
    message = text if isinstance(item, Rule) and item.reads == "line" else peeled.message
    if isinstance(item, Rule) and peeled.component not in item.applies_to:
        return []
    for literal in item.literals:  # no generator: this is asked for each rule of each candidate
        if literal in message:
            break
    else:
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
        hits.append(Hit(item, line, line, 0, peeled, groups, text, found.span()))
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
