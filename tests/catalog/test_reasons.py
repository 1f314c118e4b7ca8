import pytest

from crashlens.catalog.reasons import bits_of, classes, decode, documented_bits, reasons


@pytest.mark.parametrize(
    ("mask", "expected"),
    [
        (0x0, set()),
        (0x1, {"idle"}),
        (0x4, {"power_cap"}),
        (0x8, {"ambiguous"}),
        (0x48, {"thermal"}),
        (0x28, {"thermal"}),
        (0x88, {"power_brake"}),
        (0xC, {"ambiguous", "power_cap"}),
        (0x24, {"thermal", "power_cap"}),
        (0x2, {"configured"}),
        (0x100, {"configured"}),
        (0x200, {"unknown"}),
        (0x204, {"unknown", "power_cap"}),
        (2**63, {"unknown"}),
    ],
)
def test_classes_of_a_mask(mask: int, expected: set[str]) -> None:
    assert classes(mask) == expected


def test_several_bits_are_all_kept_and_an_unknown_one_keeps_its_value() -> None:
    assert [(reason.bit, reason.name) for reason in decode(0x20C)] == [
        (0x4, "sw_power_cap"),
        (0x8, "hw_slowdown"),
        (0x200, "bit_0x200"),
    ]


def test_the_nine_bits_of_the_header() -> None:
    # NVIDIA/DCGM dcgm_fields.h lines 107 to 154: nine bits from 0x1 to 0x100.
    assert [reason.bit for reason in reasons()] == [1 << place for place in range(9)]
    assert documented_bits() == 0x1FF
    assert bits_of("thermal") == 0x60
    assert bits_of("unknown") == 0


def test_every_reason_says_what_it_does_not_prove() -> None:
    for reason in reasons():
        assert reason.does_not_prove, reason.name
        assert reason.source, reason.name
