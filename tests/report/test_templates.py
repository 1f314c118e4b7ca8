from pathlib import Path

import pytest

from crashlens.errors import ReportError
from crashlens.report.templates import template, templates

HERE = Path(__file__).parents[2] / "notebooks"

pytestmark = pytest.mark.skipif(not HERE.is_dir(), reason="the checkout has no notebooks/ folder")


def test_templates_take_parameters_and_are_found_by_name() -> None:
    found = templates()
    assert "audit" in [path.stem for path in found]
    assert "build" not in [path.stem for path in found]
    assert template("audit") == next(path for path in found if path.stem == "audit")


def test_an_unknown_template_lists_the_known_ones() -> None:
    with pytest.raises(ReportError, match='no audit template "nope"') as caught:
        template("nope")
    assert "audit" in str(caught.value)
