"""The CPUs, memory and devices of a container, and the changes between two snapshots."""

from __future__ import annotations

from collections.abc import Mapping

from numalet.core.managers.memory.ledger import Blocks, NodeMemory
from numalet.core.model import cpu_set
from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.machine_info import MachineInfo
from numalet.core.model.numa_mask import NumaMask
from numalet.core.model.pod import ContainerKey, Pod
from numalet.core.model.value import ShownValue, Value
from numalet.core.snapshot.snapshot import Snapshot


class Placement(Value):
    """One container's part of the node.

    ``cpus`` are its exclusive CPUs, empty if it runs in the shared pool. ``memory`` are its blocks
    by memory type, ``devices`` the ids of its devices by resource, all sorted.
    """

    cpus: CpuSet
    memory: Blocks
    devices: Mapping[str, tuple[str, ...]]

    @property
    def memory_nodes(self) -> tuple[int, ...]:
        """Ids of the NUMA nodes of its memory, ascending."""
        return tuple(sorted({node_id for block in self.memory for node_id in block.nodes}))


def of_container(snapshot: Snapshot, pod_uid: str, container: str) -> Placement:
    """Return the container's placement; empty if the container is unknown."""
    records = snapshot.device.records.get(pod_uid, {}).get(container, {})
    return Placement(
        cpus=snapshot.cpu.cpus_of(pod_uid, container) or cpu_set.EMPTY,
        memory=tuple(
            sorted(
                snapshot.memory.blocks_of(pod_uid, container) or (),
                key=lambda block: block.resource,
            )
        ),
        devices={
            resource: tuple(sorted(record.device_ids))
            for resource, record in sorted(records.items())
        },
    )


def of_pod(snapshot: Snapshot, pod: Pod) -> dict[str, Placement]:
    return {
        container.name: of_container(snapshot, pod.uid, container.name)
        for container in pod.containers()
    }


def of_all(snapshot: Snapshot) -> dict[ContainerKey, Placement]:
    """Return the placement of every container in any ledger, active or not; sorted."""
    holders = {
        *snapshot.cpu.holders(),
        *snapshot.memory.holders(),
        *snapshot.device.holders(),
    }
    return {key: of_container(snapshot, *key) for key in sorted(holders)}


# The CPU and memory sets that the kubelet passes to the container runtime. On Linux there are two:
# CPUs (``cpuset.cpus``) and NUMA nodes for memory (``cpuset.mems``). Windows has no memory sets.
# There the kubelet merges the CPU Manager's CPUs with the *memory CPUs*, all CPUs of the NUMA nodes
# of the container's memory. Kubelet: ``PreCreateContainer`` for Linux and for Windows,
# ``computeFinalCpuSet``, v1.32.


def cpus(snapshot: Snapshot, pod_uid: str, container: str) -> CpuSet:
    """Return the container's exclusive CPUs, else the shared pool; empty means unset.

    Under policy none the shared pool is empty. Kubelet: ``GetCPUSetOrDefault``, v1.32.
    """
    held = snapshot.cpu.cpus_of(pod_uid, container)
    return snapshot.cpu.default if held is None else held


def memory_nodes(snapshot: Snapshot, pod_uid: str, container: str) -> tuple[int, ...]:
    """Return the NUMA node ids of the container's memory, ascending; empty if unset.

    Kubelet: ``GetMemoryNUMANodes``, v1.32.
    """
    return of_container(snapshot, pod_uid, container).memory_nodes


def windows_cpu_affinity(
    snapshot: Snapshot, machine: MachineInfo, pod_uid: str, container: str
) -> CpuSet | None:
    return merged(
        cpus(snapshot, pod_uid, container),
        cpus_of_nodes(machine, memory_nodes(snapshot, pod_uid, container)),
    )


def merged(decided: CpuSet, near_memory: CpuSet) -> CpuSet | None:
    """Merge the CPU Manager's CPUs with the memory CPUs, unless both are empty.

    The CPU Manager's set stands alone if it is larger than the other, or inside it.
    """
    if not decided:
        return near_memory or None
    if not near_memory or len(decided) > len(near_memory) or decided <= near_memory:
        return decided
    return decided | near_memory


def cpus_of_nodes(machine: MachineInfo, node_ids: tuple[int, ...]) -> CpuSet:
    return frozenset(
        cpu
        for node in machine.nodes
        if node.node_id in node_ids
        for core in node.cores
        for cpu in core.threads
    )


class Changes(ShownValue):
    """The changes from one snapshot to a later one.

    ``allocated`` and ``released`` are the new and the old placements of all containers whose
    placement changed; a container that got other resources is in both. ``reserved_bytes`` is by
    node id and memory type, only where it changed. ``groups`` are the new groups of the nodes whose
    group changed.
    """

    pods_added: tuple[str, ...]
    pods_gone: tuple[str, ...]
    allocated: Mapping[ContainerKey, Placement]
    released: Mapping[ContainerKey, Placement]
    reserved_bytes: Mapping[int, Mapping[str, int]]
    groups: Mapping[int, NumaMask]


def diff_snapshots(before: Snapshot, after: Snapshot) -> Changes:
    """Return the changes; containers and nodes are sorted."""
    held, holds = of_all(before), of_all(after)
    nodes = [
        (node_id, before.memory.nodes[node_id], node)
        for node_id, node in after.memory.nodes.items()
        if node_id in before.memory.nodes
    ]
    moved = {node_id: _moved(old, new) for node_id, old, new in nodes}
    return Changes(
        pods_added=tuple(sorted(after.pods.keys() - before.pods.keys())),
        pods_gone=tuple(sorted(before.pods.keys() - after.pods.keys())),
        allocated={key: now for key, now in holds.items() if held.get(key) != now},
        released={key: then for key, then in held.items() if holds.get(key) != then},
        reserved_bytes={node_id: types for node_id, types in moved.items() if types},
        groups={node_id: new.group for node_id, old, new in nodes if old.group != new.group},
    )


def _moved(old: NodeMemory, new: NodeMemory) -> dict[str, int]:
    differences = {
        name: table.reserved - old.tables[name].reserved for name, table in new.tables.items()
    }
    return {name: size for name, size in differences.items() if size}
