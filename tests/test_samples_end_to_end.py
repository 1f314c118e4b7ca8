"""The two shipped samples, from the folder to the finding and to the PDF: what README.md of sample_data/ promises."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import unicodedata
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

import crashlens as cl
from crashlens.findings import Finding

ROOT = Path(__file__).resolve().parents[1]
HOT, MIRROR = (ROOT / "sample_data" / name for name in ("throttled_then_xid94", "timeouts_then_foreign_xid94"))
COMMAND = [sys.executable, "-c", "import sys; from crashlens.cli import main; sys.exit(main())"]
ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"}
CAUSAL = re.compile(
    r"caused by|because|due to|leads? to|(?<!not show what )led to|results? in|root cause", re.IGNORECASE
)

# A log that any reader of an audit may meet: Hangul, emoji, markup of Typst, Markdown and HTML, a token, an address.
TOKEN, ADDRESS, PASSWORD = "hf_MadeUpForThisTest0123456789abcd", "somebody@example.com", "hunter2hunter2"
ODD_LINE = f"ValueError: 배치 크기가 다름 🚀 $x_1$ #let <b>*a*</b> [k](v) token={TOKEN} {ADDRESS} password={PASSWORD}"
ODD_LOG = [
    "2026-10-01T11:00:00.000Z [rank0]: Traceback (most recent call last):",
    '2026-10-01T11:00:00.001Z [rank0]:   File "/app/eval.py", line 3, in <module>',
    f"2026-10-01T11:00:00.002Z [rank0]: {ODD_LINE}",
]


def findings(folder: Path) -> list[Finding]:
    return list(cl.read(folder, tz="UTC").findings())


def line_of(folder: Path, name: str, words: str) -> int:
    """The first line of a file that holds `words`, counted from 1."""
    lines = (folder / name).read_bytes().decode().split("\n")
    return next(number for number, line in enumerate(lines, 1) if words in line)


def place(finding: Finding) -> tuple[str, int] | None:
    at = finding.first_event
    return None if at is None else (Path(at.source).name, at.line)


def test_hot_a_window_after_the_start_still_knows_which_process_is_which_rank() -> None:
    # train.log says at 06:12 that pid 48213 is rank 5; the window of docs/guide.md begins two hours later.
    cut = cl.read(HOT, tz="UTC").window("2026-10-01T08:20:00Z/2026-10-01T09:20:00Z")
    assert [(f.cause, f.verdict, f.causal is not None) for f in cut.findings()] == [
        ("gpu_hardware.uncorrectable_ecc", "supported", True),
        ("thermal.slowdown", "supported", False),
    ]


def test_hot_a_window_without_any_record_says_where_the_records_are() -> None:
    cut = cl.read(HOT, tz="UTC").window("2026-11-01T00:00:00Z/2026-11-02T00:00:00Z")
    for lang, words in (("en", "No dated record of the input lies in the window"), ("ko", "구간 안에 있는 것이 없다")):
        [only] = cut.findings(lang=lang)
        assert (only.cause, only.verdict) == ("unknown.insufficient_evidence", "undecided")
        assert words in only.summary
        assert "2026-10-01 06:12:22 UTC" in only.summary  # the first line of train.log
    shown = repr(cut.scope()) + str(cut.scope())
    assert "none in the window" in shown
    assert "none read" not in shown


def test_hot_the_memory_error_of_rank_5_explains_the_timeouts() -> None:
    found = findings(HOT)
    assert [(f.cause, f.verdict) for f in found] == [
        ("gpu_hardware.uncorrectable_ecc", "supported"),
        ("thermal.slowdown", "supported"),
    ]
    ended, _ = found
    assert [finding.causal is not None for finding in found] == [True, False]
    assert place(ended) == ("kern.log", line_of(HOT, "kern.log", "): 94, pid=48213"))
    for part in ("rank(s) 0-4, 6, 7 were caused by Xid 94", "process 48213 (python3)", "is rank 5", "by 2.4 s"):
        assert part in (ended.causal or "")
    assert ended.ranks == tuple(range(8))
    assert ended.devices == ("GPU-f311e162-b00d-4c8a-8161-7b28b043dc7c",)
    downstream = {Path(item.place.source).name for item in ended.evidence if item.role == "downstream"}
    assert downstream == {"kern.log", "train.log"}
    assert "that the GPU must be replaced: one error is no criterion" in ended.does_not_prove


def test_hot_the_heat_is_a_finding_of_its_own_with_clock_and_throughput() -> None:
    thermal = findings(HOT)[1]
    assert thermal.devices == ("GPU-f311e162-b00d-4c8a-8161-7b28b043dc7c",)  # rank 5, PCI 9b:00
    assert place(thermal) == ("gpu_telemetry.csv", line_of(HOT, "gpu_telemetry.csv", "0x0000000000000020"))
    clock, throughput = thermal.effects
    assert (clock.metric, clock.before, clock.after) == ("sm_clock_mhz", 1980.0, pytest.approx(1395, abs=15))
    assert clock.ratio == pytest.approx(1395 / 1980, abs=0.01)
    assert throughput.metric == "tokens_per_s"
    assert 0.70 <= throughput.ratio <= 0.75
    assert throughput.interval is not None
    low, high = throughput.interval
    assert 0.70 <= low <= throughput.ratio <= high <= 0.75
    assert throughput.windows is not None
    reference, slow = throughput.windows
    assert reference.end <= slow.start
    assert datetime(2026, 10, 1, 8, 25, tzinfo=UTC) <= slow.start < datetime(2026, 10, 1, 8, 26, tzinfo=UTC)
    assert "that the throughput change comes from it alone" in thermal.does_not_prove


def test_mirror_the_foreign_memory_error_explains_nothing() -> None:
    found = findings(MIRROR)
    assert [finding.causal for finding in found] == [None] * len(found)
    hang, foreign = found[:2]
    assert (hang.cause, hang.verdict) == ("communication.collective_hang", "undecided")
    assert place(hang) == ("train.log", line_of(MIRROR, "train.log", "ran for 600041 milliseconds"))
    assert (foreign.cause, place(foreign)) == ("gpu_hardware.uncorrectable_ecc", ("kern.log", 13))
    (counter,) = [item for item in hang.evidence if item.role == "counter"]
    assert "99731" in counter.note
    assert "none of the 8 processes" in counter.note
    assert any("rank(s) 5 of 8 printed no timeout" in text for text in hang.unknown)
    assert [f.cause for f in found if f.cause.startswith("thermal.")] == []
    power = [(f.cause, f.verdict) for f in found if f.cause.startswith("power.")]
    assert power == [("power.software_cap", "benign")]


def test_mirror_says_how_long_after_the_timeouts_it_came() -> None:
    # 10:48:32 less the timeouts of 09:18:28: 90 minutes; less the beginning of the waits at 09:08:28: 100 minutes.
    hang = findings(MIRROR)[0]
    said = " ".join(hang.does_not_prove)
    assert "100 minutes after the earliest wait began" in said
    assert "90 minutes after the timeouts" in said


@pytest.mark.parametrize("folder", [HOT, MIRROR], ids=["hot", "mirror"])
def test_without_the_zone_of_the_telemetry_the_logs_say_the_same(folder: Path) -> None:
    # The zone places the telemetry; the order of kernel log and job log rests on their own offsets.
    logs = [(f.cause, f.causal) for f in cl.read([folder / "kern.log", folder / "train.log"]).findings()]
    assert logs == [(f.cause, f.causal) for f in findings(folder) if "telemetry.clocks_event_reasons" not in f.rule_ids]


@dataclass(frozen=True)
class Audit:
    """One finished audit: exit status, messages, the folder it ran in, the text of the PDF."""

    status: int
    out: str
    err: str
    folder: Path
    text: str

    @property
    def solid(self) -> str:
        """The text without any white space: a long word is broken over lines."""
        return re.sub(r"\s+|\u00ad|\u200b|\u2060|\ufffe", "", self.text)


@pytest.fixture(scope="module")
def audits(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, Audit]:
    """The audits of both samples through the real command, at the same time; the mirror with an odd log beside it."""
    pdfium = pytest.importorskip("pypdfium2")
    runs: dict[Path, tuple[Path, subprocess.Popen[str]]] = {}
    for sample in (HOT, MIRROR):
        work = tmp_path_factory.mktemp(sample.name)
        shutil.copytree(sample, work / "evidence")
        if sample == MIRROR:
            (work / "evidence" / "eval.log").write_text("\n".join(ODD_LOG) + "\n", encoding="utf-8")
        options = ["--tz", "UTC", "-o", "audit.pdf", "--html", "audit.html", "--keep-notebook", "audit.ipynb"]
        runs[sample] = work, subprocess.Popen(
            [*COMMAND, "audit", "evidence", *options],
            cwd=work, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
        )  # fmt: skip
    made: dict[Path, Audit] = {}
    for sample, (work, process) in runs.items():
        out, err = process.communicate(timeout=110)
        pages: list[str] = []
        if (work / "audit.pdf").is_file():
            document = pdfium.PdfDocument(work / "audit.pdf")
            pages = [page.get_textpage().get_text_range() for page in document]
            document.close()
        text = unicodedata.normalize("NFKC", "\n".join(pages))
        made[sample] = Audit(process.returncode, out, err, work, text)
    return made


@pytest.mark.slow
@pytest.mark.parametrize("sample", [HOT, MIRROR], ids=["hot", "mirror"])
def test_audit_writes_three_files_and_says_its_steps_on_stderr(audits: dict[Path, Audit], sample: Path) -> None:
    audit = audits[sample]
    assert (audit.status, audit.out.split()) == (0, ["audit.pdf", "audit.html", "audit.ipynb"])
    assert all(re.fullmatch(r"\[\d+/\d+\] \w.+", line) for line in audit.err.splitlines())
    assert (audit.folder / "audit.pdf").read_bytes().startswith(b"%PDF-")
    assert (audit.folder / "audit.html").read_text("utf-8").lower().startswith("<!doctype html>")
    assert json.loads((audit.folder / "audit.ipynb").read_text("utf-8"))["nbformat"] == 4


def spoken(audit: Audit) -> str:
    """The words of an audit, without what it quotes of PyTorch: "Due to the asynchronous nature of CUDA kernels, ..."."""
    return " ".join(audit.text.split()).replace("Due to the asynchronous nature", "")


@pytest.mark.slow
def test_audit_of_the_hot_sample_holds_exactly_one_causal_sentence(audits: dict[Path, Audit]) -> None:
    words = spoken(audits[HOT])
    assert [hit.group() for hit in CAUSAL.finditer(words)] == ["caused by"]
    assert "were caused by Xid 94" in words


@pytest.mark.slow
def test_audit_of_the_mirror_holds_no_causal_sentence(audits: dict[Path, Audit]) -> None:
    words = spoken(audits[MIRROR])
    assert CAUSAL.findall(words) == []
    assert "99731" in words
    assert "90 minutes" in words


@pytest.mark.slow
@pytest.mark.parametrize("sample", [HOT, MIRROR], ids=["hot", "mirror"])
def test_every_evidence_line_stands_in_the_audit_with_its_place(audits: dict[Path, Audit], sample: Path) -> None:
    audit = audits[sample]
    found = findings(audit.folder / "evidence")
    places = {f"{Path(item.place.source).name}:{item.place.line}" for f in found for item in f.evidence}
    assert len(places) > 15
    assert [at for at in sorted(places) if f"evidence/{at}" not in audit.solid] == []
    for finding in found:
        for text in (finding.summary, *finding.does_not_prove, *finding.unknown):
            assert re.sub(r"\s+", "", unicodedata.normalize("NFKC", text)).replace("evidence/", "") in (
                audit.solid.replace(str(audit.folder) + "/", "").replace("evidence/", "")
            )


@pytest.mark.slow
@pytest.mark.parametrize("sample", [HOT, MIRROR], ids=["hot", "mirror"])
def test_the_digest_of_every_file_stands_in_the_audit(audits: dict[Path, Audit], sample: Path) -> None:
    audit = audits[sample]
    files = sorted((audit.folder / "evidence").iterdir())
    assert len(files) >= 3
    assert [f.name for f in files if hashlib.sha256(f.read_bytes()).hexdigest() not in audit.solid] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["audit.pdf", "audit.html", "audit.ipynb"])
def test_no_secret_is_in_any_output(audits: dict[Path, Audit], name: str) -> None:
    for audit in audits.values():
        text = audit.solid if name == "audit.pdf" else (audit.folder / name).read_text("utf-8")
        for secret in (TOKEN, ADDRESS, PASSWORD, "hf_NotARealToken", "training-oncall@"):
            assert secret not in text


@pytest.mark.slow
def test_hangul_emoji_and_markup_of_a_log_line_are_shown_as_text(audits: dict[Path, Audit]) -> None:
    # A character that no font of the document holds is shown by its number, so that it is neither lost nor guessed.
    shown = re.sub(r"\s", "", ODD_LINE.split(" token=", maxsplit=1)[0])
    assert any(text in audits[MIRROR].solid for text in (shown, shown.replace("🚀", "[U+1F680]")))
    assert "배치 크기가 다름 🚀" in (audits[MIRROR].folder / "audit.html").read_text("utf-8")
    assert "&lt;b&gt;*a*&lt;/b&gt;" in (audits[MIRROR].folder / "audit.html").read_text("utf-8")


@pytest.mark.slow
def test_an_output_that_is_there_is_refused_without_force(audits: dict[Path, Audit]) -> None:
    folder = audits[HOT].folder
    before = (folder / "audit.pdf").read_bytes()
    again = subprocess.run(
        [*COMMAND, "audit", "evidence", "--tz", "UTC", "-o", "audit.pdf"],
        cwd=folder, env=ENVIRONMENT, capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    assert (again.returncode, again.stdout) == (2, "")
    assert "audit.pdf" in again.stderr
    assert "--force" in again.stderr
    assert (folder / "audit.pdf").read_bytes() == before


@pytest.mark.slow
def test_nbconvert_makes_the_same_document_from_the_kept_notebook(audits: dict[Path, Audit], tmp_path: Path) -> None:
    pdfium = pytest.importorskip("pypdfium2")
    shutil.copy(audits[HOT].folder / "audit.ipynb", tmp_path / "kept.ipynb")
    done = subprocess.run(
        [sys.executable, "-m", "nbconvert", "--to", "crashlens-pdf", "kept.ipynb"],
        cwd=tmp_path, env=ENVIRONMENT, capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    document = pdfium.PdfDocument(tmp_path / "kept.pdf")
    text = " ".join(" ".join(page.get_textpage().get_text_range() for page in document).split())
    document.close()
    assert len(re.findall("were caused by Xid 94", text)) == 1


def test_nbconvert_and_jupyter_list_the_exporter() -> None:
    exporters = pytest.importorskip("nbconvert.exporters")
    assert "crashlens-pdf" in exporters.get_export_names()


@pytest.mark.slow
def test_a_failing_cell_is_a_readable_error_and_writes_nothing(tmp_path: Path) -> None:
    template = tmp_path / "broken.py"
    parameters = ["evidence = []", 'window = ""', 'tz = ""', "tz_by_source = {}", "year = 0", 'show_tz = "UTC"']
    parameters += ['title = ""', 'client = ""', 'lang = "en"']
    cells = ['# %% tags=["parameters"]', *parameters, "# %%", 'raise ValueError("the bucket is empty")']
    template.write_text("\n".join(cells) + "\n", encoding="utf-8")
    (tmp_path / "kern.log").write_text("2026-10-01T09:08:25+00:00 node7 kernel: docker0: link up\n")
    code = (
        "import sys; from pathlib import Path; import crashlens.cli.audit as audit; from crashlens.cli import main;"
        "audit.template = lambda name: Path('broken.py'); sys.exit(main())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "audit", "kern.log", "-o", "audit.pdf"],
        cwd=tmp_path, env=ENVIRONMENT, capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert "the bucket is empty" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "audit.pdf").exists()
