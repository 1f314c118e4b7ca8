"""What do the cells of one CSV column say: a value, or which kind of missing value?

A column of text comes in, a column of values and a column of states go out. A state is null where there is a value;
else it is one of not_supported, not_collected, unreadable, error, reset_required. No text makes anything here raise.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, cast

import polars as pl

from crashlens.catalog.aliases import FieldAlias, number_words, unit_scale
from crashlens.catalog.null_tokens import bracket_state, null_tokens, null_tokens_of_text, sentinels
from crashlens.catalog.reasons import documented_bits
from crashlens.catalog.signals import Signal

LONGEST_TEXT = 64  # of a text cell this much is kept: states and names are short
LONGEST_RAW = 80  # of a cell without a value this much is kept as evidence

_NUMBER = r"^(?<number>[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?)[ \t]*(?<unit>[^\s0-9.,+-]\S{0,11})?$"
_HEX = r"^0[xX]([0-9a-fA-F]{1,16})$"
_ZERO_FRACTION = r"\.0*$"


@dataclass(frozen=True, slots=True)
class ReadColumn:
    """One column, read: `values` of the wanted type, `states` (text) null exactly where a value is there."""

    values: pl.Series
    states: pl.Series


def split_cells(lines: pl.Series, delimiter: str, width: int) -> tuple[pl.DataFrame, pl.Series]:
    """Split `lines` into `width` cells each.

    Returns:
        The cells, one text column per place, outer spaces and quotes removed; and the number of cells of every line,
        which is `width` where the line fits.
    """
    counts = lines.str.count_matches(delimiter, literal=True) + 1
    parts = lines.str.split_exact(delimiter, max(width - 1, 1)).struct.unnest()
    cells = parts.select(
        pl.col(name).fill_null("").str.strip_chars(' \t\r"').alias(str(place))
        for place, name in enumerate(parts.columns[:width])
    )
    return cells, counts


def read_numbers(cells: pl.Series, signal: Signal, alias: FieldAlias, *, blanks: Literal["dcgm", "none"]) -> ReadColumn:
    """Numbers of `signal` out of `cells`, in its unit and type.

    Args:
        cells: Text, stripped; null counts as empty.
        signal: What the column means; its bounds are applied.
        alias: Unit of a bare number and factor to the unit of the signal.
        blanks: Whether the blank numbers of DCGM may stand here.
    """
    return _plain_numbers(cells, signal, alias.factor, blanks) or _any_numbers(cells, signal, alias, blanks)


def _plain_numbers(
    cells: pl.Series, signal: Signal, factor: float, blanks: Literal["dcgm", "none"]
) -> ReadColumn | None:
    """A column of bare numbers, all of them possible; None where any cell needs a closer look."""
    value = cells.cast(pl.Float64, strict=False)
    if not cells.len() or value.null_count() or not value.is_finite().all():
        return None
    if blanks == "dcgm" and value.is_in([float(number) for number in sentinels()]).any():
        return None
    number = value * factor
    least, most = cast("float", number.min()), cast("float", number.max())
    if (signal.least is not None and least < signal.least) or (signal.most is not None and most > signal.most):
        return None
    if signal.dtype.is_integer():
        number = (
            cells.cast(signal.dtype, strict=False) if factor == 1.0 else number.round().cast(signal.dtype, strict=False)
        )
        if number.null_count():
            return None
    return ReadColumn(number, pl.Series([None], dtype=pl.String).new_from_index(0, cells.len()))


def _any_numbers(cells: pl.Series, signal: Signal, alias: FieldAlias, blanks: Literal["dcgm", "none"]) -> ReadColumn:
    frame = number_parts(cells)
    scale = _mapped(frame["unit"], {unit: unit_scale(unit, alias.unit) for unit in _uniques(frame["unit"])})
    state, word = _classified(cells.filter(frame["value"].is_null()))
    frame = frame.with_columns(
        scale=scale * alias.factor,
        state=pl.when(pl.col("value").is_null()).then(_mapped(cells, state, pl.String)),
        word=pl.when(pl.col("value").is_null()).then(_mapped(cells, word)),
        blank=_mapped(frame["digits"], _blanks(blanks), pl.String),
    )
    number = pl.when(pl.col("value").is_null()).then(pl.col("word")).otherwise(pl.col("value") * pl.col("scale"))
    frame = frame.with_columns(number=number).with_columns(
        number=pl.when(pl.col("blank").is_null() & pl.col("number").is_finite()).then(pl.col("number")),
        state=pl.coalesce("blank", "state"),
    )
    outside = _outside(signal)
    exact = _exact(frame, signal)
    frame = frame.with_columns(
        result=pl.when(~outside).then(exact),
        state=pl.when(outside).then(pl.lit(signal.outside)).otherwise(pl.col("state")),
    )
    return _finished(frame["result"].cast(signal.dtype, strict=False), frame["state"])


def number_parts(cells: pl.Series) -> pl.DataFrame:
    """`value` (float, null where the cell is no finite number), `digits` (its text) and `unit` (text, may be empty)."""
    parts = cells.str.extract_groups(_NUMBER).struct.unnest()
    return parts.select(
        value=pl.col("number").cast(pl.Float64, strict=False),
        digits=pl.col("number").str.replace(_ZERO_FRACTION, ""),
        unit=pl.col("unit").fill_null(""),
    ).with_columns(value=pl.when(pl.col("value").is_finite()).then(pl.col("value")))


def read_texts(cells: pl.Series) -> ReadColumn:
    """Text cells, cut to `LONGEST_TEXT` characters; a token for "no value" becomes its state."""
    states = {text: _text_state(text) for text in _uniques(cells)}
    state = _mapped(cells, states, pl.String)
    values = pl.select(pl.when(state.is_null()).then(cells.str.slice(0, LONGEST_TEXT))).to_series()
    return _finished(values, state)


def read_masks(cells: pl.Series) -> ReadColumn:
    """Unsigned 64-bit masks, printed as `0x...` or as a decimal number."""
    hexadecimal = cells.str.extract(_HEX).str.to_integer(base=16, dtype=pl.UInt64, strict=False)
    decimal = cells.str.replace(_ZERO_FRACTION, "").cast(pl.UInt64, strict=False)
    values = pl.select(pl.coalesce(hexadecimal, decimal)).to_series()
    state, _ = _classified(cells.filter(values.is_null()))
    return _finished(values, _mapped(cells, state, pl.String))


def read_flags(cells: pl.Series) -> ReadColumn:
    """Cells that say Active or Not Active (or 1 and 0, yes and no) as booleans."""
    words = number_words() | {"1": 1, "0": 0}
    found = {text: words.get(text.lower()) for text in _uniques(cells)}
    values = _mapped(cells, found).cast(pl.Boolean)
    state, _ = _classified(cells.filter(values.is_null()))
    return _finished(values, _mapped(cells, state, pl.String))


def join_reasons(
    mask: ReadColumn | None, known: ReadColumn | None, bits: Sequence[tuple[int, ReadColumn]], height: int
) -> tuple[ReadColumn, pl.Series]:
    """One mask out of a mask column, a column of supported bits and columns of single reasons.

    Args:
        mask: All reasons as one mask, or None where there is no such column.
        known: The bits that the device can report, or None.
        bits: Bit and flag column of every single reason.
        height: Number of rows.

    Returns:
        The mask with its states, and the bits this source reports on (null where it is none).
    """
    empty = pl.Series([None] * height, dtype=pl.UInt64)
    frame = pl.DataFrame({"mask": mask.values if mask else empty, "known": known.values if known else empty})
    frame = frame.with_columns(set=pl.lit(0, pl.UInt64), told=pl.lit(0, pl.UInt64), why=pl.lit(None, pl.String))
    if mask:
        frame = frame.with_columns(why=mask.states)
    for bit, flag in bits:
        one = pl.lit(bit, pl.UInt64)
        frame = frame.with_columns(flag=flag.values, flag_state=flag.states).with_columns(
            set=pl.when(pl.col("flag").fill_null(value=False)).then(pl.col("set").or_(one)).otherwise(pl.col("set")),
            told=pl.when(pl.col("flag").is_not_null()).then(pl.col("told").or_(one)).otherwise(pl.col("told")),
            why=pl.coalesce("why", "flag_state"),
        )
    has_mask, has_bits = pl.col("mask").is_not_null(), pl.col("told") > 0
    supported = pl.col("known").fill_null(documented_bits())
    frame = frame.select(
        value=pl.when(has_mask).then(pl.col("mask").or_(pl.col("set"))).when(has_bits).then(pl.col("set")),
        known=pl.when(has_mask).then(supported.or_(pl.col("told"))).when(has_bits).then(pl.col("told")),
        why=pl.col("why"),
    )
    return _finished(frame["value"], frame["why"]), frame["known"]


def _outside(signal: Signal) -> pl.Expr:
    number = pl.col("number")
    outside = pl.lit(value=False)
    if signal.least is not None:
        outside |= number.is_not_null() & (number < signal.least)
    if signal.most is not None:
        outside |= number.is_not_null() & (number > signal.most)
    return outside


def _exact(frame: pl.DataFrame, signal: Signal) -> pl.Expr:
    """The number in the type of the signal; a counter printed as an integer keeps every digit."""
    number = pl.col("number")
    if not signal.dtype.is_integer():
        return number
    rounded = number.round().cast(signal.dtype, strict=False)
    digits = pl.col("digits").cast(signal.dtype, strict=False)
    plain = number.is_not_null() & (pl.col("scale") == 1.0) & digits.is_not_null() & pl.col("word").is_null()
    return pl.when(plain).then(digits).otherwise(rounded) if frame.height else rounded


def _blanks(blanks: Literal["dcgm", "none"]) -> dict[str, str | None]:
    return {str(number): state for number, state in sentinels().items()} if blanks == "dcgm" else {}


def _finished(values: pl.Series, states: pl.Series) -> ReadColumn:
    """A value has no state, and a missing value has one: `unreadable` where nothing better is known."""
    done = pl.select(pl.when(values.is_null()).then(pl.coalesce(states, pl.lit("unreadable")))).to_series()
    return ReadColumn(values, done)


def _classified(cells: pl.Series) -> tuple[dict[str, str | None], dict[str, float | None]]:
    """Per distinct text: the state it stands for, and the number that a word such as `Enabled` stands for."""
    states: dict[str, str | None] = {}
    words: dict[str, float | None] = {}
    for text in _uniques(cells):
        low = text.lower()
        word = number_words().get(low)
        words[text] = None if word is None else float(word)
        bracketed = bracket_state() if text.startswith("[") and text.endswith("]") else None
        states[text] = None if word is not None else null_tokens().get(low) or bracketed or "unreadable"
    return states, words


def _text_state(text: str) -> str | None:
    if not text.isprintable():
        return "unreadable"
    bracketed = bracket_state() if text.startswith("[") and text.endswith("]") else None
    return null_tokens_of_text().get(text.lower()) or bracketed


def _uniques(cells: pl.Series) -> list[str]:
    return [text for text in cells.unique().to_list() if text is not None]


def _mapped(
    cells: pl.Series,
    mapping: dict[str, str | None] | dict[str, float | None] | dict[str, int | None],
    dtype: type[pl.DataType] = pl.Float64,
) -> pl.Series:
    if not mapping:
        return pl.Series([None], dtype=dtype).new_from_index(0, cells.len())
    return cells.replace_strict(list(mapping), list(mapping.values()), default=None, return_dtype=dtype)
