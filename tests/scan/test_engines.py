"""Every engine gives the same records: the fast one against the reference, on what logs hold and should not."""

import json
import random
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crashlens.rules.fast_matcher import ENGINE, AutoMatcher, HyperscanMatcher, _Search, fast_engine
from crashlens.rules.load import shipped_rules
from crashlens.rules.matcher import ERROR_WORDS, LONG_LINE, UNPRINTED, LiteralMatcher, Matcher
from crashlens.scan.member import Block, Member
from crashlens.scan.normalise import normalised
from crashlens.scan.records import RecordReader, searched_pattern

pytestmark = pytest.mark.skipif(fast_engine() is None, reason="hyperscan is not installed here")

RULES = shipped_rules()
ITEMS = (*RULES.rules, *RULES.step_lines)
LITERALS = [item.literals for item in ITEMS]
PATTERNS = [searched_pattern(item) for item in ITEMS]
REFERENCE = LiteralMatcher(LITERALS)
ENVELOPES = ("", "[12345.678901] ", "n1:91:204 [3] NCCL WARN ", "[rank3]: ", "2026-10-01T10:00:00Z ", "x")
ESCAPED = [
    'E1001 09:00:00.120000 41 model.py:106] "' + line.replace("\\", "\\\\").replace('"', '\\"') + '"'
    for item in ITEMS
    for line in item.matches
]
EXAMPLES = ESCAPED + [
    envelope + line for item in ITEMS for line in (*item.matches, *item.rejects) for envelope in ENVELOPES
]


@pytest.fixture(scope="module")
def fast() -> HyperscanMatcher:
    return HyperscanMatcher(LITERALS, PATTERNS)


def records(engine: Matcher, blocks: Iterable[Block]) -> tuple[list[object], tuple[object, ...]]:
    reader = RecordReader(RULES, engine)
    hits = [
        (hit.rule.id, hit.line, hit.line_end, hit.n, hit.text, sorted(hit.groups.items()), hit.peeled)
        for hit in reader.read(blocks)
    ]
    return hits, (reader.counts.matched, reader.counts.error_like, reader.counts.error_lines)


def blocks_of(data: bytes, size: int = 256 * 1024) -> Sequence[Block]:
    lines, blocks, first, start = data.split(b"\n"), [], 1, 0
    while start < len(lines):
        end = start + 1
        while end < len(lines) and sum(map(len, lines[start:end])) < size:
            end += 1
        blocks.append(Block(first, b"\n".join(lines[start:end]) + (b"\n" if end < len(lines) else b"")))
        first, start = first + end - start, end
    return blocks


@pytest.mark.parametrize("number", range(len(ITEMS)), ids=[item.id for item in ITEMS])
def test_every_example_of_a_rule_is_a_candidate_of_it(fast: HyperscanMatcher, number: int) -> None:
    for envelope in ENVELOPES:
        for line in ITEMS[number].matches:
            block = f"before\n{envelope}{line}\r\nbehind".encode()
            assert number in {one for found in fast.candidates(block) for one in found.items}, line


def test_every_example_gives_the_same_records(fast: HyperscanMatcher) -> None:
    data = "\n".join(EXAMPLES).encode()
    assert records(fast, blocks_of(data, 20_000)) == records(REFERENCE, blocks_of(data, 20_000))


PIECES = st.one_of(
    st.sampled_from(EXAMPLES).map(str.encode),
    st.sampled_from([*ERROR_WORDS, *(word.encode() for words in LITERALS for word in words)]),
    st.sampled_from([b"\n", b"\r\n", b"\n", b"\r", b"\x00", b"\xff", b"\xed\xa0\x80", b"\x1b[31m", " 오류 ".encode(), b" ", b"\n\n", b"x" * 9]),
    st.binary(max_size=5),
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES, max_size=25).map(b"".join))
def test_any_bytes_give_the_same_records(fast: HyperscanMatcher, data: bytes) -> None:
    assert records(fast, [Block(1, data)]) == records(REFERENCE, [Block(1, data)])


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(EXAMPLES), st.randoms(use_true_random=False))
def test_a_changed_example_gives_the_same_records(fast: HyperscanMatcher, line: str, chance: random.Random) -> None:
    changed = list(line)
    for _ in range(chance.randrange(4)):
        at = chance.randrange(len(changed))
        changed[at : at + chance.randrange(2)] = chance.choice(["", "0", "٣", "\u212a", " ", "x", '"', "\\", "\udc80"])
        changed = changed or ["x"]
    data = "".join(changed).encode("utf-8", "surrogatepass")
    assert records(fast, [Block(1, data)]) == records(REFERENCE, [Block(1, data)])


