import gzip
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crashlens.catalog.aliases import parse_sampler
from crashlens.catalog.signals import samples_schema
from crashlens.scan.member import Member
from crashlens.schemas import BASE_SCHEMAS
from crashlens.sources.parsers.sampler_csv import FORMAT, parse_with
from crashlens.sources.writer import ReadOptions, TableWriter

SCHEMAS = BASE_SCHEMAS | {"samples": samples_schema()}
HEAD = "timestamp,phase,gpu,gpu_model,power_w,temp_c,gpu_util_pct,dram_active,throttle_reasons,energy_mj\n"
ROWS = (
    "1775008423.209,init,0,NVIDIA H100 80GB HBM3,71.1,33,0,0.000005,1,237053519798\n"
    "1775008423.209,init,1,NVIDIA H100 80GB HBM3,121.4,32,0,,0,230461766680\n"
    "1775008423.309,steady,0,NVIDIA H100 80GB HBM3,693.4,62,100,0.5,4,237053588888\n"
    "1775008423.309,init,1,NVIDIA H100 80GB HBM3,120.0,32,0,,0,230461778680\n"
)


def member(tmp_path: Path, content: str) -> Member:
    path = tmp_path / "sampler.csv"
    path.write_text(content, encoding="utf-8", newline="")
    return Member("sampler.csv", path)


def read(source: Member) -> tuple[TableWriter, dict[str, pl.DataFrame]]:
    out = TableWriter(1, ReadOptions(), SCHEMAS)
    FORMAT.parse(source, out)
    return out, {name: pl.concat(frames) for name, frames in out.frames.items()}


def test_a_declared_mapping_reads_the_sampler(tmp_path: Path) -> None:
    source = member(tmp_path, HEAD + ROWS)
    assert FORMAT.sniff(source.head()) == 0.9
    out, tables = read(source)
    samples = tables["samples"]
    assert samples["gpu_key"].to_list() == ["s1:0", "s1:1", "s1:0", "s1:1"]
    assert samples["line"].to_list() == [2, 3, 4, 5]
    assert samples["time_utc"][0] == datetime(2026, 4, 1, 1, 53, 43, 209_000, tzinfo=UTC)
    assert samples["gpu_utilization_ratio"].to_list() == [0.0, 0.0, 1.0, 0.0]
    assert samples["clocks_event_reasons"].to_list() == [1, 0, 4, 0]
    assert samples["clocks_event_reasons_known"].to_list() == [0x1FF] * 4
    assert samples["total_energy_mj"][0] == 237053519798
    assert samples["power_draw_kind"].unique().to_list() == ["unspecified"]
    assert tables["gpus"]["model"].to_list() == ["NVIDIA H100 80GB HBM3"] * 2
    assert tables["clocks"].select("kind", "method", "stamps", "uncertainty_us").rows() == [
        ("utc", "offset in file", 4, 1000)
    ]
    assert out.unread_count == 0


def test_empty_cells_are_not_collected(tmp_path: Path) -> None:
    _, tables = read(member(tmp_path, HEAD + ROWS))
    names = ("gpu_key", "signal", "first_line", "last_line", "values", "state", "raw")
    assert tables["gaps"].select(names).rows() == [("s1:1", "dram_active_ratio", 3, 5, 2, "not_collected", "")]


def test_a_label_is_a_metrics_row_where_it_changes(tmp_path: Path) -> None:
    _, tables = read(member(tmp_path, HEAD + ROWS))
    got = [(row["line"], row["gpu_key"], row["labels"][0]["value"]) for row in tables["metrics"].to_dicts()]
    assert got == [(2, "s1:0", "init"), (3, "s1:1", "init"), (4, "s1:0", "steady")]


def test_columns_without_a_mapping_are_named(tmp_path: Path) -> None:
    out, _ = read(member(tmp_path, HEAD.replace("\n", ",mood\n") + ROWS.replace("\n", ",fine\n")))
    assert "Columns that the mapping does not name were not kept: mood." in out.notices


def test_bad_rows_are_counted_one_by_one(tmp_path: Path) -> None:
    out, tables = read(member(tmp_path, HEAD + "1775008423.209,init\n" + HEAD + ROWS + "1775008423.4,steady,0,NVI"))
    assert tables["samples"]["line"].to_list() == [4, 5, 6, 7]
    assert out.unread_lines == [(2, "2 cells under 10 column names"), (8, "4 cells under 10 column names")]


