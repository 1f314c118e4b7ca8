"""A JSON object that carries one log line: which of its fields is the message, and what do the others say about it?

Docker json-file, journal export, Fluent Bit, zap, logrus, klog and structured Python loggers differ only in the names
of their fields. Without a message, or without anything else that a log line has, the object is data and no line.
"""

import json
import re
from typing import Any, cast

from crashlens.scan.peeled import write_fields

LONGEST_DOCUMENT = 2 * 1024 * 1024
LONGEST_BYTES = 1024 * 1024  # of a MESSAGE given as an array of byte values
MOST_LINES = 2000  # of one message that holds line ends

_MESSAGE = ("log", "MESSAGE", "msg", "message", "@message", "event", "textPayload")
_PAYLOAD = "jsonPayload"  # of Google Cloud Logging: the object that the program logged
_TIME = ("time", "timestamp", "@timestamp", "ts", "asctime", "datetime", "t")
_LEVEL = ("level", "lvl", "severity", "levelname", "loglevel")
_HOST = ("_HOSTNAME", "hostname", "host", "node", "nodename", "node_name")
_PID = ("_PID", "pid", "process_id", "SYSLOG_PID")
_RANK = ("rank", "global_rank")
_PART = ("stream", "container_name", "pod_name", "container")
_MORE = ("exception", "exc_info", "traceback", "stacktrace", "stack_trace", "stack")
_ERROR = ("error", "err")
_EPOCH = re.compile(r"\d{9,19}(?:\.\d{1,9})?")
_WALL = re.compile(r"\d{4}[-/]\d\d[-/]\d\d[T ,]\d\d:\d\d")
_CONTROL = re.compile(r"[\x1e\x1f\n\r]")
_DECODER = json.JSONDecoder(strict=False)


def parsed(text: str) -> dict[str, Any] | None:
    """The object that `text` is, or None: not JSON, not an object, too long or too deep."""
    if len(text) > LONGEST_DOCUMENT:
        return None
    try:
        document = _DECODER.decode(text)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", document) if isinstance(document, dict) else None


def said_by(text: str) -> str | None:
    """The normalised line that the JSON object `text` carries, line ends in its message kept; None where it is none."""
    document = parsed(text.strip())
    found = None if document is None else line_of(document)
    return None if found is None else whole_characters(found[0] + found[1])


def line_of(document: dict[str, Any]) -> tuple[str, str] | None:
    """The envelope and the message of a JSON log line, or None where the object carries none."""
    message = message_of(document)
    fields = {} if message is None else _fields(document)
    return (write_fields({"layer": "json"} | fields), message) if message is not None and fields else None


def envelope_of(document: dict[str, Any]) -> str:
    """The envelope of a JSON log line; empty where the object says nothing but a message."""
    fields = _fields(document)
    return write_fields({"layer": "json"} | fields) if fields else ""


def message_of(document: dict[str, Any]) -> str | None:
    """The message of a JSON log line with the error and the traceback that stand beside it, or None."""
    message = next((text for name in _MESSAGE if (text := message_text(document.get(name))) is not None), None)
    if message is None:
        payload: object = document.get(_PAYLOAD)
        inner = cast("dict[str, Any]", payload) if isinstance(payload, dict) else {}
        return None if _PAYLOAD in inner else message_of(inner) if inner else None
    error = next((text for name in _ERROR if (text := document.get(name)) and isinstance(text, str)), "")
    if error and error not in message:
        message = f"{message.rstrip()}: {error}"
    more = next((text for name in _MORE if (text := document.get(name)) and isinstance(text, str)), "")
    if more and more not in message:
        message = f"{message.rstrip()}\n{more}"
    return message


def message_text(value: object) -> str | None:
    """A message as text: a string, or the array of byte values that stands for one that is not UTF-8."""
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        return None
    numbers = cast("list[object]", value)
    if not numbers or len(numbers) > LONGEST_BYTES:
        return None
    try:
        return bytes(cast("list[int]", numbers)).decode("utf-8", "backslashreplace")
    except (TypeError, ValueError):
        return None  # not bytes


def whole_characters(text: str) -> str:
    """`text` with halves of characters outside the first plane joined, or replaced where the other half is missing."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _fields(document: dict[str, Any]) -> dict[str, str]:
    fields = _when(document)
    level = _text(document, _LEVEL)
    if level and not level.isdecimal():
        fields["level"] = level.lower()
    for key, names in (
        ("host", _HOST),
        ("pid", _PID),
        ("rank", _RANK),
        ("local_rank", ("local_rank",)),
        ("part", _PART),
    ):
        text = _text(document, names)
        if text and (fields or key in {"host", "part"}):
            fields[key] = text
    if "__REALTIME_TIMESTAMP" in document or "SYSLOG_IDENTIFIER" in document:
        fields |= _journal(document)
    return fields


def _when(document: dict[str, Any]) -> dict[str, str]:
    text = _text(document, _TIME)
    if text and _WALL.match(text):
        return {"when": text}
    if text and _EPOCH.fullmatch(text):
        return {"epoch_us": str(_epoch_us(text))}
    return {}


def _epoch_us(text: str) -> int:
    """Microseconds since 1970 of a number of seconds, milliseconds, microseconds or nanoseconds, told by its size."""
    whole, _, fraction = text.partition(".")
    for places, digits in ((6, 10), (3, 13), (0, 16)):
        if len(whole) <= digits:
            return int(whole) * 10**places + int(fraction[:places].ljust(places, "0") or 0)
    return int(whole) // 1000


def _journal(document: dict[str, Any]) -> dict[str, str]:
    """What the fields of the systemd journal say; its times are microseconds, written as text."""
    fields = {"layer": "journal"}
    written = _text(document, ("__REALTIME_TIMESTAMP",))
    since_boot = _text(document, ("_SOURCE_MONOTONIC_TIMESTAMP", "__MONOTONIC_TIMESTAMP"))
    if written and written.isdecimal() and len(written) <= 18:
        fields["epoch_us"] = written
    if since_boot and since_boot.isdecimal() and len(since_boot) <= 16:
        fields["uptime"] = f"{since_boot[:-6] or '0'}.{since_boot[-6:].rjust(6, '0')}"
        fields["boot"] = _text(document, ("_BOOT_ID",))[:32]
    kernel = document.get("_TRANSPORT") == "kernel"
    fields["tag"] = "kernel" if kernel else _text(document, ("SYSLOG_IDENTIFIER", "_COMM"))
    return fields


def _text(document: dict[str, Any], names: tuple[str, ...]) -> str:
    """The first of the fields that is a string or a number, as one bounded line without control characters."""
    for name in names:
        value = document.get(name)
        if isinstance(value, str) and value:
            return _CONTROL.sub(" ", value[:200])
        if isinstance(value, int | float) and not isinstance(value, bool):
            return f"{value:f}" if isinstance(value, float) else _digits(value)
    return ""


def _digits(number: int) -> str:
    return str(number) if -(10**30) < number < 10**30 else ""
