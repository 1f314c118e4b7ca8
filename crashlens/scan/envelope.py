"""A line is a stack of envelopes: what did each of them say, and where does the message begin?

Peeled from outside in: transport, launcher, logger, component. Every stamp is kept; an inner one never replaces an
outer one. What no envelope explains is the message.
"""

import json
import re

from crashlens.scan.go_strings import unquoted
from crashlens.scan.json_lines import said_by
from crashlens.scan.layers import LAYERS, Layer, kind
from crashlens.scan.opening import can_open
from crashlens.scan.peeled import Peeled

__all__ = ["Peeled", "peel", "strip_unprinted"]

MOST_LAYERS = 10
OPENING = 3  # characters that tell which layers are tried
MOST_OPENINGS = 1024  # whose layers are remembered; further ones, which no log has, try all of their kind
MOST_JSON = 64 * 1024  # characters of a JSON object or string behind other envelopes that are read

# Lines that only a driver prints, whoever handed them on.
_KERNEL_START = re.compile(
    r"\s*(?:(?:NVRM|nvidia-nvswitch\d*|nvidia-modeset|nvidia-peermem|nvidia-uvm)\b"
    r"|(?:pcieport|nvidia|mlx5_core) [0-9a-f]{4}:[0-9a-f]{2}:|mlx5_\w{3,40}:\d{1,6}:\(pid )"
)
_RUST_ERROR = "` on an `Err` value: "  # a panic prints the error behind it as source text: its marks are no quotation
_REPEATED = re.compile(r" ?\[repeated (\d{1,9})x across cluster\][^\n]{0,200}$")
_BOX_TITLE = re.compile(r"\s*[╭┌+][─-]+ (Traceback \(most recent call last\)) [─-]*[╮┐+]?\s*$")
_BOX_STARTS = frozenset("╭┌│┃╰└")
_BOX_SIDES = "│┃╰└╯┘"
_PLACE_WIDTH = 120  # characters at the end of a message in which a log table names the place in the program
_LOG_PLACE = re.compile(r" {2,}[\w.-]{1,80}\.py:\d{1,6} *$")
_OTHER_LEVEL = re.compile(r"\[(?P<level>[VDIWEF])(?:[:\]])")  # of ONNX Runtime and TensorRT: their rules read it too
_OTHER_LEVELS = {"V": "debug", "D": "debug", "I": "info", "W": "warning", "E": "error", "F": "fatal"}
_LOUD_LEVEL = re.compile(r"\[(?P<level>ERROR|WARNING|INFO|CRITICAL)\] \[tid ")

_STRINGS = json.JSONDecoder(strict=False)
_ANSI = re.compile(rb"\x1b(?:\[[0-9;?]{0,32}[ -/]{0,4}[@-~]|\][^\x07\x1b\n]{0,512}(?:\x07|\x1b\\)|[@-Z\\-_])")
# Colours whose escape character became text (rsyslog, cat -v, JSON seen as text) or was lost in a paste.
_COLOUR = re.compile(
    rb"(?:#033|\\u001[bB]|\\x1[bB]|\\033|\^\[)\[[0-9;]{0,20}[mK]|\[(?:[0-9]{1,3}(?:;[0-9]{1,3}){0,4})?m"
)


def _buckets() -> dict[str, tuple[Layer, ...]]:
    kinds = {begin for layer in LAYERS for begin in layer.begins}
    return {one: tuple(layer for layer in LAYERS if one in layer.begins) for one in kinds}


_BUCKETS = _buckets()
_OPENINGS: dict[str, tuple[Layer, ...]] = {}


def _layers_at(opening: str) -> tuple[Layer, ...]:
    """The layers that may stand where a text goes on with these characters, in their order."""
    known = _OPENINGS.get(opening)
    if known is None:
        known = _BUCKETS.get(kind(opening[0]), ())
        if len(_OPENINGS) < MOST_OPENINGS:
            known = _OPENINGS[opening] = tuple(layer for layer in known if can_open(layer.pattern, opening))
    return known


