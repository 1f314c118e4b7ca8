"""Is a pattern safe on text that somebody else wrote? It is timed on hostile lines of length 1x, 2x and 4x."""

import re
import time

LENGTH = 2000  # characters of the shortest hostile line
SLOWEST_GROWTH = 9.0  # 4x the length may take up to so many times as long: linear is 4, quadratic 16
NOISE_S = 0.004  # below this the clock says nothing about growth
FIRST_LENGTH = 24  # tried first: a pattern that doubles its work with each character shows here and ends nowhere later

_PIECES = ("a", "0", " ", "[", "(", "1.", "a=", "::", "GPU ", "Rank 1 ", "\t", "x,", "- ")


def lint_pattern(pattern: re.Pattern[str]) -> str | None:
    """What makes `pattern` unsafe on hostile lines, or None.

    Each hostile line repeats one short piece, alone and behind the literal start of the pattern, so that a search
    that backtracks shows. Quadratic growth at 8,000 characters costs milliseconds and is refused.
    """
    start = _literal_start(pattern.pattern)
    for piece in _PIECES:
        for lead in ("", start):
            if _best_time(pattern, lead + piece * (FIRST_LENGTH // len(piece))) > NOISE_S:
                return f"exponential on {lead[:20] + piece!r} repeated {FIRST_LENGTH // len(piece)} times"
            times = [_best_time(pattern, lead + piece * (LENGTH * factor // len(piece))) for factor in (1, 4)]
            if times[1] > NOISE_S and times[1] > SLOWEST_GROWTH * max(times[0], 1e-6):
                grew = f"{times[0]:.4f} s, 4x longer {times[1]:.4f} s"
                return f"slower than linear on {lead[:20] + piece!r} repeated ({grew})"
    return None


def _literal_start(source: str) -> str:
    found = re.match(r"[\w :'\-]+", source.lstrip("^"))
    return found.group() if found else ""


def _best_time(pattern: re.Pattern[str], line: str) -> float:
    best = float("inf")
    for _ in range(2):
        begun = time.perf_counter()
        pattern.search(line)
        best = min(best, time.perf_counter() - begun)
    return best
