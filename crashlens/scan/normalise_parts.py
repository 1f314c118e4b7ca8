"""Container logs whose long lines come in parts (CRI)."""

import re
from dataclasses import dataclass, field

from crashlens.scan.line_writer import MOST_PART_BYTES, LineWriter, Parts, as_they_are
from crashlens.scan.member import Block

_CRI = re.compile(
    rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d) (stdout|stderr) )([FP])(?::[\w:]{1,20})? (.*)",
    re.DOTALL,
)
_PART = (b" stdout P ", b" stderr P ", b" stdout P:", b" stderr P:")


def cri_share(lines: list[bytes]) -> float:
    """How many of `lines` are of a container runtime, as a share."""
    return sum(_CRI.fullmatch(line) is not None for line in lines) / len(lines)


@dataclass
class Cri:
    """The log of a container runtime: parts `P` go on until `F`, per stream. Blocks without parts pass untouched."""

    head: list[bytes]
    open: dict[bytes, Parts] = field(default_factory=dict[bytes, Parts])
    unread: int = 0
    cut: int = 0

    def feed(self, block: Block) -> Block:
        """See `Normaliser.feed`."""
        if not self.open and not any(mark in block.data for mark in _PART):
            return block
        out = LineWriter(block)
        for number, line in as_they_are(block):
            found = _CRI.fullmatch(line.removesuffix(b"\r"))
            if found is None:
                out.add(line, number)
                continue
            prefix, stream, tag, text = found.groups()
            if stream not in self.open and tag == b"F":
                out.add(line, number)
                continue
            parts = self.open.setdefault(stream, Parts(prefix + b"F ", number, number, [], []))
            parts.add(text, number, line)
            if tag == b"F" or parts.is_full():
                self.cut += tag == b"P"
                parts.write(out)
                del self.open[stream]
        return out.done()

    def close(self) -> Block | None:
        """See `Normaliser.close`."""
        out = LineWriter(Block(1, b""))
        for parts in self.open.values():
            parts.write(out)
        self.open = {}
        return out.done()

    def notices(self) -> list[str]:
        """See `Normaliser.notices`."""
        if not self.cut:
            return []
        return [f"{self.cut:,} messages are longer than {MOST_PART_BYTES // 1024} KiB; they were read in pieces."]
