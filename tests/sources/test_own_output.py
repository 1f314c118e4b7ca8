"""Everything crashlens writes, read again: it quotes failures and must never become evidence."""

import json
from pathlib import Path

import pytest

import crashlens as cl
from crashlens.report.audit import run_audit
from crashlens.sources.own_output import is_own_output

LOG = """2026-10-01T09:00:00Z node7 kernel: NVRM: Xid (PCI:0000:c6:00): 79, pid=1101234, name=python, GPU has fallen off the bus.
2026-10-01T09:10:00Z n1 app[7]: RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB
"""
TEMPLATE = """# %% [markdown]
# # Audit
# %% tags=["parameters"]
evidence: list[str] = []
# %% Reading
import crashlens as cl
case = cl.read(evidence)
# %% Findings
case.findings()
# %% The case
case
"""
META = {
    "title": "Case", "client": "", "window": None, "made": "2026-12-01T00:00:00+00:00", "show_tz": "UTC",
    "version": "0.1.0", "lang": "en", "synthetic": False,
}  # fmt: skip


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with every form of output about one log."""
    folder = tmp_path_factory.mktemp("outputs")
    log = tmp_path_factory.mktemp("evidence") / "kern.log"
    log.write_text(LOG, encoding="utf-8")
    case = cl.read(log)
    assert case.events.height == 2
    (folder / "findings.json").write_text(json.dumps(case.answer().to_json(), indent=1), encoding="utf-8")
    (folder / "flat.json").write_text(json.dumps(case.answer().to_json()), encoding="utf-8")
    (folder / "scan.txt").write_text(case.answer_text(), encoding="utf-8")
    (folder / "output.html").write_text(case._repr_mimebundle_()["text/html"], encoding="utf-8")
    case.save(folder / "saved")
    template = folder.parent / "template.py"
    template.write_text(TEMPLATE, encoding="utf-8")
    run_audit(
        template,
        {"evidence": [str(log)]},
        out=folder / "audit.pdf",
        meta=META,
        html=folder / "audit.html",
        keep_notebook=folder / "audit.ipynb",
        overwrite=False,
        progress=lambda _line: None,
    )
    return folder


def test_nothing_of_it_is_read_as_evidence_and_each_file_says_why(outputs: Path) -> None:
    case = cl.read(outputs)
    assert case.events.height == 0
    assert case.steps.height == 0
    assert case.sources.filter(case.sources["notices"].list.len() == 0).height == 0
    states = {row["path"].partition("/")[2]: (row["state"], row["notices"][0]) for row in case.sources.to_dicts()}
    skipped = ("skipped", "It was written by crashlens: its own output is not evidence.")
    own = [
        "findings.json",
        "flat.json",
        "scan.txt",
        "audit.html",
        "audit.ipynb",
        "output.html",
        "saved/manifest.json",
    ]
    assert {name: states.pop(name) for name in own} == dict.fromkeys(own, skipped)
    assert states.pop("audit.pdf") == ("not_read", "It is a PDF, which is not read.")
    parquet = ("not_read", "It is a Parquet file, which is not read.")
    assert states == dict.fromkeys([f"saved/{name}.parquet" for name in cl.Case.read(outputs).tables.names()], parquet)


def test_it_is_known_when_it_is_packed_too(outputs: Path, tmp_path: Path) -> None:
    import gzip

    (tmp_path / "findings.json.gz").write_bytes(gzip.compress((outputs / "findings.json").read_bytes()))
    assert cl.read(tmp_path).sources["state"].to_list() == ["skipped"]


@pytest.mark.parametrize(
    "head",
    [
        b"crashlens found nothing\n",
        b"$ crashlens scan .\n",
        b"<!doctype html><html><head><title>dashboard</title>",
        b"",
        b'{"schema": "other/1"}',
    ],
)
def test_what_only_mentions_crashlens_is_evidence(head: bytes) -> None:
    assert not is_own_output(head)
