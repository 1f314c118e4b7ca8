"""Where in time does a column of stamps lie? Epoch numbers, local wall clocks, ISO 8601, seconds since a start.

A stamp is placed in UTC only by what it says itself (an offset, an epoch) or by a zone that the user gave. A local time
without either keeps its own clock: order holds inside the source. How late a stamp may be is its resolution plus, for a
wall clock that shows an hour twice, that hour.
"""

from dataclasses import dataclass, field

import polars as pl

from crashlens.catalog.aliases import TimeKind
from crashlens.schemas import UTC_US
from crashlens.sources.writer import TableWriter
from crashlens.timebase import find_zone, local_to_utc_us

SECOND_US = 1_000_000
MINUTE_US = 60 * SECOND_US
LATEST_US = 4_102_444_800 * SECOND_US  # 2100-01-01: no log of a GPU is older than 1970 or younger than this
LONGEST_RUN_US = 100 * 366 * 86_400 * SECOND_US
BACKWARDS_US = SECOND_US  # GPUs of one poll are stamped out of order by milliseconds; more is a clock that was set

_EPOCH_DIGITS = {"epoch_s": 0, "epoch_ms": 3, "epoch_us": 6, "epoch_ns": 9}
_DECIMAL = r"^(?<whole>[0-9]{1,19})(?:[.,](?<part>[0-9]{1,12}))?$"
_WALL = (
    r"^(?<day>[0-9]{4}[/-][0-9]{2}[/-][0-9]{2})[T ](?<time>[0-9]{2}:[0-9]{2}:[0-9]{2})(?:[.,](?<part>[0-9]{1,9}))?"
    r" ?(?<zone>Z|UTC|[+-][0-9]{2}:?[0-9]{2})?$"
)


@dataclass
class _Seen:
    kind: str
    method: str
    zone: str | None
    first_line: int
    last_line: int
    stamps: int = 0
    uncertainty_us: int = 0
    backwards: int = 0
    backwards_line: int = 0
    hosts: set[str] = field(default_factory=set[str])


