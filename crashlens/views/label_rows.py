"""In which row does each label over a chart stand, so that no label covers another or is crossed by a rule?"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from crashlens.views.encoding import size
from crashlens.views.terminal import width_of

CHARACTER = 6.3  # px that a character of the label font takes on average; only the rows of labels depend on it
_ROOM = 10.0
_TOUCH = 3.0  # px: rules so close to each other look like one

Side = Literal["left", "right"]


@dataclass(frozen=True, slots=True)
class Label:
    """A label that has its place.

    Attributes:
        x: Pixel of the moment; its rule runs down from the row of the label.
        label: The words.
        row: Row from the top, from 0.
        align: `left`: the words start at the rule; `right`: they end there, near the right end of the plot.
    """

    x: float
    label: str
    row: int
    align: Side

    @property
    def span(self) -> tuple[float, float]:
        """Left and right end of the words, in pixels."""
        wide = CHARACTER * width_of(self.label) + _ROOM
        return (self.x, self.x + wide) if self.align == "left" else (self.x - wide, self.x)


def place_labels(wanted: Sequence[tuple[float, str]]) -> list[Label]:
    """A row for each `(x, label)`, in the order given.

    Labels that reach beyond the right end are written to the left of their rule and placed first, from the right; then
    the others from the left. Each takes the first row in which it meets nothing that has its place, on either side of
    its rule; where there is none, a row of its own.
    """
    preferred = [Label(x, words, 0, "left") for x, words in wanted]
    late = [one.span[1] > size().width for one in preferred]
    order = sorted(range(len(wanted)), key=lambda k: (not late[k], -wanted[k][0] if late[k] else wanted[k][0], k))
    placed: dict[int, Label] = {}
    for k in order:
        x, words = wanted[k]
        sides: tuple[Side, ...] = ("right",) if late[k] else ("left", "right")
        tried = [Label(x, words, row, side) for row in range(len(wanted)) for side in sides]
        own = Label(x, words, 1 + max((label.row for label in placed.values()), default=-1), sides[0])
        fits = (one for one in tried if one.span[0] >= 0 and not any(_meet(one, other) for other in placed.values()))
        placed[k] = next(fits, own)
    return [placed[k] for k in range(len(wanted))]


def _meet(one: Label, other: Label) -> bool:
    (start, end), (other_start, other_end) = one.span, other.span
    if one.row == other.row:
        return start < other_end - _TOUCH and other_start < end - _TOUCH
    upper, lower = (one, other) if one.row < other.row else (other, one)
    low_start, low_end = lower.span
    return low_start + _TOUCH < upper.x < low_end - _TOUCH
