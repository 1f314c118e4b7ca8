import gzip
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crashlens.catalog.signals import samples_schema
from crashlens.scan.member import Member
from crashlens.schemas import BASE_SCHEMAS
from crashlens.sources.parsers.nvidia_smi_csv import FORMAT
from crashlens.sources.writer import ReadOptions, TableWriter

HERE = Path(__file__).parent / "nvidia_smi_csv"
SCHEMAS = BASE_SCHEMAS | {"samples": samples_schema()}


class Read:
    """One file, read."""

    def __init__(self, path: Path, tz: str | None = None) -> None:
        member = Member(path.name, path)
        self.confidence = FORMAT.sniff(member.head())
        self.out = TableWriter(1, ReadOptions(tz=tz), SCHEMAS)
        FORMAT.parse(member, self.out)

    def table(self, name: str) -> pl.DataFrame:
        frames = self.out.frames.get(name, [])
        return pl.concat(frames) if frames else SCHEMAS[name].empty()

    def column(self, name: str) -> list[object]:
        return self.table("samples")[name].to_list()

    def gaps(self) -> list[tuple[str, str, int, int, int, str, str]]:
        names = ("gpu_key", "signal", "first_line", "last_line", "values", "state", "raw")
        return sorted(self.table("gaps").select(names).iter_rows())


def text(tmp_path: Path, content: str | bytes, tz: str | None = None) -> Read:
    path = tmp_path / "smi.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return Read(path, tz)


TWO = "timestamp, index, power.draw [W], utilization.gpu [%]\n"


def test_two_gpus_per_poll_with_units(tmp_path: Path) -> None:
    got = text(
        tmp_path,
        TWO + "2026/10/01 08:00:00.000, 0, 58.10 W, 7 %\n2026/10/01 08:00:00.004, 1, 699.00 W, 100 %\n",
        tz="UTC",
    )
    assert got.confidence == 0.95
    assert got.column("gpu_key") == ["s1:0", "s1:1"]
    assert got.column("line") == [2, 3]
    assert got.column("power_draw_w") == [58.1, 699.0]
    assert got.column("gpu_utilization_ratio") == [0.07, 1.0]
    assert got.column("power_draw_kind") == ["unspecified", "unspecified"]
    assert got.column("time_utc")[1] == datetime(2026, 10, 1, 8, 0, 0, 4000, tzinfo=UTC)
    assert got.table("gpus")["nvml_index"].to_list() == [0, 1]
    assert got.table("clocks").select("clock_id", "kind", "method", "zone", "stamps").rows() == [
        ("1:local", "local", "given zone", "UTC", 2)
    ]
    assert got.out.all_notices() == []


def test_nounits_with_units_in_the_header_reads_the_same(tmp_path: Path) -> None:
    with_units = text(tmp_path, TWO + "2026/10/01 08:00:00.000, 0, 58.10 W, 7 %\n")
    without = text(tmp_path, TWO + "2026/10/01 08:00:00.000, 0, 58.10, 7\n")
    assert with_units.table("samples").equals(without.table("samples"))


def test_missing_values_become_runs_of_gaps_with_lines_and_states() -> None:
    got = Read(HERE / "gaps.csv")
    assert got.gaps() == [
        ("s1:0", "gpu_utilization_ratio", 6, 6, 1, "reset_required", "[GPU requires reset]"),
        ("s1:0", "memory_temperature_c", 2, 6, 3, "not_supported", "[N/A]"),
        ("s1:0", "power_draw_w", 4, 4, 1, "unreadable", "6^C"),
        ("s1:1", "power_draw_w", 3, 5, 2, "error", "[Unknown Error]"),
    ]
    assert got.column("power_draw_w") == [300.5, None, None, None, 301.5, 302.5]
    assert got.out.all_notices()[1:] == []


def test_header_again_blank_lines_sentences_and_a_cut_last_row() -> None:
    got = Read(HERE / "interleaved.csv")
    assert got.column("line") == [3, 4, 7, 10]
    assert got.column("sm_clock_mhz") == [1980.0, 1965.0, 1950.0, None]
    assert got.column("graphics_clock_mhz") == [None, None, None, 1935.0]
    assert got.out.unread_lines == [
        (5, "1 cells under 3 column names"),
        (8, "none of its cells holds what its column should"),
        (11, "2 cells under 3 column names"),
    ]
    assert "Line 11 is the last one and has no line end: its last value may be cut short." in got.out.notices


