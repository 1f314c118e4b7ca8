"""What did a CUDA call answer: by the text, the name or the number that a program prints?"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, cast

from crashlens.catalog.rows import package_rows

CudaErrorKind = Literal["memory", "ecc", "nvlink", "exception", "environment", "other"]
_KINDS = ("memory", "ecc", "nvlink", "exception", "environment", "other")


@dataclass(frozen=True, slots=True)
class CudaError:
    """One answer of a CUDA call.

    Attributes:
        code: Number of the runtime API since CUDA 10.1.
        names: Names in the runtime and driver APIs.
        text: What cudaGetErrorString says, lower case, without a final stop.
        kind: What the answer is about.
    """

    code: int
    names: tuple[str, ...]
    text: str
    kind: CudaErrorKind


@lru_cache(maxsize=1)
def cuda_errors() -> tuple[CudaError, ...]:
    """Every known answer, in the order of the file.

    Raises:
        DataFileError: The shipped file is wrong; every fault is named.
    """
    file = package_rows("cuda_errors.toml", "cuda_error")
    found = tuple(
        CudaError(
            row.integer("code"), row.texts("names"), row.text("text"), cast("CudaErrorKind", row.choice("kind", _KINDS))
        )
        for row in file
    )
    file.check()
    return found


def cuda_error(*, text: str = "", name: str = "", code: int | None = None) -> CudaError | None:
    """The answer that a message names, or None where nobody documents it.

    The number counts last: the runtime numbered its errors anew in CUDA 10.1.

    Args:
        text: The message; what stands behind the known text is allowed.
        name: `cudaErrorIllegalAddress`, `CUDA_ERROR_ILLEGAL_ADDRESS`.
        code: The number.
    """
    said = text.strip().lower()
    by_text = [error for error in cuda_errors() if said.startswith(error.text)]
    by_name = [error for error in cuda_errors() if name in error.names]
    by_code = [error for error in cuda_errors() if error.code == code and not said]
    longest = sorted(by_text, key=lambda error: -len(error.text))
    return next(iter((*longest, *by_name, *by_code)), None)
