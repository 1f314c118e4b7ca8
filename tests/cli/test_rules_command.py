"""`crashlens rules`: what is printed, where, and what each exit status means."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from crashlens.cli import main
from crashlens.rules.load import shipped_rules

Run = Callable[..., tuple[int, str, str]]
RULE = """[[rule]]
id = "site.fan"
status = "experimental"
topic = "host.cooling"
severity = "error"
applies_to = ["process"]
literals = ["fan stopped"]
pattern = 'fan stopped: (?P<fan>\\d{1,3})'
means = "A fan stopped."
does_not_prove = ["heat"]
references = ["our daemon"]
matches = ["fan stopped: 3"]
rejects = ["fan started: 3"]
"""
LOG = "2026-10-01T10:00:00Z step 1 loss 2.1\n2026-10-01T10:00:01Z fan stopped: 3\n"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def once(*arguments: str) -> tuple[int, str, str]:
        try:
            status = main(arguments)
        except SystemExit as stop:  # argparse's own way out
            status = int(stop.code or 0)
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return status, out, err

    return once


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "site.toml").write_text(RULE)
    (tmp_path / "run.log").write_text(LOG)
    return tmp_path


def test_list_names_every_row_once(run: Run) -> None:
    status, out, err = run("rules", "list")
    rules = shipped_rules()
    rows = (*rules.rules, *rules.step_lines, *rules.sequences, *rules.harmless)
    assert (status, err) == (0, "")
    assert [line.split()[0] for line in out.split("\n")[1 : len(rows) + 1]] == sorted(row.id for row in rows)
    assert out.endswith(f"{len(rows)} rows, 0 of them your own; digest {rules.digest}\n")


def test_list_of_a_topic_takes_what_is_below_it_and_no_other_word(run: Run) -> None:
    rules = json.loads(run("rules", "list", "--topic", "gpu", "--format", "json")[1])["rules"]
    assert rules
    assert {row["topic"].split(".")[0] for row in rules} == {"gpu"}
    assert "0 rows" in run("rules", "list", "--topic", "gp")[1]


def test_an_own_rule_is_listed_with_its_place(run: Run) -> None:
    _, out, _ = run("rules", "list", "--topic", "host", "--rules", "site.toml")
    (line,) = [line for line in out.split("\n") if line.startswith("site.fan")]
    assert line.split() == ["site.fan", "rule", "error", "host.cooling", "process", "site.toml:1"]


def test_show_prints_everything_that_a_rule_says(run: Run) -> None:
    status, out, _ = run("rules", "show", "kernel.xid")
    rule = shipped_rules().rule("kernel.xid")
    assert rule is not None
    assert status == 0
    flat = " ".join(out.split())
    for text in (rule.means, *rule.does_not_prove, *rule.false_positives, *rule.references, rule.topic, rule.place):
        assert text in flat
    assert "gpu_lost_then_collective_timeout" in flat


@pytest.mark.parametrize("row", ["steps.torchtitan", "handled.retried", "gpu_lost_then_collective_timeout"])
def test_show_knows_the_other_tables_too(row: str, run: Run) -> None:
    known = {item.id for item in (*shipped_rules().step_lines, *shipped_rules().sequences, *shipped_rules().harmless)}
    row = row if row in known else min(known)
    status, out, _ = run("rules", "show", row)
    assert (status, out.split("\n")[0]) == (0, row)
    assert json.loads(run("rules", "show", row, "--format", "json")[1])["id"] == row


def test_show_of_an_unknown_id_names_close_ones(run: Run) -> None:
    status, out, err = run("rules", "show", "kernel.xdi")
    assert (status, out) == (2, "")
    assert "crashlens rules show kernel.xid" in err


def test_a_good_file_passes(run: Run) -> None:
    status, out, err = run("rules", "test", "site.toml", "--on", "run.log")
    assert (status, err) == (0, "")
    assert out.split("\n")[1].split() == ["site.fan", "1/1", "1/1", "linear", "ok"]
    assert "run.log:2 site.fan fan=3 | 2026-10-01T10:00:01Z fan stopped: 3\nrecords found: site.fan 1\n" in out


def test_an_example_that_fails_is_named_and_is_status_1(folder: Path, run: Run) -> None:
    (folder / "site.toml").write_text(RULE.replace('"fan stopped: 3"', '"fan stopped: three"'))
    status, out, _ = run("rules", "test", "site.toml")
    assert status == 1
    assert "FAILED" in out
    assert "site.toml:1: site.fan: does not match its example 'fan stopped: three'" in out


def test_faults_of_a_file_are_listed_and_are_status_2(folder: Path, run: Run) -> None:
    (folder / "site.toml").write_text(RULE.replace('"error"', '"bad"') + "\n" + RULE.replace("means", "meens"))
    status, out, err = run("rules", "test", "site.toml")
    assert (status, out) == (2, "")
    assert "site.toml:1: site.fan: severity is 'bad'" in err
    assert "site.toml:15: site.fan: meens is not a known key" in err


def test_control_characters_of_a_rule_file_do_not_reach_the_terminal(folder: Path, run: Run) -> None:
    (folder / "site.toml").write_text(RULE.replace('"A fan stopped."', '"A \\u001b[2J\\u202e fan stopped."'))
    _, out, _ = run("rules", "show", "site.fan", "--rules", "site.toml")
    assert "\x1b" not in out
    assert "\u202e" not in out
    (folder / "site.toml").write_text(RULE.replace('"site.fan"', '"site.\\u001b[2J"'))
    status, _, err = run("rules", "list", "--rules", "site.toml")
    assert (status, "\x1b" in err) == (2, False)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("rules",), "ACTION"),
        (("rules", "show"), "ID"),
        (("rules", "test", "gone.toml"), "gone.toml"),
        (("rules", "test", "site.toml", "--on", "gone.log"), "gone.log"),
        (("rules", "list", "--rules", "gone.toml"), "gone.toml"),
        (("scan", "run.log", "--rules", "gone.toml"), "gone.toml"),
        (("audit", "run.log", "-o", "a.pdf", "--rules", "gone.toml"), "gone.toml"),
        (("audit", "run.log", "-o", "a.pdf", "--html", "site.toml", "--force", "--rules", "site.toml"), "site.toml"),
    ],
)
def test_a_wrong_call_is_status_2(arguments: tuple[str, ...], words: str, run: Run) -> None:
    status, _, err = run(*arguments)
    assert status == 2
    assert words in err


def test_scan_tells_the_record_of_an_own_rule(run: Run) -> None:
    status, out, _ = run("scan", "run.log", "--rules", "site.toml")
    assert status == 3
    assert "Rules of your own matched 1 record(s) that they call an error: site.fan (1)." in out
    assert "run.log:2" in out
    assert "site.fan" not in run("scan", "run.log")[1]


def test_the_json_of_scan_says_what_no_rule_knows(folder: Path, run: Run) -> None:
    lines = ["worker 3 failed", "0 errors", "worker 4 failed", "fine"]
    (folder / "odd.log").write_text("".join(f"2026-10-01T10:00:0{n}Z {text}\n" for n, text in enumerate(lines)))
    (row,) = json.loads(run("scan", "odd.log", "--format", "json")[1])["sources"]
    assert row["error_templates"] == [{"template": "worker <n> failed", "lines": 2, "first_line": 1}]
    assert (row["lines_error_like"], row["lines_harmless"]) == (2, 1)
    text = run("scan", "odd.log")[1]
    assert "- odd.log:1 (2×)\n    | worker <n> failed\n" in text
