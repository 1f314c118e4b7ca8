"""The envelopes that stand in a line itself: what each looks like, and what it says.

Every layer names the characters that it can begin with, so that few patterns are tried at each place. The order decides
where two could match.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from crashlens.scan.peeled import RS, Peeled, read_fields, take_tag
from crashlens.scan.stamps import epoch_stamp, uptime_stamp, wall_stamp

Take = Callable[[Peeled, re.Match[str]], bool]

_CLOCK = r"(?P<hour>\d\d):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,](?P<fraction>\d{1,9}))?)?"
_DATE = r"(?P<year>\d{4})[-/](?P<month>\d\d)[-/](?P<day>\d\d)"
_OFFSET = r"(?P<offset>Z|[+-]\d\d:?\d\d)"
_NAME = r"[^\W\d_]{2,6}\.?"  # of a month or a weekday in some language; months.toml knows which are months
_MONTH = rf"(?P<month>{_NAME}|\d{{1,2}}[月월])"
_LEVEL = r"(?P<level>DEBUG|INFO|WARN|WARNING|ERROR|CRITICAL|FATAL)"
_HOST = r"(?P<host>[A-Za-z0-9<][\w.<>*-]{0,80})"  # <host>: what people write where they mask one
_SYSLOG_TAG = _HOST + r" (?P<tag>[A-Za-z_][\w./@()-]{0,60})(?:\[(?P<pid>\d{1,10})\])?: "
_TAG_AHEAD = r"(?=[A-Za-z0-9<][\w.<>*-]{0,80} [A-Za-z_][\w./@()-]{0,60}(?:\[\d{1,10}\])?: )"
# What a driver prints behind its name; without a stamp, `host kernel: ` alone may be the start of a sentence.
_DRIVER_AHEAD = (
    r"(?=\[ *\d{1,10}\.\d{3,6}\]|[A-Za-z][\w-]{2,30}(?: [0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.\d)?(?: \w{1,20})?: )"
)
_DRIVER_WORD = (
    r"(?=(?:\[ *\d{1,10}\.\d{1,6}\] ?)?(?:NVRM: |nvidia-nvswitch\d{0,3}: |nvidia-peermem |pcieport |mlx5_core ))"
)
# Of compose, and of a swarm: `train.1.x7ab@node1`
_SERVICE = r"(?P<part>[A-Za-z][\w.]{0,60}[-_.][\w.-]{0,60}(?:@[\w.-]{1,80})?|[A-Za-z][\w.]{0,60}(?=  ))"
# What grep prints in front of a line that it found in several files, with or without -n.
_LOG_FILE = (
    r"(?P<part>(?:[\w.+@-]{0,80}/){0,12}(?:[\w.+@-]{1,80}\.(?:log|out|err|txt)|syslog|messages|dmesg)"
    r"(?:[.-]\d{1,8})?(?:\.(?:gz|xz|zst|bz2))?):(?:\d{1,9}[:-])?(?=\S)"
)
_NCCL = (
    _HOST
    + r":(?P<pid>\d{1,10}):\d{1,10} \[-?\d{1,4}\] (?:[\w/.]{1,80}:\d{1,6} )?NCCL (?P<level>INFO|WARN|ERROR|TRACE) ?"
)
_IP = r"(?P<ip>[0-9a-fA-F.:]{2,45})"
_ACTOR = r"\((?:[A-Za-z_][\w:.]{0,60} )?(?:rank=(?P<rank>\d{1,6}) )?pid=(?P<pid>\d{1,10})" + rf"(?:, ip={_IP})?\) ?"
_DAEMON = rf"\((?:raylet|gcs_server|autoscaler(?: [\w+.:,-]{{1,40}}){{0,2}})(?:, ip={_IP})?\) "
_GLOG_FILE = r"(?P<file>[\w./-]{1,200}:\d{1,6})"
_GLOG = r"\[?(?P<level>[IWEFV])(?P<month>\d\d?)(?P<day>\d\d) " + _CLOCK + r"(?: +\d{1,10})* ?" + _GLOG_FILE + r"?\] ?"
_SYSLOG_5424 = (
    rf"<(?P<priority>\d{{1,3}})>1 (?:{_DATE}T{_CLOCK}{_OFFSET}|-) (?P<host>[\w.:<>*-]{{1,255}}) (?P<tag>\S{{1,48}}) "
    r"(?P<pid>\S{1,128}) \S{1,32} (?:-|(?:\[[^\]\n]{0,2000}\]){1,9})(?: \ufeff?|$)"
)
_TALOS = (
    rf"{_HOST}: (?P<facility>kern|user|daemon|syslog|auth|authpriv|cron|local\d): {{1,4}}\w{{3,8}}: "
    rf"\[{_DATE}T{_CLOCK}{_OFFSET}\]: ?"
)
_UPTIME = r"\[ *(?P<seconds>\d{1,10})\.(?P<fraction>\d{3,6})(?: <[ \d.]{3,20}>)?\](?: ?\[ *[TC]\d{1,10}\])? ?"
_RAY_CORE = (
    rf"\[{_DATE} {_CLOCK} (?P<level>[IWEFDC]) (?P<pid>\d{{1,10}}) \d{{1,10}}\] (?:\([\w ]{{1,40}}\) )?"
    r"(?:[\w./-]{1,200}:\d{1,6}: {1,3})?"
)
_SHORT_LEVELS = {"I": "info", "W": "warning", "E": "error", "F": "fatal", "D": "debug", "V": "debug", "C": "fatal"}
_SOURCE_FILE = re.compile(r"\.(?:py|c|cc|cpp|cxx|cu|cuh|h|hpp|go|rs)$")
_C10D_FILES = ("ProcessGroup", "TCPStore", "socket.cpp", "HeartbeatMonitor")
_NO_SYSLOG = {"wall", "bracketed", "dmesg", "ctime", "kmsg", "journal", "json", "docker"}  # a tag needs its [pid] there
_PADDED_PID = 5  # digits from which the number in `[host:N]` is a process id, as Open MPI prints it, and no rank


@dataclass(frozen=True, slots=True)
class Layer:
    """One envelope: the kinds of character it begins with (see `kind`), its shape, and what it says."""

    begins: str
    pattern: re.Pattern[str]
    take: Take


def kind(character: str) -> str:
    """`d` for a digit, `s` for a blank, `a` for a letter or `_`; every other character stands for itself."""
    if character.isdigit():
        return "d"
    if character in " \t":
        return "s"
    return "a" if character.isalpha() or character == "_" else character


def _stamped(layer: str) -> Take:
    def take(peeled: Peeled, found: re.Match[str]) -> bool:
        stamp = wall_stamp(layer, found)
        if stamp is not None:
            peeled.stamps.append(stamp)
        return stamp is not None

    return take


def _normalised(peeled: Peeled, found: re.Match[str]) -> bool:
    read_fields(found["fields"], peeled)
    return True


def _ctime(peeled: Peeled, found: re.Match[str]) -> bool:
    if not _stamped("ctime")(peeled, found):
        return False
    peeled.component = "kernel"  # only `dmesg -T` prints this form in brackets
    return True


def _reltime(peeled: Peeled, found: re.Match[str]) -> bool:
    if not _stamped("reltime")(peeled, found):
        return False
    peeled.component = "kernel"
    return True


def _dmesg_iso(peeled: Peeled, found: re.Match[str]) -> bool:
    if not _stamped("iso")(peeled, found):
        return False
    peeled.component = "kernel"  # only `dmesg --time-format iso` prints six digits behind a comma
    return True


def _uptime(peeled: Peeled, found: re.Match[str]) -> bool:
    peeled.stamps.append(uptime_stamp("dmesg", found["seconds"], found["fraction"]))
    peeled.component = "kernel"
    return True


def _kmsg(peeled: Peeled, found: re.Match[str]) -> bool:
    us = found["microseconds"]
    peeled.stamps.append(uptime_stamp("kmsg", us[:-6] or "0", us[-6:].rjust(6, "0")))
    if int(found["priority"]) < 8:  # facility 0 is the kernel; programs write to /dev/kmsg too
        peeled.component = "kernel"
    return True


def _kernel_word(peeled: Peeled, _found: re.Match[str]) -> bool:
    peeled.component = "kernel"
    return True


def _priority(peeled: Peeled, found: re.Match[str]) -> bool:
    if int(found["priority"]) < 8:
        peeled.component = "kernel"
    return True


def _syslog_5424(peeled: Peeled, found: re.Match[str]) -> bool:
    if found["year"] and not _stamped("syslog")(peeled, found):
        return False
    _host(peeled, found["host"])
    if found["pid"].isdecimal():
        peeled.pid = int(found["pid"][:10])
    take_tag(peeled, found["tag"])
    return _priority(peeled, found)


def _talos(peeled: Peeled, found: re.Match[str]) -> bool:
    if not _stamped("talos")(peeled, found):
        return False
    _host(peeled, found["host"])
    if found["facility"] == "kern":
        peeled.component = "kernel"
    return True


def _host(peeled: Peeled, name: str) -> None:
    if name != "-" and "<" not in name and "*" not in name:
        peeled.host = name


def _syslog_tag(peeled: Peeled, found: re.Match[str]) -> bool:
    if not peeled.stamps:
        return False  # `host tag:` means something only behind a stamp
    kernel, pid = found["tag"] == "kernel", found["pid"]
    if peeled.stamps[-1].layer in _NO_SYSLOG and not kernel and not pid:
        return False  # Python loggers print such stamps too, and `epoch1 loss: 2.1` behind them; drivers `nvme nvme0: `
    if not kernel and not pid and not re.search(r"[\d.<-]", found["host"]):
        return False  # two words and a colon: more likely the start of a sentence
    _host(peeled, found["host"])
    if pid:
        peeled.pid = int(pid)
    if not kernel:
        peeled.component = "process"
    take_tag(peeled, found["tag"])
    return True


def _short_full(peeled: Peeled, found: re.Match[str]) -> bool:
    return _stamped("iso" if found["offset"] else "syslog")(peeled, found)


def _epoch(peeled: Peeled, found: re.Match[str]) -> bool:
    stamp = epoch_stamp("syslog", int(found["seconds"] + found["fraction"]))
    if stamp is not None:
        peeled.stamps.append(stamp)
    return stamp is not None


def _cri(peeled: Peeled, found: re.Match[str]) -> bool:
    if not peeled.stamps or peeled.stamps[-1].layer != "iso" or len(peeled.stamps) > 1:
        return False
    peeled.add_part(found["part"])
    return True


def _part(peeled: Peeled, found: re.Match[str]) -> bool:
    peeled.add_part(found["part"])
    return True


def _compose(peeled: Peeled, found: re.Match[str]) -> bool:
    if found.start():
        return False
    peeled.add_part(found["part"])
    return True


def _rank(peeled: Peeled, found: re.Match[str]) -> bool:
    peeled.rank = int(found["rank"])
    return True


def _host_and_rank(peeled: Peeled, found: re.Match[str]) -> bool:
    _host(peeled, found["host"])
    return _rank(peeled, found)


def _at_the_start(_peeled: Peeled, found: re.Match[str]) -> bool:
    return not found.start()


def _local_rank(peeled: Peeled, found: re.Match[str]) -> bool:
    peeled.local_rank = int(found["local_rank"])
    return True


def _host_and_number(peeled: Peeled, found: re.Match[str]) -> bool:
    host, number = found["host"], found["number"]
    if _SOURCE_FILE.search(host) or not re.search(r"[\d-]", host) or peeled.severity or peeled.host:
        return False  # `[core.py:70]` and `[trainer:70]` are places in a program
    _host(peeled, host)
    if len(number) >= _PADDED_PID:
        peeled.pid = int(number)
    else:
        peeled.local_rank = int(number)
    return True


def _actor(peeled: Peeled, found: re.Match[str]) -> bool:
    peeled.pid = int(found["pid"])
    if found["rank"]:
        peeled.rank = int(found["rank"])
    if found["ip"]:
        peeled.host = found["ip"]
    return True


def _daemon(peeled: Peeled, found: re.Match[str]) -> bool:
    if found["ip"]:
        peeled.host = found["ip"]
    return True


def _nccl(peeled: Peeled, found: re.Match[str]) -> bool:
    _host(peeled, found["host"])
    peeled.pid = int(found["pid"])
    peeled.component = "nccl"
    peeled.severity = found["level"].lower()
    return True


def _nccl_alone(peeled: Peeled, found: re.Match[str]) -> bool:
    peeled.component = "nccl"
    return _level(peeled, found)


def _kernel_host(peeled: Peeled, found: re.Match[str]) -> bool:
    if found.start() or peeled.stamps:
        return False
    _host(peeled, found["host"])
    peeled.component = "kernel"
    return True


def _glog(peeled: Peeled, found: re.Match[str]) -> bool:
    if found["hour"] and not _stamped("glog")(peeled, found):
        return False
    if (found["file"] or "").rsplit("/", 1)[-1].startswith(_C10D_FILES):
        peeled.component = "c10d"
    peeled.severity = _SHORT_LEVELS[found["level"]]
    return True


def _frame_numbers(peeled: Peeled, _found: re.Match[str]) -> bool:
    return bool(peeled.stamps) and peeled.stamps[-1].layer == "glog"


def _ray_core(peeled: Peeled, found: re.Match[str]) -> bool:
    if not _stamped("bracketed")(peeled, found):
        return False
    peeled.pid = int(found["pid"])
    peeled.severity = _SHORT_LEVELS[found["level"]]
    return True


def _triton_iso(peeled: Peeled, found: re.Match[str]) -> bool:
    if not peeled.stamps or peeled.stamps[-1].layer != "iso":
        return False  # `tritonserver --log-format=ISO8601` prints the stamp before the level
    peeled.severity = _SHORT_LEVELS[found["level"]]
    return True


def _level(peeled: Peeled, found: re.Match[str]) -> bool:
    peeled.severity = found["level"].lower()
    return True


def _short_level(layer: str) -> Take:
    def take(peeled: Peeled, found: re.Match[str]) -> bool:
        peeled.severity = _SHORT_LEVELS[found["level"]]
        return _stamped(layer)(peeled, found)

    return take


def _stamp_and_level(layer: str) -> Take:
    def take(peeled: Peeled, found: re.Match[str]) -> bool:
        return _stamped(layer)(peeled, found) and _level(peeled, found)

    return take


def _place_in_program(peeled: Peeled, _found: re.Match[str]) -> bool:
    return peeled.severity is not None


def _job_step(peeled: Peeled, found: re.Match[str]) -> bool:
    if not peeled.stamps or peeled.stamps[-1].layer != "bracketed":
        return False
    peeled.job_id, peeled.job_step_id = found["job"], f"{found['job']}.{found['step']}"
    return True


def _clock_alone(peeled: Peeled, found: re.Match[str]) -> bool:
    return not found.start() and not peeled.stamps


def _skip(_peeled: Peeled, _found: re.Match[str]) -> bool:
    return True


def _behind_level(peeled: Peeled, _found: re.Match[str]) -> bool:
    return peeled.severity is not None and bool(peeled.stamps)


_LAYERS: tuple[tuple[str, str, Take], ...] = (
    (RS, rf"{RS}(?P<fields>[^{RS}]{{0,4000}}){RS}", _normalised),
    # transport and syslog
    ("d", rf"{_DATE}T(?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d),(?P<fraction>\d{{6}})(?P<offset>[+-]\d\d:\d\d) ",
     _dmesg_iso),
    ("d", rf"{_DATE}[T ]{_CLOCK} ?{_OFFSET}(?: |\t|: |\] ?|$)", _stamped("iso")),
    ("[", rf"\[{_DATE}[T ]{_CLOCK}(?: ?{_OFFSET})?\] ?", _stamped("bracketed")),
    ("d", rf"{_DATE}[T ,]{_CLOCK}(?: ?\||:(?= ))?(?: |\t|$)", _stamped("wall")),
    ("a", r"(?P<part>stdout|stderr) [FP](?::[\w:]{1,20})? ", _cri),
    ("a/.d", _LOG_FILE, _compose),
    ("sd", r" {0,8}\d{1,7}\t", _at_the_start),  # cat -n
    ("[", r"\[pod/(?P<part>[\w.-]{1,253}/[\w.-]{1,63})\] ?", _part),
    ("a", _SERVICE + r" {1,60}\| ", _compose),
    ("<", _SYSLOG_5424, _syslog_5424),
    ("<", r"<(?P<priority>\d{1,3})>", _priority),
    ("da", _TALOS, _talos),
    ("a", rf"{_NAME} {_DATE} {_CLOCK} (?:(?P<offset>UTC|GMT)|[A-Z+-][A-Z\d]{{1,4}}) {_TAG_AHEAD}", _short_full),
    ("ads", rf" ?{_MONTH} +(?P<day>\d\d?) {_CLOCK} ", _stamped("syslog")),
    ("a", rf"{_MONTH} +(?P<day>\d\d?) (?P<year>\d{{4}}) {_CLOCK} {_TAG_AHEAD}", _stamped("syslog")),
    ("d", rf"(?P<year>\d{{4}}) {_MONTH} +(?P<day>\d\d?) {_CLOCK} {_TAG_AHEAD}", _stamped("syslog")),
    ("d", rf"(?P<seconds>1\d{{9}})\.(?P<fraction>\d{{6}}) {_TAG_AHEAD}", _epoch),
    # kernel
    ("[", rf"\[(?:{_NAME}|[^\W\d_]) {_MONTH} +(?P<day>\d\d?) {_CLOCK}(?: (?P<year>\d{{4}}))?\] ?", _ctime),
    ("[", r"\[(?P<job>\d{1,10})\.(?P<step>\d{1,6}|batch|extern|interactive)\] ", _job_step),
    ("[", _UPTIME, _uptime),
    ("[", r"\[ *(?P<seconds>\d{1,10})\.(?P<fraction>\d{1,2})\] " + _DRIVER_WORD, _uptime),  # digits left out
    ("[", r"\[ {0,6}\+ {0,6}\d{1,6}\.\d{6}\] ?", _kernel_word),  # dmesg --reltime inside another envelope
    ("[", rf"\[{_MONTH} ?(?P<day>\d\d?) (?P<hour>\d\d):(?P<minute>\d\d)\] ", _reltime),
    ("d", r"(?P<priority>\d{1,5}),\d{1,12},(?P<microseconds>\d{1,18}),[^;]{0,40};", _kmsg),
    ("a", r"(?:kern|user|daemon|syslog) {0,3}:\w{3,7} {0,4}: ", _kernel_word),
    ("ad<", r"(?!(?:INFO|WARN|WARNING|ERROR|DEBUG|FATAL|CRITICAL|TRACE)\b)" + _SYSLOG_TAG, _syslog_tag),
    ("ad<", _HOST + r" kernel: " + _DRIVER_AHEAD, _kernel_host),
    ("a", r"kernel: " + _DRIVER_WORD, _kernel_word),
    ("[", r"\[(?:\.\.\.|\u2026)\] ", _skip),  # where a person left a stamp out
    ("d", r"\d\d:\d\d:\d\d[.,]\d{3,9} {1,2}(?=\[)", _clock_alone),  # a time of day alone dates nothing
    # launchers
    ("[", r"\[rank(?P<rank>\d{1,6})\]:? ?", _rank),
    ("[", r"\[(?:rank|RANK)(?:: | )(?P<rank>\d{1,6})\]:? ?", _rank),
    ("[", r"\[(?:default|trainer|worker|actor|learner)(?P<local_rank>\d{1,4})\]: ?", _local_rank),
    ("[", r"\[(?:(?:[\w.-]{1,80}@)?\d{1,5},)?(?P<rank>\d{1,6})\]<(?:stdout|stderr)>: ?", _rank),
    ("[", r"\[(?P<host>[A-Za-z][\w.-]{0,80}):rank[ _-]?(?P<rank>\d{1,6})\]:? ?", _host_and_rank),
    ("a", r"rank[=:](?P<rank>\d{1,6})[ ,:]+", _rank),
    ("a", r"(?P<part>[a-z][\w.-]{0,60}/)?rank[ _-]?(?P<rank>\d{1,6}): ", _rank),
    ("-", r"- rank[ _-]?(?P<rank>\d{1,6}) - ", _rank),
    ("a", r"(?P<part>NODE-\d{1,5}) (?=\[rank\d)", _part),
    ("[", r"\[" + _HOST + r":(?P<number>\d{1,7})\]:? ?", _host_and_number),
    ("(", _ACTOR, _actor),
    ("(", _DAEMON, _daemon),
    ("ad<", _NCCL, _nccl),
    ("a", r"NCCL (?P<level>INFO|WARN|ERROR|TRACE) ", _nccl_alone),
    # loggers
    ("[a", _GLOG, _glog),
    ("a", r"(?P<level>[IWE]) \d{1,10} " + _GLOG_FILE + r"\] ?", _triton_iso),
    ("[", r"\[(?P<level>[IWEF]) " + _GLOG_FILE + r"\] ?(?P<hour>)", _glog),
    ("[", r"\[\d{1,5}/\d{1,5}\] ", _frame_numbers),
    ("[", _RAY_CORE, _ray_core),
    ("[", rf"\[NeMo (?P<level>[IWEFDC]) {_DATE} {_CLOCK} [\w./:<>-]{{1,200}}\] ?", _short_level("wall")),
    ("[", r"\[(?P<month>\d\d)/(?P<day>\d\d)/(?P<year>\d{4})-" + _CLOCK + r"\] ?", _stamped("tensorrt")),
    ("[", rf"\[(?P<month>\d\d)/(?P<day>\d\d)/(?P<yy>\d\d) {_CLOCK}\] +", _stamped("rich")),
    ("[", r"\[\d\d:\d\d:\d\d\] +(?=(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) )", _skip),
    ("[", rf"\[{_MONTH} +(?P<day>\d\d?) (?P<year>\d{{4}}) {_CLOCK}\] ?", _stamped("fabric")),
    ("a", _LEVEL + rf" (?P<month>\d\d)-(?P<day>\d\d) {_CLOCK} (?:\[?[\w./-]{{1,200}}:\d{{1,6}}\] ?)?",
     _stamp_and_level("vllm")),
    ("a", r'time="?' + _DATE + "T" + _CLOCK + _OFFSET + r'?"? level=(?P<level>\w{3,8}) (?:source=\S{1,99} )?(?:msg=")?',
     _stamp_and_level("logfmt")),
    ("-", r"- [\w.]{1,80} - " + _LEVEL + r" - ", _level),
    ("a", r"(?<= - )" + _LEVEL + r" - ", _level),
    ("a", r"[A-Za-z_][\w.]{2,100}: \[" + _LEVEL + r"\] ", _level),
    ("[", r"\[" + _LEVEL + r"\|[\w./-]{1,200}:\d{1,6}\] ?", _level),
    ("[as", r"(?!\[\w{4,8}\] \[tid )\[? {0,24}" + _LEVEL + r"(?:\]:?|:| +-|(?![\w\]])) ?", _level),
    ("s|", r" {0,8}\| ?(?:[\w.<>]{1,100}:[\w.<>]{1,100}:\d{1,6} - )?", _behind_level),
    ("[", r"\[[\w./-]{1,200}\.(?:py|cc|cpp):\d{1,7}:[\w<>.]{1,100}\] ?", _place_in_program),
    (">", r">> ", _behind_level),
    ("[", r"\[(?:\d{1,3}(?:;\d{1,3}){0,4})?m", _skip),  # a colour whose escape character was lost
)  # fmt: skip

LAYERS = tuple(Layer(begins, re.compile(pattern), take) for begins, pattern, take in _LAYERS)
