r"""Messages of Go programs: fields `key="..."` whose quotation marks are an envelope, and errors quoted inside errors.

klog prints `"Error syncing pod" err="failed to \"StartContainer\" ..." pod="ml/a"`; logrus and slog print
`level=error msg="... \"nvidia\" ..."`. What stands in such marks is what the program says, and no quotation. An error
that wraps another one prints it as a quoted string behind a colon, once more escaped at each level.
Source: k8s.io/klog/v2 serialize; sirupsen/logrus text_formatter.go; Go strconv.Quote.
"""

import re

MOST_LEVELS = 5
LONGEST = 64 * 1024  # characters of a message that are taken apart
_NEXT = r"(?=$| [A-Za-z_][\w.-]{0,60}=)"  # another field or the end: what else follows makes it a quotation
# What stands in other fields (a command, an expression) is about something, so that its marks stay.
_FIELD = re.compile(
    r'(?P<lead>^|(?<![\w.-])(?:err|error|msg|message|reason)=)"(?P<value>(?:[^"\\]|\\.){0,16000})"' + _NEXT
)
_WRAPPED = re.compile(r'(?P<lead>: )"(?P<value>(?:[^"\\]|\\.){0,16000})"')
_ESCAPE = re.compile(r'\\(["\\nt])')
_OPEN_END = re.compile(r'(?P<value>(?:[^"\\]|\\.){0,16000})"' + _NEXT)
_MEANT = {"n": " ", "t": " "}  # a line break inside a message is no end of the line
_SENTENCE = 3  # words from which a quoted string is a message and no name


def unquoted(message: str, *, inside: bool) -> str:
    """`message` without the marks that are an envelope; marks around names stay.

    Args:
        message: What stands behind the stamp and the level.
        inside: Whether it begins inside the marks of its first field, as behind `msg="`.
    """
    if '"' not in message or len(message) > LONGEST:
        return message
    if inside:
        opened = _OPEN_END.match(message)
        if opened is None:
            return message
        return _plain(opened["value"]) + _fields(message[opened.end() :])
    return _fields(message)


def _fields(text: str) -> str:
    return _FIELD.sub(lambda found: found["lead"] + _plain(found["value"]), text)


def _plain(value: str) -> str:
    """A value with its escapes undone, and the errors that it wraps too."""
    text = _unescaped(value)
    for _ in range(MOST_LEVELS):
        inner = _WRAPPED.sub(_inner, text)
        if inner == text:
            break
        text = inner
    return text


def _inner(found: re.Match[str]) -> str:
    value = found["value"]
    return found["lead"] + _unescaped(value) if len(value.split()) >= _SENTENCE else found[0]


def _unescaped(value: str) -> str:
    return _ESCAPE.sub(lambda found: _MEANT.get(found[1], found[1]), value)
