import pytest

from crashlens.report.percent import parse_template

TEMPLATE = '''# ---
# jupyter:
#   jupytext:
#     text_representation: {format_name: percent}
# ---

# %% [markdown]
# # Title
#
# Text with a `#` sign.
#   * indented

# %% tags=["parameters", "x"]
evidence = []

# %% Count the lines tags=["a"] key="v"
n = 1  # %% not a marker

m = 2

# %% [markdown]
"""
## From a string
"""
# %% [raw]
# left out
'''


def test_cells_kinds_titles_and_tags_are_read() -> None:
    nb = parse_template(TEMPLATE)
    assert [(cell["cell_type"], cell["source"], dict(cell["metadata"])) for cell in nb["cells"]] == [
        ("markdown", "# Title\n\nText with a `#` sign.\n  * indented", {}),
        ("code", "evidence = []", {"tags": ["parameters", "x"]}),
        ("code", "n = 1  # %% not a marker\n\nm = 2", {"tags": ["a"], "title": "Count the lines"}),
        ("markdown", "## From a string", {}),
    ]
    assert [cell["id"] for cell in nb["cells"]] == ["cell-0", "cell-1", "cell-2", "cell-3"]


def test_text_before_the_first_marker_is_a_code_cell() -> None:
    assert [cell["source"] for cell in parse_template("import os\n# %%\r\nx = 1\r\n")["cells"]] == [
        "import os",
        "x = 1",
    ]
    assert parse_template("")["cells"] == []


def test_tags_that_are_no_list_of_strings_are_refused() -> None:
    with pytest.raises(ValueError, match="tags"):
        parse_template("# %% tags=[1]\nx")
