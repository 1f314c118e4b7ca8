"""Which clocks and GPUs did the records of one source name, and which of its times could not be placed?"""

from crashlens.schemas import CLOCKS, GPUS
from crashlens.sources.event_rows import RowBuilder
from crashlens.sources.writer import TableWriter


def write_clocks(builder: RowBuilder, out: TableWriter) -> None:
    """Hand over the clocks and GPUs that the rows of one source named, and say which times were not placed."""
    clocks: list[dict[str, object]] = []
    for clock_id, use in builder.clocks.items():
        placed = use.kind == "utc" or (
            out.options.tz is not None
            and (use.kind == "local" or (use.kind == "local_no_year" and out.options.year is not None))
        )
        method = "offset in file" if use.kind == "utc" else ("given zone" if placed else "none")
        hosts = {host for host in use.hosts if host is not None}
        clocks.append(
            {
                "clock_id": clock_id,
                "source_id": out.source_id,
                "first_line": use.first_line,
                "last_line": use.last_line,
                "stamps": use.stamps,
                "kind": use.kind,
                "method": method,
                "zone": out.options.tz if method == "given zone" else None,
                "uncertainty_us": use.uncertainty_us,
                "host": next(iter(hosts)) if len(hosts) == 1 else None,
            }
        )
        if not placed and use.needed:
            out.notice(_unplaced(use.kind))
    out.rows("clocks", CLOCKS.frame(clocks))
    gpus = [
        {
            "gpu_key": gpu.gpu_key,
            "source_id": out.source_id,
            "device_id": gpu.gpu_uuid,
            "gpu_uuid": gpu.gpu_uuid,
            "pci_bus_id": gpu.pci_bus_id,
            "nvml_index": gpu.nvml_index,
            "cuda_ordinal": gpu.cuda_ordinal,
            "host": gpu.host,
        }
        for gpu in builder.gpus.values()
    ]
    out.rows("gpus", GPUS.frame(gpus))


def _unplaced(kind: str) -> str:
    says = {
        "local": "Its local times have no zone; give tz= (--tz) to place them. Order holds inside this file only.",
        "local_no_year": "Some of its times have no zone and no year; give tz= and year= (--tz, --year) to place them.",
        "monotonic": "Some of its times count seconds since boot; they order events inside this file only.",
    }
    return says[kind]
