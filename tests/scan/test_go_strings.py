"""Marks that are an envelope go, marks around names stay, and a quotation stays a quotation."""

import pytest

from crashlens.scan.envelope import peel
from crashlens.scan.go_strings import unquoted

KUBELET = (
    r'"Error syncing pod" err="failed to \"CreatePodSandbox\" for \"a_ml(9e0a)\" with CreatePodSandboxError: '
    r'\"rpc error: code = Unknown desc = no runtime for \\\"nvidia\\\" is configured\"" pod="ml/a"'
)


def test_errors_that_wrap_errors_are_read_to_the_last_one() -> None:
    assert unquoted(KUBELET, inside=False) == (
        'Error syncing pod err=failed to "CreatePodSandbox" for "a_ml(9e0a)" with CreatePodSandboxError: '
        'rpc error: code = Unknown desc = no runtime for "nvidia" is configured pod="ml/a"'
    )


@pytest.mark.parametrize(
    ("message", "inside", "expected"),
    [
        (r'no driver \"nvidia\" here"', True, 'no driver "nvidia" here'),
        (r'stopped" error="exit status 1" id=7', True, "stopped error=exit status 1 id=7"),
        ("nothing quoted", False, "nothing quoted"),
        ('rule loaded" expr="exit code 137"', True, 'rule loaded expr="exit code 137"'),
        ('"CUDA error" means that a call failed', False, '"CUDA error" means that a call failed'),
        (r"cut in the middle \"of", True, r"cut in the middle \"of"),
    ],
)
def test_only_whole_fields_are_taken_apart(message: str, *, inside: bool, expected: str) -> None:
    assert unquoted(message, inside=inside) == expected


def test_behind_a_stamp_of_klog_logrus_and_slog() -> None:
    klog = peel('E1001 10:00:00.100000    1200 manager.go:200] "Admission failed" pod="ml/t" err="Allocate failed"')
    assert (klog.severity, klog.message) == ("error", 'Admission failed pod="ml/t" err=Allocate failed')
    logrus = peel(r'time="2026-10-01T10:00:00Z" level=error msg="no \"nvidia\""')
    assert (logrus.severity, logrus.message) == ("error", 'no "nvidia"')
    slog = peel('time=2026-10-01T10:00:00.000Z level=ERROR source=sched.go:4 msg="load failed" error="out of memory"')
    assert (slog.severity, slog.message) == ("error", "load failed error=out of memory")
    bare = peel('time="2026-10-01T10:00:00Z" level=error msg=failed err="a b"')
    assert bare.message == "msg=failed err=a b"


def test_cpp_lines_with_the_same_stamp_keep_their_marks() -> None:
    line = 'E1001 10:00:00.100000 1200 site-packages/torch/a.py:869] "CUDA error" was printed'
    assert peel(line).message == '"CUDA error" was printed'


def test_the_error_of_a_rust_panic_is_no_quotation() -> None:
    line = 'called `Result::unwrap()` on an `Err` value: Error { code: 1, message: "libcublasLt.so.12: cannot open" }'
    assert peel(line).message.endswith("Error { code: 1, message: libcublasLt.so.12: cannot open }")