class ClockReader:
    """Places the stamps of one source and remembers its clocks.

    Args:
        out: The writer of the source; its `options.tz` places local times.
        kind: How the stamps are written.

    Raises:
        UnknownTimeZoneError: The zone given for this source is not known here.
    """

    def __init__(self, out: TableWriter, kind: TimeKind) -> None:
        self._out = out
        self._kind: TimeKind = kind
        self._zone = find_zone(out.options.tz, "tz") if out.options.tz else None
        self._seen: dict[str, _Seen] = {}
        self._last: dict[str, int] = {}
        self._unread = 0

    def place(self, cells: pl.Series, lines: pl.Series, hosts: pl.Series | None) -> pl.DataFrame:
        """The columns `clock_id`, `clock_us`, `time_utc` and `uncertainty_us` for a column of stamps.

        Args:
            cells: Stamps as text, stripped.
            lines: Their line numbers.
            hosts: Host of every row, where the source names one.

        A stamp that cannot be read leaves all four null.
        """
        if self._kind in _EPOCH_DIGITS:
            frame = _epoch(cells, _EPOCH_DIGITS[self._kind])
        elif self._kind == "elapsed_s":
            frame = _elapsed(cells)
        else:
            frame = self._wall(cells)
        self._unread += frame["clock_us"].null_count()
        named = frame.with_columns(
            clock_id=pl.when(pl.col("clock_us").is_not_null()).then(
                pl.concat_str(pl.lit(f"{self._out.source_id}:"), pl.col("clock"))
            ),
            line=lines,
            host=hosts if hosts is not None else pl.lit(None, pl.String),
        )
        for part in named.drop_nulls("clock_id").partition_by("clock_id", maintain_order=True):
            self._remember(part)
        return named.select("clock_id", "clock_us", "time_utc", "uncertainty_us")

    def close(self) -> None:
        """Write the `clocks` rows and say what could not be placed."""
        rows: list[dict[str, object]] = [
            {
                "clock_id": clock_id,
                "first_line": seen.first_line,
                "last_line": seen.last_line,
                "stamps": seen.stamps,
                "kind": seen.kind,
                "method": seen.method,
                "zone": seen.zone,
                "uncertainty_us": seen.uncertainty_us,
                "host": next(iter(seen.hosts)) if len(seen.hosts) == 1 else None,
            }
            for clock_id, seen in self._seen.items()
        ]
        self._out.rows("clocks", self._out.schemas["clocks"].frame(rows))
        for seen in self._seen.values():
            if seen.backwards:
                self._out.notice(
                    f"Line {seen.backwards_line}: the clock runs backwards there ({seen.backwards:,} times in all); "
                    "order holds between two such lines only."
                )
        if any(seen.kind == "local" and seen.zone is None for seen in self._seen.values()):
            self._out.notice(
                "Its times are local wall time without a zone: they keep their order inside this file and are not "
                "placed in UTC. Give tz= to place them."
            )
        if self._unread:
            self._out.notice(f"{self._unread:,} rows have no time that can be read; they keep their line numbers only.")

    def _wall(self, cells: pl.Series) -> pl.DataFrame:
        parts = cells.str.extract_groups(_WALL).struct.unnest()
        text = pl.concat_str(pl.col("day").str.replace_all("/", "-", literal=True), pl.col("time"), separator=" ")
        frame = parts.select(
            shown=text.str.to_datetime("%Y-%m-%d %H:%M:%S", time_unit="us", strict=False).cast(pl.Int64)
            + _fraction_us("part", 6),
            resolution=_resolution_us("part", 6),
            zone=pl.col("zone"),
        ).with_columns(offset=_offset_us(pl.col("zone")))
        inside = (pl.col("shown") >= 0) & (pl.col("shown") < LATEST_US)
        frame = frame.with_columns(shown=pl.when(inside).then(pl.col("shown")))
        stated = pl.col("zone").is_not_null()
        frame = frame.with_columns(
            clock=pl.when(stated).then(pl.lit("utc")).otherwise(pl.lit("local")),
            clock_us=pl.when(stated).then(pl.col("shown") - pl.col("offset")).otherwise(pl.col("shown")),
        )
        placed = self._placed(frame)
        utc_us = pl.when(stated).then(pl.col("clock_us")).otherwise(pl.col("local_utc_us"))
        return placed.select(
            "clock",
            "clock_us",
            time_utc=utc_us.cast(UTC_US),
            uncertainty_us=pl.when(pl.col("clock_us").is_not_null()).then(
                pl.col("resolution") + pl.col("fold_us").fill_null(0)
            ),
        )

    def _placed(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Columns `local_utc_us` and `fold_us` for wall-clock rows, by the given zone; else null."""
        if self._zone is None:
            return frame.with_columns(local_utc_us=pl.lit(None, pl.Int64), fold_us=pl.lit(None, pl.Int64))
        frame = frame.with_columns(
            minute=pl.when(pl.col("clock") == "local").then(pl.col("clock_us") // MINUTE_US * MINUTE_US)
        )
        # Zone offsets change on whole minutes, so one look-up serves all stamps of a minute.
        minutes = [int(minute) for minute in frame["minute"].drop_nulls().unique()]
        placed = [local_to_utc_us(minute, self._zone) for minute in minutes]
        table = pl.DataFrame(
            {
                "minute": minutes,
                "shift_us": [utc - minute for minute, (utc, _) in zip(minutes, placed, strict=True)],
                "fold_us": [fold for _, fold in placed],
            },
            schema={"minute": pl.Int64, "shift_us": pl.Int64, "fold_us": pl.Int64},
        )
        joined = frame.join(table, on="minute", how="left", maintain_order="left")
        return joined.with_columns(local_utc_us=pl.col("clock_us") + pl.col("shift_us"))

    def _remember(self, part: pl.DataFrame) -> None:
        clock_id = str(part["clock_id"][0])
        kind, method, zone = self._how(str(part["clock"][0]))
        seen = self._seen.setdefault(clock_id, _Seen(kind, method, zone, int(part["line"][0]), 0))
        seen.last_line = int(part["line"][-1])
        seen.stamps += part.height
        seen.uncertainty_us = max(seen.uncertainty_us, part.select(pl.col("uncertainty_us").max()).item())
        seen.hosts |= {str(host) for host in part["host"].drop_nulls().unique()}
        before = pl.col("clock_us").shift(1, fill_value=self._last.get(clock_id, int(part["clock_us"][0])))
        back = part.filter(before - pl.col("clock_us") > BACKWARDS_US)
        if back.height:
            seen.backwards += back.height
            seen.backwards_line = seen.backwards_line or int(back["line"][0])
        self._last[clock_id] = int(part["clock_us"][-1])

    def _how(self, clock: str) -> tuple[str, str, str | None]:
        if clock == "utc":
            return "utc", "offset in file", None
        if clock == "elapsed":
            return "monotonic", "none", None
        return "local", "given zone" if self._zone else "none", self._out.options.tz if self._zone else None


def _epoch(cells: pl.Series, digits: int) -> pl.DataFrame:
    frame = _decimal(cells, digits).with_columns(clock=pl.lit("utc"))
    us = pl.when((pl.col("us") >= 0) & (pl.col("us") < LATEST_US)).then(pl.col("us"))
    return _filled(frame.select("clock", "resolution", clock_us=us, time_utc=us.cast(UTC_US)))


def _elapsed(cells: pl.Series) -> pl.DataFrame:
    frame = _decimal(cells, 0).with_columns(clock=pl.lit("elapsed"))
    us = pl.when(pl.col("us") < LONGEST_RUN_US).then(pl.col("us"))
    return _filled(frame.select("clock", "resolution", clock_us=us, time_utc=pl.lit(None, UTC_US)))


def _filled(frame: pl.DataFrame) -> pl.DataFrame:
    known = pl.col("clock_us").is_not_null()
    return frame.select("clock", "clock_us", "time_utc", uncertainty_us=pl.when(known).then(pl.col("resolution")))


def _decimal(cells: pl.Series, digits: int) -> pl.DataFrame:
    """`us` and `resolution` of decimal numbers whose unit is 10 to the minus `digits` seconds, every digit kept."""
    parts = cells.str.extract_groups(_DECIMAL).struct.unnest()
    whole = pl.col("whole").cast(pl.Int64, strict=False)
    if digits > 6:
        us, resolution = whole // 10 ** (digits - 6), pl.lit(1, pl.Int64)
    else:
        room = 10 ** (6 - digits)
        us = pl.when(whole < 2**62 // room).then(whole) * room + _fraction_us("part", 6 - digits)
        resolution = _resolution_us("part", 6 - digits)
    return parts.select(us=us, resolution=resolution)


def _fraction_us(name: str, places: int) -> pl.Expr:
    digits = pl.col(name).fill_null("").str.slice(0, places).str.pad_end(places, "0")
    return digits.cast(pl.Int64, strict=False).fill_null(0)


def _resolution_us(name: str, places: int) -> pl.Expr:
    used = pl.min_horizontal(pl.col(name).fill_null("").str.len_chars().cast(pl.Int64), pl.lit(places, pl.Int64))
    powers = {place: 10 ** (places - place) for place in range(places + 1)}
    return used.replace_strict(list(powers), list(powers.values()), default=1, return_dtype=pl.Int64)


def _offset_us(zone: pl.Expr) -> pl.Expr:
    digits = zone.str.replace(":", "", literal=True)
    sign = pl.when(zone.str.starts_with("-")).then(-1).otherwise(1)
    hours = digits.str.slice(1, 2).cast(pl.Int64, strict=False).fill_null(0)
    minutes = digits.str.slice(3, 2).cast(pl.Int64, strict=False).fill_null(0)
    return sign * (hours * 60 + minutes) * MINUTE_US
