"""Everything the questions share: records, runs, relations, names of GPUs. Built once per answer."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

import polars as pl

from crashlens.analysis.ranks import with_ranks
from crashlens.analysis.records import Kind, LogRecord, kind_of, log_records, sort_key, thin_out
from crashlens.analysis.relations import Context, Relation, find_relations
from crashlens.analysis.runs import Run, find_runs
from crashlens.catalog.thresholds import threshold
from crashlens.conclude.wording import clock_text, listed, say
from crashlens.findings import Evidence, Place, Role, Threshold
from crashlens.rules.model import RuleSet
from crashlens.schemas import Tables
from crashlens.timebase import Instant, Window, from_us, to_us

_IDENTITY = "identity.rank"
UNNAMED = "of "  # a GPU that its source gives no name is called by the file: "GPU of smi.csv"
BY_INDEX = "index "
MOST_NAMED = 3  # GPUs named in a sentence
MOST_EVIDENCE = 14  # lines shown per finding; the rest is counted
MOST_RECORDS_OF_A_KIND = 500  # of one rule, Xid and source; more of them add a count, not a conclusion
MOST_COUNTER = 4
MOST_OF_A_KIND: dict[Role, int] = {"first": 1, "context": 3, "counter": 4, "downstream": 2}  # of one rule


class Part(NamedTuple):
    """A record in its role for one finding, with a clause on why it is listed."""

    record: LogRecord
    role: Role
    note: str = ""


@dataclass(frozen=True)
class Scene:
    """What the questions are asked of.

    Attributes:
        lang: Language of the sentences.
        tables: Tables, cut to the window.
        records: Records of the logs.
        runs: Runs that they tell about.
        relations: Known sequences found among them.
        context: What relations were judged with.
        device_names: What a GPU is called, by gpu_key.
        left_out: How many records of a kind were too many to be judged one by one.
    """

    lang: str
    tables: Tables
    records: list[LogRecord]
    runs: list[Run]
    relations: list[Relation]
    context: Context
    device_names: dict[str, str]
    left_out: dict[Kind, int]

    def when(self, record: LogRecord) -> str:
        """The time of a record as a phrase, or that it is unknown."""
        if record.written.utc_us is None:
            return say(self.lang, "words", "unknown_time")
        return say(self.lang, "words", "at_time", time=clock_text(from_us(record.written.utc_us)))

    def gpus_phrase(self, gpu_keys: list[str | None]) -> str:
        """GPUs as one phrase; many are counted, since the facts of the finding name them all."""
        names = list(dict.fromkeys(self.called(key) for key in gpu_keys if key))
        if len(names) > MOST_NAMED:
            return say(self.lang, "words", "many_gpus", number=len(names))
        return listed(self.lang, [say(self.lang, "words", "gpu", gpu=name) for name in names])

    def called(self, gpu_key: str) -> str:
        """What a person calls a GPU, in the language of the sentences."""
        name = self.device_names.get(gpu_key, gpu_key)
        if name.startswith(UNNAMED):
            return say(self.lang, "words", "gpu_of_file", path=name.removeprefix(UNNAMED))
        if name.startswith(BY_INDEX):
            index, of_file, path = name.removeprefix(BY_INDEX).partition(f" {UNNAMED}")
            said = say(self.lang, "words", "gpu_index", index=index)
            return f"{said} {say(self.lang, 'words', 'gpu_of_file', path=path)}" if of_file else said
        return name

    def devices(self, gpu_keys: list[str | None]) -> tuple[str, ...]:
        """What tells GPUs apart, each once: UUID, else PCI bus id, else index; one without any of them is left out."""
        known, pci = self.context.device_by_gpu, self.context.pci_by_gpu
        called = (self.device_names.get(key, "").partition(f" {UNNAMED}")[0] if key else "" for key in gpu_keys)
        names = (known.get(key) or pci.get(key) or name for key, name in zip(gpu_keys, called, strict=True) if key)
        return tuple(dict.fromkeys(name for name in names if name and not name.startswith(UNNAMED)))


def build_scene(tables: Tables, rule_set: RuleSet, *, uncut: Tables, lang: str) -> Scene:
    """The scene of one answer.

    Args:
        tables: Tables, cut to the window.
        rule_set: The rules whose sequences are looked for.
        uncut: All tables. Lines that name the processes of a run count from outside the window too: they say who is
            who, not what happened.
        lang: Language of the sentences.
    """
    records, left_out = thin_out(log_records(tables.events, tables.sources), most_of_a_kind=MOST_RECORDS_OF_A_KIND)
    pci_by_gpu = _column_by_gpu(tables.gpus, "pci_bus_id")
    runs = find_runs([*_named_outside(tables, uncut), *records], pci_by_gpu)
    records = with_ranks(records, runs)
    skew_us = round(threshold("cross_host_skew_s").value * 1e6)
    context = Context(
        runs=runs,
        device_by_gpu=_proven_devices(tables.gpus),
        pci_by_gpu=pci_by_gpu,
        last_steps=_last_steps(tables, runs, skew_us),
        skew_us=skew_us,
        step_slack_us=round(threshold("step_after_slack_s").value * 1e6),
    )
    relations = find_relations(records, rule_set.sequences, context)
    names = _device_names(tables, context.device_by_gpu)
    return Scene(lang, tables, records, runs, relations, context, names, left_out)


def evidence_of(record: LogRecord, role: Role, note: str = "") -> Evidence:
    """A record as evidence."""
    utc_us = record.written.utc_us
    return Evidence(record.place, role, record.text, record.rule_id, None if utc_us is None else from_us(utc_us), note)


def evidence_list(scene: Scene, first: LogRecord | None, parts: list[Part]) -> tuple[Evidence, ...]:
    """Evidence in reading order: the first event, what surrounds it, what speaks against it, what followed.

    A record is listed once; of one kind only a few are shown, since the fourth timeout says nothing that the first
    three did not. The rest is counted.
    """
    chosen: dict[tuple[str, int, int], Part] = {}
    for part in parts:
        chosen.setdefault((part.record.place.source, part.record.place.line, part.record.n), part)
    ordered = sorted(chosen.values(), key=lambda part: (part.record is not first, sort_key(part.record)))
    kept: dict[Role, list[Part]] = {"first": [], "context": [], "counter": [], "downstream": []}
    kinds: dict[tuple[str, str], int] = {}
    for part in ordered:
        kind = (part.record.rule_id, part.role)
        kinds[kind] = kinds.get(kind, 0) + 1
        if kinds[kind] <= MOST_OF_A_KIND[part.role] or part.record.topic.startswith("gpu."):
            kept[part.role].append(part)
    chosen_parts = [*kept["first"], *kept["context"], *kept["counter"][:MOST_COUNTER], *kept["downstream"]]
    shown = [evidence_of(*part) for part in chosen_parts[:MOST_EVIDENCE]]
    kinds_told = {kind_of(part.record) for part in ordered}
    repeated = sum(part.record.repeats - 1 for part in ordered)
    left = len(ordered) - len(shown) + repeated + sum(scene.left_out.get(kind, 0) for kind in kinds_told)
    if left > 0 and shown:
        last = shown[-1]
        more = say(scene.lang, "words", "more_lines", number=left)
        shown[-1] = Evidence(
            last.place, last.role, last.text, last.rule_id, last.time_utc, f"{last.note} {more}".strip()
        )
    return tuple(shown)


def window_of(records: list[LogRecord]) -> Window | None:
    """From the earliest beginning to the latest record, its uncertainty included, where all are placed in UTC."""
    placed = [(r.began.utc_us, r.written.utc_us, r.written.uncertainty_us) for r in records]
    ends = [written + max(1, unsure) for _, written, unsure in placed if written is not None]
    starts = [began for began, _, _ in placed if began is not None]
    if not starts or len(starts) < len(records):
        return None
    return Window(from_us(min(starts)), from_us(max(ends)))


def hosts_of(records: list[LogRecord]) -> tuple[str, ...]:
    """Hosts that the records name, each once."""
    return tuple(dict.fromkeys(record.host for record in records if record.host))


def used(*names: str) -> tuple[Threshold, ...]:
    """Thresholds by name, for a finding that used them."""
    return tuple(threshold(name) for name in names)


def _named_outside(tables: Tables, uncut: Tables) -> list[LogRecord]:
    """Lines outside the window that name a process of a run."""
    key = ["source_id", "line", "n"]
    named = uncut.events.filter(pl.col("topic") == _IDENTITY).join(tables.events, on=key, how="anti")
    return log_records(named, uncut.sources)


def _column_by_gpu(gpus: pl.DataFrame, column: str) -> dict[str, str]:
    return {key: value for key, value in gpus.select("gpu_key", column).iter_rows() if value is not None}


def _proven_devices(gpus: pl.DataFrame) -> dict[str, str]:
    """gpu_key to UUID: stated by the source itself, or by another source for the same address of the same host."""
    stated: dict[str, str] = {}
    by_address: dict[tuple[str, str], set[str]] = {}
    for row in gpus.iter_rows(named=True):
        uuid = row["device_id"] or row["gpu_uuid"]
        if uuid:
            stated[row["gpu_key"]] = uuid
            if row["host"] and row["pci_bus_id"]:
                by_address.setdefault((row["host"], row["pci_bus_id"]), set()).add(uuid)
    for row in gpus.iter_rows(named=True):
        found = by_address.get((row["host"], row["pci_bus_id"]), set())
        if row["gpu_key"] not in stated and len(found) == 1:
            stated[row["gpu_key"]] = next(iter(found))
    return stated


def _device_names(tables: Tables, devices: dict[str, str]) -> dict[str, str]:
    """What a person calls each GPU: address and the start of its UUID, else its index, else the file it stands in."""
    paths = dict(tables.sources.select("source_id", "path").iter_rows())
    nameless = tables.gpus.filter(pl.col("pci_bus_id").is_null() & ~pl.col("gpu_key").is_in(list(devices)))
    several = nameless["source_id"].n_unique() > 1  # an index alone does not tell GPUs of two files apart
    names: dict[str, str] = {}
    for row in tables.gpus.iter_rows(named=True):
        uuid, index = devices.get(row["gpu_key"]), row["nvml_index"]
        of_file = f" {UNNAMED}{paths.get(row['source_id'], '')}" if several else ""
        place = row["pci_bus_id"] or (f"{BY_INDEX}{index}{of_file}" if index is not None else None)
        short = f"({uuid[:12]})" if uuid else None
        named = " ".join(part for part in (place, short) if part)
        names[row["gpu_key"]] = named or f"{UNNAMED}{paths.get(row['source_id'], row['gpu_key'])}"
    return names


def _last_steps(tables: Tables, runs: list[Run], skew_us: int) -> dict[tuple[int, int], list[Instant]]:
    """The last training step of each source, start of its run, and clock: is it later than a record?"""
    paths = dict(tables.sources.select("source_id", "path").iter_rows())
    found: dict[tuple[int, int], list[Instant]] = {}
    for (source_id,), rows in tables.steps.drop_nulls("clock_us").group_by("source_id", maintain_order=True):
        run = next((run for run in runs if run.starts and source_id in run.sources), None)
        starts = [0] * rows.height
        if run is not None:
            starts = [
                run.start_of(Place(paths[row["source_id"]], row["line"]), _step_instant(row), skew_us=skew_us)
                for row in rows.iter_rows(named=True)
            ]
        latest = rows.with_columns(start=pl.Series(starts, dtype=pl.UInt32)).sort("clock_us")
        for row in latest.group_by("start", "clock_id", maintain_order=True).last().iter_rows(named=True):
            found.setdefault((row["source_id"], row["start"]), []).append(_step_instant(row))
    return found


def _step_instant(row: dict[str, Any]) -> Instant:
    moment: datetime | None = row["time_utc"]
    utc_us = None if moment is None else to_us(moment)
    return Instant(row["clock_id"], row["clock_us"], utc_us, row["uncertainty_us"] or 0, row["host"])
