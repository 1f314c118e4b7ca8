from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from crashlens.rules.load import shipped_rules
from crashlens.rules.matcher import ERROR_WORDS, Candidate, LiteralMatcher

LITERALS = [("NVRM: Xid (",), ("CUDA out of memory", "out of memory"), ("한글 오류",), ("aXa", "aa")]


def naive(block: bytes, literals: list[tuple[str, ...]]) -> list[Candidate]:
    found: list[Candidate] = []
    at = 0
    for line in block.split(b"\n"):
        items = tuple(n for n, words in enumerate(literals) if any(word.encode() in line for word in words))
        if items or any(word in line for word in ERROR_WORDS):
            found.append(Candidate(at, at + len(line), items, any(word in line for word in ERROR_WORDS)))
        at += len(line) + 1
    return found


PIECE = st.one_of(
    st.sampled_from([word.encode() for words in LITERALS for word in words]),
    st.sampled_from([*ERROR_WORDS]),
    st.sampled_from([b"\n", b"\r\n", b"\r", b"\x00", b"\xff\xfe", b"a", b"Xa", b" ", b"\n\n"]),
    st.binary(max_size=6),
)


@settings(max_examples=200)
@given(st.lists(PIECE, max_size=40).map(b"".join))
def test_candidates_are_those_of_a_search_line_by_line(block: bytes) -> None:
    assert list(LiteralMatcher(LITERALS).candidates(block)) == naive(block, LITERALS)


@settings(max_examples=100)
@given(st.lists(PIECE, max_size=40).map(b"".join), st.lists(st.integers(0, 100), max_size=4))
def test_where_blocks_end_changes_nothing(block: bytes, cuts: list[int]) -> None:
    lines = block.split(b"\n")
    borders = sorted({min(cut, len(lines)) for cut in cuts} | {0, len(lines)})
    got: list[tuple[bytes, tuple[int, ...]]] = []
    for first, behind in pairwise(borders):
        part = b"\n".join(lines[first:behind]) + (b"\n" if behind < len(lines) else b"")
        got += [(part[one.start : one.end], one.items) for one in LiteralMatcher(LITERALS).candidates(part)]
    assert got == [(block[one.start : one.end], one.items) for one in naive(block, LITERALS)]


def test_a_line_without_any_literal_but_with_an_error_word_has_no_items() -> None:
    assert list(LiteralMatcher(LITERALS).candidates(b"fine\nit failed\n")) == [Candidate(5, 14, (), error=True)]


def test_every_literal_of_the_shipped_rules_finds_its_own_line() -> None:
    rules = shipped_rules()
    items = [*rules.rules, *rules.step_lines]
    engine = LiteralMatcher([item.literals for item in items])
    for number, item in enumerate(items):
        for literal in item.literals:
            (candidate,) = engine.candidates(f"x\n..{literal}..\r\ny".encode())
            assert number in candidate.items
