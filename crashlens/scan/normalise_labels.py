"""Envelopes that only the file as a whole tells: task labels of srun, host labels of pdsh, times that are differences.

`3: text` is a task label where nearly every line has one; in a single line it is a sentence.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from crashlens.scan.line_writer import LineWriter, as_they_are
from crashlens.scan.member import Block, LineMap
from crashlens.scan.peeled import write_fields

LEAST_LABELLED = 0.9
LEAST_LINES = 2

_TASK = re.compile(rb" {0,7}(?:P(\d{1,3}) )?(\d{1,6}): ?")
_EACH_TASK = re.compile(rb"(?m)^ {0,7}(?:P(\d{1,3}) )?(\d{1,6}): ?")
_HOST = re.compile(rb"([A-Za-z][A-Za-z0-9.]{0,40}[\d-][A-Za-z0-9.-]{0,40}): ")
_EACH_HOST = re.compile(rb"(?m)^" + _HOST.pattern)
_QUOTED = re.compile(rb"(?m)^> ?(?!>)")
_LOGGED = re.compile(
    rb"\[?\d{4}[-/]\d\d[-/]\d\d[ T]|\[?(?:INFO|WARNING|ERROR)\b|\[(?:rank|default)\d|[IWEF]\d{4} \d\d:"
    rb"|[\w.-]{1,80}:\d{1,10}:\d{1,10} \[|\[ *\d{1,10}\.\d{3,6}\] |NVRM: "
)
_INNER_RANK = re.compile(rb"\[?[Rr]ank[ :=]?(\d{1,6})\]")
_LOCAL = re.compile(rb"\[default\d{1,4}\]:")
_DELTA = re.compile(rb"((?:\w{2,8} {0,4}:\w{2,8} {0,4}: )?)\[ {0,6}\+ {0,6}(\d{1,6})\.(\d{6})\] ?")
_MINUTE = re.compile(rb"(?:\w{2,8} {0,4}:\w{2,8} {0,4}: )?\[[^\W\d_]{2,6}\.? ?\d{1,2} \d\d:\d\d\] ")


def task_share(lines: list[bytes]) -> float:
    """How many of `lines` begin with a task label of `srun --label`, as a share; 0 where nine of ten do not."""
    found = [label for line in lines if (label := _TASK.match(line))]
    numbers = [int(label[2]) for label in found]
    grow = len(numbers) > 2 and all(after > before for before, after in pairwise(numbers))
    counted = grow and not all(label[0].endswith(b" ") for label in found)
    if counted or len(lines) < LEAST_LINES or len(found) < LEAST_LABELLED * len(lines):
        return 0.0  # numbers that only grow are line numbers, as grep -n prints them
    return len(found) / len(lines)


def host_share(lines: list[bytes]) -> float:
    """How many of `lines` begin with the name of a machine, as pdsh prints it; 0 where nine of ten do not."""
    found = [label for line in lines if (label := _HOST.match(line))]
    if len(lines) < LEAST_LINES or len(found) < LEAST_LABELLED * len(lines):
        return 0.0
    logged = sum(_LOGGED.match(label.string, label.end()) is not None for label in found)
    return len(found) / len(lines) if 2 * logged >= len(found) else 0.0


def quoted_share(lines: list[bytes]) -> float:
    """How many of `lines` are quoted as in a mail, as a share; 0 where nine of ten are not."""
    share = sum(_QUOTED.match(line) is not None for line in lines) / len(lines)
    return share if len(lines) >= LEAST_LINES and share >= LEAST_LABELLED else 0.0


def reltime_share(lines: list[bytes]) -> float:
    """How many of `lines` have a time of `dmesg --reltime`, as a share."""
    deltas = sum(_DELTA.match(line) is not None for line in lines)
    minutes = sum(_MINUTE.match(line) is not None for line in lines)
    return (deltas + minutes) / len(lines) if deltas else 0.0


@dataclass
class Labels:
    """What stands in front of every line is taken off.

    Attributes:
        label: How it looks at the start of each line.
        said: What it says of a line, as `write_fields` writes it; None where it says nothing.
    """

    label: re.Pattern[bytes]
    said: Callable[[bytes], bytes] | None

    def feed(self, block: Block) -> Block:
        """See `Normaliser.feed`."""
        data = self.label.sub(b"", block.data)
        numbers = range(block.first_line, block.first_line + block.data.count(b"\n") + 1)
        return Block(block.first_line, data, LineMap(numbers, numbers, block.first_line, block.data, said=self.said))

    def close(self) -> Block | None:
        """See `Normaliser.close`."""
        return None

    def notices(self) -> list[str]:
        """See `Normaliser.notices`."""
        return []


def tasks(head: list[bytes]) -> Labels:
    """`srun --label`: the label names the task. It is the rank too unless a rank inside differs from it."""
    labels = [(label, line) for line in head if (label := _TASK.match(line))]
    inner = [(int(label[2]), int(rank[1])) for label, line in labels if (rank := _INNER_RANK.search(line))]
    local = any(_LOCAL.match(line, label.end()) for label, line in labels)
    jobs = any(label[1] for label, _ in labels)  # tasks of a heterogeneous job are numbered per component
    ranked = not local and not jobs and all(task == rank for task, rank in inner)
    return Labels(_EACH_TASK, partial(_task_said, ranked=ranked))


def _task_said(line: bytes, *, ranked: bool) -> bytes:
    found = _TASK.match(line)
    if found is None:
        return b""
    job, task = found.groups()
    fields = {"part": f"task {'' if job is None else f'P{job.decode()}.'}{task.decode()}"}
    return write_fields(fields | ({"rank": task.decode()} if ranked else {})).encode()


def hosts(_head: list[bytes]) -> Labels:
    """`host: text` on nearly every line, as pdsh, clush and `srun` wrappers print it."""
    return Labels(_EACH_HOST, _host_said)


def _host_said(line: bytes) -> bytes:
    found = _HOST.match(line)
    return write_fields({"host": found[1].decode()}).encode() if found else b""


def quoted(_head: list[bytes]) -> Labels:
    """A whole log that somebody quoted: `> ` in front of nearly every line. One such line among others is a quote."""
    return Labels(_QUOTED, None)


@dataclass
class Reltime:
    """`dmesg --reltime`: each time is the difference to the line before; a new minute is printed as such.

    The differences add up to a clock of their own. It starts anew at every minute printed, because how much time passed
    up to there is not said.
    """

    head: list[bytes]
    elapsed_us: int = 0
    part: int = 0

    def feed(self, block: Block) -> Block:
        """See `Normaliser.feed`."""
        out = LineWriter(block)
        for number, line in as_they_are(block):
            found = _DELTA.match(line)
            if found:
                self.elapsed_us += int(found[2]) * 1_000_000 + int(found[3])
                out.add(self._prefix() + line[found.end() :], number)
            elif _MINUTE.match(line):
                self.elapsed_us, self.part = 0, self.part + 1
                out.add(self._prefix() + line, number)
            else:
                out.add(line, number)
        return out.done()

    def close(self) -> Block | None:
        """See `Normaliser.close`."""
        return None

    def notices(self) -> list[str]:
        """See `Normaliser.notices`."""
        return []

    def _prefix(self) -> bytes:
        seconds, us = divmod(self.elapsed_us, 1_000_000)
        return (
            f"\x1elayer=reltime\x1fuptime={seconds}.{us:06d}\x1fboot=from minute {self.part}\x1ftag=kernel\x1e".encode()
        )
