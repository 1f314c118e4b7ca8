"""Files whose lines are wrapped as a whole: which envelope is it, and which lines stand inside?

Plain text passes untouched. Everything else goes through one normaliser, blocks in and blocks out; each block it writes
carries a line map, so that a record still names the line of the file. What a normaliser cannot read it passes on as it
is and counts.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from crashlens.scan import normalise_journal, normalise_json, normalise_labels, normalise_parts, normalise_wraps
from crashlens.scan.member import Block

SNIFFED_LINES = 400
LEAST_SHARE = 0.8  # of the lines of the head that must have the shape of an envelope


class Normaliser(Protocol):
    """Takes one envelope off all lines of a file."""

    def feed(self, block: Block) -> Block:
        """The lines that `block` completes."""
        ...

    def close(self) -> Block | None:
        """What is left at the end of the file."""
        ...

    def notices(self) -> list[str]:
        """What could not be read, one sentence each."""
        ...


@dataclass(frozen=True, slots=True)
class Wrapping:
    """One envelope of whole files.

    Attributes:
        name: Stable name.
        share: Which share of the lines given has its shape, 0 to 1.
        make: A normaliser for a file with such a head.
    """

    name: str
    share: Callable[[list[bytes]], float]
    make: Callable[[list[bytes]], Normaliser]


WRAPPINGS: tuple[Wrapping, ...] = (
    Wrapping("docker_json", normalise_json.docker_share, normalise_json.Docker),
    Wrapping("journal_json", normalise_json.journal_share, normalise_json.Documents),
    Wrapping("json_lines", normalise_json.line_share, normalise_json.Documents),
    Wrapping("cri", normalise_parts.cri_share, normalise_parts.Cri),
    Wrapping("journal_export", normalise_journal.export_share, normalise_journal.Export),
    Wrapping("journal_pretty", normalise_journal.pretty_share, normalise_journal.Pretty),
    Wrapping("journal_verbose", normalise_journal.verbose_share, normalise_journal.Verbose),
    Wrapping("reltime", normalise_labels.reltime_share, normalise_labels.Reltime),
    Wrapping("srun_label", normalise_labels.task_share, normalise_labels.tasks),
    Wrapping("quoted", normalise_labels.quoted_share, normalise_labels.quoted),
    Wrapping("host_label", normalise_labels.host_share, normalise_labels.hosts),
    Wrapping("hard_wrapped", normalise_wraps.wrapped_share, normalise_wraps.Wraps),
    Wrapping("rich_table", normalise_wraps.rich_share, normalise_wraps.Rich),
)


@lru_cache(maxsize=4)  # every format asks for the same head
def wrapping_of(head: bytes) -> Wrapping | None:
    """The envelope that nearly all lines of `head` have, or None for plain text. Never raises."""
    lines = [line.removesuffix(b"\r") for line in head.split(b"\n")[:SNIFFED_LINES]]
    if len(head) > 0 and not head.endswith(b"\n") and len(lines) > 1 and len(lines) < SNIFFED_LINES:
        lines.pop()  # the head was cut there
    solid = [line for line in lines if line.strip(b"\x00 \t")]
    if not solid:
        return None
    return next((wrapping for wrapping in WRAPPINGS if wrapping.share(solid) >= LEAST_SHARE), None)


def normalised(blocks: Iterable[Block], head: bytes, notice: Callable[[str], None]) -> Iterator[Block]:
    """The blocks without the envelope that wraps the whole file, with line maps; plain text as it is."""
    wrapping = wrapping_of(head)
    if wrapping is None:
        yield from blocks
        return
    normaliser = wrapping.make(_solid(head))
    for block in blocks:
        out = normaliser.feed(block)
        if out.data:
            yield out
    rest = normaliser.close()
    if rest is not None and rest.data:
        yield rest
    for sentence in normaliser.notices():
        notice(sentence)


def _solid(head: bytes) -> list[bytes]:
    return [line for line in head.split(b"\n")[:SNIFFED_LINES] if line.strip(b"\x00 \t\r")]
