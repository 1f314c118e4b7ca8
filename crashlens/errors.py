"""What crashlens raises when a *call* is wrong.

What a *file* says wrong is never an error: it is a notice in the `sources` table. A message is a whole sentence, then
the place and the raw value in three lines at most, then a way out that can be pasted.
"""

from collections.abc import Iterable
from difflib import get_close_matches


class CrashlensError(Exception):
    """A call that cannot be carried out.

    Args:
        sentence: What could not be done, as a whole sentence.
        facts: Up to three `(label, value)` pairs: where it was given, the raw value, what is known instead.
        way_out: A call or command that works.
    """

    def __init__(self, sentence: str, *, facts: Iterable[tuple[str, str]] = (), way_out: str = "") -> None:
        self.sentence = sentence
        self.facts = tuple(facts)
        self.way_out = way_out
        width = max((len(label) for label, _ in self.facts), default=0)
        lines = [sentence, *(f"  {label:<{width}}  {value}" for label, value in self.facts)]
        super().__init__("\n".join([*lines, way_out] if way_out else lines))

    def __str__(self) -> str:
        return str(self.args[0])


class NoSuchInputError(CrashlensError, FileNotFoundError):
    """A path given to `read` or `open` is not there."""


class UnknownTimeZoneError(CrashlensError, ValueError):
    """A time zone name is not in the IANA database on this machine. `known` lists all names."""

    def __init__(self, name: str, *, given_by: str, known: Iterable[str]) -> None:
        self.known = tuple(sorted(known))
        # An abbreviation has no close name: MST and HST look like KST and are half a world away from it.
        looks_alike = "/" in name or name.upper() != name
        closest = get_close_matches(name, self.known, n=3, cutoff=0.5) if looks_alike else []
        use = f'Use tz="{closest[0]}"' if closest else 'Use a place, such as tz="Asia/Seoul"'
        super().__init__(
            f'"{name}" is not a time zone known here; nothing was read.',
            facts=[
                ("given by", given_by),
                ("known", f"{', '.join(closest) or 'no close name'} (of {len(self.known)}: error.known)"),
            ],
            way_out=f"{use}, or leave it out: local times then keep their order inside each file only.",
        )


class WindowError(CrashlensError, ValueError):
    """A time window cannot be read, is empty or runs backwards."""


class MissingColumnError(CrashlensError, KeyError):
    """A measurement needs a column that the table does not have."""


class DataFileError(CrashlensError, ValueError):
    """A rule file or catalog file is wrong. `faults` holds every fault found, each as `file:line: what`."""

    def __init__(self, what: str, faults: Iterable[str]) -> None:
        self.faults = tuple(faults)
        super().__init__(
            f"{what} has {len(self.faults)} fault(s); nothing of it was loaded.",
            facts=[("", fault) for fault in self.faults],
            way_out="Mend the lines named above and load it again.",
        )


class NotACaseError(CrashlensError, ValueError):
    """The folder given to `open` was not written by `Case.save`, or by a version that cannot be read here."""


class OutputExistsError(CrashlensError, FileExistsError):
    """An output file is already there and `--force` was not given."""


class MissingExtraError(CrashlensError, ImportError):
    """A part of crashlens that is an optional install was called and is not there."""


class ReportError(CrashlensError, RuntimeError):
    """The audit could not be executed or typeset."""
