"""The command line: what goes to which stream, what each exit status means, and that no stack trace reaches anybody."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pytest

from crashlens.cli import main
from crashlens.rules.fast_matcher import fast_engine

Run = Callable[..., tuple[int, str, str]]
XID = "2026-10-01T09:08:25.830749+00:00 node7 kernel: NVRM: Xid (PCI:0000:9b:00): 94, pid=48213, name=python3, Ch 00000008\n"
STEP = "2026-10-01T10:00:0{0}Z rank=0 INFO step 10{0} loss 2.11 tokens/s 41200\n"
HERE_FIRST = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
COMMAND = [sys.executable, "-c", "import sys; from crashlens.cli import main; sys.exit(main())"]


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


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kern.log").write_text(XID)
    (tmp_path / "run.log").write_text("".join(STEP.format(n) for n in range(5)))
    (tmp_path / "empty.log").write_bytes(b"")
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_a_finding_is_status_1_and_goes_to_stdout(run: Run) -> None:
    status, out, err = run("scan", "kern.log")
    assert (status, err) == (1, "")
    assert "gpu_hardware.uncorrectable_ecc" in out
    assert "kern.log:1" in out


@pytest.mark.usefixtures("folder")
def test_nothing_decided_is_status_3(run: Run) -> None:
    status, out, err = run("scan", "run.log")
    assert (status, err) == (3, "")
    assert "Nothing in the input decides what happened" in out


def test_all_benign_is_status_0(folder: Path, run: Run) -> None:
    rows = [f"2026/10/01 10:00:0{n}.000, 0, 345 MHz, 0 %, 0x0000000000000001" for n in range(8)]
    head = "timestamp, index, clocks.sm [MHz], utilization.gpu [%], clocks_event_reasons.active"
    (folder / "smi.csv").write_text("\n".join([head, *rows]) + "\n")
    status, out, _ = run("scan", "smi.csv")
    assert (status, "[benign]" in out) == (0, True)


@pytest.mark.usefixtures("folder")
def test_no_readable_file_is_status_2_and_says_why(run: Run) -> None:
    status, out, _ = run("scan", "empty.log")
    assert status == 2
    assert "The file is empty" in out.replace("\n", " ")


def test_an_empty_folder_is_status_2_and_says_so(folder: Path, run: Run) -> None:
    (folder / "nothing").mkdir()
    status, out, _ = run("scan", "nothing")
    assert status == 2
    assert "No given file could be read as evidence: the folder holds no files." in out.replace("\n  ", " ")


@pytest.mark.usefixtures("folder")
def test_one_readable_file_among_bad_ones_is_enough(run: Run) -> None:
    assert run("scan", "empty.log", "kern.log")[0] == 1


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("scan", "gone.log"), "gone.log"),
        (("scan", "kern.log", "--tz", "Asia/Soul"), "Asia/Seoul"),
        (("scan", "kern.log", "--tz", "*.log=Asia/Soul"), "Asia/Seoul"),
        (("scan", "kern.log", "--tz", "../../etc/passwd"), "is not a time zone"),
        (("scan", "kern.log", "--year", "1066"), "--year 1066"),
        (("scan", "kern.log", "--year", "2201"), "--year 2201"),
        (("scan", "kern.log", "--year", "soon"), "invalid int"),
        (("scan",), "PATH"),
        (("scan", "kern.log", "--format", "yaml"), "yaml"),
        (("scan", "kern.log", "--lang", "xx"), "xx"),
        ((), "COMMAND"),
        (("divine", "kern.log"), "divine"),
        (("audit", "kern.log"), "--output"),
        (("audit", "gone.log", "-o", "a.pdf"), "gone.log"),
        (("audit", "kern.log", "-o", "a.pdf", "--show-tz", "Nowhere"), "Nowhere"),
        (("audit", "kern.log", "-o", "a.pdf", "--window", "yesterday"), "START/END"),
        (
            ("audit", "kern.log", "-o", "a.pdf", "--window", "2026-10-01T10:00:00Z/2026-10-01T09:00:00Z"),
            "must end after",
        ),
        (("audit", "kern.log", "-o", "a.pdf", "--window", "2026-10-01T10:00:00/2026-10-01T11:00:00"), "has no zone"),
        (("audit", "kern.log", "-o", "run.log"), "run.log"),
        (("audit", "kern.log", "-o", "kern.log", "--force"), "part of the evidence"),
        (("audit", ".", "-o", "a.pdf", "--html", "run.log", "--force"), "part of the evidence"),
        (("audit", "kern.log", "-o", "a.pdf", "--html", "run.log"), "run.log"),
    ],
)
def test_a_wrong_call_is_status_2_and_speaks_on_stderr_only(
    folder: Path, run: Run, arguments: tuple[str, ...], words: str
) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    status, out, err = run(*arguments)
    assert (status, out) == (2, "")
    assert words in err
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("year", ["1990", "2200"])
def test_the_first_and_the_last_year_are_taken(run: Run, year: str) -> None:
    assert run("scan", "kern.log", "--year", year)[0] == 1


def test_a_year_and_a_zone_place_a_syslog_time(folder: Path, run: Run) -> None:
    (folder / "sys.log").write_text(
        "Oct  1 09:08:25 node7 kernel: NVRM: Xid (PCI:0000:9b:00): 79, pid=4, name=python3\n"
    )
    assert "at an unknown time" in run("scan", "sys.log")[1]
    assert "at 2025-10-01 07:08:25 UTC" in run("scan", "sys.log", "--year", "2025", "--tz", "Europe/Berlin")[1]


def test_a_zone_for_a_glob_is_for_those_sources_only(folder: Path, run: Run) -> None:
    line = "[Thu Oct  1 09:08:25 2026] NVRM: Xid (PCI:0000:{}:00): 79, pid=4, name=python3\n"
    (folder / "a.kern").write_text(line.format("9b"))
    (folder / "b.kern").write_text(line.format("3b"))

    def zones(*options: str) -> dict[str, str | None]:
        answer = json.loads(run("scan", "--format", "json", *options, "a.kern", "b.kern")[1])
        return {row["path"]: row["zone"] for row in answer["sources"]}

    assert zones("--tz", "a.*=Asia/Seoul") == {"a.kern": "Asia/Seoul", "b.kern": None}
    both = {"a.kern": "Asia/Seoul", "b.kern": "UTC"}
    assert zones("--tz", "a.*=Asia/Seoul", "--tz", "UTC") == both
    assert zones("--tz", "UTC", "--tz", "a.*=Asia/Seoul") == both


@pytest.mark.usefixtures("folder")
def test_json_is_one_object_and_nothing_else(run: Run) -> None:
    status, out, err = run("scan", "--format", "json", "kern.log", "run.log")
    answer = json.loads(out)
    assert (status, err, answer["schema"]) == (1, "", "crashlens.findings/1")
    assert [row["path"] for row in answer["sources"]] == ["kern.log", "run.log"]


def test_a_name_and_a_line_of_any_bytes_are_printed(folder: Path, run: Run) -> None:
    name = "로그 \x1b[31m🚀.log"
    (folder / name).write_bytes(XID.encode().replace(b"python3", b"py\x1b[2J\xff\x00thon"))
    status, out, _ = run("scan", name)
    assert status == 1
    assert "\x1b" not in out
    assert json.loads(run("scan", "--format", "json", name)[1])["findings"]


@pytest.mark.usefixtures("folder")
def test_an_os_error_inside_is_one_line(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device", "/scratch/x")

    monkeypatch.setattr("crashlens.cli.scan.read", full)
    assert run("scan", "kern.log") == (2, "", "crashlens: /scratch/x: No space left on device\n")


@pytest.mark.usefixtures("folder")
def test_a_fault_of_our_own_shows_its_trace_only_when_asked(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("no width")

    monkeypatch.setattr("crashlens.cli.scan.read", broken)
    status, out, err = run("scan", "kern.log")
    assert (status, out) == (2, "")
    assert err.splitlines() == [
        "crashlens: a fault of crashlens itself: ZeroDivisionError: no width",
        "Run it again with CRASHLENS_TRACE=1 and report what it prints.",
    ]
    monkeypatch.setenv("CRASHLENS_TRACE", "1")
    with pytest.raises(ZeroDivisionError):
        run("scan", "kern.log")


@pytest.mark.usefixtures("folder")
def test_an_interrupt_is_one_line(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("crashlens.cli.scan.read", stop)
    status, out, err = run("scan", "kern.log")
    assert (status, out) == (130, "")
    assert len(err.splitlines()) == 1


def test_ctrl_c_stops_a_running_audit_at_once(folder: Path) -> None:
    command = [*COMMAND, "audit", "kern.log", "-o", "a.pdf"]
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True, env=HERE_FIRST) as audit:
        assert audit.stderr is not None
        assert "Reading the evidence" in audit.stderr.readline()
        audit.send_signal(signal.SIGINT)
        said = audit.stderr.read()
    assert audit.returncode == 130
    assert said.endswith("crashlens: interrupted; nothing was written.\n")
    assert "Traceback" not in said
    assert "Listing rules" not in said, "it ran to its end"
    assert not (folder / "a.pdf").exists()


def test_the_version_is_that_of_the_distribution(run: Run) -> None:
    status, out, _ = run("--version")
    assert (status, out) == (0, f"crashlens {version('crashlens-gpu')} (search: {fast_engine() or 'reference'})\n")


@pytest.mark.parametrize("command", ["scan", "audit"])
def test_help_names_the_exit_statuses(run: Run, command: str) -> None:
    status, out, _ = run(command, "--help")
    assert status == 0
    assert "Exit status: 0" in out


def test_a_reader_that_goes_away_is_no_error_message(folder: Path) -> None:
    # Much more than a pipe holds, so that the write meets the closed end.
    (folder / "many.log").write_text(XID * 3 + "".join(f"{XID[:-1]} {n}\n" for n in range(200)))
    process = subprocess.Popen(
        [*COMMAND, "scan", *["many.log"], "--format", "json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2])},
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    err = process.stderr.read().decode()
    process.stderr.close()
    assert process.wait(60) in {1, 2}
    assert err == ""


def test_no_word_of_the_help_promises_a_reason(run: Run) -> None:
    said = "".join(run(*arguments)[1] for arguments in (("--help",), ("scan", "--help"), ("audit", "--help")))
    assert not re.search(r"root cause|because|diagnos", said, re.IGNORECASE)
