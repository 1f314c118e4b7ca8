"""The arithmetic of an out-of-memory message, in the wordings of torch 1.0 to 2.9."""

import pytest

from crashlens.analysis.allocator import Allocation, read_allocation, size_bytes, size_text

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
            "cached": "30.96 MiB",
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


def test_cached_may_be_more_than_what_is_allocated() -> None:
    # torch 1.2: "10.76 GiB total capacity; 0.50 GiB already allocated; 1.00 GiB free; 2.00 GiB cached"
    numbers = read_allocation({"total": "10.00 GiB", "allocated": "0.50 GiB", "free": "1.00 GiB", "cached": "2.00 GiB"})
    assert (numbers.own, numbers.unallocated) == (round(2.5 * GIB), 2 * GIB)
    assert numbers.others_share == pytest.approx(0.65)  # (10 - 1 - 2.5) / 10


def test_more_than_the_device_has_can_never_fit() -> None:
    assert read_allocation({"requested": "55.57 GiB", "total": "12.00 GiB"}).larger_than_device
    assert not read_allocation({"requested": "11.00 GiB", "total": "12.00 GiB"}).larger_than_device
    assert not read_allocation({"requested": "55.57 GiB"}).larger_than_device


def test_a_fraction_refuses_while_the_device_has_room() -> None:
    said = {"requested": "512.00 MiB", "free": "58.00 GiB", "allocated": "19.40 GiB", "unallocated": "112.00 MiB"}
    assert read_allocation(said | {"allowed": "19.79 GiB"}).at_allowed  # 19.40 + 0.11 + 0.5 > 19.79
    assert not read_allocation(said | {"allowed": "40.00 GiB"}).at_allowed
    assert not read_allocation(said | {"allowed": "19.79 GiB", "free": "0 bytes"}).at_allowed
    assert not read_allocation(said).at_allowed


@pytest.mark.parametrize(
    ("size", "text"), [(2 * GIB, "2.00 GiB"), (round(402.11 * MIB), "402.11 MiB"), (1536, "1.50 KiB"), (12, "12 bytes")]
)
def test_a_size_is_printed_as_the_allocator_prints_it(size: int, text: str) -> None:
    assert size_text(size) == text
