"""The CPU and memory sets that the kubelet passes to the container runtime.

On Linux there are two: CPUs (``cpuset.cpus``) and NUMA nodes for memory (``cpuset.mems``). Windows
has no memory sets. There the kubelet merges the CPU Manager's CPUs with the *memory CPUs*, all CPUs
of the NUMA nodes of the container's memory. Kubelet: ``PreCreateContainer`` for Linux and for
Windows, ``computeFinalCpuSet``, v1.32.
"""

from __future__ import annotations

from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.machine_info import MachineInfo
from numalet.core.snapshot import placement
from numalet.core.snapshot.snapshot import Snapshot


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
    return placement.of_container(snapshot, pod_uid, container).memory_nodes


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
