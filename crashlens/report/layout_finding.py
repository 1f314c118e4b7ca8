"""One finding -> Typst source: verdict, sentence, evidence rail, effect, limits, next checks."""

from zoneinfo import ZoneInfo

from crashlens.report.blocks import FindingList
from crashlens.report.fields import Fields, moment_text
from crashlens.report.finding_words import (
    EFFECT_HEADS,
    cut_here,
    effect_cells,
    finding_facts,
    finding_number,
    finding_title,
    place_text,
    threshold_text,
)
from crashlens.report.typst_text import TypstText, array
from crashlens.report.words import Labels, load_look

_SHORT_RECORD = 12  # lines of a record that is kept on one page
_EFFECT_SHARES = "(17fr, 14fr, 10fr, 10fr, 8fr, 14fr, 11fr, 24fr)"
_EFFECT_ALIGNS = "(left, left, right, right, right, right, right, left)"


def render_finding(finding: Fields, block: FindingList, at: int, text: TypstText, labels: Labels) -> str:
    """Typst source for `finding`, the one at place `at` (from 0) of the whole document."""
    part = block.level + 1
    verdict = finding.text("verdict")
    title = f"{finding_number(finding, at)}  {finding_title(finding, block)}"
    mark = f"{labels['fingerprint']} {finding.text('fingerprint')}" if finding.text("fingerprint") else ""
    chip = f"{text.literal(verdict)}, {text.literal(labels.of('verdict', verdict))}"
    pieces = [
        f"#heading(level: {block.level}, {text.prose(title)}) <finding-{at}>",
        f"#finding-bar({chip}, {text.prose(finding.text('cause'))}, {text.prose(mark)})",
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


def _facts(finding: Fields, zone: ZoneInfo, text: TypstText, labels: Labels) -> str:
    facts = finding_facts(finding, zone, labels)
    return f"#facts-row({array(array(map(text.prose, fact)) for fact in facts)})" if facts else ""


def _part(level: int, words: str, text: TypstText) -> str:
    return f"#part({level}, {text.prose(words)})"


def _effects(finding: Fields, part: int, text: TypstText, labels: Labels) -> list[str]:
    effects = list(finding.objects("effects"))
    if not effects:
        return []
    heads = array(text.prose(labels[head]) for head in EFFECT_HEADS)
    rows = array(array(text.prose(cell) for cell in effect_cells(effect, labels)) for effect in effects)
    table = f'#grid-table("", "", {_EFFECT_SHARES}, {_EFFECT_ALIGNS}, 7.6pt, {heads}, {rows}, "")'
    return [_part(part, labels["effects"], text), table]


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
        f'": "; {text.prose(rival.text("separated_by"))}}}'
        for rival in finding.objects("alternatives")
    ]
    return [_part(part, labels["alternatives"], text), f"#list({', '.join(items)})"] if items else []


def _checks(finding: Fields, part: int, text: TypstText, labels: Labels) -> list[str]:
    columns = load_look().limits["command_columns"]
    pieces: list[str] = []
    for number, check in enumerate(finding.objects("next_checks"), start=1):
        command = check.text("command")
        body = (
            text.mono(command, columns=columns, most_lines=load_look().limits["evidence_lines"])[0] if command else '""'
        )
        pieces.append(
            f'#check("{number}", {text.prose(check.text("question"))}, {body}, '
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
