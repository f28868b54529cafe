"""The sets that the container runtime gets when a container is created.

On Linux these are two: CPUs (``cpuset.cpus``) and NUMA nodes for memory (``cpuset.mems``).
Windows has no memory sets: memory comes from where the CPU is. There the kubelet merges the CPU
Manager's CPUs with the *memory CPUs*, all CPUs of the NUMA nodes of the container's memory, into
one set of CPUs. Memory itself is counted on Windows, not enforced.
Kubelet: ``PreCreateContainer`` for Linux and for Windows, ``computeFinalCpuSet``, v1.32.
"""

from __future__ import annotations

from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.machine_info import MachineInfo
from numalet.core.snapshot import placement
from numalet.core.snapshot.snapshot import Snapshot


def cpus(snapshot: Snapshot, pod_uid: str, container: str) -> CpuSet:
    """The container's exclusive CPUs, else the shared pool; empty where nothing is set.

    The shared pool is empty under the policy none. Kubelet: ``GetCPUSetOrDefault``, v1.32.
    """
    held = snapshot.cpu.cpus_of(pod_uid, container)
    return snapshot.cpu.default if held is None else held


def memory_nodes(snapshot: Snapshot, pod_uid: str, container: str) -> tuple[int, ...]:
    """Ids of the NUMA nodes of the container's memory, ascending; empty where nothing is set.

    Kubelet: ``GetMemoryNUMANodes``, v1.32.
    """
    return placement.of_container(snapshot, pod_uid, container).memory_nodes


def windows_cpu_affinity(
    snapshot: Snapshot, machine: MachineInfo, pod_uid: str, container: str
) -> CpuSet | None:
    """The CPUs that a container on Windows is bound to; None if it is bound to none."""
    return merged(
        cpus(snapshot, pod_uid, container),
        cpus_of_nodes(machine, memory_nodes(snapshot, pod_uid, container)),
    )


def merged(decided: CpuSet, near_memory: CpuSet) -> CpuSet | None:
    """The CPU Manager's CPUs and the memory CPUs in one set; None if both are empty.

    What the CPU Manager decided stands alone if it is the larger set, or within the other.
    """
    if not decided:
        return near_memory or None
    if not near_memory or len(decided) > len(near_memory) or decided <= near_memory:
        return decided
    return decided | near_memory


def cpus_of_nodes(machine: MachineInfo, node_ids: tuple[int, ...]) -> CpuSet:
    """All CPUs of these NUMA nodes."""
    return frozenset(
        cpu
        for node in machine.nodes
        if node.node_id in node_ids
        for core in node.cores
        for cpu in core.threads
    )
