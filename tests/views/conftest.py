"""Small hand-made cases for the views: every number in them is written here, none comes from a parser."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from crashlens import schemas
from crashlens.findings import Alternative, Effect, Evidence, Finding, NextCheck, Place, Threshold
from crashlens.schemas import Column, Tables
from crashlens.timebase import Window

START = datetime(2026, 10, 1, 8, tzinfo=UTC)
SAMPLES = schemas.SAMPLES.with_columns(
    [
        Column("gpu_temperature_c", pl.Float64, ""),
        Column("power_draw_w", pl.Float64, ""),
        Column("enforced_power_limit_w", pl.Float64, ""),
        Column("sm_clock_mhz", pl.Float64, ""),
        Column("gpu_utilization_ratio", pl.Float64, ""),
        Column("clocks_event_reasons", pl.UInt64, ""),
    ]
)
SOURCES = (
    {"source_id": 0, "path": "telemetry.csv", "format": "nvidia_smi_csv", "state": "read", "lines": 97},
    {"source_id": 1, "path": "train.log", "format": "job_log", "state": "read", "lines": 40},
    {"source_id": 2, "path": "kern.log", "format": "kernel_log", "state": "partly_read", "lines": 9},
)
CLOCKS = (
    {"clock_id": "0:local", "source_id": 0, "first_line": 2, "last_line": 97, "stamps": 96, "kind": "local"},
    {"clock_id": "1:utc", "source_id": 1, "first_line": 1, "last_line": 40, "stamps": 40, "kind": "utc"},
    {"clock_id": "2:utc", "source_id": 2, "first_line": 1, "last_line": 9, "stamps": 9, "kind": "utc"},
)


def after(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def sample(gpu: int, seconds: float, *, placed: bool = True, **signals: float | None) -> dict[str, object]:
    clock_us = int(after(seconds).timestamp() * 1e6)
    own = {"source_id": 0, "line": 2, "clock_id": "0:local", "clock_us": clock_us, "gpu_key": f"s0:{gpu}"}
    return {**own, "time_utc": after(seconds) if placed else None, "gpu_temperature_c": 60.0, **signals}


def event(source_id: int, line: int, seconds: float, rule_id: str, **more: object) -> dict[str, object]:
    stamp = {"clock_id": f"{source_id}:utc", "clock_us": int(after(seconds).timestamp() * 1e6)}
    own = {"source_id": source_id, "line": line, "n": 0, "rule_id": rule_id, "severity": "error", "text": "record"}
    return {**own, **stamp, "time_utc": after(seconds), **more}


def step(number: int, seconds: float, tokens_per_s: float, *, rank: int = 0) -> dict[str, object]:
    own = {"source_id": 1, "line": number, "clock_id": "1:utc", "clock_us": int(after(seconds).timestamp() * 1e6)}
    return {**own, "time_utc": after(seconds), "rank": rank, "step": number, "tokens_per_s": tokens_per_s}


def tables(
    samples: Sequence[dict[str, object]] = (),
    events: Sequence[dict[str, object]] = (),
    steps: Sequence[dict[str, object]] = (),
    sources: Sequence[dict[str, object]] = SOURCES,
) -> Tables:
    keys = sorted({str(row["gpu_key"]) for row in samples})
    gpus = [
        {
            "gpu_key": key,
            "source_id": 0,
            "device_id": f"GPU-{key[3:]}",
            "gpu_uuid": f"GPU-{key[3:]}",
            "nvml_index": int(key[3:]),
        }
        for key in keys
    ]
    return Tables(
        sources=schemas.SOURCES.frame(sources),
        events=schemas.EVENTS.frame(events),
        stamps=schemas.STAMPS.empty(),
        samples=SAMPLES.frame(samples),
        metrics=schemas.METRICS.empty(),
        steps=schemas.STEPS.frame(steps),
        inventory=schemas.INVENTORY.empty(),
        gpus=schemas.GPUS.frame(gpus),
        clocks=schemas.CLOCKS.frame(CLOCKS),
        gaps=schemas.GAPS.empty(),
    )


def finding(*evidence: Evidence, devices: tuple[str, ...] = (), **more: object) -> Finding:
    full: dict[str, object] = {
        "cause": "thermal.slowdown",
        "verdict": "supported",
        "summary": "GPU 1 ran below its clock while the thermal bit was set.",
        "first_event": evidence[0].place if evidence else None,
        "evidence": evidence,
        "does_not_prove": ("that the cooling is broken",),
        "next_checks": (NextCheck("Is the inlet warm?", "ipmitool sdr", "above 35 C", "look at the fans"),),
        "unknown": ("memory temperature",),
        "devices": devices,
        "hosts": ("node07",),
        "ranks": (5,),
        "window": Window(START, after(3600)),
        "effects": (
            Effect("sm_clock_mhz", 1980.0, 1386.0, 0.7, (0.69, 0.71), None, (90, 80), "block bootstrap", 7, "GPU 1"),
        ),
        "alternatives": (
            Alternative("power.software_cap", "the enforced limit"),
            Alternative("a checkpoint", "its line"),
        ),
        "rule_ids": ("kernel.xid",),
        "thresholds": (Threshold("longest_gap_cadences", 3.0, "1", "uncalibrated"),),
        "id": "F-01",
    }
    return Finding(**{**full, **more})  # pyright: ignore[reportArgumentType]


def evidence(source: str, line: int, role: str, text: str = "record", **more: object) -> Evidence:
    return Evidence(Place(source, line), role, text, **more)  # pyright: ignore[reportArgumentType]


def need(question: str, signal: str, state: str, decidable: str, share: float | None = None) -> dict[str, object]:
    return {
        "question": question,
        "signal": signal,
        "state": state,
        "share": share,
        "decidable": decidable,
        "leaves_open": f"{question} stays open.",
        "still_possible": f"{question} in words.",
        "collect_with": f"collect {signal}",
    }


COVERAGE = pl.DataFrame(
    [
        need("thermal", "clocks_event_reasons", "ok", "yes", 1.0),
        need("thermal", "memory_temperature_c", "not_supported", "yes"),
        need("memory_heat", "memory_temperature_c", "not_supported", "no"),
        need("memory_heat", "sm_clock_mhz", "partly", "no", 0.52),
    ]
)


class Made:
    """The builders above, so that tests take them from one fixture."""

    after = staticmethod(after)
    sample = staticmethod(sample)
    event = staticmethod(event)
    step = staticmethod(step)
    tables = staticmethod(tables)
    finding = staticmethod(finding)
    evidence = staticmethod(evidence)
    start = START
    coverage = COVERAGE

    def run(
        self, gpus: int = 2, polls: int = 12, every_s: float = 5.0, **signals: float | None
    ) -> list[dict[str, object]]:
        return [sample(gpu, poll * every_s, **signals) for poll in range(polls) for gpu in range(gpus)]


@pytest.fixture(scope="session")
def made() -> Made:
    return Made()