def test_a_mapping_of_the_user_reads_another_shape(tmp_path: Path) -> None:
    mapping = parse_sampler(
        {
            "name": "ours",
            "requires": ["when", "milliwatts"],
            "time": {"column": "when", "kind": "epoch_ms"},
            "gpu": {"column": "card", "identity": "pci_bus_id"},
            "host": "node",
            "signals": {"milliwatts": {"signal": "power_draw_w", "factor": 0.001}},
            "metrics": ["queue"],
        }
    )
    out = TableWriter(3, ReadOptions(), SCHEMAS)
    source = member(tmp_path, "when;card;node;milliwatts;queue\n1775008423209;00000000:9B:00.0;n7;699000;4\n")
    parse_with(source, out, (mapping,))
    samples = out.frames["samples"][0].row(0, named=True)
    assert (samples["gpu_key"], samples["power_draw_w"]) == ("s3:n7:0000:9b:00", 699.0)
    assert out.frames["metrics"][0].select("name", "value", "host").row(0) == ("queue", 4.0, "n7")
    assert out.frames["gpus"][0].select("host", "pci_bus_id").row(0) == ("n7", "0000:9b:00")
    assert out.frames["clocks"][0]["host"][0] == "n7"


def test_impossible_utilization_is_an_error_with_its_text(tmp_path: Path) -> None:
    out, tables = read(
        member(
            tmp_path,
            "timestamp,gpu,DCGM_FI_DEV_GPU_UTIL\n2024-11-13T10:00:00Z,2,97\n2024-11-13T10:01:00Z,2,4294967295\n",
        )
    )
    assert tables["samples"]["gpu_utilization_ratio"].to_list() == [0.97, None]
    assert tables["gaps"].select("state", "raw", "first_line").row(0) == ("error", "4294967295", 3)
    assert out.unread_count == 0


@pytest.mark.parametrize(
    "head", [b"", b"timestamp,phase,gpu\n", b"timestamp,metric,Hostname,gpu,value\n", b"\x00\xff\xfe"]
)
def test_other_text_is_not_claimed(head: bytes) -> None:
    assert FORMAT.sniff(head) == 0.0


def test_a_file_without_a_header_is_counted_and_writes_nothing(tmp_path: Path) -> None:
    out, tables = read(member(tmp_path, "a,b\n1,2\n"))
    assert tables == {}
    assert out.unread_count == 2


CELL = st.text(alphabet=st.characters(blacklist_characters=",;\t\n\r", blacklist_categories=("Cs",)), max_size=20)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(CELL, min_size=10, max_size=10))
def test_any_text_in_any_cell_loses_no_other_row(tmp_path: Path, cells: list[str]) -> None:
    _, tables = read(member(tmp_path, HEAD + ROWS + ",".join(cells) + "\n" + ROWS))
    power = dict(tables["samples"].select("line", "power_draw_w").iter_rows())
    assert [power[line] for line in (2, 3, 4, 5, 7, 8, 9, 10)] == [71.1, 121.4, 693.4, 120.0] * 2


@pytest.mark.shared_data
@pytest.mark.parametrize(("name", "rows"), [("h100x8_t3", 26_792), ("h100x8_e2", 24_216), ("h100x8_b1", 26_272)])
def test_real_sampler_files(shared: Path, name: str, rows: int) -> None:
    path = shared / f"data/telemetry/dcgm_sampler_csv/{name}_telemetry.csv.gz"
    cells = [line.split(",") for line in gzip.decompress(path.read_bytes()).decode().split("\n")[1:-1]]
    empty = sum(row.count("") for row in cells)
    out, tables = read(Member(path.name, path))
    assert (tables["samples"].height, tables["gpus"].height, out.unread_count) == (rows, 8, 0)
    assert len(cells) == rows
    assert tables["gaps"]["state"].unique().to_list() == ["not_collected"]
    assert tables["gaps"]["values"].sum() == empty > 0


@pytest.mark.shared_data
def test_a_sampler_that_counts_seconds_since_its_start(shared: Path) -> None:
    path = shared / "data/runs/powercap_serving/rtx5090_575w_no_reason_column_EXCERPT.csv"
    out, tables = read(Member(path.name, path))
    assert (tables["samples"].height, out.unread_count) == (37, 0)
    assert tables["samples"]["time_utc"].null_count() == 37
    assert tables["samples"]["power_draw_w"][1] == 574.95
