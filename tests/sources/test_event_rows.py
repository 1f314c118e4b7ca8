import pytest

from crashlens.rules.load import shipped_rules
from crashlens.scan.member import Block
from crashlens.scan.records import RecordReader
from crashlens.sources.event_rows import RowBuilder, normal_pci
from crashlens.sources.writer import ReadOptions


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("0000:c6:00", "0000:c6:00"),
        ("00000000:3B:00.0", "0000:3b:00"),
        ("0009:01:00", "0009:01:00"),
        ("000d:00:00", "000d:00:00"),
        ("00010000:01:00", "10000:01:00"),
        ("3b:00.0", None),
        ("", None),
        (None, None),
        ("zz", None),
    ],
)
def test_pci_addresses_have_one_form(text: str | None, normal: str | None) -> None:
    assert normal_pci(text) == normal


@pytest.mark.parametrize(
    ("bus_id", "pci"),
    [("9b000", "0000:9b:00"), ("1b0", "0000:00:1b"), ("10009b000", "1000:9b:00"), ("f000", "0000:0f:00")],
)
def test_the_bus_id_of_nccl_is_one_number(bus_id: str, pci: str) -> None:
    line = f"n1:7:8 [5] NCCL INFO comm 0x1 rank 5 nranks 8 cudaDev 5 busId {bus_id} - Init COMPLETE"
    (hit,) = RecordReader(shipped_rules()).read([Block(1, line.encode())])
    builder = RowBuilder(4, ReadOptions())
    assert builder.event(hit)["gpu_key"] == f"s4:n1/{pci}"
    assert [gpu.pci_bus_id for gpu in builder.gpus.values()] == [pci]


def test_a_step_line_is_no_event() -> None:
    (hit,) = RecordReader(shipped_rules()).read([Block(1, b"step 1 loss 2.0")])
    with pytest.raises(TypeError):
        RowBuilder(0, ReadOptions()).event(hit)


def test_a_source_has_one_clock_per_kind_of_stamp() -> None:
    lines = [
        "2026-10-01T10:00:00Z n1 app[1]: CUDA error: misaligned address",
        "2026-10-01 10:00:00.5 n2 app[1]: CUDA error: misaligned address",
        "Oct  1 10:00:00 n2 app[1]: CUDA error: misaligned address",
        "Oct  1 10:00:01 n3 app[1]: CUDA error: misaligned address",
    ]
    builder = RowBuilder(2, ReadOptions())
    for hit in RecordReader(shipped_rules()).read([Block(1, "\n".join(lines).encode())]):
        builder.event(hit)
    uses = {name: (use.first_line, use.last_line, use.stamps, use.hosts) for name, use in builder.clocks.items()}
    assert uses == {
        "s2:utc": (1, 1, 1, {"n1"}),
        "s2:local": (2, 2, 1, {"n2"}),
        "s2:local_no_year": (3, 4, 2, {"n2", "n3"}),
    }
    assert builder.clocks["s2:local"].uncertainty_us == 100_000


def joined(*lines: str) -> list[dict[str, object]]:
    """The rows of a text, records that are counted in an earlier one left out."""
    builder = RowBuilder(0, ReadOptions())
    rows: list[dict[str, object]] = []
    for hit in RecordReader(shipped_rules()).read([Block(1, "".join(f"{line}\n" for line in lines).encode())]):
        row = builder.event(hit)
        if not builder.joins(hit, row):
            rows.append(row)
    return rows


def test_an_error_code_on_its_way_up_is_one_record_per_process_and_code() -> None:
    rows = joined(
        "n1:7:8 [0] NCCL INFO misc/socket.cc:47 -> 6",
        "n1:9:8 [1] NCCL INFO misc/socket.cc:47 -> 6",
        "n1:7:8 [0] NCCL INFO proxy.cc:991 -> 6",
        "n1:7:8 [0] NCCL INFO proxy.cc:994 -> 6 [Proxy Thread]",
        "n1:7:8 [0] NCCL INFO init.cc:20 -> 3",
    )
    assert [(row["line"], row["line_end"], row["pid"], row["repeats"]) for row in rows] == [
        (1, 4, 7, 3), (2, 2, 9, 1), (5, 5, 7, 1),
    ]  # fmt: skip


def test_an_error_code_long_after_the_last_line_is_another_record() -> None:
    rows = joined("n1:7:8 [0] NCCL INFO a.cc:4 -> 6", *["..."] * 300, "n1:7:8 [0] NCCL INFO a.cc:4 -> 6")
    assert [(row["line"], row["repeats"]) for row in rows] == [(1, 1), (302, 1)]


