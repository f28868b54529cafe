"""The allocation of one pod as sums; node sets are tuples of ids."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from numalet.core.admission.decision import Decision
from numalet.core.managers.device.ledger import NO_NODE
from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.machine_info import MachineInfo
from numalet.core.model.value import Value
from numalet.core.snapshot.placement import Placement
from numalet.core.snapshot.snapshot import Snapshot


class PodSums(Value):
    """Sums of one pod: exclusive CPUs, bytes by memory type, device ids by resource.

    ``nodes`` are the ids of all its NUMA nodes, ascending.
    """

    nodes: tuple[int, ...]
    cpus: CpuSet
    memory_bytes: Mapping[str, int]
    devices: Mapping[str, tuple[str, ...]]


def pod_sums(decision: Decision, machine: MachineInfo) -> PodSums:
    """Return the sums right after the decision; empty for a rejected pod."""
    if not decision.admitted:
        return PodSums((), frozenset(), {}, {})
    return sums_of_pod(decision.pod.uid, decision.placements.values(), decision.after, machine)


def sums_of_pod(
    uid: str, placements: Collection[Placement], snapshot: Snapshot, machine: MachineInfo
) -> PodSums:
    cpus: CpuSet = frozenset().union(*(held.cpus for held in placements))
    nodes = {
        node.node_id for node in machine.nodes for core in node.cores if cpus & {*core.threads}
    }
    memory: dict[str, int] = {}
    devices: dict[str, set[str]] = {}
    # The containers of a pod with pod-level resources divide its memory, some of it twice.
    whole = snapshot.memory.pods.get(uid)
    for block in whole or ():
        memory[block.resource] = block.size_bytes
    for held in placements:
        nodes.update(held.memory_nodes)
        for block in held.memory if whole is None else ():
            # Blocks of init containers shrink when others reuse them, so nothing is counted twice.
            memory[block.resource] = memory.get(block.resource, 0) + block.size_bytes
        for resource, names in held.devices.items():
            devices.setdefault(resource, set()).update(names)
    return PodSums(
        nodes=tuple(sorted(nodes | _device_nodes(uid, snapshot))),
        cpus=cpus,
        memory_bytes=memory,
        devices={resource: tuple(sorted(devices[resource])) for resource in sorted(devices)},
    )


def _device_nodes(uid: str, snapshot: Snapshot) -> set[int]:
    """Return the NUMA nodes of the pod's devices, as reported when they were allocated."""
    records = snapshot.device.records.get(uid, {})
    groups = (record.by_node for held in records.values() for record in held.values())
    return {node_id for by_node in groups for node_id in by_node} - {NO_NODE}
