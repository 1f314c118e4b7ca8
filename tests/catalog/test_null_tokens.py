import pytest

from crashlens.catalog.null_tokens import bracket_state, null_tokens, null_tokens_of_text, sentinels


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("[n/a]", "not_supported"),
        ("n/a", "not_supported"),
        ("[not supported]", "not_supported"),
        ("[requested functionality has been deprecated]", "not_supported"),
        ("-", "not_supported"),
        ("", "not_collected"),
        ("[insufficient permissions]", "not_collected"),
        ("[unknown error]", "error"),
        ("[gpu is lost]", "error"),
        ("[gpu requires reset]", "reset_required"),
    ],
)
def test_each_way_to_say_no_value_has_its_own_state(text: str, state: str) -> None:
    assert null_tokens()[text] == state


def test_none_is_a_value_where_text_is_expected() -> None:
    assert "none" in null_tokens()
    assert "none" not in null_tokens_of_text()
    assert "[n/a]" in null_tokens_of_text()


def test_blank_numbers_of_dcgm() -> None:
    # dcgm_structs.h: 0x7ffffff0 is blank, +1 not found, +2 not supported, +3 not permissioned; the same for 64 bit.
    assert sentinels()[0x7FFFFFF0] == "not_collected"
    assert sentinels()[0x7FFFFFF2] == "not_supported"
    assert sentinels()[0x7FFFFFFFFFFFFFF0] == "not_collected"
    assert sentinels()[140737488355330] == "not_supported"
    assert bracket_state() == "error"
