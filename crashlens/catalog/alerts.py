"""Names for what an infrastructure alert beside a run would say, the signal it rests on and what it does not prove.

crashlens's own catalogue: `origin` tells whose name it is, and the head of alerts.toml names the sources.
"""

from dataclasses import dataclass
from functools import cache

from crashlens.catalog.rows import RowFile, package_rows


@dataclass(frozen=True, slots=True)
class Alert:
    """One alert.

    Attributes:
        name: Its name here.
        origin: S (given in the project's requirements), P (public at another provider), N (proposed here).
        category: gpu_memory, gpu, thermal_and_power, links_and_fabric, job_node_storage.
        other_names: Provider and name elsewhere.
        xids: Xid numbers that raise it; may be empty.
        signal: What it rests on.
        meaning: What it says.
        effect: What it may do to a run: general knowledge, never a measurement.
        hint: What to do; vendor buckets in capitals.
        does_not_prove: What must not be read into it; never empty.
    """

    name: str
    origin: str
    category: str
    other_names: tuple[str, ...]
    xids: tuple[int, ...]
    signal: str
    meaning: str
    effect: str
    hint: str
    does_not_prove: tuple[str, ...]


def alerts() -> tuple[Alert, ...]:
    """All alerts in the order of the file, category by category."""
    return _catalog()


def alerts_of_xid(number: int) -> tuple[Alert, ...]:
    """The alerts that Xid `number` raises; empty: none is catalogued."""
    return tuple(alert for alert in _catalog() if number in alert.xids)


def parse_alerts(file: RowFile) -> tuple[Alert, ...]:
    """The alerts of `file`.

    Raises:
        DataFileError: Every fault of the file: types, unknown keys, a name twice, nothing under `does_not_prove`.
    """
    found: dict[str, Alert] = {}
    for row in file:
        one = Alert(
            name=row.text("name"),
            origin=row.choice("origin", ("S", "P", "N")),
            category=row.text("category"),
            other_names=row.texts("other_names"),
            xids=row.integers("xids"),
            signal=row.text("signal"),
            meaning=row.text("meaning"),
            effect=row.text("effect"),
            hint=row.text("hint"),
            does_not_prove=row.texts("does_not_prove"),
        )
        if one.name in found:
            row.fault(f"{one.name} stands twice")
        if not one.does_not_prove:
            row.fault(f"{one.name} says nothing under does_not_prove")
        found[one.name] = one
    file.check()
    return tuple(found.values())


@cache
def _catalog() -> tuple[Alert, ...]:
    return parse_alerts(package_rows("alerts.toml", "alert"))
