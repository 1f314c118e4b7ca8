import json
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest
from polars.testing import assert_frame_equal

from crashlens.case import CASE_SCHEMA, MANIFEST, CaseData
from crashlens.errors import NoSuchInputError, NotACaseError, OutputExistsError, WindowError
from crashlens.schemas import SCHEMA_VERSION, Tables

OOM = "CUDA out of memory. Tried to allocate 2.00 GiB"
LOG = [
    f"2026-10-01T09:59:59.999999Z n1 app[7]: {OOM}",
    f"2026-10-01T10:00:00.000000Z n1 app[7]: {OOM}",
    f"2026-10-01T10:59:59.999999Z n1 app[7]: {OOM}",
    f"2026-10-01T11:00:00.000000Z n1 app[7]: {OOM}",
    OOM,
    f"2026-10-01 10:30:00 n1 app[7]: {OOM}",
    "2026-10-01T10:30:00Z rank=0 INFO step 1 loss 2.0",
    "2026-10-01T11:30:00Z rank=0 INFO step 2 loss 1.0",
    "step 3 loss 0.5",
    "[  12.345678] NVRM: Xid (PCI:0000:c6:00): 79, GPU has fallen off the bus. 한글 🙂",
]
CSV = [
    "timestamp, index, uuid, power.draw [W], clocks_event_reasons.active",
    "2026/10/01 10:00:00.000, 0, GPU-392456de-23b8-bc89-1a3d-bd9cad3c2d6d, 300.00 W, 0x0000000000000004",
    "2026/10/01 10:00:01.000, 0, GPU-392456de-23b8-bc89-1a3d-bd9cad3c2d6d, [N/A], 0x0000000000000000",
]


@pytest.fixture
def case(tmp_path: Path) -> CaseData:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "job.log").write_text("\n".join(LOG), encoding="utf-8")
    (folder / "gpu.csv").write_text("\n".join(CSV), encoding="utf-8")
    (folder / "empty.log").write_bytes(b"")
    return CaseData.read(folder)


def test_a_window_is_half_open_and_keeps_what_has_no_time(case: CaseData) -> None:
    cut = case.window("2026-10-01T10:00:00Z", "2026-10-01T11:00:00Z")
    assert cut.table("events").filter(pl.col("rule_id") == "cuda.out_of_memory")["line"].to_list() == [2, 3, 5, 6]
    assert cut.table("events").filter(pl.col("rule_id") == "kernel.xid").height == 1
    assert cut.table("steps")["line"].to_list() == [7, 9]
    assert cut.table("samples").height == 2
    for name in ("sources", "clocks", "gpus", "stamps", "gaps"):
        assert_frame_equal(cut.table(name), case.table(name))
    assert case.table("events").height == 7 + case.table("events").filter(pl.col("source_id") != 2).height


def test_a_window_is_of_the_whole_case_and_not_of_a_window(case: CaseData) -> None:
    twice = case.window("2026-10-01T10:00:00Z/2026-10-01T10:00:01Z").window(
        "2026-10-01T11:00:00Z", "2026-10-01T12:00:00Z"
    )
    assert twice.table("steps")["line"].to_list() == [8, 9]
    assert case.cut is None


def test_a_window_may_be_given_as_one_text_as_datetimes_and_in_a_zone(case: CaseData) -> None:
    one = case.window("2026-10-01T10:00:00Z/2026-10-01T11:00:00Z").cut
    assert one == case.window(datetime(2026, 10, 1, 10, tzinfo=UTC), datetime(2026, 10, 1, 11, tzinfo=UTC)).cut
    assert one == case.window("2026-10-01T12:00/2026-10-01T13:00", tz="Europe/Berlin").cut
    with pytest.raises(WindowError, match="has no zone"):
        case.window("2026-10-01T12:00", "2026-10-01T13:00")


