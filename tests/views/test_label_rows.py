from hypothesis import given
from hypothesis import strategies as st

from crashlens.views.encoding import size
from crashlens.views.label_rows import place_labels


def test_labels_with_room_share_the_first_row() -> None:
    assert [(one.row, one.align) for one in place_labels([(10.0, "Xid 94"), (300.0, "timeout")])] == [
        (0, "left"),
        (0, "left"),
    ]


def test_a_label_near_the_right_end_is_written_to_the_left_and_no_rule_crosses_it() -> None:
    first, last = place_labels([(520.0, "Xid 94"), (580.0, "watchdog timeout ×7")])
    assert (last.row, last.align) == (0, "right")
    assert (first.row, first.align) == (1, "left")


@given(
    st.lists(
        st.tuples(st.floats(0, size().width), st.sampled_from(["Xid 94", "watchdog timeout ×7", "a", "x" * 60])),
        max_size=6,
    )
)
def test_no_label_covers_another(wanted: list[tuple[float, str]]) -> None:
    placed = place_labels(wanted)
    assert [(one.x, one.label) for one in placed] == wanted
    for number, one in enumerate(placed):
        for other in placed[number + 1 :]:
            if one.row == other.row:
                assert one.span[1] <= other.span[0] + 3 or other.span[1] <= one.span[0] + 3
