"""What does a clocks event reasons mask say? Bits, their classes, and what a bit does not prove."""

from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Literal

from crashlens.catalog.toml_text import toml_document

ReasonClass = Literal["idle", "configured", "power_cap", "ambiguous", "sync_boost", "thermal", "power_brake", "unknown"]

HW_SLOWDOWN = 0x8
EXPLAINED_BY = 0x20 | 0x40 | 0x80  # with one of these set, hw_slowdown is their parent and says nothing of its own


@dataclass(frozen=True, slots=True)
class Reason:
    """One bit of the mask.

    Attributes:
        bit: Its value.
        name: Name as nvidia-smi queries it, without the prefix; `bit_0x...` where nobody documents it.
        label: As `nvidia-smi -q` prints it.
        reason_class: What kind of reason it is.
        meaning: What it says, one sentence.
        does_not_prove: What it leaves open.
        source: Where this is written.
    """

    bit: int
    name: str
    label: str
    reason_class: ReasonClass
    meaning: str
    does_not_prove: str
    source: str


@lru_cache(maxsize=1)
def reasons() -> tuple[Reason, ...]:
    """Every documented bit, lowest first."""
    text = files("crashlens.catalog").joinpath("clocks_event_reasons.toml").read_text("utf-8")
    rows = toml_document(text)["reason"]
    found = (
        Reason(r["bit"], r["name"], r["label"], r["class"], r["meaning"], r["does_not_prove"], r["source"])
        for r in rows
    )
    return tuple(sorted(found, key=lambda reason: reason.bit))


@lru_cache(maxsize=1)
def documented_bits() -> int:
    """All documented bits as one mask."""
    return sum(reason.bit for reason in reasons())


@lru_cache(maxsize=4096)
def decode(mask: int) -> tuple[Reason, ...]:
    """The bits set in `mask` (0 to 2**64 - 1), lowest first; an undocumented one keeps its value in its name."""
    known = {reason.bit: reason for reason in reasons()}
    set_bits = [1 << place for place in range(64) if mask >> place & 1]
    return tuple(known.get(bit) or _undocumented(bit) for bit in set_bits)


@lru_cache(maxsize=4096)
def classes(mask: int) -> frozenset[ReasonClass]:
    """The classes of the bits set in `mask`; empty for 0.

    0x8 is `ambiguous` only when none of 0x20, 0x40 and 0x80 is set with it: the driver sets it as their parent.
    """
    counted = mask & ~HW_SLOWDOWN if mask & EXPLAINED_BY else mask
    return frozenset(reason.reason_class for reason in decode(counted))


@lru_cache(maxsize=8)
def bits_of(reason_class: ReasonClass) -> int:
    """The documented bits of one class as a mask; 0 for `unknown`."""
    return sum(reason.bit for reason in reasons() if reason.reason_class == reason_class)


def _undocumented(bit: int) -> Reason:
    return Reason(
        bit,
        f"bit_{bit:#x}",
        f"{bit:#x}",
        "unknown",
        "A bit that no document read here explains.",
        "Anything: look it up for this driver version.",
        "not documented",
    )
