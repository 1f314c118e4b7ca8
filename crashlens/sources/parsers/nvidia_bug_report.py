"""`nvidia-bug-report.log(.gz)`: the sections of the script, each read as what it is.

Sections that hold logs (dmesg, journal, syslog, installer and fabric manager logs) are searched by the rules, together,
so that they share their clocks; the journal stands there newest boot first, and time, not the order in the file, orders
its records. Sections of another known format (`nvidia-smi --query`, CSV) go to the parser of that format. Register
dumps, base64 and tables of the machine are not searched. Line numbers are those of the report.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from crashlens.catalog.bug_report_sections import holds_no_log
from crashlens.scan.member import Block, Member
from crashlens.scan.sections import END, START, Section, split_sections
from crashlens.sources.format import Format
from crashlens.sources.parsers import text_log
from crashlens.sources.writer import TableWriter

_SNIFFED = 64 * 1024
_LEAST_SURE = 0.5  # below this a section is searched as a log


def sniff(head: bytes) -> float:
    """0.99 where the head holds the first sentence of the script, else 0."""
    return 0.99 if START in head[:4096] else 0.0


def bug_report(formats: tuple[Format, ...]) -> Format:
    """The format, with those that a section may have beside that of a log."""

    def parse(member: Member, out: TableWriter) -> None:
        with TemporaryDirectory(prefix="crashlens-") as folder:
            _Report(member, formats, Path(folder)).read(out)

    return Format(
        "nvidia_bug_report", "nvidia-bug-report log", sniff, parse,
        ("events", "steps", "samples", "inventory", "clocks", "gpus", "stamps"),
    )  # fmt: skip


@dataclass
class _Part(Member):
    """Some lines of a file, read as a file of their own whose line numbers are those of the whole."""

    source: Callable[[], Iterator[Block]] = lambda: iter(())

    def blocks(self) -> Iterator[Block]:
        """The blocks of the part."""
        for block in self.source():
            self.lines = max(self.lines, block.first_line)
            yield block


@dataclass
class _Report:
    member: Member
    formats: tuple[Format, ...]
    folder: Path
    ended: bool = False
    unsearched: int = 0
    sections: int = 0
    spooled: list[tuple[Format, Section, Path]] = field(default_factory=list[tuple[Format, Section, Path]])

    def read(self, out: TableWriter) -> None:
        logs = _Part(self.member.path, self.member.file, source=self._logs)
        text_log.parse(logs, out)
        for kind, section, file in self.spooled:
            kind.parse(_Part(self.member.path, file, source=_from_line(file, section.line)), out)
        out.notice(
            f"It has {self.sections:,} sections; {self.unsearched:,} of them hold no log (register dumps, tables, "
            "base64) and were not searched."
        )
        if not self.ended:
            self.member.complete = False
            out.notice(
                "The report has no end line: it was cut off, or the script hung. The sections before that were read."
            )

    def _logs(self) -> Iterator[Block]:
        last = -1
        how: Format | None = None
        skipped = False
        for section, block in split_sections(self.member.blocks()):
            self.ended = self.ended or END in block.data[-4096:]
            if section.number != last:
                last, self.sections = section.number, self.sections + 1
                skipped = holds_no_log(section.title)
                self.unsearched += skipped
                how = None if skipped else self._format_of(block)
                if how is not None:
                    self.spooled.append((how, section, self.folder / str(section.number)))
            if how is not None:
                with self.spooled[-1][2].open("ab") as file:
                    file.write(block.data)
            elif not skipped:
                yield block

    def _format_of(self, block: Block) -> Format | None:
        body = block.data.split(b"\n", 4)[-1][:_SNIFFED]
        scored = [(item.sniff(body), -number, item) for number, item in enumerate(self.formats)]
        best = max(scored, key=lambda entry: entry[:2], default=None)
        return best[2] if best is not None and best[0] >= _LEAST_SURE else None


def _from_line(file: Path, line: int) -> Callable[[], Iterator[Block]]:
    def blocks() -> Iterator[Block]:
        for block in Member("", file).blocks():
            yield Block(block.first_line + line - 1, block.data)

    return blocks