def odd_file(kind: str) -> bytes:
    chance = random.Random(7)
    lines = [chance.choice([*EXAMPLES, *["all is well, batch 17"] * 200]).encode() for _ in range(2400)]
    if kind == "crlf":
        return b"\r\n".join(lines) + b"\r\n"
    if kind == "nul":
        return b"\x00" * 5000 + b"\n".join(line.replace(b"C", b"C\x00", 1) for line in lines)
    if kind == "no UTF-8":
        return b"\n".join(line + (b" \xe9\xff" if chance.random() < 0.5 else b"") for line in lines) + b"\n"
    if kind == "colours":
        return b"\n".join(line.replace(b" ", b" \x1b[1m", 1) for line in lines) + b"\n"
    if kind == "long lines":
        return b"\n".join(b" ".join(lines[at : at + 900]) for at in range(0, 2400, 900)) + b"\n"
    if kind == "progress bars":
        return b"\n".join(b"\r".join(lines[at : at + 40]) for at in range(0, 2400, 40)) + b"\n"
    return b"\n".join(lines)


@pytest.mark.parametrize("kind", ["crlf", "nul", "no UTF-8", "colours", "long lines", "progress bars", "no last LF"])
def test_odd_files_give_the_same_records(tmp_path: Path, fast: HyperscanMatcher, kind: str) -> None:
    file = tmp_path / "odd.log"
    file.write_bytes(odd_file(kind))
    expected = records(REFERENCE, Member("odd.log", file).blocks())
    assert expected[0]
    assert records(fast, Member("odd.log", file).blocks()) == expected


def test_every_log_of_the_reference_data_gives_the_same_records(shared: Path, fast: HyperscanMatcher) -> None:
    differing: list[str] = []
    files = [file for file in sorted((shared / "data" / "logs").rglob("*")) if file.is_file()]
    for file in files:
        one = Member(file.name, file, size=file.stat().st_size)
        if one.unreadable_kind() is None:
            head = one.head()
            expected, got = (
                records(engine, normalised(one.blocks(), head, lambda _notice: None)) for engine in (REFERENCE, fast)
            )
            differing += [file.name] if got != expected else []
    assert files
    assert differing == []


def test_a_line_of_64_mb_gives_the_same_records(tmp_path: Path, fast: HyperscanMatcher) -> None:
    known = b" torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. "
    file = tmp_path / "long.log"
    file.write_bytes(b"first\n" + known + b"." * (64 * 1000**2) + known + b"\nlast " + known)
    expected = records(REFERENCE, Member("long.log", file).blocks())
    assert [hit[1] for hit in expected[0]] == [2, 2, 3]  # type: ignore[index]
    assert records(fast, Member("long.log", file).blocks()) == expected


@pytest.mark.parametrize("around", [-1, 0, 1])
def test_a_line_at_the_border_to_long_is_found(fast: HyperscanMatcher, around: int) -> None:
    known = b"CUDA out of memory. Tried to allocate 2.00 GiB"
    for before in (0, LONG_LINE // 2 - 1, LONG_LINE):
        line = b"." * (LONG_LINE + around - len(known)) + known
        block = b"." * before + b"\n" + line + b"\nend"
        assert records(fast, [Block(1, block)]) == records(REFERENCE, [Block(1, block)])
        assert records(fast, [Block(1, block)])[0]


def test_a_short_source_is_searched_without_the_fast_engine() -> None:
    matcher = AutoMatcher(LITERALS, PATTERNS, few_bytes=1000)
    assert list(matcher.candidates(b"." * 999)) == []
    assert matcher.engine == "reference"
    assert list(matcher.candidates(b"." * 999)) == []
    assert matcher.engine == "hyperscan"


def test_the_reference_can_be_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENGINE, "reference")
    matcher = AutoMatcher(LITERALS, PATTERNS, few_bytes=1)
    assert len(list(matcher.candidates(b"CUDA out of memory\n"))) == 1
    assert (matcher.engine, fast_engine()) == ("reference", None)


def test_an_expression_that_the_engine_refuses_gives_way_to_the_literals() -> None:
    search = _Search([["(?<=a)b"], ["other"]], [["marker"], ["never"]])
    assert search.lines(b"ab\nthe marker\nother\nit failed\n") == ({3: {0}, 14: {1}, 20: {-1}}, False)


def test_messages_inside_strings_of_json_and_go_give_the_same_records(fast: HyperscanMatcher) -> None:
    forms = (
        "E1201 06:49:33.123456 1 server.cc:88] {}",
        'E1201 06:49:33.123456    1 kubelet.go:2500] "Error syncing pod" err={} pod="ml/a"',
        'time="2026-12-01T06:49:33Z" level=error msg={}',
    )
    lines = [
        form.format(json.dumps(line, ensure_ascii=False)) for form in forms for item in ITEMS for line in item.matches
    ]
    blocks = blocks_of("\n".join(lines).encode())
    expected = records(REFERENCE, blocks)
    assert len(expected[0]) > len(ITEMS)
    assert records(fast, blocks) == expected


@pytest.mark.parametrize("mark", UNPRINTED)
def test_a_block_with_what_terminals_do_not_show_is_not_clean(fast: HyperscanMatcher, mark: bytes) -> None:
    line = b"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0\n"
    for engine in (REFERENCE, fast):
        assert engine.clean_candidates(line + b"x" + mark + b"\n" + line) is None
        found = engine.clean_candidates(line + b"[0 m[1m\n" + line)
        assert found is not None
        assert [one.start for one in found] == [0, len(line) + 8]
