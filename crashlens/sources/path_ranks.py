"""Which rank wrote a file, where its path says so?

Launchers give each process a file of its own: `rank_3.log`, `train-rank3.err`, or torchelastic's
`attempt_0/3/stderr.log`, whose number counts within the node. A name that holds two ranks says nothing.
"""

import re
from typing import NamedTuple

_RANK = re.compile(
    r"(?:^|[^A-Za-z])(?P<kind>(?:node|local|global|group|dp|tp|pp)[._-]?)?rank[._-]?(?P<number>\d{1,6})(?!\d)",
    re.IGNORECASE,
)
_ELASTIC = re.compile(r"(?:^|/)attempt_\d{1,6}/(?P<number>\d{1,4})/(?:stdout|stderr)\.log(?:\.\w{1,4})?$")


class PathRanks(NamedTuple):
    """Global rank and rank within the node, each None where the path does not say."""

    rank: int | None
    local_rank: int | None


def ranks_of_path(path: str) -> PathRanks:
    """The ranks that `path` (with `/`) names; the file name goes before its folders."""
    *folders, name = path.split("/")
    ranks, local_ranks = _numbers(name)
    for folder in reversed(folders):
        if ranks or local_ranks:
            break
        ranks, local_ranks = _numbers(folder)
    elastic = _ELASTIC.search(path)
    if elastic:
        local_ranks |= {int(elastic["number"])}
    return PathRanks(_only(ranks), _only(local_ranks))


def _numbers(part: str) -> tuple[set[int], set[int]]:
    ranks: set[int] = set()
    local_ranks: set[int] = set()
    for found in _RANK.finditer(part):
        kind = (found["kind"] or "global").rstrip("._-").lower()
        if kind in {"global", "local"}:
            (ranks if kind == "global" else local_ranks).add(int(found["number"]))
    return ranks, local_ranks


def _only(numbers: set[int]) -> int | None:
    return next(iter(numbers)) if len(numbers) == 1 else None