def test_of_a_progress_the_last_line_is_the_record() -> None:
    bar = "Map:  {}%|###| {}/100 [00:{}<00:10, 2.00 examples/s]"
    (row,) = joined(bar.format(10, 10, "05"), bar.format(50, 50, "25"))
    fields = {item["key"]: item["value"] for item in row["fields"]}  # type: ignore[attr-defined]
    assert (row["line"], row["repeats"], fields["percent"], fields["elapsed"]) == (2, 2, "50", "00:25")


@pytest.mark.parametrize(
    ("tag", "path_rank", "rank", "group"),
    [
        ("[Rank 1] ", 13, 13, None),  # the file tells the global rank, the tag that of the group
        ("[Rank 1] ", None, 1, None),
        ("[PG ID 0 PG GUID 0(default_pg) Rank 1] ", None, 1, "0(default_pg)"),
        ("[PG ID 3 PG GUID 7(mesh_tp) Rank 1] ", None, None, "7(mesh_tp)"),
        ("[PG ID 11 PG GUID 119 Rank 1] ", None, None, "119"),
        ("[PG 1 Rank 1] ", None, None, "1"),
    ],
)
def test_the_rank_in_a_group_is_kept_apart_from_the_global_one(
    tag: str, path_rank: int | None, rank: int | None, group: str | None
) -> None:
    line = (
        f"{tag}Watchdog caught collective operation timeout: WorkNCCL(SeqNum=5, OpType=BARRIER) ran for 9 milliseconds"
    )
    (hit,) = RecordReader(shipped_rules()).read([Block(1, line.encode())])
    row = RowBuilder(0, ReadOptions(), path_rank=path_rank).event(hit)
    assert (row["rank"], row["process_group"]) == (rank, group)
    assert {"key": "group_rank", "value": "1"} in row["fields"]  # type: ignore[operator]


def test_what_a_load_line_measures_becomes_metrics_in_one_unit() -> None:
    line = "INFO 10-01 09:00:10 [loggers.py:123] Engine 003: Avg prompt throughput: 512.0 tokens/s, Avg generation throughput: 903.5 tokens/s, Running: 21 reqs, Waiting: 4 reqs, GPU KV cache usage: 93.1%, Prefix cache hit rate: 12.5%"
    (hit,) = RecordReader(shipped_rules()).read([Block(7, line.encode())])
    rows = RowBuilder(0, ReadOptions()).metrics(hit)
    assert [(row["line"], row["name"], row["unit"]) for row in rows] == [
        (7, "prompt_tokens_per_s", "1/s"),
        (7, "generation_tokens_per_s", "1/s"),
        (7, "requests_running", "1"),
        (7, "requests_waiting", "1"),
        (7, "kv_cache_usage_ratio", "1"),
        (7, "prefix_cache_hit_ratio", "1"),
    ]
    assert [row["value"] for row in rows] == pytest.approx([512.0, 903.5, 21, 4, 0.931, 0.125])
    assert rows[0]["labels"] == [{"key": "engine", "value": "003"}]


def test_a_record_names_its_job_its_step_and_the_machine_it_is_about() -> None:
    line = "slurmstepd: error: *** STEP 70114.0 ON gpu-node-07 CANCELLED AT 2026-10-01T09:12:44 DUE TO TIME LIMIT ***"
    (hit,) = RecordReader(shipped_rules()).read([Block(1, line.encode())])
    row = RowBuilder(0, ReadOptions()).event(hit)
    assert (row["job_id"], row["job_step_id"], row["host"]) == ("70114", "0", "gpu-node-07")


def test_a_gpu_named_by_its_uuid_alone_has_a_key() -> None:
    uuid = "GPU-1f2e3d4c-0000-1111-2222-333344445555"
    line = f"2026/10/01 09:00:00 XidCriticalError: Xid=79 on Device={uuid}, the device will go unhealthy."
    (hit,) = RecordReader(shipped_rules()).read([Block(1, line.encode())])
    builder = RowBuilder(2, ReadOptions())
    assert (builder.event(hit)["gpu_key"], builder.event(hit)["xid"]) == (f"s2:{uuid}", 79)
    assert [(gpu.pci_bus_id, gpu.gpu_uuid) for gpu in builder.gpus.values()] == [(None, uuid)]


def test_a_measurement_that_is_no_number_is_left_out() -> None:
    line = "INFO 10-01 09:00:10 [loggers.py:123] Engine 003: Avg prompt throughput: 5.1.2 tokens/s, Avg generation throughput: 903.5 tokens/s, Running: 21 reqs, Waiting: 4 reqs, GPU KV cache usage: 93.1%, Prefix cache hit rate: 12.5%"
    hits = list(RecordReader(shipped_rules()).read([Block(7, line.encode())]))
    names = [row["name"] for hit in hits for row in RowBuilder(0, ReadOptions()).metrics(hit)]
    assert "prompt_tokens_per_s" not in names
