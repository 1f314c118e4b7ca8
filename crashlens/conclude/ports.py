"""Which network ports went down, and did they come back? A port that changes is a state; why it did stays open."""

import re
from dataclasses import dataclass, field

from crashlens.analysis.records import LogRecord, seconds_between, sort_key
from crashlens.catalog.thresholds import threshold
from crashlens.conclude.host_records import finding_of
from crashlens.conclude.scene import Scene
from crashlens.conclude.wording import listed, say, span
from crashlens.findings import Finding, Place, Verdict

_TOPICS = {"network.port", "network.carrier", "network.module", "network.fabric"}
_DOWN, _UP = {"down", "lost", "link went down"}, {"up", "active", "gained"}
_LINK = "network.rdma_link"
# Interfaces without a cable: they come and go with containers and services.
_VIRTUAL = re.compile(r"(?:veth|docker|cali|cni|flannel|br-|virbr|vnet|tap|tun|lo$|lxc|ovs|wg|nodelocaldns|kube)")
_RDMA_NAME = re.compile(r"(?:ib|mlx|roce|rdma)")


@dataclass
class PortStory:
    """One port of one machine.

    Attributes:
        name: How the lines call it.
        rdma: Whether it is known to carry InfiniBand or RoCE.
        downs: Records that it went down, boot left out.
        back: For each of them the record that it came up again, or None.
    """

    name: str
    rdma: bool
    downs: list[LogRecord] = field(default_factory=list[LogRecord])
    back: list[LogRecord | None] = field(default_factory=list["LogRecord | None"])


def conclude_ports(scene: Scene, taken: set[Place]) -> list[Finding]:
    """Ports that went down for good, ports that came back, cables and modules with an error.

    Args:
        scene: The scene.
        taken: Places that other findings rest on.
    """
    records = [r for r in sorted(scene.records, key=sort_key) if r.topic in _TOPICS and r.place not in taken]
    ports = [port for port in find_ports(scene, records) if port.downs]
    findings: list[Finding] = []
    for rdma, names in ((True, ("rdma_port_down", "rdma_port_flap")), (False, ("carrier_lost", "carrier_flap"))):
        own = [port for port in ports if port.rdma is rdma]
        lost = [port for port in own if port.back[-1] is None]
        returned = [port for port in own if port.back[-1] is not None]
        for story, group in zip(names, (lost, returned), strict=True):
            if group:
                findings.append(_finding(scene, story, group))
    modules = [
        r for r in records if r.fields.get("is_error") or r.fields.get("module_state", "").startswith("Cable err")
    ]
    if modules:
        said = listed(scene.lang, list(dict.fromkeys(r.fields["module_state"] for r in modules)))
        findings.append(finding_of(scene, ("rdma_module", _LINK, "consistent"), modules, {"said": said}))
    return findings


def find_ports(scene: Scene, records: list[LogRecord]) -> list[PortStory]:
    """The ports that `records` (in order of time) name, each with when it went down and whether it came back."""
    ports: dict[tuple[object, str], PortStory] = {}
    open_: dict[tuple[object, str], int] = {}
    for record in records:
        name = _name(record)
        if name is None or (record.rule_id == "network.carrier" and _VIRTUAL.match(name)):
            continue
        key = (record.host or record.source_id, name)
        port = ports.setdefault(key, PortStory(name, record.topic != "network.carrier" or bool(_RDMA_NAME.match(name))))
        state = _state(record)
        if state in _DOWN and not _is_at_boot(scene, record):
            open_[key] = len(port.downs)
            port.downs.append(record)
            port.back.append(None)
        elif state in _UP and key in open_:
            port.back[open_.pop(key)] = record
        elif record.fields.get("unhealthy") == "FLAPPING":
            port.downs.append(record)
            port.back.append(record)
    return list(ports.values())


def _finding(scene: Scene, story: str, ports: list[PortStory]) -> Finding:
    downs = [record for port in ports for record in port.downs]
    backs = [record for port in ports for record in port.back if record is not None]
    rdma = ports[0].rdma
    cause, verdict = (_LINK, "consistent") if rdma else ("unknown.insufficient_evidence", "undecided")
    values: dict[str, object] = {
        "ports": listed(scene.lang, [port.name for port in ports]),
        "times": len(downs),
        "longest": _longest(scene, ports),
    }
    kind: tuple[str, str, Verdict] = (story, cause, verdict)
    records = [*downs, *(record for record in backs if record not in downs)]
    return finding_of(scene, kind, records, values, "boot_settle_s")


def _longest(scene: Scene, ports: list[PortStory]) -> str:
    gaps = [
        gap
        for port in ports
        for down, up in zip(port.downs, port.back, strict=True)
        if up is not None and up is not down and (gap := seconds_between(down.written, up.written)) is not None
    ]
    return span(scene.lang, max(gaps)) if gaps else say(scene.lang, "words", "unknown")


def _name(record: LogRecord) -> str | None:
    fields = record.fields
    name = fields.get("device") or fields.get("near") or fields.get("port_name")
    port = fields.get("port")
    return f"{name}/{port}" if name and port and record.topic == "network.port" else name


def _state(record: LogRecord) -> str:
    fields = record.fields
    said = fields.get("link_state") or fields.get("carrier") or fields.get("nic_state") or fields.get("event") or ""
    return said.lower()


def _is_at_boot(scene: Scene, record: LogRecord) -> bool:
    """Whether the machine had just started: ports come up then, and unused ones stay down."""
    settle_s = threshold("boot_settle_s").value
    written = record.written
    if written.clock_us is not None and (written.clock_id or "").endswith(":monotonic"):
        return written.clock_us < settle_s * 1e6
    return any(
        other.rule_id == "kernel.driver_loaded"
        and (other.host == record.host or None in (other.host, record.host))
        and (gap := seconds_between(other.written, written)) is not None
        and abs(gap) <= settle_s
        for other in scene.records
    )
