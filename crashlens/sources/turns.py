"""The samples in which each clocks event reason was first and last seen: the lines that a finding can point at.

Samples are numbers; a sentence about them needs a line. Per GPU and class of reason two samples become records of
`events`, with their text as it stands in the file.
"""

from dataclasses import dataclass

import polars as pl

from crashlens.catalog.reasons import classes
from crashlens.scan.masking import mask_secrets

RULE = "telemetry.clocks_event_reasons"
LONGEST_TEXT = 2000
_KEPT = ("gpu_key", "line", "clock_id", "clock_us", "time_utc", "uncertainty_us", "mask", "text")


@dataclass
class _Turn:
    first: dict[str, object]
    last: dict[str, object]


class TurnFinder:
    """Collects the turns of one source over its blocks."""

    def __init__(self) -> None:
        self._turns: dict[tuple[str, str], _Turn] = {}

    def note(self, samples: pl.DataFrame, texts: pl.Series) -> None:
        """Look at the samples of a block; `texts` holds their lines as they stand in the file."""
        if "clocks_event_reasons" not in samples.columns:
            return
        rows = samples.select(
            *(name for name in _KEPT if name in samples.columns), mask=pl.col("clocks_event_reasons")
        ).with_columns(text=texts)
        masks = [int(mask) for mask in rows["mask"].drop_nulls().unique()]
        named = pl.DataFrame(
            [(mask, name) for mask in masks for name in sorted(classes(mask))],
            schema={"mask": pl.UInt64, "reason_class": pl.String},
            orient="row",
        )
        told = rows.join(named, on="mask", how="inner").sort("clock_us", "line", nulls_last=True)
        for edge in ("first", "last"):
            ends = told.group_by("gpu_key", "reason_class", maintain_order=True)
            for row in (ends.first() if edge == "first" else ends.last()).iter_rows(named=True):
                self._keep(row, edge)

    def rows(self) -> list[dict[str, object]]:
        """Rows of `events`: first and last sample per GPU and class."""
        used: dict[object, int] = {}
        found: list[dict[str, object]] = []
        for (gpu_key, reason_class), turn in self._turns.items():
            edges = [("first", turn.first)]
            edges += [("last", turn.last)] if turn.last["line"] != turn.first["line"] else []
            for edge, row in edges:
                number = used.get(row["line"], 0)
                used[row["line"]] = number + 1
                fields = {"reason_class": reason_class, "edge": edge, "mask": f"{int(str(row['mask'])):#x}"}
                found.append(
                    {name: row.get(name) for name in ("line", "clock_id", "clock_us", "time_utc", "uncertainty_us")}
                    | {
                        "n": number,
                        "line_end": row["line"],
                        "rule_id": RULE,
                        "topic": "telemetry.reasons",
                        "time_marks": "moment",
                        "gpu_key": gpu_key,
                        "component": "telemetry",
                        "severity": "info",
                        "repeats": 1,
                        "fields": [{"key": key, "value": value} for key, value in fields.items()],
                        "text": mask_secrets(str(row["text"]))[:LONGEST_TEXT],
                    }
                )
        return found

    def _keep(self, row: dict[str, object], edge: str) -> None:
        key = (str(row["gpu_key"]), str(row["reason_class"]))
        turn = self._turns.setdefault(key, _Turn(row, row))
        if edge == "first" and _at(row) < _at(turn.first):
            turn.first = row
        if edge == "last" and _at(row) >= _at(turn.last):
            turn.last = row


def _at(row: dict[str, object]) -> tuple[int, int]:
    clock_us = row["clock_us"]
    return (0 if clock_us is None else int(str(clock_us)), int(str(row["line"])))
