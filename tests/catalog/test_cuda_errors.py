"""CUDA errors by text, name and number. The numbers are those of driver_types.h and cuda.h, written by hand."""

import pytest

from crashlens.catalog.cuda_errors import cuda_error, cuda_errors


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("an illegal memory access was encountered", "exception"),
        ("device-side assert triggered", "exception"),
        ("uncorrectable ECC error encountered", "ecc"),
        ("out of memory", "memory"),
        ("CUDA driver version is insufficient for CUDA runtime version", "environment"),
        ("unknown error", "other"),
        ("uncorrectable NVLink error detected during the execution", "nvlink"),
        ("operation not permitted when stream is capturing", "other"),
    ],
)
def test_a_text_says_what_it_is_about(text: str, kind: str) -> None:
    found = cuda_error(text=text)
    assert found is not None
    assert found.kind == kind


def test_the_longest_known_text_counts() -> None:
    found = cuda_error(text="operation not supported on global/shared address space")
    assert found is not None
    assert found.code == 717


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("cudaErrorIllegalAddress", 700),
        ("CUDA_ERROR_ECC_UNCORRECTABLE", 214),
        ("CUDA_ERROR_NO_DEVICE", 100),
        ("cudaErrorSystemNotReady", 802),
    ],
)
def test_a_name_of_either_api_is_the_same_error(name: str, code: int) -> None:
    found = cuda_error(name=name)
    assert found is not None
    assert found.code == code


def test_a_number_counts_only_without_a_text_since_old_runtimes_numbered_otherwise() -> None:
    by_number = cuda_error(code=719)
    assert by_number is not None
    assert by_number.text == "unspecified launch failure"
    old = cuda_error(text="unspecified launch failure", code=4)  # CUDA 9
    assert old is not None
    assert old.code == 719
    assert cuda_error(text="a text that nobody documents", code=700) is None
    assert cuda_error() is None


def test_no_number_name_or_text_stands_twice() -> None:
    rows = cuda_errors()
    for values in ([row.code for row in rows], [row.text for row in rows], [n for row in rows for n in row.names]):
        assert len(values) == len(set(values))
