"""Sample manifests for the shown node."""

from __future__ import annotations

from typing import Final

from numalet.core.model import resources
from numalet.core.model.value import Value
from numalet.insight.maps.node_map import NodeMap

_MIB: Final = 1024 * 1024


class SampleManifest(Value):
    name: str
    title: str
    text: str


def samples(chart: NodeMap) -> tuple[SampleManifest, ...]:
    """Return samples for this node; a node without CPUs and memory has no samples."""
    block = next((each for each in chart.nodes if each.cpus and each.memory), None)
    if block is None:
        return ()
    cpus = len(block.cpus)
    sizes = {bar.resource: bar.total_bytes for bar in block.memory}
    size_mib = sizes.get(resources.MEMORY, 0) // _MIB
    half = {"cpu": str(max(cpus // 4 * 2, 1)), "memory": f"{max(size_mib // 2, 1)}Mi"}
    large = {"cpu": str(cpus + 2), "memory": f"{max(size_mib * 5 // 4, 1)}Mi"}
    small = {"cpu": "2", "memory": "256Mi"}
    some = [
        SampleManifest("half", "Half a NUMA node", _manifest("half-a-numa-node", half, half)),
        SampleManifest(
            "larger", "Larger than a NUMA node", _manifest("larger-than-a-numa-node", large, large)
        ),
        SampleManifest(
            "burstable", "Burstable", _manifest("burstable", {"cpu": "500m", "memory": "128Mi"}, {})
        ),
    ]
    if chart.devices:
        one = {**small, chart.devices[0].resource: "1"}
        some.insert(1, SampleManifest("device", "One device", _manifest("one-device", one, one)))
    return tuple(some)


def _manifest(name: str, requests: dict[str, str], limits: dict[str, str]) -> str:
    lines = [
        *("apiVersion: v1", "kind: Pod", "metadata:", f"  name: {name}", "spec:"),
        *("  containers:", "  - name: main", "    image: example.org/image", "    resources:"),
    ]
    for field, amounts in (("requests", requests), ("limits", limits)):
        if amounts:
            lines.append(f"      {field}:")
            lines += [f"        {resource}: {value!r}" for resource, value in amounts.items()]
    return "\n".join(lines) + "\n"
