"""Which lines repeat, but for their numbers? Templates of the error-like lines that no rule knows, in bounded memory.

A template keeps the words and replaces what differs from line to line: numbers, addresses, paths, names of machines.
"""

import re
from dataclasses import dataclass

from crashlens.scan.harmless import same_but_digits
from crashlens.scan.masking import mask_secrets

MOST_TEMPLATES = 1000  # of one source that are kept; lines of further ones are counted together
LONGEST_TEMPLATE = 200
LONGEST_READ = 1000  # characters of a message that make its template
SHOWN_TEMPLATES = 10

_VARYING = re.compile(
    r"(?P<uuid>(?:GPU-|MIG-)?\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b)"
    r"|(?P<url>\b[a-z][a-z0-9+]{1,12}://[^\s'\"<>]{1,400})"
    r"|(?P<file>\b[\w-]{1,80}\.(?:py|cc?|cpp|cuh?|h|hpp|go|rs|java|rb|sh|so|cs):\d{1,7}\b)"
    r"|(?P<pci>\b(?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]\b)"
    r"|(?P<address>\b\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}(?::\d{1,5})?\b)"
    r"|(?P<path>(?<![\w/.])(?:~|\.{1,2})?/[\w.+@%=-]{1,200}(?:/[\w.+@%=-]{1,200}){0,40}/?)"
    r"|(?P<host>\b[A-Za-z][\w-]{0,60}(?:\.[A-Za-z][\w-]{0,60}){1,6}:\d{1,5}\b"
    r"|\b[A-Za-z][\w-]{0,60}(?:\.[A-Za-z][\w-]{0,60}){1,6}\.(?:local|internal|lan|com|net|org|io|cluster)\b)"
    r"|(?P<hex>\b0x[0-9a-fA-F]{1,40}\b|\b(?=[0-9a-f]{0,15}[0-9])(?=[0-9]{0,15}[a-f])[0-9a-f]{8,64}\b)"
    r"|(?P<n>\d[\d_,.]{0,40}\d|\d)"
)
_SPACE = re.compile(r"\s+")


@dataclass
class Template:
    """Lines that differ in numbers and names only.

    Attributes:
        text: The common words.
        lines: How many there are.
        first_line: The first of them.
    """

    text: str
    lines: int
    first_line: int


class TemplateCounts:
    """Counts templates of the lines of one source, in the order they come."""

    def __init__(self) -> None:
        self._by_text: dict[str, Template] = {}
        self._known: dict[str, Template] = {}  # by the message but for its digits: seen once, looked up after
        self.beyond = 0  # lines of templates that were not kept

    def add(self, line: int, message: str) -> None:
        """Count the message of one line."""
        key = same_but_digits(message)
        known = self._known.get(key)
        if known is None:
            text = _masked(mask_secrets(message)[:LONGEST_READ])  # masked first: half a secret is not known as one
            known = self._by_text.get(text)
            if known is None:
                if len(self._by_text) == MOST_TEMPLATES:
                    self.beyond += 1
                    return
                known = self._by_text[text] = Template(_short(text), 0, line)
            if len(message) <= LONGEST_READ:
                if len(self._known) >= MOST_TEMPLATES:
                    self._known.clear()
                self._known[key] = known
        known.lines += 1

    def most_frequent(self) -> list[Template]:
        """The templates with the most lines, those with as many in the order of their first."""
        return sorted(self._by_text.values(), key=lambda one: (-one.lines, one.first_line))[:SHOWN_TEMPLATES]


def template_of(message: str) -> str:
    """The words of a message, secrets masked, with what differs from line to line as `<...>`."""
    return _short(_masked(mask_secrets(message)[:LONGEST_READ]))


def _masked(text: str) -> str:
    return _SPACE.sub(" ", _VARYING.sub(_placeholder, text)).strip()


def _placeholder(found: re.Match[str]) -> str:
    if found.lastgroup == "file":  # which code wrote the line belongs to its words
        return found.group().rpartition(":")[0] + ":<n>"
    return f"<{found.lastgroup}>"


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_TEMPLATE else f"{text[: LONGEST_TEMPLATE - 1]}\u2026"