def test_a_header_before_every_row_as_a_loop_appends_it(tmp_path: Path) -> None:
    pair = TWO + "2026/10/01 08:00:00.000, 0, [N/A], 7 %\n"
    got = text(tmp_path, pair * 3)
    assert got.column("line") == [2, 4, 6]
    assert got.gaps() == [("s1:0", "power_draw_w", 2, 6, 3, "not_supported", "[N/A]")]


def test_headers_without_end_are_not_followed(tmp_path: Path) -> None:
    content = "".join(f"index, power.draw [W], x{n}\n0, 70 W, 1\n" for n in range(70))
    got = text(tmp_path, content)
    assert got.table("samples").height == 64
    assert got.out.unread_count == 6


def test_a_file_without_an_identity_column_is_one_gpu(tmp_path: Path) -> None:
    got = text(
        tmp_path, "timestamp, power.draw [W]\n2024/10/30 18:42:33.189, 22.89 W\n2024/10/30 18:42:33.239, 22.73 W\n"
    )
    assert got.column("gpu_key") == ["s1:gpu", "s1:gpu"]
    assert got.table("gpus").select("gpu_key", "device_id", "nvml_index").rows() == [("s1:gpu", None, None)]


def test_uuid_then_bus_id_then_index_name_the_gpu(tmp_path: Path) -> None:
    head = "index, uuid, pci.bus_id, name, power.draw [W]\n"
    uuid = "GPU-8f3e1c2a-0000-4a6b-9d7e-112233445566"
    got = text(
        tmp_path,
        head
        + f"0, {uuid}, 00000000:9B:00.0, NVIDIA H100 80GB HBM3, 70 W\n"
        + "1, [N/A], 0000000F:01:00.0, NVIDIA GB10, 71 W\n2, [N/A], [N/A], x, 72 W\n?, [N/A], -, x, 73 W\n",
    )
    assert got.column("gpu_key") == [f"s1:{uuid}", "s1:000f:01:00", "s1:2", "s1:unknown"]
    assert got.table("gpus").select("device_id", "pci_bus_id", "nvml_index", "model").rows() == [
        (uuid, "0000:9b:00", 0, "NVIDIA H100 80GB HBM3"),
        (None, "000f:01:00", 1, "NVIDIA GB10"),
        (None, None, 2, "x"),
        (None, None, None, "x"),
    ]
    assert "1 rows name no GPU that can be read; they stand under one of their own." in got.out.notices


def test_a_uuid_of_zeros_proves_no_identity(tmp_path: Path) -> None:
    got = text(tmp_path, "uuid, power.draw [W]\nGPU-00000000-0000-0000-0000-000000000000, 70 W\n")
    assert got.table("gpus").select("device_id", "gpu_uuid").row(0) == (
        None,
        "GPU-00000000-0000-0000-0000-000000000000",
    )


def test_old_reason_columns_become_a_mask_that_says_what_it_covers(tmp_path: Path) -> None:
    head = "index, clocks_throttle_reasons.sw_power_cap, clocks_throttle_reasons.hw_slowdown, temperature.gpu\n"
    got = text(tmp_path, head + "0, Active, Not Active, 61\n0, Not Active, Active, 61\n0, [N/A], Not Active, 61\n")
    assert got.column("clocks_event_reasons") == [0x4, 0x8, 0x0]
    assert got.column("clocks_event_reasons_known") == [0xC, 0xC, 0x8]


def test_a_supported_mask_limits_what_is_known(tmp_path: Path) -> None:
    head = "index, clocks_event_reasons.supported, clocks_event_reasons.active\n"
    got = text(tmp_path, head + "0, 0x000000000000007F, 0x0000000000000024\n0, [N/A], 0x0000000000000000\n")
    assert got.column("clocks_event_reasons") == [0x24, 0]
    assert got.column("clocks_event_reasons_known") == [0x7F, 0x1FF]


def test_the_power_column_with_values_wins_and_the_rest_are_metrics(tmp_path: Path) -> None:
    head = "index, power.draw [W], power.draw.average [W], power.draw.instant [W], power.limit [mW]\n"
    got = text(tmp_path, head + "0, 300 W, [N/A], 320 W, 700000 mW\n")
    samples = got.table("samples").row(0, named=True)
    assert (samples["power_draw_w"], samples["power_draw_kind"]) == (300.0, "unspecified")
    assert samples["requested_power_limit_w"] == 700.0
    assert got.table("metrics").select("name", "value", "unit").rows() == [
        ("power.draw", 300.0, "W"),
        ("power.draw.instant", 320.0, "W"),
    ]


