"""One module per format, and the list of formats that are tried, in order.

Other packages add formats through the entry-point group `crashlens.parsers`; each entry is a `Format`.
"""

from functools import lru_cache
from importlib.metadata import entry_points

from crashlens.sources.format import Format
from crashlens.sources.parsers import (
    container_inspect,
    flight_recorder,
    kubernetes_describe,
    kubernetes_events,
    kubernetes_events_yaml,
    kubernetes_status,
    nvidia_bug_report,
    nvidia_smi_csv,
    sampler_csv,
    slurm_accounting,
    slurm_json,
    slurm_show,
)
from crashlens.sources.parsers.text_log import CRI_LOG, DOCKER_LOG, JOB_LOG, JOURNAL_LOG, JSON_LOG, KERNEL_LOG, TEXT_LOG

_TABLES: tuple[Format, ...] = (nvidia_smi_csv.FORMAT, sampler_csv.FORMAT)
_SCHEDULERS: tuple[Format, ...] = (
    slurm_accounting.FORMAT,
    slurm_show.FORMAT,
    slurm_json.FORMAT,
    container_inspect.FORMAT,
    kubernetes_events.FORMAT,
    kubernetes_events_yaml.FORMAT,
    kubernetes_describe.FORMAT,
    kubernetes_status.FORMAT,
)
_LOGS: tuple[Format, ...] = (DOCKER_LOG, CRI_LOG, JOURNAL_LOG, JSON_LOG, KERNEL_LOG, JOB_LOG, TEXT_LOG)
SHIPPED: tuple[Format, ...] = (
    flight_recorder.FORMAT,
    nvidia_bug_report.bug_report(_TABLES),
    *_TABLES,
    *_SCHEDULERS,
    *_LOGS,
)


@lru_cache(maxsize=1)
def formats() -> tuple[Format, ...]:
    """Every format that can be read here: the shipped ones, then those of installed packages."""
    added = [entry.load() for entry in entry_points(group="crashlens.parsers")]
    return (*SHIPPED, *(item for item in added if isinstance(item, Format)))
