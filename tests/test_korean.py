"""Korean from end to end: nothing is left in English but names, commands and what the evidence itself says."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import crashlens as cl
from crashlens.findings import Finding

HERE = Path(__file__).parent
INCIDENTS = sorted(path.parent for path in (HERE / "incidents").glob("*/expected.toml"))
SAMPLES = ("throttled_then_xid94", "timeouts_then_foreign_xid94")
HANGUL = re.compile(r"[가-힣]")
ENGLISH = re.compile(r"\b[a-z]+(?: [a-z]+){2,}\b")  # three words in a row are a clause, not a name
COMMANDS = "kubectl describe pod"  # named inside a sentence
CAUSAL = re.compile(r"때문|원인|야기|초래")


def sentences(finding: Finding) -> Iterator[str]:
    yield finding.summary
    yield from finding.does_not_prove
    yield from finding.unknown
    for check in finding.next_checks:
        yield from (check.question, check.expect, check.otherwise)
    yield from (rival.separated_by for rival in finding.alternatives)
    yield from (item.note for item in finding.evidence if item.note)
    yield from (item.source for item in finding.thresholds)
    yield from (item.method for item in finding.effects)


def english_of(text: str, quoted: str) -> list[str]:
    return [hit for hit in ENGLISH.findall(text) if hit not in quoted]


@pytest.mark.parametrize("folder", [*INCIDENTS, *map(cl.sample, SAMPLES)], ids=lambda path: path.name)
def test_every_sentence_of_a_finding_is_korean_and_says_no_cause(folder: Path) -> None:
    case = cl.read(folder, tz="UTC", year=2026)
    korean, english = case.findings(lang="ko"), case.findings()
    assert [item.fingerprint for item in korean] == [item.fingerprint for item in english]
    for item in korean:
        quoted = " ".join([COMMANDS, *(one.text for one in item.evidence)])
        said = list(sentences(item))
        assert [text for text in said if not HANGUL.search(text)] == []
        assert [hits for text in said if (hits := english_of(text, quoted))] == []
        assert [text for text in said if CAUSAL.search(text)] == []
        assert not item.causal or CAUSAL.search(item.causal)
        assert english_of(item.causal or "", quoted) == []


@pytest.mark.parametrize("sample", SAMPLES)
def test_every_view_of_an_audit_is_korean(sample: str) -> None:
    case = cl.read(cl.sample(sample))  # without a zone, so that there are notices too
    tables = [case.scope(lang="ko"), case.coverage(lang="ko"), case.read_sources(lang="ko"), case.digests(lang="ko")]
    tables += [case.clock_table(lang="ko"), case.versions(lang="ko"), case.what_to_collect(lang="ko")]
    tables.append(case.findings(lang="ko").summary())
    for table in tables:
        prose = [column for column in table.columns if not column.mono]
        heads = [table.title, table.caption, *(column.label for column in prose)]
        assert [text for text in heads if text and text not in {"GPU", "SHA-256"} and not HANGUL.search(text)] == []
        cells = [cell for row in table.rows for cell in row if cell]
        assert [cell for cell in cells if ENGLISH.search(cell)] == []
    assert any("시간대" in (cell or "") for row in case.read_sources(lang="ko").rows for cell in row)


def test_the_terminal_is_korean_outside_of_quoted_lines() -> None:
    text = cl.read(cl.sample("throttled_then_xid94"), tz="UTC").answer_text(lang="ko")
    own = [line for line in text.split("\n") if not line.lstrip().startswith(("|", "$"))]
    said = [line for line in own if ENGLISH.search(line) and "--format" not in line]
    assert said == []


def test_json_has_one_language_at_a_time() -> None:
    case = cl.read(cl.sample("throttled_then_xid94"), tz="UTC")
    for lang, korean in (("en", False), ("ko", True)):
        rows = case.answer(lang=lang).to_json()["coverage"]
        assert not [key for row in rows for key in row if key.endswith("_ko")]
        assert {bool(HANGUL.search(row["asks"])) for row in rows} == {korean}
