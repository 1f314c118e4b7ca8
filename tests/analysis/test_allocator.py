"""The arithmetic of an out-of-memory message, in the wordings of torch 1.3 to 2.8."""

import pytest

from crashlens.analysis.allocator import Allocation, read_allocation, size_bytes

GIB, MIB = 1024**3, 1024**2


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("2.00 GiB", 2 * GIB),
        ("402.11 MiB", round(402.11 * MIB)),
        ("1024.00 KiB", MIB),
        ("512 bytes", 512),
        ("1 TiB", 1024 * GIB),
        ("2.5 GB", 2_500_000_000),
        ("0 bytes", 0),
    ],
)
def test_a_size_in_bytes(text: str, size: int) -> None:
    assert size_bytes(text) == size


@pytest.mark.parametrize(
    "text", [None, "", ".", "GiB", "2.0.0 GiB", "two GiB", "2 GiB free", "-1 GiB", "1" * 40 + " GiB"]
)
def test_what_is_no_size_is_none(text: str | None) -> None:
    assert size_bytes(text) is None


def test_the_whole_process_is_told_apart_from_others() -> None:
    numbers = read_allocation(
        {
            "requested": "2.00 GiB",
            "total": "80.00 GiB",
            "free": "1.00 GiB",
            "process_in_use": "19.00 GiB",
            "allocated": "15.00 GiB",
            "unallocated": "2.00 GiB",
        }
    )
    assert numbers == Allocation(2 * GIB, 80 * GIB, GIB, 19 * GIB, 15 * GIB, 2 * GIB)
    assert numbers.others_share == pytest.approx(0.75)  # (80 - 1 - 19) / 80
    assert not numbers.enough_free


def test_reserved_in_total_holds_what_is_allocated() -> None:
    numbers = read_allocation(
        {
            "requested": "690.00 MiB",
            "total": "40.00 GiB",
            "allocated": "1.00 GiB",
            "free": "0 bytes",
            "reserved": "10.00 GiB",
        }
    )
    assert (numbers.own, numbers.unallocated) == (10 * GIB, 9 * GIB)
    assert numbers.others_share == pytest.approx(0.75)


def test_the_old_word_cached_is_beside_what_is_allocated() -> None:
    # torch 1.0: "11.17 GiB total capacity; 10.90 GiB already allocated; 576.00 KiB free; 30.96 MiB cached"
    numbers = read_allocation(
        {
            "requested": "1.00 MiB",
            "total": "11.17 GiB",
            "allocated": "10.90 GiB",
            "free": "576.00 KiB",
            "reserved": "30.96 MiB",
        }
    )
    assert numbers.unallocated == round(30.96 * MIB)
    assert numbers.others_share == pytest.approx((11.17 - 10.90 - 30.96 / 1024 - 576 / MIB) / 11.17, abs=1e-4)


def test_a_missing_number_makes_no_share() -> None:
    assert read_allocation({}) == Allocation(None, None, None, None, None, None)
    assert read_allocation({}).others_share is None
    assert not read_allocation({}).enough_free
    assert read_allocation({"total": "0 bytes", "free": "0 bytes", "process_in_use": "0 bytes"}).others_share is None


def test_numbers_that_contradict_make_no_negative_share() -> None:
    assert read_allocation({"total": "8 GiB", "free": "6 GiB", "process_in_use": "7 GiB"}).others_share == 0.0


def test_as_much_free_as_was_asked_for_is_enough() -> None:
    assert read_allocation({"requested": "1.00 GiB", "free": "1.00 GiB"}).enough_free
    assert not read_allocation({"requested": "1.01 GiB", "free": "1.00 GiB"}).enough_free