def strip_unprinted(data: bytes) -> bytes:
    """`data` without terminal escape sequences and NUL bytes; line ends stay where they are."""
    if b"\x00" in data:
        data = data.replace(b"\x00", b"")
    if b"\x1b" in data:
        data = _ANSI.sub(b"", data)
    return _COLOUR.sub(b"", data) if b"[0m" in data or b"[m" in data else data


def peel(line: str) -> Peeled:
    """Take the envelopes off one line (without line end and terminal escapes). Never raises."""
    peeled = Peeled(line)
    at = _peel_from(peeled, line, 0)
    if line.startswith('{"', at) and len(line) - at <= MOST_JSON:
        inner = said_by(line[at:])
        if inner is not None:
            line, at = inner, _peel_from(peeled, inner, 0)
    elif line.startswith('"', at) and (whole := _whole_string(peeled, line, at)) is not None:
        line, at = whole, _peel_from(peeled, whole, 0)
    message = line[at:]
    if _KERNEL_START.match(message):
        peeled.component = "kernel"
        message = message.lstrip()
    layer = peeled.stamps[-1].layer if peeled.stamps else ""
    if layer == "logfmt" or (layer == "glog" and message.startswith('"') and ".go:" in line[:at]):
        message = unquoted(message, inside=layer == "logfmt" and line[:at].endswith('"'))
    elif _RUST_ERROR in message:
        said, error = message.split(_RUST_ERROR, 1)
        message = said + _RUST_ERROR + error.replace('"', "")
    peeled.message = _tidy(peeled, message)
    return peeled


def _peel_from(peeled: Peeled, line: str, at: int) -> int:
    end = len(line)
    for _ in range(MOST_LAYERS):
        if at >= end:
            break
        for layer in _layers_at(line[at : at + OPENING]):
            found = layer.pattern.match(line, at)
            if found and found.end() > at and layer.take(peeled, found):
                at = found.end()
                break
        else:
            break
    return at


def _whole_string(peeled: Peeled, line: str, at: int) -> str | None:
    """What a logger says that writes its whole message as one JSON string, or None: Triton since 24.06.

    Such a string behind level, stamp and place in the source is the message; elsewhere it is a quotation.
    """
    if line[at - 2 : at] != "] " or peeled.severity is None or len(line) - at > MOST_JSON:
        return None
    if not peeled.stamps or peeled.stamps[-1].layer not in {"glog", "iso"}:
        return None
    text = line[at:].rstrip()
    try:
        said = _STRINGS.decode(text)
    except ValueError:
        return None
    return said if isinstance(said, str) else None


def _tidy(peeled: Peeled, message: str) -> str:
    """The message without what its writer set around it: box, column of places, note of repeats."""
    if message[:1] == "[":
        short, loud = _OTHER_LEVEL.match(message), _LOUD_LEVEL.match(message)
        if short:
            peeled.severity = _OTHER_LEVELS[short["level"]]
        elif loud:
            peeled.severity = loud["level"].lower()
    elif message.lstrip()[:1] in _BOX_STARTS:
        title = _BOX_TITLE.match(message)
        if title:
            return f"{title[1]}:"
        inside = message.strip()
        if inside[0] in _BOX_SIDES:
            return "  " + inside[1:].removeprefix(" ").rstrip(_BOX_SIDES + " ")
    if message.endswith("]") or "x across cluster]" in message:
        repeated = _REPEATED.search(message)
        if repeated:
            peeled.repeats = int(repeated[1])
            message = message[: repeated.start()]
    if peeled.severity and ".py:" in message[-_PLACE_WIDTH:]:
        place = _LOG_PLACE.search(message, max(0, len(message) - _PLACE_WIDTH))
        message = message[: place.start()].rstrip() if place else message
    return message
