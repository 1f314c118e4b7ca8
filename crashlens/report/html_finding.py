"""One finding -> HTML, with the same parts in the same order as on paper."""

from crashlens.report.blocks import FindingList
from crashlens.report.fields import Fields, moment_text
from crashlens.report.finding_words import (
    EFFECT_HEADS,
    effect_cells,
    finding_facts,
    finding_number,
    finding_title,
    place_text,
    threshold_text,
)
from crashlens.report.html_text import escaped, escaped_lines
from crashlens.report.words import Labels, load_look


def chip_html(verdict: str, labels: Labels) -> str:
    """The verdict as a chip; a verdict that is not known gets the plain one."""
    known = verdict if verdict in load_look().verdicts else "benign"
    return f'<span class="chip {known}">{escaped(labels.of("verdict", verdict))}</span>'


def finding_html(finding: Fields, block: FindingList, at: int, labels: Labels) -> str:
    """The finding at place `at` (from 0) of the whole document as an `article`."""
    level = min(6, block.level + 1)
    part = min(6, level + 1)
    title = f"{finding_number(finding, at)} {finding_title(finding, block)}"
    facts = "".join(
        f"<dt>{escaped(k)}</dt><dd>{escaped(v)}</dd>" for k, v in finding_facts(finding, block.zone, labels)
    )
    mark = f"<small>{escaped(labels['fingerprint'])} {escaped(finding.text('fingerprint'))}</small>"
    cause = f"<code>{escaped(finding.text('cause'))}</code>"
    pieces = [
        f'<article class="finding" id="finding-{at}"><h{level}>{escaped(title)}</h{level}>',
        f'<p class="bar">{chip_html(finding.text("verdict"), labels)} {cause}{mark}</p>',
        f'<p class="summary">{escaped(finding.text("summary"))}</p>',
    ]
    if finding.text("causal"):
        pieces.append(
            f'<p class="causal"><small>{escaped(labels["reading"])}</small>{escaped(finding.text("causal"))}</p>'
        )
    pieces.append(f"<dl>{facts}</dl>" if facts else "")
    pieces += (
        _effects(finding, part, labels) + _evidence(finding, block, part, labels) + _lists(finding, block, part, labels)
    )
    pieces += _checks(finding, part, labels) + _fine_print(finding, labels)
    return "\n".join([*(piece for piece in pieces if piece), "</article>"])


def _effects(finding: Fields, part: int, labels: Labels) -> list[str]:
    effects = list(finding.objects("effects"))
    if not effects:
        return []
    marks = [" class=right" if 2 <= at <= 6 else "" for at in range(len(EFFECT_HEADS))]  # the numbers
    head = "".join(f"<th{mark}>{escaped(labels[key])}</th>" for mark, key in zip(marks, EFFECT_HEADS, strict=True))
    rows = ""
    for effect in effects:
        cells = zip(marks, effect_cells(effect, labels), strict=True)
        rows += "<tr>" + "".join(f"<td{mark}>{escaped(cell)}</td>" for mark, cell in cells) + "</tr>"
    return [
        f"<h{part}>{escaped(labels['effects'])}</h{part}>",
        f'<div class="wide"><table><thead><tr>{head}</tr></thead>{rows}</table></div>',
    ]


def _evidence(finding: Fields, block: FindingList, part: int, labels: Labels) -> list[str]:
    pieces: list[str] = []
    for item in finding.objects("evidence"):
        role = item.text("role") if item.text("role") in load_look().roles else "context"
        when = item.moment("time_utc")
        note = f"<p>{escaped(item.text('note'))}</p>" if item.text("note") else ""
        pieces.append(
            f'<div class="evidence {role}"><p><b>{escaped(labels.of("role", item.text("role")))}</b> '
            f"<code><strong>{escaped(place_text(item))}</strong></code> <code>{escaped(item.text('rule_id'))}</code>"
            f"<small>{escaped(moment_text(when, block.zone) if when else labels['time_unknown'])}</small></p>"
            f"<pre>{escaped_lines(item.text('text'))}</pre>{note}</div>"
        )
    return [f"<h{part}>{escaped(labels['evidence'])}</h{part}>", *pieces] if pieces else []


def _lists(finding: Fields, block: FindingList, part: int, labels: Labels) -> list[str]:
    rivals = [
        f"<strong>{escaped(block.titles.text(rival.text('cause')) or rival.text('cause'))}</strong>: "
        f"{escaped(rival.text('separated_by'))}"
        for rival in finding.objects("alternatives")
    ]
    lists = (
        ("does_not_prove", [escaped(sentence) for sentence in finding.texts("does_not_prove")]),
        ("unknowns", [escaped(sentence) for sentence in finding.texts("unknown")]),
        ("alternatives", rivals),
    )
    return [
        f"<h{part}>{escaped(labels[label])}</h{part}><ul>{''.join(f'<li>{item}</li>' for item in items)}</ul>"
        for label, items in lists
        if items
    ]


def _checks(finding: Fields, part: int, labels: Labels) -> list[str]:
    items: list[str] = []
    for check in finding.objects("next_checks"):
        command = f"<pre>{escaped_lines(check.text('command'))}</pre>" if check.text("command") else ""
        outcomes = "".join(
            f"<dt>{escaped(labels[key])}</dt><dd>{escaped(check.text(key))}</dd>"
            for key in ("expect", "otherwise")
            if check.text(key)
        )
        items.append(f"<li><b>{escaped(check.text('question'))}</b>{command}<dl>{outcomes}</dl></li>")
    return [f"<h{part}>{escaped(labels['next_checks'])}</h{part}><ol>{''.join(items)}</ol>"] if items else []


def _fine_print(finding: Fields, labels: Labels) -> list[str]:
    lines = (
        (labels["thresholds"], "; ".join(threshold_text(item, labels) for item in finding.objects("thresholds"))),
        (labels["rules"], ", ".join(finding.texts("rule_ids"))),
    )
    return [f'<p class="fine"><b>{escaped(label)}</b> {escaped(words)}</p>' for label, words in lines if words]