@pytest.mark.parametrize("window", [None, "2026-10-01T10:00:00Z/2026-10-01T11:00:00Z"])
def test_save_and_open_give_the_same_case(case: CaseData, tmp_path: Path, window: str | None) -> None:
    saved = case if window is None else case.window(window)
    assert saved.table("events").height
    assert saved.table("samples").height
    assert saved.save(tmp_path / "out" / "saved") == tmp_path / "out" / "saved"
    opened = CaseData.open(tmp_path / "out" / "saved")
    assert opened.cut == saved.cut
    for name in Tables.names():
        assert_frame_equal(getattr(opened.tables, name), getattr(saved.tables, name))
        assert_frame_equal(opened.table(name), saved.table(name))


def test_an_empty_case_can_be_saved(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    CaseData.read(tmp_path / "in").save(tmp_path / "saved")
    assert CaseData.open(tmp_path / "saved").table("sources").height == 0


def test_the_manifest_counts_rows_and_parquet_carries_units(case: CaseData, tmp_path: Path) -> None:
    case.save(tmp_path / "saved")
    manifest = json.loads((tmp_path / "saved" / MANIFEST).read_text(encoding="utf-8"))
    assert (manifest["schema"], manifest["tables"], manifest["window"]) == (CASE_SCHEMA, SCHEMA_VERSION, None)
    assert manifest["rows"] == {name: getattr(case.tables, name).height for name in Tables.names()}
    field = pq.read_schema(tmp_path / "saved" / "events.parquet").field("ran_ms")
    assert field.metadata == {b"meaning": b"Length of the wait", b"unit": b"ms"}


def test_nothing_is_overwritten(case: CaseData, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine", encoding="utf-8")
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    (tmp_path / "empty").mkdir()
    for name in ("full", "file"):
        with pytest.raises(OutputExistsError, match=f'"{name}" is there and no empty folder; nothing was written.'):
            case.save(tmp_path / name)
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["mine.txt"]
    case.save(tmp_path / "empty")


@pytest.mark.parametrize(
    "manifest",
    [
        b"",
        b"{",
        b"[]",
        b"3",
        b"null",
        b"\xff\xfe",
        b'{"schema": "crashlens.case/2", "tables": "crashlens.tables/1"}',
        b'{"schema": "crashlens.case/1", "tables": "crashlens.tables/99"}',
        b'{"schema": "crashlens.case/1"}',
        b'{"schema": "crashlens.case/1", "tables": "crashlens.tables/1", "window": "x"}',
        b'{"schema": "crashlens.case/1", "tables": "crashlens.tables/1", "window": [1, 2]}',
        b'{"schema": "crashlens.case/1", "tables": "crashlens.tables/1", "window": ["2026-10-01T10:00:00Z"]}',
        b"[" * 100_000,
    ],
    ids=range(13),
)
def test_a_manifest_that_is_none_of_ours_is_refused(case: CaseData, tmp_path: Path, manifest: bytes) -> None:
    case.save(tmp_path / "saved")
    (tmp_path / "saved" / MANIFEST).write_bytes(manifest)
    with pytest.raises(NotACaseError, match='"saved" is not a saved case; nothing was opened'):
        CaseData.open(tmp_path / "saved")


def test_a_table_that_is_missing_or_broken_is_refused(case: CaseData, tmp_path: Path) -> None:
    case.save(tmp_path / "saved")
    (tmp_path / "saved" / "events.parquet").write_bytes(b"PAR1 broken")
    with pytest.raises(NotACaseError, match="a table cannot be read"):
        CaseData.open(tmp_path / "saved")
    (tmp_path / "saved" / "events.parquet").unlink()
    with pytest.raises(NotACaseError, match="a table cannot be read"):
        CaseData.open(tmp_path / "saved")
    pl.DataFrame({"line": ["many"]}).write_parquet(tmp_path / "saved" / "events.parquet")
    with pytest.raises(NotACaseError, match="a table cannot be read"):
        CaseData.open(tmp_path / "saved")


def test_a_folder_that_is_no_case_and_one_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(NotACaseError) as caught:
        CaseData.open(tmp_path)
    assert str(caught.value).endswith("To read logs and exports use crashlens.read(folder).")
    with pytest.raises(NoSuchInputError, match='"gone" is not a folder here; nothing was opened'):
        CaseData.open(tmp_path / "gone")