def test_unknown_columns_are_metrics_where_numeric_and_named_where_not(tmp_path: Path) -> None:
    head = "timestamp, index, power.draw [W], clocks.current.video [MHz], display_mode, driver_version\n"
    got = text(tmp_path, head + "2026/10/01 08:00:00.000, 3, 70 W, 1545 MHz, Enabled, 590.48.01\n")
    assert got.table("metrics").select("line", "gpu_key", "name", "value", "unit").rows() == [
        (2, "s1:3", "clocks.current.video", 1545.0, "MHz")
    ]
    assert got.table("inventory").select("line", "component", "value").rows() == [(2, "driver_version", "590.48.01")]
    assert "Columns that hold no numbers were not kept: display_mode." in got.out.notices


def test_a_spreadsheet_file_with_semicolons_and_decimal_commas(tmp_path: Path) -> None:
    got = text(tmp_path, "timestamp;index;power.draw [W]\n2026/10/01 10:00:00,250;0;698,74 W\n", tz="UTC")
    assert got.column("power_draw_w") == [698.74]
    assert got.column("time_utc") == [datetime(2026, 10, 1, 10, 0, 0, 250_000, tzinfo=UTC)]
    assert any("a comma between digits" in notice for notice in got.out.notices)


def test_utf16_with_crlf_as_powershell_writes_it(tmp_path: Path) -> None:
    content = (TWO + "2026/10/01 08:00:00.000, 0, 58.10 W, 7 %\n").replace("\n", "\r\n")
    got = text(tmp_path, b"\xff\xfe" + content.encode("utf-16-le"))
    assert got.confidence == 0.95
    assert (got.column("power_draw_w"), got.column("line")) == ([58.1], [2])


def test_a_wrapper_stamp_with_an_offset_is_utc(tmp_path: Path) -> None:
    got = text(
        tmp_path,
        "timestamp,gpu,index,memory.used\n2025-09-08T17:26:50+08:00,0, 0, 4\n2025-09-08T17:26:50+08:00,1, 0, 5\n",
    )
    assert got.column("time_utc")[0] == datetime(2025, 9, 8, 9, 26, 50, tzinfo=UTC)
    assert any("several GPUs may stand under one name" in notice for notice in got.out.notices)


def test_a_row_without_a_stamp_keeps_its_values(tmp_path: Path) -> None:
    got = text(tmp_path, TWO + ", 0, 58.10 W, 7 %\n[N/A], 1, 59.10 W, 7 %\n", tz="UTC")
    assert got.column("power_draw_w") == [58.1, 59.1]
    assert got.column("clock_id") == [None, None]
    assert got.table("clocks").height == 0


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"\xff\xfe",
        b"0, 35, 210 MHz, 15.22 W, 0x0000000000000001\n",
        b"timestamp,host_ram_used_pct\n2022-02-20 06:10:00,10\n",
        b"condition,metric,unit,value\n370 W,narrative,tok/s,35.18\n",
        b"name,value\nx,1\n",
        b"INFO index, uuid, power.draw were asked for\n",
        b"# gpu    pwr  gtemp\n",
        b"timestamp, index, name\n",
    ],
)
def test_other_text_is_not_claimed(head: bytes) -> None:
    assert FORMAT.sniff(head) == 0.0


def test_a_file_longer_than_a_block_keeps_lines_and_joins_gaps(tmp_path: Path) -> None:
    rows = [f"2026/10/01 08:{n // 600:02}:{n // 10 % 60:02}.{n % 10}00, {n % 2}, [N/A], 50 %" for n in range(12_000)]
    got = text(tmp_path, TWO + "\n".join(rows) + "\n")
    assert len(got.out.frames["samples"]) > 1
    assert got.column("line") == list(range(2, 12_002))
    assert got.gaps() == [
        ("s1:0", "power_draw_w", 2, 12_000, 6_000, "not_supported", "[N/A]"),
        ("s1:1", "power_draw_w", 3, 12_001, 6_000, "not_supported", "[N/A]"),
    ]


CELL = st.text(alphabet=st.characters(blacklist_characters=",;\t\n\r", blacklist_categories=("Cs",)), max_size=20)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(CELL, min_size=4, max_size=4))
def test_any_text_in_any_cell_loses_no_other_row(tmp_path: Path, cells: list[str]) -> None:
    good = "2026/10/01 08:00:00.000, 0, 58.10 W, 7 %\n"
    got = text(tmp_path, TWO + good + ",".join(cells) + "\n" + good, tz="Europe/Berlin")
    kept = dict(zip(got.column("line"), got.column("power_draw_w"), strict=True))
    assert (kept[2], kept[4]) == (58.1, 58.1)
    assert got.out.matched + got.out.unread_count in (2, 3)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200))
