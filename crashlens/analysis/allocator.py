"""What do the numbers of a CUDA out-of-memory message add up to: this process, others, free, reserved pieces?"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

_UNITS = {"bytes": 1, "B": 1, "KB": 1000, "MB": 1000**2, "GB": 1000**3, "TB": 1000**4,
          "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3, "TiB": 1024**4}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Allocation:
    """A refused CUDA allocation in bytes; None where the message does not say.

    Attributes:
        requested: What was asked for.
        total: Capacity of the device.
        free: Free on the device.
        own: In use by this process: stated, or what its allocator reserved.
        allocated: Allocated by PyTorch.
        unallocated: Reserved by PyTorch and not allocated.
        allowed: The most that this process may take, where a memory fraction is set.
    """

    requested: int | None
    total: int | None
    free: int | None
    own: int | None
    allocated: int | None
    unallocated: int | None
    allowed: int | None = None

    @property
    def larger_than_device(self) -> bool:
        """Whether more was asked for than the device has in all."""
        return self.requested is not None and self.total is not None and self.requested > self.total > 0

    @property
    def at_allowed(self) -> bool:
        """Whether the request would pass the fraction set for this process while the device itself has room."""
        if self.allowed is None or self.requested is None or self.allocated is None:
            return False
        return self.enough_free and self.allocated + (self.unallocated or 0) + self.requested > self.allowed

    @property
    def others_share(self) -> float | None:
        """Share of the device that neither this process holds nor is free, or None where the message does not say."""
        if self.total is None or self.free is None or self.own is None or not self.total:
            return None
        return max(0.0, (self.total - self.free - self.own) / self.total)

    @property
    def enough_free(self) -> bool:
        """Whether the message reports at least as much free memory as was asked for."""
        return self.free is not None and self.requested is not None and self.free >= self.requested


def read_allocation(fields: Mapping[str, str]) -> Allocation:
    """The numbers of a message from the captures of rule `cuda.out_of_memory`.

    Source: torch CUDACachingAllocator.cpp, wordings 1.0 to 2.9; units are binary where they are written so.
    """
    reserved, allocated = size_bytes(fields.get("reserved")), size_bytes(fields.get("allocated"))
    unallocated, cached = size_bytes(fields.get("unallocated")), size_bytes(fields.get("cached"))
    if cached is not None and allocated is not None:
        # Up to 1.3 the last number, "cached", is what is reserved beside the allocated, not with it.
        unallocated, reserved = cached, cached + allocated
    if unallocated is None and reserved is not None and allocated is not None:
        unallocated = max(0, reserved - allocated)
    own = size_bytes(fields.get("process_in_use"))
    if own is None:
        own = reserved
    if own is None and allocated is not None and unallocated is not None:
        own = allocated + unallocated
    return Allocation(
        size_bytes(fields.get("requested")), size_bytes(fields.get("total")), size_bytes(fields.get("free")),
        own, allocated, unallocated, size_bytes(fields.get("allowed")),
    )  # fmt: skip


def size_bytes(text: str | None) -> int | None:
    """`2.00 GiB` as bytes, or None where it is no size."""
    found = re.fullmatch(r"([\d.]{1,12}) ?([KMGT]?i?B|bytes)", text or "")
    if not found or found[1].count(".") > 1 or found[1] == ".":
        return None
    return round(float(found[1]) * _UNITS[found[2]])


def size_text(size: int) -> str:
    """Bytes as the allocator prints them: `6.02 GiB`."""
    for unit in ("GiB", "MiB", "KiB"):
        if size >= _UNITS[unit]:
            return f"{size / _UNITS[unit]:.2f} {unit}"
    return f"{size} bytes"
