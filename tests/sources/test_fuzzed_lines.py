"""200,000 lines in the shape of real ones, mutated from a fixed seed: no line ends the reading, line numbers hold.

The parser is called itself: `cl.read` would turn what it raises into a notice.
"""

import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import crashlens as cl
from crashlens.rules.load import shipped_rules
from crashlens.rules.model import Rule
from crashlens.scan.envelope import strip_unprinted
from crashlens.scan.member import Member
from crashlens.scan.rule_trials import ENVELOPES
from crashlens.sources.parsers import SHIPPED
from crashlens.sources.parsers.text_log import parse
from crashlens.sources.reading import table_schemas
from crashlens.sources.writer import ReadOptions, TableWriter

LINES, CHUNKS = 200_000, 10
RULES = shipped_rules()
MORE_ENVELOPES = (
    "", "Oct  1 09:18:40 node7 kernel: [ 4242.123456] ", "[Thu Oct  1 09:18:40 2026] ", "6,1042,4242123456,-;", "<4>[  3.141592] ",
    "[rank3]: ", "[default5]:", "3: ", "(RayTrainWorker pid=123, ip=10.0.0.5) ", "2026-10-01T09:18:40.123456789Z stderr F ",
    "[2026-10-01 09:18:40,123] [ERROR] [launch.py:318:sigkill_handler] ", "E1001 09:18:40.715298 4821 socket.cpp:464] ",
    "(EngineCore_0 pid=123) ERROR 10-01 09:18:40 [core.py:700] ", "W tensorflow/core/common_runtime/bfc_allocator.cc:217] ",
    '{"log":"', '{"MESSAGE":"', "[pod/trainer-0/main] ", "web-1  | ",
)  # fmt: skip
STRANGE = (
    b"\x00", b"\x1b[31m", b"\x1b]0;t\x07", b"\x1b[", b"\r", b"\r\n", b"\xff\xfe", b"\xc3", b"\xe2\x80\xa8", b"\x0b", b"\x85", b"\x1c",
    b"\xef\xbb\xbf", b"#033[36m", b"\\u001b[36m", "한글".encode(), "８９".encode(), "\u202e".encode(), b"\xed\xa0\x80", b'"', b"`", b"'",
)  # fmt: skip
HUGE = (
    b"0",
    b"-1",
    b"9" * 19,
    b"9" * 400,
    b"18446744073709551616",
    b"1e999",
    b"00000000000000000001",
    "٣".encode(),
    b"nan",
    b"0x7f",
)
ESCAPED = re.compile(r"(?:#033|\\u001b|\\x1b)\[[0-9;]*m")  # colours that a logger wrote as text; they are not matched
NUMBER = re.compile(rb"\d+")


def seeds() -> list[bytes]:
    rows = (*RULES.rules, *RULES.step_lines, *RULES.harmless)
    texts = [text for row in rows for text in (*row.matches, *row.rejects)]
    return [(envelope + text).encode() for text in texts for envelope in (*ENVELOPES.values(), *MORE_ENVELOPES)]


def cut(rng: random.Random, line: bytes, _other: bytes) -> bytes:
    start = rng.randrange(len(line) + 1)
    return line[start:] if rng.random() < 0.5 else line[:start]


def glue(rng: random.Random, line: bytes, other: bytes) -> bytes:
    return line[: rng.randrange(len(line) + 1)] + rng.choice((b"", b" ", b"\r", b"\t")) + other


def repeat(rng: random.Random, line: bytes, _other: bytes) -> bytes:
    start = rng.randrange(len(line) + 1)
    return line[:start] + line[start : start + rng.randrange(1, 12)] * rng.choice((2, 7, 60)) + line[start:]


def strange(rng: random.Random, line: bytes, _other: bytes) -> bytes:
    start = rng.randrange(len(line) + 1)
    return line[:start] + rng.choice(STRANGE) * rng.choice((1, 1, 3)) + line[start:]


def huge_number(rng: random.Random, line: bytes, _other: bytes) -> bytes:
    return NUMBER.sub(lambda found: rng.choice(HUGE) if rng.random() < 0.3 else found.group(), line)