def test_any_bytes_behind_a_header_never_raise(tmp_path: Path, junk: bytes) -> None:
    text(tmp_path, TWO.encode() + junk, tz="UTC")
    FORMAT.sniff(junk)


@pytest.mark.shared_data
def test_real_files_are_read_without_loss(shared: Path) -> None:
    # Rows as counted with `wc -l`, minus header and blank lines; see MANIFEST.tsv there.
    telemetry, runs = shared / "data/telemetry", shared / "data/runs"
    expected = {
        telemetry / "nvidia_smi_csv/flame_fluidsGL.csv": 163,
        telemetry / "nvidia_smi_csv/flame_power_only_units.csv": 73,
        telemetry / "nvidia_smi_csv/rtx4050_clk525_nounits_header_units.csv": 2743,
        telemetry / "excerpts/gb10_dgx_spark_memory_na.csv": 5,
        telemetry / "excerpts/gpu_requires_reset.csv": 1,
        telemetry / "excerpts/unknown_error_nounits.csv": 1,
        runs / "locked_clocks/compute_05_conv3d_forward_baseline_r1_power.csv.gz": 813,
        runs / "locked_clocks/compute_05_conv3d_forward_clk1305_r1_power.csv.gz": 1154,
        runs / "thermal/a5000_a6000_vllm/vllm-tp2-balanced/telemetry-c064-gpu1.csv": 108,
    }
    for path, rows in expected.items():
        got = Read(path)
        assert (got.table("samples").height, got.out.unread_count) == (rows, 0), path.name


@pytest.mark.shared_data
def test_real_excerpts_keep_their_reasons(shared: Path) -> None:
    folder = shared / "data/telemetry/excerpts"
    assert Read(folder / "gb10_dgx_spark_memory_na.csv").gaps() == [
        ("s1:gpu", "memory_used_mib", 2, 6, 5, "not_supported", "[N/A]")
    ]
    assert Read(folder / "gpu_requires_reset.csv").gaps() == [
        ("s1:0", "gpu_temperature_c", 2, 2, 1, "reset_required", "[GPU requires reset]"),
        ("s1:0", "gpu_utilization_ratio", 2, 2, 1, "reset_required", "[GPU requires reset]"),
    ]
    assert Read(folder / "unknown_error_nounits.csv").gaps() == [
        ("s1:gpu", "default_power_limit_w", 3, 3, 1, "error", "[Unknown Error]")
    ]


@pytest.mark.shared_data
def test_locked_clocks_show_no_reason_column(shared: Path) -> None:
    got = Read(shared / "data/runs/locked_clocks/compute_05_conv3d_forward_clk525_r1_power.csv.gz")
    samples = got.table("samples")
    assert samples["sm_clock_mhz"].median() == 525.0
    assert samples["clocks_event_reasons"].null_count() == samples.height == 2743
    assert got.table("gaps").height == 0


@pytest.mark.shared_data
def test_a_real_query_of_all_212_fields(shared: Path, tmp_path: Path) -> None:
    capture = shared / "data/telemetry/nvidia_smi_capture/linux-x86_64__nvidia-h100-80gb-hbm3__590.48.01.txt"
    lines = capture.read_text("utf-8").split("\n")
    start = next(n for n, line in enumerate(lines) if line.startswith("timestamp, driver_version"))
    path = tmp_path / "all.csv.gz"
    path.write_bytes(gzip.compress("\n".join([*lines[start : start + 2], ""]).encode()))
    row = Read(path, tz="UTC").table("samples").row(0, named=True)
    # As the line prints them: 69.85 W, 700.00 W, 1980 MHz, 0x1FF supported, 0x1 active, tlimit 46, memory 48 C.
    assert (row["power_draw_w"], row["power_draw_kind"]) == (69.85, "average_1s")
    assert (row["enforced_power_limit_w"], row["max_sm_clock_mhz"]) == (700.0, 1980.0)
    assert (row["clocks_event_reasons"], row["clocks_event_reasons_known"]) == (1, 0x1FF)
    assert (row["temperature_margin_c"], row["memory_temperature_c"]) == (46.0, 48.0)
    assert (row["remapped_rows_pending"], row["pcie_link_gen"], row["pstate"]) == (0, 5, "P0")
