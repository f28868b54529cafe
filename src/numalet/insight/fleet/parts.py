"""Parts of several answers about a fleet: the origins of nodes, the allocations of containers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from numalet.core.cluster.cluster import Cluster, ClusterPod, Origin
from numalet.core.model import cpu_set
from numalet.core.model.findings import Finding
from numalet.core.model.value import Value
from numalet.core.snapshot.placement import Placement


class NodeNote(Value):
    """Something about a node: why too little is known of it, or what contradicts itself."""

    node: str
    code: str
    text: str


class Origins(Value, kw_only=True):
    """The number of nodes of each origin, and of each release of the kubelet.

    ``notes`` are about nodes with a decision.
    """

    published: int
    rebuilt: int
    described: int
    releases: Mapping[str, int]
    undecided: tuple[NodeNote, ...]
    notes: tuple[NodeNote, ...]


class FleetMemory(Value):
    """Memory of one type on a set of NUMA nodes."""

    type: str
    numa_nodes: tuple[int, ...]
    size_bytes: int


class FleetPlacement(Value):
    """The allocation of one container; ``cpus`` as in ``0-3,8``, empty in the shared pool."""

    cpus: str
    memory: tuple[FleetMemory, ...]
    devices: Mapping[str, tuple[str, ...]]


def origins(cluster: Cluster) -> Origins:
    counts = cluster.origins()
    undecided = ((name, each.why) for name, each in sorted(cluster.undecided.items()))
    notes = ((name, note) for name, each in sorted(cluster.nodes.items()) for note in each.notes)
    return Origins(
        published=counts.get(Origin.PUBLISHED, 0),
        rebuilt=counts.get(Origin.REBUILT, 0),
        described=counts.get(Origin.DESCRIBED, 0),
        releases=cluster.releases(),
        undecided=_notes(undecided),
        notes=_notes(notes),
    )


def _notes(findings: Iterable[tuple[str, Finding]]) -> tuple[NodeNote, ...]:
    return tuple(NodeNote(name, each.code, str(each)) for name, each in findings)


def placements(by_container: Mapping[str, Placement]) -> dict[str, FleetPlacement]:
    return {
        name: FleetPlacement(
            cpu_set.text(each.cpus),
            tuple(FleetMemory(part.resource, part.nodes, part.size_bytes) for part in each.memory),
            each.devices,
        )
        for name, each in by_container.items()
    }


def controller_text(pod: ClusterPod) -> str:
    """Return the pod's controller as ``Kind/name``; empty if it has no controller."""
    owner = pod.controller
    return "" if owner is None else f"{owner.kind}/{owner.name}"
