"""NodeResourceTopology v1alpha2, from PodResources answers, for NUMA-aware schedulers.

It cannot express memory groups of several NUMA nodes; NumaNode can. Differences from the topology
updater of Node Feature Discovery: docs/reference/numanode.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import xxhash

from numalet.core.config.rules import Scope, TopologyPolicy, TopologyRules
from numalet.core.managers.memory.ledger import MemoryBlock
from numalet.core.model import resources
from numalet.core.model.machine_info import MachineInfo, NumaNodeInfo
from numalet.core.model.value import Mutable
from numalet.io.kube_api import paths
from numalet.shared.kubernetes.pod_resources import (
    Allocatable,
    PodEntry,
    PodResourcesDevice,
)

GROUP: Final = "topology.node.k8s.io"
API_VERSION: Final = f"{GROUP}/v1alpha2"
KIND: Final = "NodeResourceTopology"
PLURAL: Final = "noderesourcetopologies"
PATH: Final = paths.TOPOLOGIES

_FINGERPRINT: Final = "pfp0v001"
_USUAL_NODE_LIMIT: Final = 8
_HIGHEST_NODE_LIMIT: Final = 1024
_POLICIES: Final[Mapping[TopologyPolicy, str]] = {
    TopologyPolicy.NONE: "None",
    TopologyPolicy.BEST_EFFORT: "BestEffort",
    TopologyPolicy.RESTRICTED: "Restricted",
    TopologyPolicy.SINGLE_NUMA_NODE: "SingleNUMANode",
}
_LEVELS: Final[Mapping[Scope, str]] = {
    Scope.CONTAINER: "ContainerLevel",
    Scope.POD: "PodLevel",
}


class _Amount(Mutable):
    capacity: int
    allocatable: int
    available: int

    def give(self, wanted: int) -> int:
        """Allocate up to this much; return the rest."""
        given = min(wanted, self.available)
        self.available -= given
        return wanted - given


_Zones = dict[int, dict[str, _Amount]]


def topology(
    machine: MachineInfo,
    rules: TopologyRules,
    allocatable: Allocatable,
    pods: Iterable[PodEntry],
) -> dict[str, Any]:
    """The object's content. ``pods`` are those of the PodResources API."""
    listed = tuple(pods)
    zones = _available(machine, _allocatable(machine, allocatable), listed)
    nodes = sorted(machine.nodes, key=lambda node: node.node_id)
    return {
        "attributes": _attributes(rules, listed),
        "topologyPolicies": [_old_policy(rules)],
        "zones": [_zone(node, machine, zones[node.node_id]) for node in nodes],
    }


