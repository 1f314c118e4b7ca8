"""Is a pattern safe on text that somebody else wrote? It is timed on hostile lines of length 1x, 2x and 4x."""

import re
import time
from collections.abc import Sequence

LENGTH = 1000  # characters of the shortest hostile line
SLOWEST_GROWTH = 9.0  # 4x the length may take up to so many times as long: linear is 4, quadratic 16
NOISE_S = 0.004  # below this the clock says nothing about growth
# Lengths tried first, one more, then a quarter longer each: a cubic or exponential pattern shows here and would not end
# at LENGTH.
FIRST_LENGTHS = (*range(1, 16), *(round(16 * 1.25**step) for step in range(22)))
SLOW_S = 0.1  # no search of so few characters takes this long

MOST_PIECES = 48  # of the words of a pattern that are repeated
LONGEST_LEAD = 300  # characters of an example that stand in front

STOP = "\x01!"  # ends every hostile line, so that what wants its end tries from every place
_PIECES = ("a", "0", " ", "[", "(", "1.", "a=", "::", "GPU ", "Rank 1 ", "\t", "x,", "- ")


def lint_pattern(pattern: re.Pattern[str], *, examples: Sequence[str] = ()) -> str | None:
    """What makes `pattern` unsafe on hostile lines, or None.

    Each hostile line repeats one short piece, alone and behind the literal start of the pattern, so that a search
    that backtracks shows. Quadratic growth at 4,000 characters costs milliseconds and is refused. It is a trial, not a
    proof.

    Args:
        pattern: What is tried.
        examples: Lines that it matches. With them the words of the pattern are repeated too, and the beginnings of the
            first example stand in front.
    """
    start = _literal_start(pattern.pattern)
    lines = [(lead, piece) for piece in _PIECES for lead in dict.fromkeys(("", start))]
    if examples:
        lines += [("", piece) for piece in _words_of(pattern.pattern) if piece not in _PIECES]
        first = examples[0][:LONGEST_LEAD]
        lines += [(first[: len(first) * part // 4], piece) for part in (1, 2, 3, 4) for piece in ("a", "0", " ", "1.")]
    for lead, piece in lines:
        if slow := _slow_on(pattern, lead, piece):
            return slow
    return None


def _slow_on(pattern: re.Pattern[str], lead: str, piece: str) -> str | None:
    repeated = f"{lead[:20] + piece!r} repeated to"
    for count in dict.fromkeys(max(1, length // len(piece)) for length in FIRST_LENGTHS):
        if _best_time(pattern, lead + piece * count, runs=1) > SLOW_S:
            return f"far slower than linear on {repeated} {len(lead) + len(piece) * count} characters"
    unit = lead + piece * (LENGTH // len(piece))
    longer = lead + piece * (4 * LENGTH // len(piece))
    if _grows(pattern, unit, longer, runs=2) and _grows(pattern, unit, longer, runs=6):
        return f"slower than linear on {repeated} {len(longer):,} characters"
    return None


def _words_of(source: str) -> list[str]:
    """Short stretches of letters and digits of a pattern, and each of its printed characters: what it may repeat."""
    plain = re.sub(r"\\.|\(\?P<\w+>", " ", source)
    words = [*re.findall(r"[A-Za-z0-9]{2,8}", plain), *re.findall(r"[^\s\\]", plain)]
    return list(dict.fromkeys(words))[:MOST_PIECES]


def _literal_start(source: str) -> str:
    found = re.match(r"[\w :'\-]+", source.lstrip("^"))
    return found.group() if found else ""


def _grows(pattern: re.Pattern[str], unit: str, longer: str, *, runs: int) -> bool:
    slow = _best_time(pattern, longer, runs=runs)
    return slow > NOISE_S and slow > SLOWEST_GROWTH * max(_best_time(pattern, unit, runs=runs), 1e-6)


def _best_time(pattern: re.Pattern[str], line: str, *, runs: int) -> float:
    best, line = float("inf"), line + STOP
    for _ in range(runs):
        begun = time.thread_time()  # of this thread alone: on a busy machine the wall clock measures the others
        pattern.search(line)
        best = min(best, time.thread_time() - begun)
    return best
