"""One finding -> Typst source: verdict, sentence, evidence rail, effect, limits, next checks."""

from zoneinfo import ZoneInfo

from crashlens.report.blocks import FindingList
from crashlens.report.fields import Fields, moment, moment_text, number_text
from crashlens.report.typst_text import TypstText
from crashlens.report.words import Labels, load_look

_SHORT_RECORD = 12  # lines of a record that is kept on one page


def finding_number(finding: Fields, at: int) -> str:
    """The number of a finding: its own id, else by its place."""
    return finding.text("id") or f"F-{at + 1:02d}"


def finding_title(finding: Fields, block: FindingList) -> str:
    """The title of its cause, else the id of the cause."""
    return block.titles.text(finding.text("cause")) or finding.text("cause") or finding.text("summary")


def cut_here(whole: str, labels: Labels) -> str:
    """The sentence under a text that was cut."""
    return labels["cut_here"].replace("{characters}", f"{len(whole):,}")


def render_finding(finding: Fields, block: FindingList, at: int, text: TypstText, labels: Labels) -> str:
    """Typst source for `finding`, the one at place `at` (from 0) of the whole document."""
    part = block.level + 1
    verdict = finding.text("verdict")
    title = f"{finding_number(finding, at)}  {finding_title(finding, block)}"
    mark = f"{labels['fingerprint']} {finding.text('fingerprint')}" if finding.text("fingerprint") else ""
    pieces = [
        f"#heading(level: {block.level}, {text.prose(title)}) <finding-{at}>",
        f"#finding-bar({text.literal(verdict)}, {text.literal(labels.of('verdict', verdict))}, "
        f"{text.prose(finding.text('cause'))}, {text.prose(mark)})",
        f"#summary({text.prose(finding.text('summary'))})",
    ]
    if finding.text("causal"):
        pieces.append(f"#causal({text.prose(labels['reading'])}, {text.prose(finding.text('causal'))})")
    pieces += [
        _facts(finding, block.zone, text, labels),
        *_effects(finding, part, text, labels),
        *_evidence(finding, block.zone, part, text, labels),
        *_limits(finding, part, text, labels),
        *_alternatives(finding, block, part, text, labels),
        *_checks(finding, part, text, labels),
        *_fine_print(finding, text, labels),
    ]
    return "\n".join(piece for piece in pieces if piece)


def window_text(pair: list[str], zone: ZoneInfo, labels: Labels) -> str:
    """A half-open window in words, or the empty string where it is not two times."""
    ends = [moment(when) for when in pair]
    if len(ends) != 2 or ends[0] is None or ends[1] is None:
        return ""
    start, end = (moment_text(when, zone) for when in (ends[0], ends[1]))
    return labels["window_until"].replace("{start}", start).replace("{end}", end)


def place_text(place: Fields) -> str:
    """`file:line`, or the empty string."""
    return f"{place.text('source')}:{place.text('line')}" if place.text("source") else ""


def finding_facts(finding: Fields, zone: ZoneInfo, labels: Labels) -> list[tuple[str, str]]:
    """Label and value of window, first event, hosts, GPUs and ranks; what a finding does not name is left out."""
    facts = [
        (labels["window"], window_text(finding.texts("window"), zone, labels)),
        (labels["first_event"], place_text(finding.object("first_event"))),
        (labels["hosts"], ", ".join(finding.texts("hosts"))),
        (labels["devices"], ", ".join(finding.texts("devices"))),
        (labels["ranks"], ", ".join(finding.texts("ranks"))),
    ]
    return [(label, value) for label, value in facts if value]


def effect_cells(effect: Fields, labels: Labels) -> list[str]:
    """Metric, subject, reference value, value in the window, ratio, interval, numbers of values, method."""
    numbers = [effect.number(key) for key in ("before", "after", "ratio")]
    interval = [Fields({"": end}).number("") for end in effect.items("interval")]
    spread = " – ".join(number_text(end) for end in interval if end is not None) if len(interval) == 2 else ""
    seed = labels["seed"].replace("{seed}", effect.text("seed")) if effect.text("seed") else ""
    return [
        effect.text("metric"),
        effect.text("subject"),
        *(labels["unknown"] if value is None else number_text(value) for value in numbers),
        spread or labels["interval_none"],
        " / ".join(effect.texts("n")),
        ", ".join(word for word in (effect.text("method"), seed) if word),
    ]


EFFECT_HEADS = ("metric", "subject", "before", "after", "ratio", "interval", "values", "method")


