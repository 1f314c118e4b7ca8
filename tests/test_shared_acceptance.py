"""Real logs and telemetry, and the case bank: every file is read without a crash, and nothing is claimed too much."""

import importlib.util
import json
import shutil
import subprocess
import sys
import tomllib
from importlib import resources
from pathlib import Path
from types import ModuleType
from typing import Any

import jsonschema
import pytest

import crashlens as cl
from crashlens.cli import main

pytestmark = pytest.mark.shared_data


def answer_of(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any], str]:
    """Exit status, JSON and messages of one `scan` in this process."""
    status = main(["scan", "--format", "json", *arguments])
    out, err = capsys.readouterr()
    return status, json.loads(out), err


CONTRACT = jsonschema.Draft202012Validator(
    json.loads((resources.files("crashlens.catalog") / "findings.schema.json").read_text("utf-8"))
)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["logs", "telemetry"])
def test_every_file_is_read_without_a_crash(shared: Path, kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    files = sorted(path for path in (shared / "data" / kind).rglob("*") if path.is_file())
    assert len(files) > 20
    faults: list[str] = []
    for file in files:
        status, answer, err = answer_of([str(file)], capsys)
        CONTRACT.validate(answer)
        if status not in {0, 1, 2, 3} or err or not answer["findings"]:
            faults.append(f"{file}: {status} {err}")
    assert faults == []


@pytest.mark.slow
def test_all_logs_as_one_folder(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, answer, err = answer_of([str(shared / "data" / "logs")], capsys)
    CONTRACT.validate(answer)
    assert (status, err) == (1, "")
    assert 1 <= len(answer["findings"]) <= 8
    # Logs of many jobs, machines and years: nothing ties one to another.
    for finding in answer["findings"]:
        if finding["causal"]:
            assert len({item["source"] for item in finding["evidence"]}) <= 2


@pytest.mark.slow
def test_eight_capped_gpus_are_told_without_heat(shared: Path) -> None:
    (file,) = (shared / "data" / "telemetry").rglob("h100x8_t3_telemetry.csv*")
    case = cl.read(file)
    found = list(case.findings())
    cap = found[0]
    assert (cap.cause, cap.verdict) == ("power.software_cap", "consistent")
    assert "bit (0x4) in 89.5 % to 89.6 % of each GPU's samples" in cap.summary.replace("89.5 to", "89.5 % to")
    assert "no thermal bit (0x20, 0x40) was set in any sample" in cap.summary
    for missing in ("SM clock", "enforced power limit", "memory temperature", "step times"):
        assert missing in cap.unknown[0]
        assert missing in cap.summary
    assert [f.cause for f in found if f.cause.split(".")[0] in {"thermal", "clocks", "gpu_hardware"}] == []
    assert [f.causal for f in found if f.causal] == []
    # The same share, counted from the table in another way.
    shares = [
        sum(mask is not None and bool(int(mask) & 0x4) for mask in masks) / len(masks)
        for masks in case.samples.group_by("gpu_key").agg("clocks_event_reasons")["clocks_event_reasons"].to_list()
    ]
    assert len(shares) == 8
    assert all(0.8945 <= share < 0.8965 for share in shares)


@pytest.fixture
def score(shared: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The scorer of the case bank as a module."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    spec = importlib.util.spec_from_file_location("crashlens_bank_score", shared / "cases" / "score.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def dev_cases(bank: Path) -> list[str]:
    rows = [row.split("\t") for row in (bank / "SPLIT.tsv").read_text("utf-8").splitlines()[1:]]
    return [row[0] for row in rows if row[1] == "dev"]


@pytest.mark.slow
def test_the_dev_bank_has_no_crash_leak_bad_evidence_or_over_claim(
    shared: Path,
    score: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    bank = shared / "cases"
    ids = {row["id"] for row in tomllib.loads((bank / "VOCABULARY.toml").read_text("utf-8"))["class"]}
    faults: list[str] = []
    results: list[dict[str, Any]] = []
    for name in dev_cases(bank):
        case = tomllib.loads((bank / "cases" / name / "case.toml").read_text("utf-8"))
        work = tmp_path / name
        work.mkdir()
        shift, lines = score.prepare(bank / "cases" / name, case, work, 0)
        monkeypatch.chdir(work)
        main(["scan", "--format", "json", *(item["file"] for item in case["inputs"])])
        out, err = capsys.readouterr()
        CONTRACT.validate(json.loads(out))
        result = score.judge(case, score.parse(out.encode()), "", out, ids, shift, lines)
        results.append(result)
        wrong = {key: result[key] for key in ("over", "leaks", "bad_evidence", "no_limits", "contract") if result[key]}
        if wrong or err:
            faults.append(f"{name}: {wrong} {err}")
        monkeypatch.chdir(tmp_path)
        shutil.rmtree(work)
    assert len(results) > 100
    assert faults == []
    assert sum(result["all_right"] for result in results) >= 90  # 92 of 111 on 1 December 2026; it only has to grow


@pytest.mark.slow
def test_lines_in_front_of_a_log_move_the_places_and_nothing_else(
    shared: Path, score: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bank = shared / "cases"
    told: dict[str, list[Any]] = {}
    for pad in (0, 200):
        for name in [case for case in dev_cases(bank) if case.startswith(("train-0", "trap-1"))]:
            case = tomllib.loads((bank / "cases" / name / "case.toml").read_text("utf-8"))
            work = tmp_path / f"{name}-{pad}"
            work.mkdir()
            shift, _ = score.prepare(bank / "cases" / name, case, work, pad)
            monkeypatch.chdir(work)
            main(["scan", "--format", "json", *(item["file"] for item in case["inputs"])])
            findings = json.loads(capsys.readouterr().out)["findings"]
            first = [
                f["first_event"] and f["first_event"]["line"] - shift.get(f["first_event"]["source"], 0)
                for f in findings
            ]
            told.setdefault(name, []).append(
                [(f["cause"], f["verdict"], at) for f, at in zip(findings, first, strict=True)]
            )
    assert len(told) > 5
    assert [name for name, (plain, padded) in told.items() if plain != padded] == []


def test_the_command_itself_prints_the_same(shared: Path) -> None:
    # Once as a process: the tests above run inside this one.
    name = "trap-11-mirror-file-order-reversed"
    code = "import sys; from crashlens.cli import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", code, "scan", "--format", "json", "merged.log"],
        cwd=shared / "cases" / "cases" / name, capture_output=True, check=False,
        env={"PYTHONPATH": str(Path(__file__).resolve().parents[1]), "PATH": ""},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (1, b"")
    assert json.loads(done.stdout)["findings"][0]["first_event"] == {"source": "merged.log", "line": 2}
