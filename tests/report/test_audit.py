import asyncio
import importlib.util
import json
import re
from pathlib import Path
from typing import Any

import nbformat
import pypdfium2
import pytest

from crashlens.errors import MissingExtraError, NoSuchInputError, OutputExistsError, ReportError
from crashlens.report.audit import AuditResult, run_audit
from crashlens.report.files import check_evidence_is_kept

TEMPLATE = """# %% [markdown]
# # Audit
# %% tags=["parameters"]
evidence: list[str] = []
fail = ""
# %% [markdown]
# ## Reading the evidence
# %%
import sys
print("read", evidence, sys.executable)
# %% Looking at it
if fail == "long":
    raise ValueError("first line\\nmiddle\\nlast line")
if fail == "exit":
    import os
    print("dying", file=sys.__stderr__, flush=True)
    os._exit(3)
# %%
"no title, so no progress line"
"""
META = {
    "title": "Case",
    "client": "",
    "window": None,
    "made": "2026-12-01T00:00:00+00:00",
    "show_tz": "UTC",
    "version": "0.1.0",
    "lang": "en",
}


def audit(folder: Path, parameters: dict[str, object], **changes: Any) -> tuple[AuditResult, list[str]]:
    template = folder / "template.py"
    template.write_text(TEMPLATE, encoding="utf-8")
    said: list[str] = []
    given: dict[str, Any] = {
        "out": folder / "a.pdf",
        "html": None,
        "keep_notebook": None,
        "overwrite": False,
        "meta": META,
    } | changes
    return run_audit(template, parameters, progress=said.append, **given), said


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[AuditResult, list[str]]:
    folder = tmp_path_factory.mktemp("audit")
    return audit(folder, {"evidence": ["로그.log"]}, html=folder / "a.html", keep_notebook=folder / "a.ipynb")


def test_one_run_writes_all_outputs_and_nothing_else(done: tuple[AuditResult, list[str]]) -> None:
    result, _ = done
    assert sorted(path.name for path in result.pdf.parent.iterdir()) == ["a.html", "a.ipynb", "a.pdf", "template.py"]
    assert result.bytes_written == sum(path.stat().st_size for path in result.pdf.parent.glob("a.*"))


def test_the_cells_ran_here_with_the_parameters(done: tuple[AuditResult, list[str]]) -> None:
    import sys

    result, _ = done
    text = "".join(page.get_textpage().get_text_range() for page in pypdfium2.PdfDocument(result.pdf))
    assert f"read['로그.log']{sys.executable}" in re.sub(r"\s+", "", text)
    assert result.html is not None
    assert "로그.log" in result.html.read_text(encoding="utf-8")


def test_progress_names_each_titled_step_once(done: tuple[AuditResult, list[str]]) -> None:
    assert done[1] == ["[1/2] Reading the evidence", "[2/2] Looking at it"]


def test_the_kept_notebook_is_valid_and_holds_its_parameters(done: tuple[AuditResult, list[str]]) -> None:
    result, _ = done
    assert result.notebook is not None
    nb = nbformat.read(result.notebook, as_version=4)
    nbformat.validate(nb)
    assert [cell["metadata"].get("tags") for cell in nb["cells"]][1:3] == [["parameters"], ["injected-parameters"]]
    assert json.loads(result.notebook.read_text(encoding="utf-8"))["metadata"]["crashlens"]["title"] == "Case"


def test_a_failed_step_is_named_without_a_stack_trace(tmp_path: Path) -> None:
    with pytest.raises(ReportError) as caught:
        audit(tmp_path, {"fail": "long"})
    assert str(caught.value).split("\n") == [
        "A step of the audit failed; no report was written.",
        "  step       Looking at it",
        "  error      ValueError: first line",
        "  last line  last line",
    ]
    assert [path.name for path in tmp_path.iterdir()] == ["template.py"]


def test_a_kernel_that_dies_is_told_with_its_last_words(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match="did not start or died") as caught:
        audit(tmp_path, {"fail": "exit"})
    assert "dying" in str(caught.value)


def test_outputs_are_checked_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text("mine", encoding="utf-8")
    with pytest.raises(OutputExistsError, match=r"a\.html"):
        audit(tmp_path, {"unknown_parameter": 1}, html=tmp_path / "a.html")
    with pytest.raises(ReportError, match="same name"):
        audit(tmp_path, {}, keep_notebook=tmp_path / "a.pdf")
    for out, why in ((tmp_path / "none" / "a.pdf", "none: not there"), (tmp_path, "is a folder")):
        with pytest.raises(ReportError, match=why):
            audit(tmp_path, {}, out=out)
    assert (tmp_path / "a.html").read_text(encoding="utf-8") == "mine"


def test_evidence_is_never_replaced_and_an_earlier_audit_may_be(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    log, old = tmp_path / "logs" / "kern.log", tmp_path / "logs" / "audit.pdf"
    log.write_text("NVRM: Xid\n", encoding="utf-8")
    old.write_bytes(b"%PDF-1.7\n")
    for given in (str(log), str(tmp_path / "logs"), str(tmp_path / "other" / ".." / "logs")):
        with pytest.raises(ReportError, match="part of the evidence"):
            check_evidence_is_kept([old, log], [given])
    check_evidence_is_kept([old, tmp_path / "logs" / "new.pdf", tmp_path / "a.pdf"], [str(tmp_path / "logs")])


def test_an_existing_output_is_replaced_when_that_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_text("old", encoding="utf-8")
    result, _ = audit(tmp_path, {}, overwrite=True)
    assert result.pdf.read_bytes().startswith(b"%PDF-")


def test_it_runs_inside_a_notebook_whose_event_loop_runs_already(tmp_path: Path) -> None:
    async def cell() -> AuditResult:
        return audit(tmp_path, {})[0]

    assert asyncio.run(cell()).pdf.is_file()


def test_missing_packages_are_named_before_anything_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name, *rest: None if name in ("typst", "nbclient") else find_spec(name, *rest),
    )
    with pytest.raises(MissingExtraError, match="nbclient, typst") as caught:
        audit(tmp_path, {})
    assert "pip install 'crashlens-gpu[pdf]'" in str(caught.value)


def test_an_unknown_parameter_stops_the_run(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match='no parameter "evidense"'):
        audit(tmp_path, {"evidense": []})


@pytest.mark.parametrize("content", [b"# %% tags=[1]\nx\n", b"# %%\n\xff\n"])
def test_a_template_that_cannot_be_read_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "t.py").write_bytes(content)
    with pytest.raises(ReportError, match="cannot be read"):
        run_audit(
            tmp_path / "t.py",
            {},
            out=tmp_path / "a.pdf",
            meta=META,
            html=None,
            keep_notebook=None,
            overwrite=False,
            progress=print,
        )


def test_a_template_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(NoSuchInputError, match=r"none\.py"):
        run_audit(
            tmp_path / "none.py",
            {},
            out=tmp_path / "a.pdf",
            meta=META,
            html=None,
            keep_notebook=None,
            overwrite=False,
            progress=print,
        )