def threshold_text(threshold: Fields, labels: Labels) -> str:
    """Name, value, unit and source of one threshold."""
    value = " ".join(word for word in (threshold.text("value"), threshold.text("unit")) if word)
    return f"{threshold.text('name')} = {value} ({labels['threshold_source'].replace('{source}', threshold.text('source'))})"


def _facts(finding: Fields, zone: ZoneInfo, text: TypstText, labels: Labels) -> str:
    rows = "".join(f"({text.prose(k)}, {text.prose(v)}), " for k, v in finding_facts(finding, zone, labels))
    return f"#facts-row(({rows}))" if rows else ""


def _part(level: int, words: str, text: TypstText) -> str:
    return f"#part({level}, {text.prose(words)})"


def _effects(finding: Fields, part: int, text: TypstText, labels: Labels) -> list[str]:
    effects = list(finding.objects("effects"))
    if not effects:
        return []
    heads = "".join(f"{text.prose(labels[head])}, " for head in EFFECT_HEADS)
    rows = "".join(
        f"({''.join((f'mono({text.prose(cell)})' if at == 0 else text.prose(cell)) + ', ' for at, cell in enumerate(effect_cells(effect, labels)))}), "
        for effect in effects
    )
    return [
        _part(part, labels["effects"], text),
        "#grid-table(\"\", \"\", (17fr, 14fr, 10fr, 10fr, 8fr, 14fr, 11fr, 24fr), "
        f"(left, left, right, right, right, right, right, left), 7.6pt, ({heads}), ({rows}), \"\")",
    ]


def _evidence(finding: Fields, zone: ZoneInfo, part: int, text: TypstText, labels: Labels) -> list[str]:
    limits = load_look().limits
    pieces: list[str] = []
    for item in finding.objects("evidence"):
        whole_text = item.text("text")
        lines, whole = text.lines(whole_text, columns=limits["evidence_columns"], most_lines=limits["evidence_lines"])
        body, _ = text.mono(whole_text, columns=limits["evidence_columns"], most_lines=limits["evidence_lines"])
        when = item.moment("time_utc")
        pieces.append(
            f"#evidence({text.literal(item.text('role'))}, {text.literal(labels.of('role', item.text('role')))}, "
            f"{text.prose(place_text(item))}, {text.literal(item.text('rule_id'))}, "
            f"{text.literal(moment_text(when, zone) if when else labels['time_unknown'])}, "
            f"{text.prose(item.text('note'))}, {body}, {text.literal('' if whole else cut_here(whole_text, labels))}, "
            f"{'true' if len(lines) <= _SHORT_RECORD else 'false'})"
        )
    return [_part(part, labels["evidence"], text), *pieces] if pieces else []


def _limits(finding: Fields, part: int, text: TypstText, labels: Labels) -> list[str]:
    pieces: list[str] = []
    for key, label in (("does_not_prove", "does_not_prove"), ("unknown", "unknowns")):
        if sentences := finding.texts(key):
            pieces += [_part(part, labels[label], text), f"#list({', '.join(text.prose(s) for s in sentences)})"]
    return pieces


def _alternatives(finding: Fields, block: FindingList, part: int, text: TypstText, labels: Labels) -> list[str]:
    items = [
        f"{{strong({text.prose(block.titles.text(rival.text('cause')) or rival.text('cause'))}); "
        f"\": \"; {text.prose(rival.text('separated_by'))}}}"
        for rival in finding.objects("alternatives")
    ]
    return [_part(part, labels["alternatives"], text), f"#list({', '.join(items)})"] if items else []


def _checks(finding: Fields, part: int, text: TypstText, labels: Labels) -> list[str]:
    columns = load_look().limits["command_columns"]
    pieces: list[str] = []
    for number, check in enumerate(finding.objects("next_checks"), start=1):
        command = check.text("command")
        body = text.mono(command, columns=columns, most_lines=load_look().limits["evidence_lines"])[0] if command else '""'
        pieces.append(
            f"#check(\"{number}\", {text.prose(check.text('question'))}, {body}, "
            f"{text.prose(labels['expect'])}, {text.prose(check.text('expect'))}, "
            f"{text.prose(labels['otherwise'])}, {text.prose(check.text('otherwise'))})"
        )
    return [_part(part, labels["next_checks"], text), *pieces] if pieces else []


def _fine_print(finding: Fields, text: TypstText, labels: Labels) -> list[str]:
    lines = [
        (labels["thresholds"], "; ".join(threshold_text(item, labels) for item in finding.objects("thresholds"))),
        (labels["rules"], ", ".join(finding.texts("rule_ids"))),
    ]
    return [f"#fine-print({text.prose(label)}, {text.prose(words)})" for label, words in lines if words]
