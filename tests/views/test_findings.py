import json

import pytest

from crashlens.catalog.causes import cause
from crashlens.errors import CrashlensError, UnknownTimeZoneError
from crashlens.views import mime
from crashlens.views.findings import findings_text, findings_view

HOSTILE = "NVRM: Xid 94 \x1b[2J\u202e <img src=x onerror=alert(1)> $x$ #panic"


def one(made):
    first = made.evidence(
        "kern.log", 812, "first", HOSTILE, rule_id="kernel.xid", time_utc=made.after(65.5), note="it began here"
    )
    return made.finding(first, made.evidence("train.log", 7, "counter", "a\nb"), causal="The one causal sentence.")


def test_text_says_everything_a_finding_holds(made) -> None:
    title = cause("thermal.slowdown").title
    assert findings_text([one(made)], show_tz="UTC", width=200).split("\n") == [
        f"F-01 [supported] {title} (thermal.slowdown)",
        "  GPU 1 ran below its clock while the thermal bit was set.",
        "  > The one causal sentence.",
        "  First event: kern.log:812",
        "  Window: 2026-10-01 08:00:00 UTC / 2026-10-01 09:00:00 UTC (60 min)",
        "  Hosts: node07",
        "  Ranks: 5",
        "  * sm_clock_mhz (GPU 1): 1,980 MHz -> 1,386 MHz, Ratio 0.700 (95 % interval: 0.690–0.710; Values: 90 / 80; block bootstrap)",
        "  Evidence",
        "    first · kern.log:812 · 2026-10-01 08:01:05.500 UTC · kernel.xid · it began here",
        "    | NVRM: Xid 94 ␛[2J\\u{202E} <img src=x onerror=alert(1)> $x$ #panic",
        "    speaks against · train.log:7",
        "    | a",
        "    | b",
        "  What this does not prove",
        "    - that the cooling is broken",
        "  Unknown",
        "    - memory temperature",
        "  Other explanations, and what separates them",
        f"    - {cause('power.software_cap').title}: the enforced limit",
        "    - a checkpoint: its line",
        "  Next checks",
        "    - Is the inlet warm?",
        "      $ ipmitool sdr",
        "      Expect: above 35 C",
        "      Otherwise: look at the fans",
        "  Thresholds used: longest_gap_cadences = 3 (uncalibrated)",
        "  Rules: kernel.xid",
        f"  Fingerprint: {one(made).fingerprint}",
    ]


def test_a_narrow_terminal_is_kept_to(made) -> None:
    assert max(len(line) for line in findings_text([one(made)], width=60).split("\n")) <= 60


def test_no_finding_is_not_a_clean_bill() -> None:
    assert "not proof that nothing is wrong" in findings_text([], width=500)
    assert "not proof that nothing is wrong" in findings_view([]).to_html()


def test_html_escapes_the_log_and_shows_the_limits(made) -> None:
    html = findings_view([one(made)]).to_html()
    assert "&lt;img src=x onerror=alert(1)&gt;" in html
    assert "<img" not in html
    assert "\x1b" not in html
    assert "\u202e" not in html
    for said in ("that the cooling is broken", "memory temperature", "Is the inlet warm?", "kern.log:812"):
        assert said in html


def test_json_keeps_the_raw_line_and_names_all_causes(made) -> None:
    data = findings_view([one(made)], lang="ko", show_tz="Asia/Seoul")._repr_mimebundle_()[mime.FINDINGS]
    assert set(data) == {"lang", "findings", "titles", "show_tz"}
    assert (data["lang"], data["show_tz"]) == ("ko", "Asia/Seoul")
    assert data["findings"][0]["evidence"][0]["text"] == HOSTILE
    assert data["titles"] == {
        "a checkpoint": "a checkpoint",
        "power.software_cap": cause("power.software_cap").title_ko,
        "thermal.slowdown": cause("thermal.slowdown").title_ko,
    }
    json.dumps(data, allow_nan=False)


def test_it_is_a_sequence(made) -> None:
    item = one(made)
    view = findings_view([item, item])
    assert len(view) == 2
    assert view[0] is item
    assert list(view) == [item, item]
    assert view[:1] == (item,)


def test_the_summary_has_a_line_each_and_an_honest_none(made) -> None:
    table = findings_view([one(made), made.finding(id="F-02", verdict="undecided", first_event=None)]).summary()
    assert table.title == "2 findings"
    assert [row[1:3] for row in table.rows] == [
        ("supported", "kern.log:812"),
        ("undecided", "none can be named honestly"),
    ]


def test_times_follow_the_zone(made) -> None:
    view = findings_view([one(made)]).in_zone("Asia/Seoul")
    assert "2026-10-01 17:01:05.500 +09:00" in repr(view)


def test_a_language_or_zone_that_is_not_known_raises_at_once(made) -> None:
    with pytest.raises(CrashlensError):
        findings_view([one(made)], lang="xx")
    with pytest.raises(UnknownTimeZoneError):
        findings_view([one(made)], show_tz="Asia/Soul")


def test_a_lone_surrogate_in_a_line_breaks_nothing(made) -> None:
    item = made.finding(made.evidence("train.log", 1, "first", "caf\udce9"))
    json.dumps(findings_view([item])._repr_mimebundle_(), ensure_ascii=False).encode()
    assert "caf\\u{DCE9}" in findings_text([item])
