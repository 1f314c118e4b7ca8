"""Is a pattern safe on text that somebody else wrote? It is timed on hostile lines of length 1x, 2x and 4x."""

import re
import time

LENGTH = 1000  # characters of the shortest hostile line
SLOWEST_GROWTH = 9.0  # 4x the length may take up to so many times as long: linear is 4, quadratic 16
NOISE_S = 0.004  # below this the clock says nothing about growth
# Lengths tried first, each a quarter longer: a cubic or exponential pattern shows here and would not end at LENGTH.
FIRST_LENGTHS = tuple(round(16 * 1.25**step) for step in range(22))
SLOW_S = 0.1  # no search of so few characters takes this long

STOP = "\x01!"  # ends every hostile line, so that what wants its end tries from every place
_PIECES = ("a", "0", " ", "[", "(", "1.", "a=", "::", "GPU ", "Rank 1 ", "\t", "x,", "- ")


def lint_pattern(pattern: re.Pattern[str]) -> str | None:
    """What makes `pattern` unsafe on hostile lines, or None.

    Each hostile line repeats one short piece, alone and behind the literal start of the pattern, so that a search
    that backtracks shows. Quadratic growth at 4,000 characters costs milliseconds and is refused.
    """
    start = _literal_start(pattern.pattern)
    for piece in _PIECES:
        for lead in ("", start):
            for length in FIRST_LENGTHS:
                if _best_time(pattern, lead + piece * (length // len(piece)), runs=2) > SLOW_S:
                    return f"far slower than linear on {lead[:20] + piece!r} repeated to {length} characters"
            unit = lead + piece * (LENGTH // len(piece))
            longer = lead + piece * (4 * LENGTH // len(piece))
            if _grows(pattern, unit, longer, runs=2) and _grows(pattern, unit, longer, runs=6):
                return f"slower than linear on {lead[:20] + piece!r} repeated to {len(longer):,} characters"
    return None


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