def swapped(rng: random.Random, line: bytes, _other: bytes) -> bytes:
    where = rng.randrange(max(1, len(line)))
    return line[:where] + bytes([rng.randrange(256)]) + line[where + 1 :]


MUTATIONS: tuple[Callable[[random.Random, bytes, bytes], bytes], ...] = (
    cut,
    glue,
    repeat,
    strange,
    huge_number,
    swapped,
)


def mutated(seed: int, count: int) -> list[bytes]:
    rng, known = random.Random(seed), seeds()
    lines: list[bytes] = []
    for _ in range(count):
        line = rng.choice(known)
        for _ in range(rng.choice((1, 1, 2, 4))):
            line = rng.choice(MUTATIONS)(rng, line, rng.choice(known))
        lines.append(line.replace(b"\n", b" "))
    return lines


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_no_mutated_line_ends_the_reading_and_line_numbers_hold(chunk: int, tmp_path: Path) -> None:
    lines = mutated(chunk, LINES // CHUNKS)
    file = tmp_path / "run.log"
    file.write_bytes(b"\n".join(lines) + b"\n" * (chunk % 2))
    out = TableWriter(0, ReadOptions(tz="Europe/Berlin", year=2026), table_schemas())
    member = Member("run.log", file)
    parse(member, out)
    assert member.lines == len(lines)
    assert out.matched > len(lines) // 8, "too few lines were matched: the test looks at nothing"
    assert out.error_like > 100
    starts = {rule.id: rule for rule in RULES.rules if rule.record is None or rule.record.key == "start"}
    seen: set[str] = set()
    for frame in out.frames["events"]:
        for line, rule_id in frame.select("line", "rule_id").iter_rows():
            if rule_id in starts:
                seen.add(rule_id)
                text = ESCAPED.sub("", strip_unprinted(lines[line - 1]).decode("utf-8", "backslashreplace"))
                assert any(literal in text for literal in starts[rule_id].literals), (rule_id, line)
    assert len(seen) > len(starts) // 2


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_no_mutated_lines_end_the_conclusions(seed: int, tmp_path: Path) -> None:
    for name in ("kern.log", "run.log"):
        (tmp_path / name).write_bytes(b"\n".join(mutated(100 + seed + len(name), 1500)))
    case = cl.read(tmp_path, tz="Asia/Seoul", year=2026)
    assert not [text for row in case.sources["notices"].to_list() for text in row or () if "please report" in text]
    for lang in ("en", "ko"):
        assert case.findings(lang=lang)
        assert case.answer_text(lang=lang)
    assert case.unmatched().rows


PIECES = st.one_of(
    st.binary(max_size=40),
    st.sampled_from(seeds()[::7]),
    st.sampled_from([*STRANGE, b"\n", b"\n\n"]),
    st.sampled_from(HUGE),
)


@pytest.mark.parametrize("chosen", SHIPPED, ids=lambda item: item.name)
@settings(max_examples=60, deadline=None)
@given(data=st.lists(PIECES, max_size=25).map(b"".join))
def test_no_bytes_crash_a_parser(chosen: object, data: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.getbasetemp() / "any.log"
    file.write_bytes(data)
    out = TableWriter(0, ReadOptions(tz="UTC", year=2026), table_schemas())
    member = Member("any.log", file)
    sniffed = chosen.sniff(data[: 64 * 1024])  # type: ignore[attr-defined]
    assert 0 <= sniffed <= 1
    chosen.parse(member, out)  # type: ignore[attr-defined]
    most = max(1, data.count(b"\n") + 1)
    for frames in out.frames.values():
        assert all(
            frame["line"].max() is None or frame["line"].max() <= most for frame in frames if "line" in frame.columns
        )
    assert out.all_notices() is not None


def test_every_rule_of_one_line_stands_in_the_seeds() -> None:
    assert all(isinstance(rule, Rule) for rule in RULES.rules)
    assert len(seeds()) > 2000
