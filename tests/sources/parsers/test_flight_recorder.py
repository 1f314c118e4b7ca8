import gzip
import json
import os
import pickle
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import crashlens as cl
from crashlens.scan.member import Member
from crashlens.schemas import BASE_SCHEMAS
from crashlens.sources.parsers import flight_recorder
from crashlens.sources.parsers.flight_recorder import FORMAT, LAST_ENTRIES
from crashlens.sources.writer import ReadOptions, TableWriter

CREATED_NS = 1_790_845_200_000_000_000  # 2026-10-01 09:00:00 UTC


def entry(seq: int, state: str, **more: Any) -> dict[str, Any]:
    """One entry as torch 2.8 writes it in a pickle."""
    return {
        "record_id": seq, "pg_id": 0, "process_group": ("0", "default_pg"), "collective_seq_id": seq, "p2p_seq_id": 0,
        "op_id": seq, "profiling_name": "nccl:all_reduce", "time_created_ns": CREATED_NS + seq * 1_000_000,
        "input_sizes": [[1024, 8]], "input_dtypes": ["Float"], "output_sizes": [[1024, 8]], "output_dtypes": ["Float"],
        "state": state, "time_discovered_started_ns": None, "time_discovered_completed_ns": None, "retired": False,
        "timeout_ms": 600_000, "is_p2p": False,
        "frames": [{"name": "backward", "filename": "/app/train.py", "line": 88}],
    } | more  # fmt: skip


def dump(entries: list[dict[str, Any]], **status: int) -> dict[str, Any]:
    last = {"last_enqueued_collective": 7, "last_started_collective": -1, "last_completed_collective": 6} | status
    return {
        "version": "2.10",
        "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2, 3]"}},
        "pg_status": {"0": last},
        "entries": entries,
    }


def as_json(value: dict[str, Any]) -> str:
    """As nlohmann::json writes it: keys sorted, no stacks, numbers of the status as text, 0 for a missing time."""
    out = json.loads(json.dumps(value))
    for one in out["entries"]:
        one.pop("frames")
        one |= {key: 0 for key, item in one.items() if item is None}
    out["pg_status"] = {key: {k: str(v) for k, v in row.items()} for key, row in out["pg_status"].items()}
    return json.dumps(out, sort_keys=True, separators=(",", ":"))


def read(path: Path, data: bytes) -> tuple[TableWriter, pl.DataFrame]:
    path.write_bytes(data)
    out = TableWriter(3, ReadOptions(), BASE_SCHEMAS)
    FORMAT.parse(Member(path.name, path), out)
    return out, pl.concat(out.frames["events"]) if "events" in out.frames else pl.DataFrame()


def fields(row: dict[str, Any]) -> dict[str, str]:
    return {item["key"]: item["value"] for item in row["fields"]}


TWO = dump([entry(6, "completed", retired=True, time_discovered_completed_ns=CREATED_NS + 9), entry(7, "scheduled")])
FORMS = {"pickle": pickle.dumps(TWO, 2), "json": as_json(TWO).encode()}


@pytest.mark.parametrize("form", FORMS)
def test_the_rank_its_groups_and_its_last_entries_are_rows(tmp_path: Path, form: str) -> None:
    out, events = read(tmp_path / "nccl_trace_rank_2", FORMS[form])
    assert events.select("rule_id", "rank", "process_group", "seq", "timeout_ms", "line", "n").rows() == [
        ("flight_recorder.dump", 2, None, None, None, 1, 0),
        ("flight_recorder.group", 2, "0(default_pg)", None, None, 1, 1),
        ("flight_recorder.entry", 2, "0(default_pg)", 6, 600_000, 1, 2),
        ("flight_recorder.entry", 2, "0(default_pg)", 7, 600_000, 1, 3),
    ]
    group, first, second = map(fields, events.tail(3).to_dicts())
    assert group == {"ranks": "0,1,2,3", "last_enqueued": "7", "last_started": "-1", "last_completed": "6"}
    assert (first["state"], first["retired"], first["op_type"]) == ("completed", "true", "nccl:all_reduce")
    assert (second["state"], second["input_sizes"], second["input_dtypes"]) == ("scheduled", "[1024, 8]", "Float")
    assert first["time_completed_ns"] == str(CREATED_NS + 9)
    assert "time_completed_ns" not in second
    assert second.get("frame") == ("backward (/app/train.py:88)" if form == "pickle" else None)
    assert [str(moment) for moment in events["time_utc"].drop_nulls()] == [
        "2026-10-01 09:00:00.006000+00:00",
        "2026-10-01 09:00:00.007000+00:00",
    ]
    assert out.all_notices() == []


def test_an_entry_of_a_json_dump_quotes_its_own_lines(tmp_path: Path) -> None:
    text = json.dumps(json.loads(as_json(TWO)), indent=1)
    _, events = read(tmp_path / "trace_rank_0.json", text.encode())
    lines = text.split("\n")
    for row in events.filter(pl.col("rule_id") == "flight_recorder.entry").to_dicts():
        quoted = row["text"].split("\n")
        assert row["line_end"] - row["line"] + 1 == len(quoted)
        assert [lines[row["line"] - 1 + at].strip() for at in range(len(quoted) - 1)] == [
            q.strip() for q in quoted[:-1]
        ]


