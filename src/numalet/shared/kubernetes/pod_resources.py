"""The PodResources API's values.

Sorted where the kubelet has no order. Kubelet v1.32: pod-resources ``server_v1.go``,
``GetDevices``, ``GetExclusiveCPUs``, ``GetMemory`` and ``GetAllocatable…`` of the managers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from numalet.core.admission import counting
from numalet.core.managers.device.ledger import NO_NODE
from numalet.core.managers.memory.ledger import Blocks, MemoryBlock
from numalet.core.model.pod import Container, ContainerKind, Pod
from numalet.core.model.value import Value
from numalet.core.node.node import Node
from numalet.core.snapshot import placement
from numalet.core.snapshot.snapshot import Snapshot


class PodResourcesDevice(Value):
    """A device on one NUMA node, if known; one with several nodes has several entries."""

    resource: str
    device_id: str
    node_id: int | None


class ContainerEntry(Value):
    """``cpus`` are exclusive CPUs only."""

    name: str
    devices: tuple[PodResourcesDevice, ...]
    cpus: tuple[int, ...]
    memory: Blocks


class PodEntry(Value):
    """Sidecars and app containers; ``app_containers`` are the latter's names.

    ``cpus`` and ``memory`` are what the pod got as a whole, including what its containers have.
    """

    name: str
    namespace: str
    containers: tuple[ContainerEntry, ...]
    app_containers: frozenset[str]
    cpus: tuple[int, ...] = ()
    memory: Blocks = ()


class Allocatable(Value):
    """All resources that the node can allocate, free or not."""

    devices: tuple[PodResourcesDevice, ...]
    cpus: tuple[int, ...]
    memory: Blocks


def lists_active_pods_alone(node: Node) -> bool:
    """Whether ``List`` leaves out pods that ended or were rejected."""
    rules = node.rules
    return rules.release_rules.pod_resources_list_active_pods or rules.behaviour.release_at_once


def pods(node: Node, known: Iterable[Pod]) -> tuple[PodEntry, ...]:
    """Allocations of these pods, by namespace and name."""
    snapshot = node.snapshot
    ordered = sorted(known, key=lambda pod: (pod.namespace, pod.name, pod.uid))
    return tuple(
        # Once all sources are ready, the kubelet drops device records of inactive pods before it
        # answers, but not their CPUs and memory.
        pod_entry(node, pod, stale=snapshot.sources_ready and pod.uid not in snapshot.pods)
        for pod in ordered
    )


def pod_entry(node: Node, pod: Pod, *, stale: bool = False) -> PodEntry:
    """The allocation of one pod; without devices if ``stale``."""
    snapshot = node.snapshot
    shown = [container for container in pod.containers() if _is_shown(container)]
    has_whole = node.rules.release_rules.pod_resources_show_whole_pods
    cpus = snapshot.cpu.pods.get(pod.uid) if has_whole else None
    memory = snapshot.memory.pods.get(pod.uid) if has_whole else None
    return PodEntry(
        name=pod.name,
        namespace=pod.namespace,
        containers=tuple(
            _container(
                snapshot,
                pod.uid,
                each.name,
                stale,
                has_cpus=cpus is None or counting.has_a_share_of_its_own(each),
                has_memory=memory is None or counting.has_memory_of_its_own(each),
            )
            for each in shown
        ),
        app_containers=frozenset(container.name for container in pod.app_containers),
        cpus=tuple(sorted(cpus or ())),
        memory=memory or (),
    )


def allocatable(node: Node) -> Allocatable:
    """Healthy devices; CPUs and memory without reservations."""
    inventory = node.snapshot.device.inventory
    static_cpus = node.roster.static_cpus
    return Allocatable(
        devices=tuple(
            entry
            for resource in sorted(inventory.registered)
            for device_id in sorted(inventory.healthy(resource))
            for entry in _placed(
                resource, device_id, inventory.devices_of(resource).by_id[device_id].numa_nodes
            )
        ),
        cpus=() if static_cpus is None else tuple(sorted(static_cpus.allocatable)),
        memory=tuple(
            MemoryBlock((node_id,), memory_type, table.allocatable)
            for node_id, memory in sorted(node.snapshot.memory.nodes.items())
            for memory_type, table in sorted(memory.tables.items())
            if table.allocatable > 0
        ),
    )


def _is_shown(container: Container) -> bool:
    return container.kind is not ContainerKind.INIT


def _container(
    snapshot: Snapshot, pod_uid: str, name: str, stale: bool, *, has_cpus: bool, has_memory: bool
) -> ContainerEntry:
    held = placement.of_container(snapshot, pod_uid, name)
    return ContainerEntry(
        name=name,
        devices=() if stale else tuple(_devices(snapshot, pod_uid, name)),
        cpus=tuple(sorted(held.cpus)) if has_cpus else (),
        memory=held.memory if has_memory else (),
    )


def _devices(snapshot: Snapshot, pod_uid: str, container: str) -> Iterator[PodResourcesDevice]:
    """The NUMA nodes of a device are those at the time of allocation."""
    records = snapshot.device.records.get(pod_uid, {}).get(container, {})
    for resource, record in sorted(records.items()):
        for device_id in sorted(record.device_ids):
            nodes = [node for node, ids in record.by_node.items() if device_id in ids]
            yield from _placed(resource, device_id, (n for n in nodes if n != NO_NODE))


def _placed(resource: str, device_id: str, node_ids: Iterable[int]) -> Iterator[PodResourcesDevice]:
    ordered = sorted(set(node_ids))
    if not ordered:
        yield PodResourcesDevice(resource, device_id, None)
    for node_id in ordered:
        yield PodResourcesDevice(resource, device_id, node_id)
