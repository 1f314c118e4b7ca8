"""A line is a stack of envelopes: what did each of them say, and where does the message begin?

Peeled from outside in: transport, launcher, logger, component. Every stamp is kept; an inner one never replaces an
outer one. What no envelope explains is the message.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from crashlens.scan.stamps import Stamp, uptime_stamp, wall_stamp

MOST_LAYERS = 8

_CLOCK = r"(?P<hour>\d\d):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,](?P<fraction>\d{1,9}))?)?"
_DATE = r"(?P<year>\d{4})[-/](?P<month>\d\d)[-/](?P<day>\d\d)"
_OFFSET = r"(?P<offset>Z|[+-]\d\d:?\d\d)"
_ENGLISH = r"(?P<month>Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"


@dataclass
class Peeled:
    """What the envelopes of one line said.

    Attributes:
        message: What is left when they are taken off.
        stamps: Stamps from outside in.
        host: Machine named by the innermost envelope that names one.
        rank: Global rank.
        local_rank: Rank within the node.
        pid: Process id.
        component: kernel | nccl | c10d | process.
        severity: What the logger called it, or None.
    """

    message: str
    stamps: list[Stamp] = field(default_factory=list[Stamp])
    host: str | None = None
    rank: int | None = None
    local_rank: int | None = None
    pid: int | None = None
    component: str = "process"
    severity: str | None = None


def _stamped(layer: str) -> Callable[[Peeled, re.Match[str]], bool]:
    def take(peeled: Peeled, found: re.Match[str]) -> bool:
        stamp = wall_stamp(layer, found)
        if stamp is not None:
            peeled.stamps.append(stamp)
        return stamp is not None

    return take


def _ctime(peeled: Peeled, found: re.Match[str]) -> bool:
    peeled.component = "kernel"  # only `dmesg -T` prints this form in brackets
    return _stamped("ctime")(peeled, found)


def _uptime(peeled: Peeled, found: re.Match[str]) -> bool:
    peeled.stamps.append(uptime_stamp("dmesg", found["seconds"], found["fraction"]))
    peeled.component = "kernel"
    return True


def _kmsg(peeled: Peeled, found: re.Match[str]) -> bool:
    us = found["microseconds"]
    peeled.stamps.append(uptime_stamp("kmsg", us[:-6] or "0", us[-6:].rjust(6, "0")))
    peeled.component = "kernel"
    return True


def _kernel_word(peeled: Peeled, _found: re.Match[str]) -> bool:
    peeled.component = "kernel"
    return True


def _syslog_tag(peeled: Peeled, found: re.Match[str]) -> bool:
    if not peeled.stamps:
        return False  # `host tag:` means something only behind a stamp
    if peeled.stamps[-1].layer == "wall" and found["tag"] != "kernel" and not found["pid"]:
        return False  # Python loggers print such stamps too, and `epoch1 loss: 2.1` behind them
    if found["tag"] != "kernel" and not found["pid"] and not re.search(r"[\d.-]", found["host"]):
        return False  # two words and a colon: more likely the start of a sentence
    peeled.host = found["host"]
    if found["pid"]:
        peeled.pid = int(found["pid"])
    if found["tag"] == "kernel":
        peeled.component = "kernel"
    rank = re.fullmatch(r"rank(\d{1,6})", found["tag"])
    if rank:
        peeled.rank = int(rank[1])
    return True


def _rank(peeled: Peeled, found: re.Match[str]) -> bool:
    peeled.rank = int(found["rank"])
    return True


def _local_rank(peeled: Peeled, found: re.Match[str]) -> bool:
    peeled.local_rank = int(found["local_rank"])
    return True


def _actor(peeled: Peeled, found: re.Match[str]) -> bool:
    peeled.pid = int(found["pid"])
    if found["ip"]:
        peeled.host = found["ip"]
    return True


def _nccl(peeled: Peeled, found: re.Match[str]) -> bool:
    peeled.host, peeled.pid = found["host"], int(found["pid"])
    peeled.component = "nccl"
    peeled.severity = found["level"].lower()
    return True


def _glog(peeled: Peeled, found: re.Match[str]) -> bool:
    if found["hour"] and not _stamped("glog")(peeled, found):
        return False
    if (found["file"] or "").startswith(("ProcessGroup", "TCPStore", "socket.cpp", "HeartbeatMonitor")):
        peeled.component = "c10d"
    peeled.severity = {"I": "info", "W": "warning", "E": "error", "F": "fatal"}[found["level"]]
    return True


def _level(peeled: Peeled, found: re.Match[str]) -> bool:
    peeled.severity = found["level"].lower()
    return True


def _vllm(peeled: Peeled, found: re.Match[str]) -> bool:
    return _stamped("vllm")(peeled, found) and _level(peeled, found)


_HOST = r"(?P<host>[A-Za-z0-9][\w.-]{0,80})"
_SYSLOG_TAG = _HOST + r" (?P<tag>[A-Za-z_][\w./@-]{0,60})(?:\[(?P<pid>\d{1,10})\])?: "
_NCCL = (
    _HOST
    + r":(?P<pid>\d{1,10}):\d{1,10} \[-?\d{1,4}\] (?:[\w/.]{1,80}:\d{1,6} )?NCCL (?P<level>INFO|WARN|ERROR|TRACE) ?"
)
_ACTOR = r"\([A-Za-z_][\w:.]{0,60} pid=(?P<pid>\d{1,10})(?:, ip=(?P<ip>[0-9a-fA-F.:]{2,45}))?\) ?"
_GLOG_FILE = r"(?P<file>[\w./-]{1,200}:\d{1,6})"
_GLOG = r"\[?(?P<level>[IWEF])(?P<month>\d\d?)(?P<day>\d\d) " + _CLOCK + r"(?: +\d{1,10})* ?" + _GLOG_FILE + r"?\] ?"
_LEVEL = r"(?P<level>DEBUG|INFO|WARN|WARNING|ERROR|CRITICAL|FATAL)"
_CTIME = rf"\[(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) {_ENGLISH} +(?P<day>\d\d?) {_CLOCK}(?: (?P<year>\d{{4}}))?\] ?"

_LAYERS: tuple[tuple[re.Pattern[str], Callable[[Peeled, re.Match[str]], bool]], ...] = tuple(
    (re.compile(pattern), take)
    for pattern, take in (
        (rf"{_DATE}[T ]{_CLOCK} ?{_OFFSET}(?: |\t|: |\] ?|$)", _stamped("iso")),
        (rf"\[{_DATE}[T ]{_CLOCK}(?: ?{_OFFSET})?\] ?", _stamped("bracketed")),
        (rf"{_DATE}[T ,]{_CLOCK}(?: ?\||:(?= ))?(?: |\t|$)", _stamped("wall")),
        (_CTIME, _ctime),
        (rf"{_ENGLISH} +(?P<day>\d\d?) {_CLOCK} ", _stamped("syslog")),
        (r"\[ *(?P<seconds>\d{1,10})\.(?P<fraction>\d{3,6})\] ?", _uptime),
        (r"\d{1,3},\d{1,12},(?P<microseconds>\d{1,18}),[^;]{0,20};", _kmsg),
        (r"(?:kern|user|daemon|syslog) {0,3}:\w{3,7} {0,4}: ", _kernel_word),
        (r"<\d{1,3}>", _kernel_word),
        (r"(?!(?:INFO|WARN|WARNING|ERROR|DEBUG|FATAL|CRITICAL|TRACE)\b)" + _SYSLOG_TAG, _syslog_tag),
        (r"\[rank(?P<rank>\d{1,6})\]:? ?", _rank),
        (r"\[default(?P<local_rank>\d{1,4})\]: ?", _local_rank),
        (r"rank[=:](?P<rank>\d{1,6})[ ,:]+", _rank),
        (_ACTOR, _actor),
        (_NCCL, _nccl),
        (_GLOG, _glog),
        (r"\[(?P<level>[IWEF]) " + _GLOG_FILE + r"\] ?(?P<hour>)", _glog),
        (_LEVEL + rf" (?P<month>\d\d)-(?P<day>\d\d) {_CLOCK} \[?[\w./-]{{1,200}}:\d{{1,6}}\] ?", _vllm),
        (r"- [\w.]{1,80} - " + _LEVEL + r" - ", _level),
        (r"\[? {0,4}" + _LEVEL + r"(?:\]:?|:| +-|(?![\w\]])) ?", _level),
    )
)
_KERNEL_START = re.compile(r"\s*(?:NVRM|nvidia-nvswitch\d*|nvidia-modeset|nvidia-peermem)\b")
_ANSI = re.compile(rb"\x1b(?:\[[0-9;?]{0,32}[ -/]{0,4}[@-~]|\][^\x07\x1b\n]{0,512}(?:\x07|\x1b\\)|[@-Z\\-_])")


def strip_unprinted(data: bytes) -> bytes:
    """`data` without terminal escape sequences and NUL bytes; line ends stay where they are."""
    if b"\x00" in data:
        data = data.replace(b"\x00", b"")
    return _ANSI.sub(b"", data) if b"\x1b" in data else data


def peel(line: str) -> Peeled:
    """Take the envelopes off one line (without line end and terminal escapes). Never raises."""
    peeled = Peeled(line)
    at = 0
    for _ in range(MOST_LAYERS):
        for pattern, take in _LAYERS:
            found = pattern.match(line, at)
            if found and found.end() > at and take(peeled, found):
                at = found.end()
                break
        else:
            break
    peeled.message = line[at:]
    if _KERNEL_START.match(peeled.message):
        peeled.component = "kernel"
        peeled.message = peeled.message.lstrip()
    return peeled
