"""What can these tables decide, and what can they not? One row per question and thing that would help to decide it."""

from dataclasses import dataclass, replace

import polars as pl

from crashlens.catalog.questions import Need, Question, enough_share, log_signs, questions
from crashlens.schemas import Tables

COLUMNS: dict[str, pl.DataType] = {
    "question": pl.String(),
    "asks": pl.String(),
    "signal": pl.String(),
    "group": pl.String(),
    "state": pl.String(),
    "share": pl.Float64(),
    "gpus_with": pl.UInt32(),
    "gpus_without": pl.UInt32(),
    "decidable": pl.String(),
    "leaves_open": pl.String(),
    "still_possible": pl.String(),
    "collect_with": pl.String(),
    "asks_ko": pl.String(),
    "leaves_open_ko": pl.String(),
    "still_possible_ko": pl.String(),
    "collect_with_ko": pl.String(),
}

_OUTSIDE = "not_in_window"


@dataclass(frozen=True, slots=True)
class _State:
    state: str
    share: float | None = None
    gpus_with: int | None = None
    gpus_without: int | None = None


def coverage(tables: Tables, *, uncut: Tables) -> pl.DataFrame:
    """Which questions the tables can decide, and which signal is missing where they cannot.

    A signal is `ok` when every GPU has it and the share of samples with a value reaches `[enough]` of
    catalog/questions.toml; `partly` when there are values, but fewer. Without any value the state of its gaps stands
    here (a GPU that wants a reset counts as `error`), or `not_collected` where no source has the column. What was
    collected, but not in the window, is `not_in_window`: another window decides it, and no command is named.

    Args:
        tables: All tables of a case, cut to its window.
        uncut: The same without a window.

    Returns:
        One row per question and need, in the order of catalog/questions.toml: `question`, `asks`, `signal`, `group`
        (signals of one group stand in for each other), `state` (ok | partly | not_in_window | not_collected |
        not_supported | unreadable | error), `share` (float, of samples or steps with a value; null for logs and where
        there are no rows), `gpus_with` and `gpus_without` (null for what is not per GPU), `decidable` (yes | partly |
        no, of the whole question), `leaves_open`, `still_possible`, `collect_with`; and `*_ko` twins of the sentences.

    Source: decision table T10 of this project, as rows in catalog/questions.toml.
    """
    rows: list[dict[str, object]] = []
    for question in questions():
        states = [_state_in_window(tables, uncut, item) for item in question.needs]
        decidable = _decidable(question, states)
        for item, state in zip(question.needs, states, strict=True):
            row: dict[str, object] = {
                "question": question.id,
                "asks": question.asks,
                "signal": item.signal,
                "group": item.group,
                "state": state.state,
                "share": state.share,
                "gpus_with": state.gpus_with,
                "gpus_without": state.gpus_without,
                "decidable": decidable,
                "leaves_open": question.leaves_open,
                "still_possible": question.still_possible,
                "collect_with": None if state.state == _OUTSIDE else item.collect_with,
                "asks_ko": question.asks_ko,
                "leaves_open_ko": question.leaves_open_ko,
                "still_possible_ko": question.still_possible_ko,
                "collect_with_ko": None if state.state == _OUTSIDE else item.collect_with_ko,
            }
            rows.append(row)
    return pl.DataFrame(rows, schema=COLUMNS, orient="row")


def _decidable(question: Question, states: list[_State]) -> str:
    """`no` where a deciding group has nothing, `yes` where every group has enough, else `partly`."""
    best: dict[str, str] = {}
    for item, state in zip(question.needs, states, strict=True):
        rank = {"ok": 2, "partly": 1}
        if rank.get(state.state, 0) >= rank.get(best.get(item.group, ""), 0):
            best[item.group] = state.state
    deciding = {item.group for item in question.needs if item.decides}
    if any(best[group] not in ("ok", "partly") for group in deciding):
        return "no"
    return "yes" if all(state == "ok" for state in best.values()) else "partly"


def _state_in_window(tables: Tables, uncut: Tables, item: Need) -> _State:
    state = _state(tables, item)
    if state.state == "not_collected" and _state(uncut, item).state in ("ok", "partly"):
        return replace(state, state=_OUTSIDE)
    return state


def _state(tables: Tables, item: Need) -> _State:
    if item.kind == "steps":
        return _of_steps(tables.steps, item.signal)
    if item.kind == "sample":
        return _of_samples(tables, item)
    signs = log_signs(item.kind)
    seen = tables.sources["format"].is_in(list(signs.formats)).any()
    seen = seen or tables.events["component"].is_in(list(signs.components)).any()
    return _State("ok" if seen else "not_collected")


def _of_steps(steps: pl.DataFrame, signal: str) -> _State:
    values = steps[signal].count() if signal in steps.columns else 0
    if not values:
        return _State("not_collected", 0.0 if steps.height else None)
    share = values / steps.height
    return _State("ok" if share >= enough_share() else "partly", share)


def _of_samples(tables: Tables, item: Need) -> _State:
    samples = tables.samples
    if item.signal not in samples.columns or not samples.height:
        return _State(_missing_state(tables.gaps, item.signal), None, 0, samples["gpu_key"].n_unique())
    told = pl.col(item.signal).is_not_null()
    whole = told
    if item.bits:
        bits = pl.lit(item.bits, pl.UInt64)
        known = pl.col("clocks_event_reasons_known").and_(bits).fill_null(0)
        told, whole = told & known.ne(0), told & known.eq(bits)
    per_gpu = samples.group_by("gpu_key").agg(rows=pl.len(), told=told.sum(), whole=whole.sum())
    any_told = int((per_gpu["told"] > 0).sum())
    without = per_gpu.height - any_told
    share = float(per_gpu["whole"].sum() / samples.height)
    if not any_told:
        return _State(_missing_state(tables.gaps, item.signal), 0.0, 0, without)
    enough = share >= enough_share() and not without
    return _State("ok" if enough else "partly", share, any_told, without)


def _missing_state(gaps: pl.DataFrame, signal: str) -> str:
    """The state of most of the missing values of `signal`; `not_collected` where no source has the column."""
    counts = gaps.filter(pl.col("signal") == signal).group_by("state").agg(pl.sum("values"))
    if not counts.height:
        return "not_collected"
    state = str(counts.sort("values", "state", descending=[True, False])["state"][0])
    return "error" if state == "reset_required" else state
