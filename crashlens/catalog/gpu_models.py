"""Which GPU is this, and what is written about it? Facts by device name; what is not known stays None."""

import re
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

from crashlens.catalog.toml_text import toml_document

_SPLIT = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class GpuModel:
    """One model, in one form factor.

    Attributes:
        name: Short name.
        form: SXM5, PCIe, NVL, ...
        architecture: Architecture, with the chip where it matters.
        compute_capability: CUDA compute capability.
        confidence: high (several sources agree) or medium (one source, or a small disagreement).
        source: Where the facts were read.
        memory_gb: Device memory in GB, None where one name covers several sizes.
        memory_bandwidth_gb_per_s: Peak memory bandwidth in GB/s.
        board_power_w: Power limit as delivered, in W.
        boost_clock_mhz: Highest clock in MHz.
        fp16_dense_tflops: Dense FP16 tensor peak in TFLOPS.
        bf16_dense_tflops: Dense BF16 tensor peak in TFLOPS.
        has_margin: Whether the temperature margin (T.Limit) exists.
        slowdown_margin_c: Margin at which hardware slows down, in C.
    """

    name: str
    form: str
    architecture: str
    compute_capability: str
    confidence: str
    source: str
    memory_gb: float | None = None
    memory_bandwidth_gb_per_s: float | None = None
    board_power_w: float | None = None
    boost_clock_mhz: float | None = None
    fp16_dense_tflops: float | None = None
    bf16_dense_tflops: float | None = None
    has_margin: bool | None = None
    slowdown_margin_c: float | None = None


@lru_cache(maxsize=1)
def _models() -> tuple[tuple[frozenset[str], frozenset[str], GpuModel], ...]:
    text = files("crashlens.catalog").joinpath("gpu_models.toml").read_text("utf-8")
    found: list[tuple[frozenset[str], frozenset[str], GpuModel]] = []
    for row in toml_document(text)["model"]:
        words, without = frozenset(row.pop("words")), frozenset(row.pop("without"))
        found.append((words, without, GpuModel(**row)))
    return tuple(sorted(found, key=lambda entry: -len(entry[0])))


def gpu_models() -> tuple[GpuModel, ...]:
    """Every model, those with the most telling names first."""
    return tuple(model for _, _, model in _models())


@lru_cache(maxsize=256)
def find_gpu_model(name: str) -> GpuModel | None:
    """The model that device name `name` names, as nvidia-smi prints it; None where no row fits.

    Whole words are compared, so that GB200 is not B200, A10G is not A10 and L40 is not L4.
    """
    words = frozenset(_SPLIT.split(name.lower()))
    return next((model for needed, without, model in _models() if needed <= words and not without & words), None)
