"""The words of a finding that paper and HTML share: number, title, facts, effect cells, thresholds."""

from zoneinfo import ZoneInfo

from crashlens.report.blocks import FindingList, Meta
from crashlens.report.fields import Fields, moment_text, number_text, window_of, window_text
from crashlens.report.words import Labels


def finding_number(finding: Fields, at: int) -> str:
    """The number of a finding: its own id, else by its place."""
    return finding.text("id") or f"F-{at + 1:02d}"


def finding_title(finding: Fields, block: FindingList) -> str:
    """The title of its cause, else the id of the cause."""
    return block.titles.text(finding.text("cause")) or finding.text("cause") or finding.text("summary")


def cut_here(whole: str, labels: Labels) -> str:
    """The sentence under a text that was cut."""
    return labels["cut_here"].replace("{characters}", f"{len(whole):,}")


def place_text(place: Fields) -> str:
    """`file:line`, or the empty string."""
    return f"{place.text('source')}:{place.text('line')}" if place.text("source") else ""


def finding_facts(finding: Fields, zone: ZoneInfo, labels: Labels) -> list[tuple[str, str]]:
    """Label and value of window, first event, hosts, GPUs and ranks; what a finding does not name is left out."""
    window = window_of(finding.texts("window"))
    facts = [
        (labels["window"], window_text(window, zone, labels) if window else ""),
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
    number = threshold.number("value")
    unit = threshold.text("unit")
    value = " ".join(
        [labels["unknown"] if number is None else number_text(number), *([unit] if unit not in ("", "1") else [])]
    )
    source = labels["threshold_source"].replace("{source}", threshold.text("source"))
    return f"{threshold.text('name')} = {value} ({source})"


def title_facts(meta: Meta, labels: Labels) -> list[tuple[str, str]]:
    """Label and value of what the title page states about the document itself."""
    facts: list[tuple[str, str]] = []
    if meta.window:
        facts.append((labels["window"], window_text(meta.window, meta.zone, labels)))
    elif meta.version:
        facts.append((labels["window"], labels["window_none"]))
    if meta.made:
        facts.append((labels["made"], moment_text(meta.made, meta.zone)))
    if meta.version:
        facts.append((labels["times_shown_in"], meta.zone_name))
        facts.append((labels["written_by"], labels["written_by_value"].replace("{version}", meta.version)))
    return facts
