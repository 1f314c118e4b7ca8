"""What is each GPU called on screen, and which of them does a finding name?

A finding names a GPU by UUID, PCI bus id or label; the tables know it by `gpu_key`, once per source. A GPU is the same
in two sources only where `device_id` says so.
"""

from collections.abc import Collection, Sequence

import polars as pl

from crashlens.findings import Finding
from crashlens.views.encoding import gpu_colours

SCHEMA = {"gpu_key": pl.String, "label": pl.String, "named": pl.Int32}
_NAMES = ("gpu_key", "device_id", "gpu_uuid", "pci_bus_id", "mig_uuid")


def gpu_lines(gpus: pl.DataFrame, findings: Sequence[Finding], *, polled: Collection[str]) -> pl.DataFrame:
    """One row per `gpu_key` with samples: what it is called, and in which place the findings name it.

    Findings are read in order of importance. The GPUs of one are taken while all that were taken can still be told
    apart by colour and other GPUs remain to compare with; benign findings name none. Where the only findings name every
    GPU, none stands out and `named` is null for all.

    Args:
        gpus: The table `gpus`.
        findings: In order of importance.
        polled: Every `gpu_key` that has samples; a GPU that only a log line names is not drawn and not counted.

    Returns:
        `gpu_key`, `label` (such as "GPU 5"), `named` (0 for the GPU named first, null for the others), sorted by label.
    """
    rows = gpus.unique("gpu_key", keep="first", maintain_order=True).to_dicts()
    many_hosts = len({row["host"] for row in rows if row["host"]}) > 1
    labels = {row["gpu_key"]: _label(row, with_host=many_hosts) for row in rows}
    same = {row["gpu_key"]: row["device_id"] or row["gpu_key"] for row in rows}
    known: dict[str, set[str]] = {}
    for row in rows:
        for name in (*[row[column] for column in _NAMES], labels[row["gpu_key"]]):
            if name:
                known.setdefault(str(name).lower(), set()).add(same[row["gpu_key"]])
    order = _named(findings, known, {same[key] for key in polled if key in same})
    found = [
        {"gpu_key": key, "label": label, "named": order.get(same[key])}
        for key, label in sorted(labels.items(), key=lambda pair: (natural(pair[1]), pair[0]))
        if key in polled
    ]
    return pl.DataFrame(found, schema=SCHEMA, orient="row")


def _named(findings: Sequence[Finding], known: dict[str, set[str]], devices: set[str]) -> dict[str, int]:
    order: dict[str, int] = {}
    for finding in findings:
        if finding.verdict == "benign":
            continue
        named = {device for name in finding.devices for device in known.get(name.lower(), ())} & devices
        taken = len(order.keys() | named)
        if taken <= gpu_colours().most_named and (taken < len(devices) or len(devices) == 1):
            for device in sorted(named):
                order.setdefault(device, len(order))
    return order


def _label(row: dict[str, object], *, with_host: bool) -> str:
    index, pci, uuid, host = row["nvml_index"], row["pci_bus_id"], row["gpu_uuid"] or row["mig_uuid"], row["host"]
    if index is not None:
        name = f"GPU {index}"
    elif pci:
        name = f"GPU {pci}"
    elif uuid:
        name = f"GPU {str(uuid).removeprefix('GPU-')[:8]}"
    else:
        name = str(row["gpu_key"])
    return f"{host} {name}" if with_host and host else name


def natural(label: str) -> tuple[tuple[int, str], ...]:
    """A sort key that puts "GPU 10" behind "GPU 9"."""
    words = "".join(c if c.isascii() and c.isdigit() else f" {c} " for c in label).split()
    return tuple((int(word), "") if word.isascii() and word.isdigit() else (-1, word) for word in words)
