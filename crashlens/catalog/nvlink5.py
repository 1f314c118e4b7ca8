"""The NVLink5 sub-decode of Xid 144 to 150: which row of NVIDIA's table do the two first registers of a record fit?

Source: NVIDIA Xid catalog, table "144-150 decode"; nvlink5.toml says which copy.
"""

from dataclasses import dataclass
from functools import cache

from crashlens.catalog.rows import RowFile, package_rows

BITS = 32
FIRST_NEW_BRANCH = 575  # drivers from R575 number the units anew in intrInfo
_REASON_SHIFT, _REASON_MASK = 20, 0x3F


@dataclass(frozen=True, slots=True)
class Nvlink5Row:
    """One row of the table.

    Attributes:
        xid: 144 to 150.
        units: Names under which the driver prints the unit.
        masks: intrInfo before and from R575: 32 characters, `-` is any bit.
        promoted_masks: The same with the promotion bit; empty where the row knows none.
        error_statuses: Values of errorStatus; empty: not looked at.
        severity: Non-fatal | Link Fatal | Fatal.
        immediate_action: Vendor bucket for getting back into service.
        investigatory_action: Vendor bucket for finding out why.
        promoted: The immediate action where the promotion bit is set; empty where the row knows none.
        by: Whether hardware, software or firmware reports it.
        effect: Effect on this GPU and on the other end, in the vendor's words.
    """

    xid: int
    units: tuple[str, ...]
    masks: tuple[str, str]
    promoted_masks: tuple[str, ...]
    error_statuses: tuple[int, ...]
    severity: str
    immediate_action: str
    investigatory_action: str
    promoted: str
    by: str
    effect: str


@dataclass(frozen=True, slots=True)
class Nvlink5Decode:
    """What the table says about one record: the reason code, the severity and the two actions."""

    unit: str
    reason: int
    severity: str
    immediate_action: str
    investigatory_action: str
    effect: str


def nvlink5_rows() -> tuple[Nvlink5Row, ...]:
    """All rows in the order of NVIDIA's table."""
    return _rows()


def reason_of(intr_info: int) -> int:
    """The reason (sub)code of a record: bits 25 to 20 of its first register."""
    return intr_info >> _REASON_SHIFT & _REASON_MASK


def decode_nvlink5(
    xid: int, unit: str, intr_info: int, error_status: int | None, *, driver_branch: int | None
) -> Nvlink5Decode | None:
    """The row that fits, or None: no row fits, or several that say different things.

    Args:
        xid: 144 to 150.
        unit: The unit as printed.
        intr_info: First register.
        error_status: Second register, or None where the line is cut.
        driver_branch: Major driver version; None: both layouts are tried.
    """
    layouts = (0, 1) if driver_branch is None else (int(driver_branch >= FIRST_NEW_BRANCH),)
    found = {
        Nvlink5Decode(
            unit,
            reason_of(intr_info),
            row.severity,
            row.promoted if _promoted(row, layout, intr_info) else row.immediate_action,
            row.investigatory_action,
            row.effect,
        )
        for row in _rows()
        for layout in layouts
        if row.xid == xid
        and any(name == unit or name.startswith(f"{unit}_") or unit.startswith(f"{name}_") for name in row.units)
        and (fits(row.masks[layout], intr_info) or _promoted(row, layout, intr_info))
        and (not row.error_statuses or error_status in row.error_statuses)
    }
    said = {(one.severity, one.immediate_action, one.investigatory_action) for one in found}
    return min(found, key=str) if len(said) == 1 else None


def fits(mask: str, value: int) -> bool:
    """Whether `value` has the bits of `mask`."""
    return all(bit in {"-", str(value >> (BITS - 1 - place) & 1)} for place, bit in enumerate(mask))


def parse_nvlink5(file: RowFile) -> tuple[Nvlink5Row, ...]:
    """The rows of `file`.

    Raises:
        DataFileError: Every fault of the file: types, unknown keys, masks of another length.
    """
    rows: list[Nvlink5Row] = []
    for row in file:
        promoted = row.text("promoted", otherwise="")
        masks = (row.text("before_r575"), row.text("from_r575"))
        more = (row.text("before_r575_promoted"), row.text("from_r575_promoted")) if promoted else ()
        if any(len(mask) != BITS or set(mask) - set("-01") for mask in (*masks, *more)):
            row.fault(f"a mask has other than {BITS} characters of 0, 1 and -")
        rows.append(
            Nvlink5Row(
                xid=row.integer("xid"),
                units=row.texts("units"),
                masks=masks,
                promoted_masks=more,
                error_statuses=row.integers("error_statuses"),
                severity=row.choice("severity", ("Non-fatal", "Link Fatal", "Fatal")),
                immediate_action=row.text("immediate_action"),
                investigatory_action=row.text("investigatory_action"),
                promoted=promoted,
                by=row.text("by"),
                effect=row.text("effect"),
            )
        )
    file.check()
    return tuple(rows)


def _promoted(row: Nvlink5Row, layout: int, intr_info: int) -> bool:
    return bool(row.promoted_masks) and fits(row.promoted_masks[layout], intr_info)


@cache
def _rows() -> tuple[Nvlink5Row, ...]:
    return parse_nvlink5(package_rows("nvlink5.toml", "nvlink5"))
