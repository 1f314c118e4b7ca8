"""A pattern that is compiled when it is first searched: of some hundred rules, one log needs a few."""

import re
from collections.abc import Mapping
from typing import Any

_GROUP = re.compile(r"\(\?P<(\w+)>")


class LatePattern:
    """Stands for `re.Pattern[str]`.

    Args:
        pattern: Its text, known to compile.
    """

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern

    @property
    def groupindex(self) -> Mapping[str, int]:
        """The names of its groups, as `re.Pattern.groupindex` has them; the numbers count named groups only."""
        return {name: number for number, name in enumerate(_GROUP.findall(self.pattern), 1)}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = getattr(re.compile(self.pattern), name)
        setattr(self, name, found)  # asked for once only
        return found

    def __repr__(self) -> str:
        return f"LatePattern({self.pattern!r})"
