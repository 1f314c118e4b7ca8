"""One sentence that must not be overlooked, as an output of its own."""

from dataclasses import dataclass
from typing import Any, Literal

from crashlens.views import html, mime
from crashlens.views.visible import visible

Kind = Literal["info", "warning", "unknown"]


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence with its kind: `info`, `warning`, or `unknown` for something that the input does not show."""

    kind: Kind
    text: str

    def __str__(self) -> str:
        return visible(self.text)

    def __repr__(self) -> str:
        return str(self)

    def to_json(self) -> dict[str, Any]:
        """Shape of `application/vnd.crashlens.note+json`: kind, text."""
        return {"kind": self.kind, "text": self.text}

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        kind = "note cl-unknown-note" if self.kind == "unknown" else f"note cl-{self.kind}"
        shown = html.page_part(html.element("div", html.text(self.text), kind))
        return mime.bundle(mime.NOTE, self.to_json(), text=str(self), html=shown)


def note(kind: Kind, text: str) -> Note:
    """A note to show in a notebook and in the report.

    Args:
        kind: `info`, `warning`, or `unknown` for something that the input does not show.
        text: One or two sentences.
    """
    return Note(kind, text)
