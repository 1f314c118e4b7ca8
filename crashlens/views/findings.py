"""How is a list of findings shown? Cards in a notebook, plain text in a terminal, JSON for the report."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

from crashlens.catalog.causes import cause
from crashlens.errors import DataFileError
from crashlens.findings import Effect, Evidence, Finding, NextCheck
from crashlens.timebase import find_zone
from crashlens.views import html, mime
from crashlens.views.labels import counted_label, labels
from crashlens.views.numbers import moment, number, span
from crashlens.views.tables import Shown, Table
from crashlens.views.terminal import printable_lines


@dataclass(frozen=True, slots=True)
class FindingsView(Sequence[Finding]):
    """Findings in order of importance, shown as cards. It is a sequence: index it, loop over it, take its length.

    Attributes:
        findings: The findings.
        lang: Language of the labels and titles, `en` or `ko`.
        show_tz: IANA zone of the times shown.
    """

    findings: tuple[Finding, ...]
    lang: str = "en"
    show_tz: str = "UTC"

    @overload
    def __getitem__(self, index: int) -> Finding: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Finding]: ...
    def __getitem__(self, index: int | slice) -> Finding | Sequence[Finding]:
        return self.findings[index]

    def __len__(self) -> int:
        return len(self.findings)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def in_zone(self, show_tz: str) -> "FindingsView":
        """The same findings with times shown in the IANA zone `show_tz`.

        Raises:
            UnknownTimeZoneError: No such zone.
        """
        return findings_view(self.findings, lang=self.lang, show_tz=show_tz)

    def summary(self) -> Table:
        """One line per finding: what, how sure, where it began, in one sentence."""
        words = labels(self.lang)
        columns = (
            Shown(words["finding"], width=2.4),
            Shown(words["verdict"], width=1.2),
            Shown(words["first_event"], mono=True, width=2),
            Shown(words["summary"], width=4.4),
        )
        rows = tuple(
            (
                " ".join(part for part in (item.id, title(item.cause, lang=self.lang)) if part),
                words[item.verdict],
                str(item.first_event) if item.first_event else words["no_first_event"],
                item.summary,
            )
            for item in self.findings
        )
        heading = counted_label(self.lang, len(rows))
        return Table(heading, "" if rows else words["no_findings"], columns, rows, lang=self.lang)

    def to_json(self) -> dict[str, Any]:
        """Shape of `application/vnd.crashlens.findings+json`: lang, findings, titles by cause id, show_tz."""
        ids = {item.cause for item in self.findings}
        ids |= {rival.cause for item in self.findings for rival in item.alternatives}
        return {
            "lang": self.lang,
            "findings": [item.to_json() for item in self.findings],
            "titles": {name: title(name, lang=self.lang) for name in sorted(ids)},
            "show_tz": self.show_tz,
        }

    def to_html(self) -> str:
        """All cards as one HTML output."""
        words = labels(self.lang)
        if not self.findings:
            return html.page_part(html.element("p", html.text(words["no_findings"])))
        return html.page_part("".join(_card(item, self.lang, self.show_tz) for item in self.findings))

    def __repr__(self) -> str:
        return findings_text(self.findings, show_tz=self.show_tz, width=100, lang=self.lang)

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        return mime.bundle(mime.FINDINGS, self.to_json(), text=repr(self), html=self.to_html())


def findings_view(findings: Sequence[Finding], *, lang: str = "en", show_tz: str = "UTC") -> FindingsView:
    """Findings as something a notebook shows.

    Args:
        findings: In order of importance.
        lang: Language of labels and titles, `en` or `ko`; the sentences of a finding stay as they
            were made.
        show_tz: IANA zone of the times shown.

    Raises:
        CrashlensError: No labels in that language.
        UnknownTimeZoneError: No such zone.
    """
    labels(lang)
    find_zone(show_tz, "show_tz")
    return FindingsView(tuple(findings), lang, show_tz)


def title(cause_id: str, *, lang: str) -> str:
    """What a person calls the cause `cause_id`, from catalog/causes.toml; other words stay as they are."""
    try:
        known = cause(cause_id)
    except DataFileError:  # a rival explanation may be words, such as "a checkpoint save"
        return cause_id
    return known.title_ko if lang == "ko" else known.title


def findings_text(findings: Sequence[Finding], *, show_tz: str = "UTC", width: int = 100, lang: str = "en") -> str:
    """Findings as plain text for a terminal; no control character of the input reaches it.

    Args:
        findings: In order of importance.
        show_tz: IANA zone of the times shown.
        width: Columns of the terminal; at least 40 are used.
        lang: Language of labels and titles.
    """
    words = labels(lang)
    if not findings:
        return "\n".join(printable_lines(words["no_findings"], width=width))
    lines: list[str] = []
    for item in findings:
        lines += [*_text(item, lang, show_tz, max(40, width)), ""]
    return "\n".join(lines).rstrip("\n")


def _facts(item: Finding, words: dict[str, str], show_tz: str) -> list[tuple[str, str]]:
    facts = [(words["first_event"], str(item.first_event) if item.first_event else words["no_first_event"])]
    if item.window:
        facts.append((words["window"], span(item.window.start, item.window.end, show_tz)))
    listed = (("hosts", item.hosts), ("devices", item.devices), ("ranks", [str(rank) for rank in item.ranks]))
    return facts + [(words[key], ", ".join(values)) for key, values in listed if values]


def _effect_cells(effect: Effect, words: dict[str, str]) -> tuple[str, ...]:
    low_high = f"{effect.interval[0]:.3f}–{effect.interval[1]:.3f}" if effect.interval else words["no_interval"]
    return (
        f"{effect.metric} ({effect.subject})" if effect.subject else effect.metric,
        number(effect.before, effect.metric),
        number(effect.after, effect.metric),
        f"{effect.ratio:.3f}",
        low_high,
        f"{effect.n[0]:,} / {effect.n[1]:,}",
    )


_EFFECT_LABELS = ("metric", "before", "after", "ratio", "interval", "values")


def _origin(item: Evidence, words: dict[str, str], show_tz: str) -> str:
    when = moment(item.time_utc, show_tz) if item.time_utc else ""
    return " · ".join(part for part in (words[item.role], str(item.place), when, item.rule_id or "", item.note) if part)


def _small_print(item: Finding, words: dict[str, str]) -> list[str]:
    used = [f"{t.name} = {t.value:g}{_unit(t.unit)} ({t.source})" for t in item.thresholds]
    return [
        *([f"{words['thresholds']}: {'; '.join(used)}"] if used else []),
        *([f"{words['rules']}: {', '.join(item.rule_ids)}"] if item.rule_ids else []),
        f"{words['fingerprint']}: {item.fingerprint}",
    ]


def _unit(unit: str) -> str:
    return "" if unit in ("", "1") else f" {unit}"


# --- HTML ---------------------------------------------------------------------------------------------------------


def _card(item: Finding, lang: str, show_tz: str) -> str:
    words = labels(lang)
    chip = html.element("span", html.text(words[item.verdict]), f"chip cl-{item.verdict}")
    head = html.text(" ".join(part for part in (item.id, title(item.cause, lang=lang)) if part)) + " " + chip
    parts = [html.element("p", head, "head"), html.element("p", html.text(item.summary))]
    if item.causal:
        parts.append(html.element("p", html.text(item.causal), "causal"))
    facts = " · ".join(f"<b>{html.text(label)}</b> {html.text(value)}" for label, value in _facts(item, words, show_tz))
    parts.append(html.element("p", facts))
    parts += _effects_html(item, words)
    if item.evidence:
        parts.append(html.element("p", html.text(words["evidence"]), "part"))
    parts += [_evidence_html(one, words, show_tz) for one in item.evidence]
    parts += _list_html(words["does_not_prove"], item.does_not_prove)
    parts += _list_html(words["unknown"], item.unknown)
    rivals = [f"{title(rival.cause, lang=lang)}: {rival.separated_by}" for rival in item.alternatives]
    parts += _list_html(words["alternatives"], rivals)
    if item.next_checks:
        parts.append(html.element("p", html.text(words["next_checks"]), "part"))
        parts.append(html.element("ul", "".join(_check_html(check, words) for check in item.next_checks)))
    small = "".join(html.element("p", html.text(line), "quiet") for line in _small_print(item, words))
    parts.append(html.element("details", html.element("summary", html.text(words["thresholds"])) + small))
    return html.element("div", "".join(parts), "card")


def _effects_html(item: Finding, words: dict[str, str]) -> list[str]:
    if not item.effects:
        return []
    head = "".join(
        html.element("th", html.text(words[key]), "left" if key == "metric" else "right") for key in _EFFECT_LABELS
    )
    rows = ""
    for effect in item.effects:
        cells = [
            html.element("td", html.text(value), "left" if place == 0 else "right")
            for place, value in enumerate(_effect_cells(effect, words))
        ]
        rows += html.element("tr", "".join(cells))
    methods = dict.fromkeys(effect.method for effect in item.effects if effect.method)
    return [
        html.element("p", html.text(words["effects"]), "part"),
        html.element("table", html.element("thead", html.element("tr", head)) + html.element("tbody", rows)),
        *[html.element("p", html.text(f"{words['method']}: {method}"), "quiet") for method in methods],
    ]


def _evidence_html(item: Evidence, words: dict[str, str], show_tz: str) -> str:
    origin = html.element("span", html.text(_origin(item, words, show_tz)), "quiet")
    return html.element("div", origin + html.element("pre", html.text(item.text)), f"evidence cl-{item.role}")


def _list_html(label: str, entries: Sequence[str]) -> list[str]:
    if not entries:
        return []
    shown = "".join(html.element("li", html.text(entry)) for entry in entries)
    return [html.element("p", html.text(label), "part"), html.element("ul", shown)]


def _check_html(check: NextCheck, words: dict[str, str]) -> str:
    command = html.element("pre", html.text(check.command)) if check.command else ""
    outcome = f"{words['expect']}: {check.expect} {words['otherwise']}: {check.otherwise}"
    return html.element("li", html.text(check.question) + command + html.element("p", html.text(outcome), "quiet"))


# --- plain text ---------------------------------------------------------------------------------------------------


def _text(item: Finding, lang: str, show_tz: str, width: int) -> list[str]:
    words = labels(lang)
    head = " ".join(part for part in (item.id, f"[{words[item.verdict]}]", title(item.cause, lang=lang)) if part)
    lines = printable_lines(f"{head} ({item.cause})", width=width, rest="  ")
    lines += printable_lines(item.summary, width=width, first="  ")
    if item.causal:
        lines += printable_lines(item.causal, width=width, first="  > ")
    for label, value in _facts(item, words, show_tz):
        lines += printable_lines(value, width=width, first=f"  {label}: ", rest="    ")
    for effect in item.effects:
        metric, before, after, ratio, interval, values = _effect_cells(effect, words)
        shown = (
            f"{metric}: {before} -> {after}, {words['ratio']} {ratio} ({words['interval']}: {interval}; "
            f"{words['values']}: {values}; {effect.method})"
        )
        lines += printable_lines(shown, width=width, first="  * ")
    if item.evidence:
        lines.append(f"  {words['evidence']}")
    for one in item.evidence:
        lines += printable_lines(_origin(one, words, show_tz), width=width, first="    ")
        lines += printable_lines(one.text, width=width, first="    | ", rest="    | ")
    lines += _list_text(words["does_not_prove"], item.does_not_prove, width)
    lines += _list_text(words["unknown"], item.unknown, width)
    rivals = [f"{title(rival.cause, lang=lang)}: {rival.separated_by}" for rival in item.alternatives]
    lines += _list_text(words["alternatives"], rivals, width)
    if item.next_checks:
        lines.append(f"  {words['next_checks']}")
    for check in item.next_checks:
        lines += printable_lines(check.question, width=width, first="    - ")
        if check.command:
            lines += printable_lines(check.command, width=width, first="      $ ")
        lines += printable_lines(f"{words['expect']}: {check.expect}", width=width, first="      ")
        lines += printable_lines(f"{words['otherwise']}: {check.otherwise}", width=width, first="      ")
    for line in _small_print(item, words):
        lines += printable_lines(line, width=width, first="  ", rest="    ")
    return lines


def _list_text(label: str, entries: Sequence[str], width: int) -> list[str]:
    if not entries:
        return []
    return [f"  {label}", *[line for entry in entries for line in printable_lines(entry, width=width, first="    - ")]]
