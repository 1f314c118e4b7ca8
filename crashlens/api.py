"""What a user calls: reading, opening, and a case with its verbs. The verbs of lower floors are attached here only."""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from crashlens.analysis.coverage import coverage
from crashlens.case import CaseData
from crashlens.catalog.shipped import shipped_folder
from crashlens.catalog.versions import catalog_versions
from crashlens.conclude.answer import conclude
from crashlens.errors import MissingExtraError, NoSuchInputError
from crashlens.findings import Answer, Finding
from crashlens.rules.load import shipped_rules
from crashlens.rules.model import RuleSet
from crashlens.rules.own import load_own
from crashlens.schemas import Tables
from crashlens.views.case_view import case_bundle, case_text
from crashlens.views.coverage import collect_view, coverage_view, in_language
from crashlens.views.findings import FindingsView, findings_text, findings_view
from crashlens.views.overview import clocks_view, digests_view, sources_view, unmatched_view, versions_view
from crashlens.views.scope import scope_view
from crashlens.views.tables import Table

if TYPE_CHECKING:
    from crashlens.views.charts import Chart


class Case(CaseData):
    """Everything that was read, cut to a window: tables as polars frames, findings, coverage and charts.

    Get one from `crashlens.read` or `crashlens.open`. A case is immutable; `window` returns another one.

    >>> import crashlens as cl
    >>> case = cl.read(cl.sample("throttled_then_xid94"), tz="UTC")
    >>> case.findings()[0].cause
    'gpu_hardware.uncorrectable_ecc'
    """

    @property
    def sources(self) -> pl.DataFrame:
        """One row per file: format, digest, zone, notices. See the reference page of tables for the columns."""
        return self.table("sources")

    @property
    def events(self) -> pl.DataFrame:
        """One row per record of a log, cut to the window."""
        return self.table("events")

    @property
    def stamps(self) -> pl.DataFrame:
        """One row per time stamp of a line with a record."""
        return self.table("stamps")

    @property
    def samples(self) -> pl.DataFrame:
        """One row per poll of one GPU, cut to the window; units stand in the column names."""
        return self.table("samples")

    @property
    def metrics(self) -> pl.DataFrame:
        """One row per value of any other named series, cut to the window."""
        return self.table("metrics")

    @property
    def steps(self) -> pl.DataFrame:
        """One row per training step that a line prints, cut to the window."""
        return self.table("steps")

    @property
    def inventory(self) -> pl.DataFrame:
        """One row per fact about a host or image."""
        return self.table("inventory")

    @property
    def gpus(self) -> pl.DataFrame:
        """One row per GPU as one source names it; `device_id` is the proven join over sources."""
        return self.table("gpus")

    @property
    def clocks(self) -> pl.DataFrame:
        """One row per clock of a source: how it maps to UTC, and how uncertain that is."""
        return self.table("clocks")

    @property
    def gaps(self) -> pl.DataFrame:
        """One row per run of missing values, with the reason the source gives."""
        return self.table("gaps")

    def findings(self, *, lang: str = "en") -> FindingsView:
        """What the case shows, most important first: a sequence of `Finding` that displays itself.

        Args:
            lang: Language of the sentences, `en` or `ko`.
        """
        return findings_view(self._conclude(lang), lang=lang)

    def coverage(self, *, lang: str = "en") -> Table:
        """Which questions this evidence can decide, what each missing signal leaves open, what would collect it.

        Args:
            lang: Language of the table, `en` or `ko`.
        """
        return coverage_view(self._coverage, lang=lang)

    def what_to_collect(self, *, lang: str = "en") -> Table:
        """Per question that is not decided: the commands or settings that would collect what is missing."""
        return collect_view(self._coverage, lang=lang)

    def coverage_rows(self) -> pl.DataFrame:
        """The rows behind `coverage`: one per question and signal, with state and share of samples.

        The sentences are there twice: in English, and in Korean in the columns that end in `_ko`.
        """
        return self._coverage

    def timeline(self, *, show_tz: str = "UTC", lang: str = "en") -> "Chart":
        """Telemetry, training speed and log records on one time axis, the GPUs of the findings in colour.

        Raises:
            MissingExtraError: altair is not installed.
            UnknownTimeZoneError: `show_tz` is not known here.
        """
        try:
            from crashlens.views.charts import timeline  # noqa: PLC0415 - an optional part: altair draws it
        except ImportError:
            raise MissingExtraError(
                "Charts need altair and vl-convert, which are not installed; nothing was drawn.",
                way_out="pip install 'crashlens-gpu[notebook]'",
            ) from None
        return timeline(self._tables, findings=self._conclude(lang), window=self.cut, show_tz=show_tz, lang=lang)

    def scope(self, *, show_tz: str = "UTC", lang: str = "en") -> Table:
        """What an audit of this case rests on: window, hosts, GPUs, files, cadence."""
        return scope_view(self._tables, self.cut, show_tz, lang=lang)

    def read_sources(self, *, lang: str = "en") -> Table:
        """Every file: what it was read as, its zone, and what was wrong with it."""
        return sources_view(self._tables, lang=lang)

    def unmatched(self, *, lang: str = "en") -> Table:
        """Lines with an error word that no rule knows: what they say most often, how many, where they begin."""
        return unmatched_view(self._tables, lang=lang)

    def digests(self, *, lang: str = "en") -> Table:
        """SHA-256 of every file."""
        return digests_view(self._tables, lang=lang)

    def clock_table(self, *, lang: str = "en") -> Table:
        """Every clock: how its times were placed in UTC, or that they were not."""
        return clocks_view(self._tables, lang=lang)

    def versions(self, *, lang: str = "en") -> Table:
        """Digests of the rules and catalogs that the findings were made with."""
        rules, shipped = self.rule_set, shipped_rules()
        files = [(item.name, item.sha256, item.rows) for item in catalog_versions()]
        own = [(name, sha256(text.encode()).hexdigest()[:16], _rows_of(rules, name)) for name, text in rules.own_files]
        return versions_view([("rules", shipped.digest, _rows_of(shipped, "")), *own, *files], lang=lang)

    def answer(self, *, lang: str = "en") -> Answer:
        """Findings, coverage and sources as one object; `to_json()` is the shape `crashlens.findings/1`."""
        rows = in_language(self._coverage, lang=lang).to_dicts()
        columns = (
            "path", "sha256", "format", "lines", "bytes", "state", "zone", "zone_from", "notices", "lines_matched",
            "lines_error_like", "lines_harmless", "error_templates", "rules_digest",
        )  # fmt: skip
        return Answer(self._conclude(lang), tuple(rows), tuple(self.sources.select(columns).to_dicts()))

    def answer_text(self, *, lang: str = "en") -> str:
        """Findings and what was read as plain text for a terminal."""
        findings = findings_text(self._conclude(lang), lang=lang)
        return "\n".join(["[crashlens findings]", "", findings, "", case_text(self._tables, self._coverage, lang=lang)])

    def __repr__(self) -> str:
        return case_text(self._tables, self._coverage)

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        return case_bundle(self._tables, self._coverage)

    @cached_property
    def _tables(self) -> Tables:
        return self.in_window()

    @cached_property
    def _coverage(self) -> pl.DataFrame:
        return coverage(self._tables, uncut=self.tables)

    @cached_property
    def _concluded(self) -> dict[str, tuple[Finding, ...]]:
        return {}

    def _conclude(self, lang: str) -> tuple[Finding, ...]:
        if lang not in self._concluded:
            self._concluded[lang] = conclude(self._tables, self.rule_set, uncut=self.tables, lang=lang)
        return self._concluded[lang]


