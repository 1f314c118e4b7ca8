"""Templates of lines that no rule knows: what is masked, what is counted, and that memory is bounded."""

import pytest

from crashlens.scan.templates import LONGEST_TEMPLATE, MOST_TEMPLATES, SHOWN_TEMPLATES, TemplateCounts, template_of


@pytest.mark.parametrize(
    ("message", "template"),
    [
        ("worker 17 failed after 3.5 s", "worker <n> failed after <n> s"),
        ("error at 0x7f3c2b97eef8 in /opt/lib/libx.so", "error at <hex> in <path>"),
        ("open ./runs/a1/x.log failed", "open <path> failed"),
        ("GPU-8b8148f6-6b65-386e-72ff-473796da1dac failed", "<uuid> failed"),
        ("connect to 10.0.7.3:29500 failed", "connect to <address> failed"),
        ("connect to node7.cluster.local failed", "connect to <host> failed"),
        ("node17 timed out", "node<n> timed out"),
        ("pull https://repo.example.com/a/b?c=1 failed", "pull <url> failed"),
        ("pcieport 0000:00:03.1: error", "pcieport <pci>: error"),
        ("[engine.py:318] failed", "[engine.py:<n>] failed"),
        ("blob 9f86d081884c7d65 is corrupt, error", "blob <hex> is corrupt, error"),
        ("  two   spaces\tfailed ", "two spaces failed"),
        ("12,345,678 errors", "<n> errors"),
        ("오류 3: error", "오류 <n>: error"),
    ],
)
def test_what_differs_from_line_to_line_is_masked(message: str, template: str) -> None:
    assert template_of(message) == template


def test_a_secret_is_masked_before_it_is_cut() -> None:
    secret = "hf_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3f"
    for lead in (0, 970, 985, 995):
        assert secret[3:10] not in template_of("x" * lead + f" login failed HF_TOKEN={secret}")
    counts = TemplateCounts()
    counts.add(1, f"login failed HF_TOKEN={secret}")
    assert secret not in counts.most_frequent()[0].text


def test_a_template_is_short() -> None:
    assert len(template_of("error " + "word " * 500)) == LONGEST_TEMPLATE


def test_the_most_frequent_come_first_with_their_first_line() -> None:
    counts = TemplateCounts()
    for line, message in enumerate(
        ["disk error 1", "rank 3 failed", "rank 4 failed", "disk error 2", "rank 9 failed"], 11
    ):
        counts.add(line, message)
    assert [(one.text, one.lines, one.first_line) for one in counts.most_frequent()] == [
        ("rank <n> failed", 3, 12),
        ("disk error <n>", 2, 11),
    ]


def test_lines_of_templates_beyond_the_most_are_counted_together() -> None:
    counts = TemplateCounts()
    words = ["".join(chr(97 + int(digit)) for digit in str(number)) for number in range(MOST_TEMPLATES + 7)]
    for line, word in enumerate(words, 1):
        counts.add(line, f"{word} failed")
    counts.add(9999, f"{words[0]} failed")
    assert counts.beyond == 7
    assert counts.most_frequent()[0].lines == 2
    assert len(counts.most_frequent()) == SHOWN_TEMPLATES