def named(
    name: str, content: Mapping[str, Any], owner: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Add metadata; ``owner`` is a reference to the Node, if known."""
    metadata: dict[str, Any] = {"name": name}
    if owner is not None:
        metadata["ownerReferences"] = [dict(owner)]
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": metadata, **content}


def fingerprint(pods: Iterable[tuple[str, str]]) -> str:
    """Hash a set of pods, in any order. Schedulers compare it with their own."""
    hashes = sorted(
        xxhash.xxh64_intdigest(name.encode(), seed=xxhash.xxh64_intdigest(namespace.encode()))
        for namespace, name in pods
    )
    return _FINGERPRINT + xxhash.xxh64_hexdigest(
        b"".join(each.to_bytes(8, "little") for each in hashes)
    )


def _attributes(rules: TopologyRules, pods: Iterable[PodEntry]) -> list[dict[str, str]]:
    attributes = {
        "nodeTopologyPodsFingerprint": fingerprint((each.namespace, each.name) for each in pods),
        "nodeTopologyPodsFingerprintMethod": "all",
        "topologyManagerPolicy": rules.policy.value,
        "topologyManagerScope": rules.scope.value,
    }
    limit = rules.node_limit
    if limit != _USUAL_NODE_LIMIT:
        most = _HIGHEST_NODE_LIMIT if limit is None else min(limit, _HIGHEST_NODE_LIMIT)
        attributes["topologyManagerMaxNUMANodes"] = str(most)
    if rules.prefer_closest_numa_nodes:
        attributes["topologyManagerOptionPreferClosestNumaNodes"] = "true"
    return [{"name": name, "value": value} for name, value in sorted(attributes.items())]


# The older field for the policy; the none policy has no scope there.
def _old_policy(rules: TopologyRules) -> str:
    name = _POLICIES[rules.policy]
    return name if rules.policy is TopologyPolicy.NONE else name + _LEVELS[rules.scope]


def _allocatable(machine: MachineInfo, allocatable: Allocatable) -> _Zones:
    """Zones without allocations."""
    zones: _Zones = {node.node_id: {} for node in machine.nodes}
    for resource, counts in _devices(allocatable.devices).items():
        for node_id, count in counts.items():
            if node_id in zones:
                zones[node_id][resource] = _Amount(count, count, count)
    sizes: Counter[tuple[int, str]] = Counter()
    for block in allocatable.memory:
        for node_id in block.nodes:
            sizes[node_id, block.resource] += block.size_bytes
    for node in machine.nodes:
        zone = zones[node.node_id]
        for memory_type, capacity in _memory_capacity(node).items():
            size = sizes.get((node.node_id, memory_type))
            if size is not None:
                zone[memory_type] = _Amount(capacity, size, size)
        cpus = frozenset(_cpus(node))
        given = len(cpus.intersection(allocatable.cpus))
        if cpus or not zone:
            # A zone of only reserved CPUs still needs an entry.
            zone[resources.CPU] = _Amount(len(cpus), given, given)
    return zones


def _cpus(node: NumaNodeInfo) -> Iterator[int]:
    for core in node.cores:
        yield from core.threads


def _memory_capacity(node: NumaNodeInfo) -> dict[str, int]:
    pages = {
        resources.hugepages_name(each.page_size_kib): each.page_size_kib * 1024 * each.count
        for each in node.hugepages
    }
    return {resources.MEMORY: node.memory_bytes, **pages}


def _devices(devices: Iterable[PodResourcesDevice]) -> dict[str, Counter[int]]:
    """Devices by resource and NUMA node; one with several nodes counts on each."""
    counts: dict[str, Counter[int]] = {}
    for each in devices:
        if each.node_id is not None:
            counts.setdefault(each.resource, Counter())[each.node_id] += 1
    return counts


def _available(machine: MachineInfo, zones: _Zones, pods: Iterable[PodEntry]) -> _Zones:
    """Subtract the allocations of containers, and of pods as a whole."""
    node_of = machine.node_of_cpu
    for pod in pods:
        # What a pod has as a whole includes what its containers have.
        for cpus in (pod.cpus,) if pod.cpus else (each.cpus for each in pod.containers):
            for node_id, count in Counter(node_of.get(cpu, -1) for cpu in cpus).items():
                _held(zones, node_id, resources.CPU, count)
        for blocks in (pod.memory,) if pod.memory else (each.memory for each in pod.containers):
            for block in blocks:
                _hold_block(zones, block)
        for container in pod.containers:
            for resource, counts in _devices(container.devices).items():
                for node_id, count in counts.items():
                    _held(zones, node_id, resource, count)
    return zones


def _held(zones: _Zones, node_id: int, resource: str, wanted: int) -> int:
    """Allocate up to this much in the zone; return the rest."""
    amount = zones.get(node_id, {}).get(resource)
    return wanted if amount is None else amount.give(wanted)


def _hold_block(zones: _Zones, block: MemoryBlock) -> None:
    """Allocate a block on its NUMA nodes, lowest first: the kubelet does not report the split."""
    left = block.size_bytes
    for node_id in sorted(block.nodes):
        left = _held(zones, node_id, block.resource, left)


def zone_name(node_id: int) -> str:
    """Return the name of a NUMA node's zone; other objects refer to it, too."""
    return f"node-{node_id}"


def _zone(
    node: NumaNodeInfo, machine: MachineInfo, amounts: Mapping[str, _Amount]
) -> dict[str, Any]:
    zone: dict[str, Any] = {"name": zone_name(node.node_id), "type": "Node"}
    if node.cores and node.distances is not None:
        # Rows of nodes without CPUs are left out: costs grow with the square of the nodes.
        costs = zip(machine.node_ids, node.distances, strict=False)
        zone["costs"] = [{"name": zone_name(other), "value": value} for other, value in costs]
    zone["resources"] = [
        {
            "name": name,
            "capacity": str(amount.capacity),
            "allocatable": str(amount.allocatable),
            "available": str(amount.available),
        }
        for name, amount in sorted(amounts.items())
    ]
    return zone