def read(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    tz: str | Mapping[str, str] | None = None,
    year: int | None = None,
    rules: RuleSet | str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = None,
    progress: Callable[[str], None] = lambda _path: None,
) -> Case:
    """Read logs and telemetry exports.

    Args:
        paths: A file or folder, or several.
        tz: IANA zone of local times, or a mapping of source glob to zone. Without it local times are not placed in
            UTC: their order holds inside each file only.
        year: Year of the first time that states none.
        rules: A rule file of your own or several, or what `crashlens.rules.load` made of them. Without it the rules
            that come with crashlens are used.
        progress: Called with the path of each file before it is read.

    Raises:
        NoSuchInputError: A path is not there.
        UnknownTimeZoneError: A zone is not known here; the message names close ones.
        DataFileError: A rule file is wrong; every fault is named.
    """
    return Case.read(paths, tz=tz, year=year, rules=_rule_set(rules), progress=progress)


def _rule_set(rules: RuleSet | str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None) -> RuleSet | None:
    if rules is None or isinstance(rules, RuleSet):
        return rules
    return load_own(rules) if isinstance(rules, str | os.PathLike) else load_own(*rules)


def _rows_of(rules: RuleSet, name: str) -> int:
    """How many rows of a rule set stand in the file `name`, or in any for an empty name."""
    items = (*rules.rules, *rules.step_lines, *rules.sequences, *rules.harmless)
    return sum(item.place.rpartition(":")[0] == name or not name for item in items)


def open_case(folder: str | os.PathLike[str]) -> Case:
    """Open a case that `Case.save` wrote. Exported as `crashlens.open`.

    Raises:
        NoSuchInputError: There is no such folder.
        NotACaseError: It is not a saved case, or one of another version.
    """
    return Case.open(folder)


def sample(name: str) -> Path:
    """The folder of a shipped synthetic incident, such as `throttled_then_xid94`.

    Raises:
        NoSuchInputError: There is none of that name; the message lists those there are.
    """
    folder = shipped_folder("sample_data")
    known = sorted(item.name for item in folder.iterdir() if item.is_dir() and not item.name.startswith(("_", ".")))
    if name not in known:
        raise NoSuchInputError(
            f'There is no sample "{name}".', facts=[("known", ", ".join(known))], way_out=f'cl.sample("{known[0]}")'
        )
    return folder / name
