"""An nvidia-bug-report log to its sections: where does each begin, and what is its title?

The script writes a rule of 44 underscores, a blank line, and a title: `*** /path` and an `ls` line above an appended
file, else the command or a sentence. Source: nvidia-bug-report.sh of the drivers.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from crashlens.scan.member import Block

START = b"Start of NVIDIA bug report log file"
END = b"End of NVIDIA bug report log file"
LONGEST_TITLE = 200
_MOST_PENDING = 64 * 1024  # a rule of underscores with no title within so many bytes stands inside some other text
_RULE = re.compile(rb"^_{40,60}\r?$", re.MULTILINE)
_TITLE = re.compile(rb"\A_{40,60}\r?\n(?:[ \t]*\r?\n){0,4}([^\n]{1,2000})\n")


@dataclass(frozen=True, slots=True)
class Section:
    """One section.

    Attributes:
        number: Counted from 0; 0 is what stands before the first rule.
        title: First line below its rule, cut at 200 characters; "" where it has none.
        line: Line of its rule.
    """

    number: int
    title: str
    line: int


def split_sections(blocks: Iterable[Block]) -> Iterator[tuple[Section, Block]]:
    """Every block cut at the rules, with the section that each part belongs to; line numbers stay those of the file."""
    section = Section(0, "", 1)
    pending: Block | None = None
    for block in blocks:
        whole = block if pending is None else Block(pending.first_line, pending.data + block.data)
        pending = None
        for part in _cut(whole):
            if _RULE.match(part.data) is None:
                yield section, part
                continue
            title = _TITLE.match(part.data)
            if title is None and whole.data.endswith(part.data) and len(part.data) < _MOST_PENDING:
                pending = part
                continue
            text = title[1].decode("utf-8", "replace").strip()[:LONGEST_TITLE] if title else ""
            section = Section(section.number + 1, text, part.first_line)
            yield section, part
    if pending is not None:
        yield Section(section.number + 1, "", pending.first_line), pending


def _cut(block: Block) -> Iterator[Block]:
    starts = [found.start() for found in _RULE.finditer(block.data)]
    line = block.first_line
    for start, end in zip([0, *starts], [*starts, len(block.data)], strict=True):
        if start < end:
            yield Block(line, block.data[start:end])
            line += block.data.count(b"\n", start, end)
