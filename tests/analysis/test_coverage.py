from pathlib import Path

import polars as pl
import pytest

from crashlens.analysis import coverage as coverage_of
from crashlens.catalog.questions import questions
from crashlens.catalog.signals import samples_schema
from crashlens.scan.member import Member
from crashlens.schemas import BASE_SCHEMAS, Tables
from crashlens.sources.parsers import sampler_csv
from crashlens.sources.writer import ReadOptions, TableWriter

SCHEMAS = BASE_SCHEMAS | {"samples": samples_schema()}


def tables(**rows: list[dict[str, object]]) -> Tables:
    return Tables(**{name: SCHEMAS[name].frame(rows.get(name, [])) for name in Tables.names()})


def sample(gpu: str, **signals: object) -> dict[str, object]:
    return {"source_id": 1, "line": 2, "gpu_key": gpu, **signals}


def coverage(cut: Tables, *, uncut: Tables | None = None) -> pl.DataFrame:
    return coverage_of.coverage(cut, uncut=uncut or cut)


def of(frame: pl.DataFrame, question: str, signal: str) -> dict[str, object]:
    return frame.filter((pl.col("question") == question) & (pl.col("signal") == signal)).row(0, named=True)


def decided(frame: pl.DataFrame) -> dict[str, str]:
    return dict(frame.select("question", "decidable").unique().iter_rows())


def test_nothing_read_decides_nothing() -> None:
    got = coverage(tables())
    assert set(decided(got).values()) == {"no"}
    assert set(got["state"]) == {"not_collected"}
    assert got.height == sum(len(question.needs) for question in questions())


def test_a_signal_on_every_gpu_is_ok_and_on_one_is_partly() -> None:
    whole = coverage(tables(samples=[sample("a", power_draw_w=1.0), sample("b", power_draw_w=2.0)]))
    row = of(whole, "power", "power_draw_w")
    assert (row["state"], row["share"], row["gpus_with"], row["gpus_without"]) == ("ok", 1.0, 2, 0)
    row = of(coverage(tables(samples=[sample("a", power_draw_w=1.0), sample("b")])), "power", "power_draw_w")
    assert (row["state"], row["share"], row["gpus_with"], row["gpus_without"]) == ("partly", 0.5, 1, 1)


def test_too_few_values_are_partly() -> None:
    rows = [sample("a", power_draw_w=1.0 if n < 8 else None) for n in range(10)]
    assert of(coverage(tables(samples=rows)), "power", "power_draw_w")["state"] == "partly"
    rows = [sample("a", power_draw_w=1.0 if n < 9 else None) for n in range(10)]
    assert of(coverage(tables(samples=rows)), "power", "power_draw_w")["state"] == "ok"


@pytest.mark.parametrize(
    ("state", "shown"),
    [("not_supported", "not_supported"), ("unreadable", "unreadable"), ("error", "error"), ("reset_required", "error")],
)
def test_without_any_value_the_state_of_the_gaps_is_shown(state: str, shown: str) -> None:
    gap = {"source_id": 1, "gpu_key": "a", "signal": "memory_temperature_c", "values": 5, "state": state}
    other = gap | {"values": 1, "state": "not_collected"}
    got = coverage(tables(samples=[sample("a", power_draw_w=1.0)], gaps=[gap, other]))
    assert of(got, "thermal", "memory_temperature_c")["state"] == shown


def test_reason_bits_decide_only_the_questions_they_cover() -> None:
    row = sample("a", clocks_event_reasons=0x4, clocks_event_reasons_known=0x4)
    got = coverage(tables(samples=[row]))
    assert of(got, "power", "clocks_event_reasons")["state"] == "partly"  # nothing is known about the brake, 0x80
    assert of(got, "thermal", "clocks_event_reasons")["state"] == "not_collected"
    assert (decided(got)["power"], decided(got)["thermal"]) == ("partly", "no")
    row = sample("a", clocks_event_reasons=0x0, clocks_event_reasons_known=0x1FF)
    got = coverage(tables(samples=[row]))
    assert of(got, "thermal", "clocks_event_reasons")["state"] == "ok"
    assert decided(got)["thermal"] == "partly"


def test_everything_there_decides() -> None:
    row = sample(
        "a",
        clocks_event_reasons=0,
        clocks_event_reasons_known=0x1FF,
        gpu_temperature_c=60.0,
        memory_temperature_c=60.0,
        sm_clock_mhz=1980.0,
    )
    assert decided(coverage(tables(samples=[row])))["thermal"] == "yes"


def test_logs_and_steps_are_seen_in_their_tables() -> None:
    got = coverage(
        tables(
            events=[
                {"source_id": 1, "line": 1, "component": "kernel"},
                {"source_id": 2, "line": 1, "component": "c10d"},
            ],
            steps=[{"source_id": 2, "line": 3, "step": 1, "tokens_per_s": 900.0}],
        )
    )
    assert of(got, "memory", "kernel_log")["state"] == "ok"
    assert of(got, "communication", "job_log")["state"] == "ok"
    assert of(got, "throughput", "tokens_per_s")["state"] == "ok"
    assert of(got, "throughput", "step_time_s")["state"] == "not_collected"
    assert decided(got)["throughput"] == decided(got)["first_error_order"] == "yes"
    assert decided(got)["input"] == "no"


@pytest.mark.shared_data
def test_real_h100_run_names_what_it_lacks(shared: Path) -> None:
    path = shared / "data/telemetry/dcgm_sampler_csv/h100x8_t3_telemetry.csv.gz"
    out = TableWriter(1, ReadOptions(), SCHEMAS)
    sampler_csv.parse(Member(path.name, path), out)
    read = {name: pl.concat(frames) for name, frames in out.frames.items()}
    got = coverage(Tables(**{name: read.get(name, SCHEMAS[name].empty()) for name in Tables.names()}))
    missing = set(got.filter(pl.col("state") == "not_collected")["signal"])
    assert {"sm_clock_mhz", "enforced_power_limit_w", "memory_temperature_c", "step_time_s", "tokens_per_s"} <= missing
    assert of(got, "thermal", "clocks_event_reasons")["state"] == "ok"
    assert (decided(got)["thermal"], decided(got)["power"], decided(got)["throughput"]) == ("partly", "partly", "no")


def test_what_stands_outside_the_window_was_collected() -> None:
    whole = tables(samples=[sample("a", sm_clock_mhz=1980.0)])
    found = coverage(tables(), uncut=whole).filter(pl.col("signal") == "sm_clock_mhz")
    assert set(found["state"]) == {"not_in_window"}
    assert found["collect_with"].null_count() == found.height > 0
    assert set(coverage(tables()).filter(pl.col("signal") == "sm_clock_mhz")["state"]) == {"not_collected"}
