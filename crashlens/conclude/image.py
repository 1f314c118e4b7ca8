"""Does an image carry gigabytes that nothing in it can use: files that a later layer replaces, and layers twice?

A large image alone is no finding: a GPU host does need CUDA libraries.
"""

import re

from crashlens.analysis.records import LogRecord, sort_key
from crashlens.catalog.thresholds import threshold
from crashlens.conclude.of_records import Reading, finding_of, of_rules
from crashlens.conclude.scene import Scene
from crashlens.findings import Finding

_REWRITES = re.compile(r"\b(?:chown|chmod|chgrp) (?:-\w+ )*-\w*R")  # changes every file of a folder, so writes it again


def conclude_image(scene: Scene) -> list[Finding]:
    """At most one finding on an image that carries bytes twice."""
    records = sorted(scene.records, key=sort_key)
    least = threshold("image_waste_bytes").value
    wasted = [record for record in of_rules(records, "image.wasted") if int(record.fields["wasted_bytes"]) >= least]
    if wasted:
        values = {"wasted": f"{int(wasted[0].fields['wasted_bytes']) / 1e9:.1f}"}
        reading = Reading("image_wastes", "container.image_bloat", "supported", values, ("image_waste_bytes",))
        return [finding_of(scene, reading, wasted[0], context=wasted)]
    layers = of_rules(records, "image.layer")
    for layer in layers:
        twin = next((other for other in layers if _is_twin(layer, other)), None)
        if twin is not None and _REWRITES.search(layer.fields["command"]):
            reading = Reading("layer_twice", "container.image_bloat", "consistent", {"size": layer.fields["size"]})
            return [finding_of(scene, reading, layer, context=[twin])]
    return []


def _is_twin(layer: LogRecord, below: LogRecord) -> bool:
    """Whether `below` is a lower layer of the same image and of the same size; docker prints the newest first."""
    if layer.source_id != below.source_id or below.place.line <= layer.place.line:
        return False
    near = threshold("layer_twin_ratio").value
    return abs(float(layer.fields["size"]) - float(below.fields["size"])) <= near * float(layer.fields["size"])
