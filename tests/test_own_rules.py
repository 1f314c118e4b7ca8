"""Rules of somebody's own, from the call to the finding: told and marked, never a cause, the same after save and open."""

from pathlib import Path

import pytest

import crashlens as cl

RULE = """[[rule]]
id = "site.{name}"
status = "experimental"
topic = "host.cooling"
severity = "{severity}"
applies_to = ["process"]
literals = ["{name} stopped"]
pattern = '{name} stopped: (?P<unit>\\d{{1,3}})'
means = "A {name} stopped."
does_not_prove = ["that {name} was needed"]
references = ["our daemon"]
matches = ["{name} stopped: 3"]
rejects = ["{name} started: 3"]

[[rule.next_checks]]
question = "Is {name} {{unit}} needed?"
how = "ask"
some = "mend it"
none = "leave it"
"""
LOG = """2026-10-01T10:00:00Z step 1 loss 2.1
2026-10-01T10:00:01Z fan stopped: 3
2026-10-01T10:00:02Z fan stopped: 4
2026-10-01T10:00:03Z pump stopped: 1
"""
XID = "2026-10-01T09:08:25.830749+00:00 node7 kernel: NVRM: Xid (PCI:0000:9b:00): 94, pid=48213, name=python3, Ch 00000008\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "site.toml").write_text(
        RULE.format(name="fan", severity="error") + RULE.format(name="pump", severity="fatal")
    )
    (tmp_path / "run.log").write_text(LOG)
    return tmp_path


def test_own_records_are_one_undecided_finding_with_their_own_checks() -> None:
    (finding,) = cl.read("run.log", rules="site.toml").findings()
    assert (finding.cause, finding.verdict) == ("unknown.insufficient_evidence", "undecided")
    assert "site.fan (2) and site.pump (1)" in finding.summary
    assert [(item.place.line, item.role, item.note) for item in finding.evidence] == [
        (2, "first", "A fan stopped."),
        (3, "context", ""),
        (4, "context", "A pump stopped."),
    ]
    assert str(finding.first_event) == "run.log:2"
    assert finding.does_not_prove[-2:] == ("that fan was needed", "that pump was needed")
    assert [check.question for check in finding.next_checks[:2]] == ["Is fan 3 needed?", "Is pump 1 needed?"]
    assert finding.causal is None


def test_a_finding_of_the_shipped_rules_stays_in_front(folder: Path) -> None:
    (folder / "kern.log").write_text(XID)
    first, second = cl.read(["kern.log", "run.log"], rules=["site.toml"]).findings()
    assert (first.cause, second.cause) == ("gpu_hardware.uncorrectable_ecc", "unknown.insufficient_evidence")


@pytest.mark.parametrize("severity", ["info", "warning"])
def test_what_an_own_rule_calls_no_error_is_a_row_and_no_finding(severity: str, folder: Path) -> None:
    (folder / "site.toml").write_text(RULE.format(name="fan", severity=severity))
    case = cl.read("run.log", rules="site.toml")
    assert case.events["rule_id"].to_list() == ["site.fan", "site.fan"]
    assert "of your own" not in case.findings()[0].summary


def test_a_record_whose_writer_went_on_is_no_finding(folder: Path) -> None:
    (folder / "run.log").write_text("2026-10-01T10:00:01Z fan stopped: 3, retrying with fan 4\n")
    case = cl.read("run.log", rules="site.toml")
    (row,) = case.events.filter(case.events["rule_id"] == "site.fan").to_dicts()
    assert row["fields"][-1] == {"key": "handled", "value": "yes"}
    assert "of your own" not in case.findings()[0].summary


def test_the_digest_of_the_rules_is_in_sources_and_the_file_in_versions() -> None:
    rules = cl.rules.load("site.toml")
    case = cl.read("run.log", rules=rules)
    assert case.sources["rules_digest"].to_list() == [rules.digest]
    assert cl.read("run.log").sources["rules_digest"].to_list() == [cl.rules.shipped().digest]
    assert "site.toml" in {row[0] for row in case.versions().rows}


def test_a_saved_case_tells_the_same_without_the_rule_file(folder: Path) -> None:
    case = cl.read("run.log", rules="site.toml")
    case.save("saved")
    (folder / "site.toml").unlink()
    assert [f.fingerprint for f in cl.open("saved").findings()] == [f.fingerprint for f in case.findings()]
    assert cl.open("saved").answer_text() == case.answer_text()
    manifest = folder / "saved" / "manifest.json"
    manifest.write_text(manifest.read_text().replace("severity", "seventy"))
    with pytest.raises(cl.errors.NotACaseError, match="own rules"):
        cl.open("saved")


def test_a_rule_file_among_the_evidence_is_no_evidence() -> None:
    case = cl.read(".", rules="site.toml")
    assert case.sources.select("path", "state").rows() == [("run.log", "read"), ("site.toml", "skipped")]
    assert case.events["source_id"].unique().len() == 1


def test_window_keeps_the_rules() -> None:
    case = cl.read("run.log", rules="site.toml").window("2026-10-01T10:00:02Z/2026-10-01T11:00:00Z")
    assert "site.fan (1) and site.pump (1)" in case.findings()[0].summary


def test_unmatched_is_a_table_of_what_no_rule_knows(folder: Path) -> None:
    (folder / "run.log").write_text(
        "".join(f"2026-10-01T10:00:0{n}Z pump {n} failed hf_{'aB3dE5gH7j' * 4}\n" for n in range(3))
    )
    table = cl.read("run.log").unmatched()
    ((place, lines, template),) = table.rows
    assert (place, lines) == ("run.log:1", "3")
    assert template.startswith("pump <n> failed ")
    assert "aB3dE5gH7j" not in template
    assert "lines: 3" not in table.title
    assert "aB3dE5gH7j" not in cl.read("run.log").answer_text()


def test_benign_lines_in_front_change_nothing_but_the_line_numbers(folder: Path) -> None:
    (folder / "odd.log").write_text("worker 3 failed\nworker 4 failed\n0 errors\n")
    before = cl.read("odd.log").sources.row(0, named=True)
    (folder / "odd.log").write_text("INFO shard 00017 indexed\n" * 200 + "worker 3 failed\nworker 4 failed\n0 errors\n")
    after = cl.read("odd.log").sources.row(0, named=True)
    assert after["error_templates"] == [{"template": "worker <n> failed", "lines": 2, "first_line": 201}]
    same = ("lines_error_like", "lines_harmless", "lines_matched")
    assert [after[name] for name in same] == [before[name] for name in same] == [2, 1, 0]
