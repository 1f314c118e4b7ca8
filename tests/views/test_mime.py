import json

from crashlens.views import mime
from crashlens.views.note import note


def test_a_bundle_can_be_sent_as_json_whatever_the_log_holds() -> None:
    data = {"text": "lone \ud800 \x1b", "rows": [("a", None)], "ratio": float("nan")}
    made = mime.bundle(mime.NOTE, data, text="t", html="<p>t</p>")
    assert made[mime.NOTE] == {"text": "lone \\u{D800} \x1b", "rows": [["a", None]], "ratio": None}
    json.dumps(made, allow_nan=False).encode()


def test_only_a_chart_has_a_picture() -> None:
    assert mime.SVG not in mime.bundle(mime.NOTE, {}, text="", html="")
    assert mime.bundle(mime.CHART, {}, text="", html="", svg="<svg/>")[mime.SVG] == "<svg/>"


def test_a_note_carries_its_kind() -> None:
    made = note("unknown", "Memory temperature was not collected. <b>")._repr_mimebundle_()
    assert made[mime.NOTE] == {"kind": "unknown", "text": "Memory temperature was not collected. <b>"}
    assert made["text/plain"] == "Memory temperature was not collected. <b>"
    assert "not collected. &lt;b&gt;</div>" in made["text/html"]