def test_of_many_completed_entries_the_last_ones_of_each_group_are_kept(tmp_path: Path) -> None:
    other = {"pg_id": 1, "process_group": ("5", "mesh_tp")}
    entries = [entry(n, "completed") for n in range(100)] + [entry(3, "started", **other)] + [entry(100, "completed")]
    out, events = read(tmp_path / "rank_0.pkl", pickle.dumps(dump(entries), 2))
    kept = events.filter(pl.col("rule_id") == "flight_recorder.entry")
    assert kept["seq"].to_list() == [*range(101 - LAST_ENTRIES, 100), 3, 100]
    assert kept["process_group"].unique().sort().to_list() == ["0(default_pg)", "5(mesh_tp)"]
    assert out.all_notices() == [
        "85 entries that completed before the last ones of their process group were counted and not kept."
    ]


@pytest.mark.parametrize(
    ("name", "rank"),
    [
        ("nccl_trace_rank_3", 3), ("nccl_trace_rank_3.json", 3), ("comm_lib_trace_1", 1), ("dump-2.pkl", 2),
        ("dump.pkl", None), ("dump_20261001", None), ("nccl_trace_rank_9", None),
    ],
)  # fmt: skip
def test_the_rank_stands_in_the_file_name_only(tmp_path: Path, name: str, rank: int | None) -> None:
    out, events = read(tmp_path / name, FORMS["pickle"])
    assert events["rank"].unique().to_list() == [rank]
    assert out.all_notices() == ([] if rank is not None else ["Its name does not say which rank wrote it."])


def test_a_point_to_point_entry_has_its_own_numbers(tmp_path: Path) -> None:
    sent = entry(4, "scheduled", is_p2p=True, p2p_seq_id=11, profiling_name="nccl:send 1->2")
    _, events = read(tmp_path / "rank_1", pickle.dumps(dump([sent]), 2))
    row = events.filter(pl.col("rule_id") == "flight_recorder.entry").to_dicts()[0]
    assert (row["seq"], fields(row)["is_p2p"], fields(row)["op_type"]) == (11, "true", "nccl:send 1->2")


def test_a_dump_of_an_older_or_unknown_version_is_read_and_said(tmp_path: Path) -> None:
    old = [{"seq_id": 5, "pg_id": 0, "profiling_name": "nccl:broadcast", "state": "started", "frames": []}]
    out, events = read(tmp_path / "rank_0", pickle.dumps({"version": "1.1", "pg_config": {}, "entries": old}, 2))
    assert events.tail(1).select("process_group", "seq").rows() == [("0", 5)]
    assert out.all_notices() == []
    out, _ = read(tmp_path / "rank_0", pickle.dumps(TWO | {"version": "3.0", "new": {}}, 2))
    assert out.all_notices() == ["Its version 3.0 is not known here; it was read as version 2."]


class Hostile:
    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.system, ("touch was_run",)


@pytest.mark.parametrize(
    "data",
    [
        pickle.dumps(TWO | {"entries": [Hostile()]}, 2),
        pickle.dumps(TWO, 2)[:-40],
        as_json(TWO).encode()[:-40],
        b'{"pg_config": {}, "pg_status": {}, "entries": ' + b"[" * 100_000,
    ],
    ids=["hostile", "cut", "cut json", "deep json"],
)
def test_a_refused_dump_costs_itself_and_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nccl_trace_rank_0").write_bytes(data)
    (tmp_path / "nccl_trace_rank_1").write_bytes(FORMS["pickle"])
    case = cl.read([tmp_path / "nccl_trace_rank_0", tmp_path / "nccl_trace_rank_1"])
    assert case.sources["state"].to_list() == ["partly_read", "read"]
    assert case.sources["notices"].to_list()[0][0].startswith("The flight recorder dump was not read: ")
    assert case.events["source_id"].unique().to_list() == [1]
    assert not (tmp_path / "was_run").exists()


def test_other_pickles_stay_unread_and_a_packed_dump_is_read(tmp_path: Path) -> None:
    (tmp_path / "model.pt").write_bytes(pickle.dumps({"weights": [1, 2]}, 2))
    (tmp_path / "nccl_trace_rank_0.gz").write_bytes(gzip.compress(FORMS["pickle"]))
    case = cl.read(sorted(tmp_path.iterdir()))
    assert case.sources.select("path", "state", "format").rows() == [
        ("model.pt", "not_read", None),
        ("nccl_trace_rank_0.gz", "read", "flight_recorder"),
    ]


def test_a_json_text_of_very_many_values_is_not_loaded(tmp_path: Path) -> None:
    out, _ = read(tmp_path / "rank_0", b'{"pg_config": {}, "pg_status": {}, "entries": [' + b"[]," * 3_000_000 + b"0]}")
    assert out.frames == {}
    assert out.all_notices()[0].startswith("The flight recorder dump was not read: it holds more than 3,000,000 values")


def test_a_dump_beyond_the_bound_is_not_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flight_recorder, "MOST_BYTES", 1024)
    out, _ = read(tmp_path / "rank_0", pickle.dumps(TWO | {"pad": "x" * 4000}, 2))
    assert out.frames == {}
    assert out.all_notices() == ["The dump is larger than 0 MiB and was not read."]


WORDS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(sorted(entry(1, "x"))), inner, max_size=6)
    ),
    max_leaves=30,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50, deadline=None)
@given(config=WORDS, status=WORDS, entries=WORDS)
def test_no_value_of_any_field_stops_the_parser(tmp_path: Path, config: Any, status: Any, entries: Any) -> None:
    value = {"version": "2.1", "pg_config": config, "pg_status": status, "entries": entries}
    out, events = read(tmp_path / "rank_0", pickle.dumps(value, 2))
    assert events.height >= 1 or out.all_notices()
    out, events = read(tmp_path / "rank_0", json.dumps(value).encode())
    assert events.height >= 1 or out.all_notices()
