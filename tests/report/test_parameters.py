import pytest

from crashlens.errors import ReportError
from crashlens.report.parameters import inject_parameters
from crashlens.report.percent import parse_template

TEMPLATE = '# %% tags=["parameters"]\nevidence: list[str] = []\ntitle = "a"\nlimit: float\n# %%\nlater = 1\n'


def test_values_are_written_behind_the_parameters_cell() -> None:
    nb = parse_template(TEMPLATE)
    inject_parameters(nb, {"evidence": ["로그/a'b", "c\n"], "title": None, "limit": 0.5})
    assert [cell["source"] for cell in nb["cells"]][1] == "evidence = [\"로그/a'b\", 'c\\n']\ntitle = None\nlimit = 0.5"
    assert nb["cells"][1]["metadata"]["tags"] == ["injected-parameters"]
    assert len(nb["cells"]) == 3


def test_no_values_add_no_cell() -> None:
    nb = parse_template("# %%\n1\n")
    inject_parameters(nb, {})
    assert len(nb["cells"]) == 1


def test_an_unknown_name_is_an_error_and_names_the_close_one() -> None:
    with pytest.raises(ReportError, match=r'no parameter "titel"') as caught:
        inject_parameters(parse_template(TEMPLATE), {"titel": "x"})
    assert 'Use "title"' in str(caught.value)
    with pytest.raises(ReportError, match='"later"'):
        inject_parameters(parse_template(TEMPLATE), {"later": 2})


@pytest.mark.parametrize("value", [object(), float("nan"), float("inf"), {"a": [b"bytes"]}, {1, 2}])
def test_a_value_that_cannot_be_written_is_an_error(value: object) -> None:
    with pytest.raises(ReportError, match="cannot be written into a notebook"):
        inject_parameters(parse_template(TEMPLATE), {"title": value})


def test_a_parameters_cell_that_is_no_python_is_an_error() -> None:
    with pytest.raises(ReportError, match="is not Python"):
        inject_parameters(parse_template('# %% tags=["parameters"]\nx = = 1\n'), {"x": 2})


def test_a_template_without_the_tag_is_an_error() -> None:
    with pytest.raises(ReportError, match="tagged `parameters`"):
        inject_parameters(parse_template("# %%\nx = 1\n"), {"x": 2})
