"""A node as it is drawn: NUMA nodes with their CPUs, memory and devices, and who holds what.

One value for every surface. A machine without a kubelet has the same form: nothing on it is held.
Sizes are in bytes, moments are not in here.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from enum import Enum
from typing import Final

from numalet.core.managers.device.inventory import Health
from numalet.core.managers.device.ledger import DeviceLedger
from numalet.core.managers.memory.ledger import MemoryLedger, NodeMemory
from numalet.core.model import cpu_set, numa_mask, resources
from numalet.core.model import machine_queries as ask
from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.machine_info import MachineInfo, NumaNodeInfo
from numalet.core.model.machine_queries import NodeClass
from numalet.core.model.pod import ContainerKey, Pod, QosClass
from numalet.core.model.value import Value
from numalet.core.node.node import NO_DEVICES, Devices, Node
from numalet.core.snapshot import placement
from numalet.core.snapshot.placement import Placement
from numalet.core.snapshot.snapshot import Snapshot
from numalet.insight.maps import cpu_map, device_map, memory_map, pod_sums
from numalet.insight.maps.cpu_map import CpuCell, NodeCpus
from numalet.insight.maps.pod_sums import PodSums

_NOTHING_HELD: Final = Snapshot()
_PCI_ADDRESS: Final = re.compile(
    r"(?<![0-9A-Fa-f])[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[01][0-9A-Fa-f]\.[0-7](?![0-9A-Fa-f])"
)
"""Domain, bus, device and function."""


class DeviceUse(Enum):
    """What became of a device."""

    FREE = "free"
    IN_USE = "in-use"
    UNHEALTHY = "unhealthy"


class MemoryPart(Value):
    """What one pod was promised of the memory of one NUMA node alone.

    An empty ``pod_uid`` stands for all pods with memory on several NUMA nodes: how much of it comes
    from which of them is not known.
    """

    pod_uid: str
    size_bytes: int


class MemoryBar(Value):
    """Memory of one type on one NUMA node: ``total`` is kept back, parts and free together."""

    resource: str
    total_bytes: int
    kept_back_bytes: int
    free_bytes: int
    parts: tuple[MemoryPart, ...] = ()


class NumaBlock(Value, kw_only=True):
    """One NUMA node. ``cores`` are its CPUs core by core, ``distances`` are to all nodes by id."""

    node_id: int
    node_class: NodeClass
    sockets: tuple[int, ...]
    cores: tuple[tuple[CpuCell, ...], ...]
    memory: tuple[MemoryBar, ...]
    distances: tuple[int, ...] | None

    @property
    def cpus(self) -> tuple[CpuCell, ...]:
        """All of its CPUs, core by core."""
        return tuple(cpu for core in self.cores for cpu in core)


class MemoryGroup(Value):
    """NUMA nodes that the Memory Manager treats as one, and the pods for which it does."""

    nodes: tuple[int, ...]
    pod_uids: tuple[str, ...]


class MapDevice(Value):
    """One device; ``nodes`` is empty where it is attached to none that is known."""

    resource: str
    device_id: str
    nodes: tuple[int, ...]
    state: DeviceUse
    pod_uid: str = ""

    @property
    def pci_address(self) -> str:
        """Where it is on the PCI bus, if its id says so; plugins choose ids as they like."""
        match = _PCI_ADDRESS.search(self.device_id)
        return "" if match is None else match[0].lower()


class MapPod(Value, kw_only=True):
    """A pod that holds something. ``is_active`` is false for what is left behind by one."""

    uid: str
    namespace: str
    name: str
    qos_class: QosClass | None
    """None where only the state files know the pod."""
    nodes: tuple[int, ...]
    cpus: CpuSet
    memory_bytes: Mapping[str, int]
    devices: Mapping[str, tuple[str, ...]]
    is_active: bool = True

    @property
    def title(self) -> str:
        """``namespace/name``, or the uid where no more is known."""
        return f"{self.namespace}/{self.name}" if self.name else self.uid


class NodeMap(Value, kw_only=True):
    """The whole node: NUMA nodes by ascending id, pods in the order of their admission.

    ``gives_out_cpus`` says that CPUs without a holder may be given to one container alone; else the
    CPU Manager is off, and all of them are shared for good.
    """

    title: str
    nodes: tuple[NumaBlock, ...]
    groups: tuple[MemoryGroup, ...] = ()
    devices: tuple[MapDevice, ...] = ()
    pods: tuple[MapPod, ...] = ()
    socket_count: int = 0
    gives_out_cpus: bool = True

    def pod(self, uid: str) -> MapPod | None:
        """The pod with this uid, if it holds anything."""
        return next((each for each in self.pods if each.uid == uid), None)


def of_machine(machine: MachineInfo, title: str, devices: Devices = NO_DEVICES) -> NodeMap:
    """The map of a machine on which no kubelet runs: all of it is free, and its devices too."""
    cores = _cores(cpu_map.cpu_map(_NOTHING_HELD, machine, cpu_set.EMPTY))
    return NodeMap(
        title=title,
        nodes=tuple(_block(each, cores, _unmanaged(each)) for each in _by_id(machine)),
        devices=tuple(
            MapDevice(
                resource,
                each.device_id,
                tuple(sorted({*each.numa_nodes})),
                DeviceUse.FREE if each.health is Health.HEALTHY else DeviceUse.UNHEALTHY,
            )
            for resource in sorted(devices)
            for each in devices[resource]
        ),
        socket_count=machine.socket_count,
    )


def of_node(node: Node, title: str, known: Mapping[str, Pod] | None = None) -> NodeMap:
    """The map of a node; ``known`` are pods by uid that are not active and have a name."""
    machine, policy = node.rules.machine, node.roster.static_cpus
    return of_snapshot(
        node.snapshot,
        machine,
        title,
        known or {},
        left_behind=frozenset(key.pod_uid for key in node.leftovers()),
        kept_back=frozenset(machine.cpu_ids) - policy.allocatable if policy else cpu_set.EMPTY,
        gives_out_cpus=policy is not None,
    )


def of_snapshot(
    snapshot: Snapshot,
    machine: MachineInfo,
    title: str,
    known: Mapping[str, Pod],
    *,
    left_behind: Collection[str] = (),
    kept_back: Collection[int] = (),
    gives_out_cpus: bool = True,
) -> NodeMap:
    """The map of a state of this machine.

    ``known`` are pods by uid, ``left_behind`` uids of those that are not active, ``kept_back`` the
    CPUs that no container gets for itself.
    """
    named = {**known, **snapshot.pods}
    held = placement.of_all(snapshot)
    cores = _cores(cpu_map.cpu_map(snapshot, machine, kept_back))
    of_pods: dict[str, list[Placement]] = {}
    for key, each in held.items():
        of_pods.setdefault(key.pod_uid, []).append(each)
    holders = of_pods.keys()
    uids = [*(uid for uid in snapshot.pods if uid in holders), *sorted(holders - {*snapshot.pods})]
    return NodeMap(
        title=title,
        nodes=tuple(
            _block(each, cores, _managed(each, snapshot.memory)) for each in _by_id(machine)
        ),
        groups=_groups(snapshot.memory.nodes, held),
        devices=tuple(_devices(snapshot.device)),
        pods=tuple(
            _pod(
                uid,
                named.get(uid),
                pod_sums.of_pod(uid, of_pods[uid], snapshot, machine),
                is_active=uid not in left_behind,
            )
            for uid in uids
        ),
        socket_count=machine.socket_count,
        gives_out_cpus=gives_out_cpus,
    )


def _by_id(machine: MachineInfo) -> list[NumaNodeInfo]:
    return sorted(machine.nodes, key=lambda node: node.node_id)


def _cores(cpus: Iterable[NodeCpus]) -> dict[int, tuple[tuple[CpuCell, ...], ...]]:
    return {each.node_id: each.cores for each in cpus}


def _block(
    node: NumaNodeInfo,
    cores: Mapping[int, tuple[tuple[CpuCell, ...], ...]],
    memory: tuple[MemoryBar, ...],
) -> NumaBlock:
    return NumaBlock(
        node_id=node.node_id,
        node_class=ask.node_class(node),
        sockets=tuple(sorted({core.socket_id for core in node.cores})),
        cores=cores.get(node.node_id, ()),
        memory=memory,
        distances=node.distances,
    )


def _unmanaged(node: NumaNodeInfo) -> tuple[MemoryBar, ...]:
    """Memory that no manager keeps account of: all of it is free; huge pages are apart."""
    pages = {
        resources.hugepages_name(each.page_size_kib): each.page_size_kib * 1024 * each.count
        for each in node.hugepages
    }
    sizes = {resources.MEMORY: max(node.memory_bytes - sum(pages.values()), 0), **pages}
    return tuple(
        MemoryBar(name, size_bytes, 0, size_bytes)
        for name, size_bytes in sizes.items()
        if size_bytes or name == resources.MEMORY
    )


def _managed(node: NumaNodeInfo, ledger: MemoryLedger) -> tuple[MemoryBar, ...]:
    """The memory types of one NUMA node by the Memory Manager's ledger, where there is one."""
    of_node = ledger.nodes.get(node.node_id)
    if of_node is None:
        return _unmanaged(node)
    bars = []
    for row in memory_map.type_rows(of_node):
        if not row.total_bytes:
            continue
        alone: dict[str, int] = {}
        for key, block in ledger.counted_blocks():
            if block.resource == row.resource and block.nodes == (node.node_id,):
                alone[key.pod_uid] = alone.get(key.pod_uid, 0) + block.size_bytes
        kept_back = row.total_bytes - row.reserved_bytes - row.free_bytes
        parts = tuple(_parts(alone, row.reserved_bytes))
        bars.append(MemoryBar(row.resource, row.total_bytes, kept_back, row.free_bytes, parts))
    return tuple(bars)


def _parts(alone: Mapping[str, int], reserved_bytes: int) -> Iterator[MemoryPart]:
    """What is reserved, by pod; the rest is of several NUMA nodes together.

    A kubelet that cut a group may count less on a node than its pods hold there.
    """
    left_bytes = reserved_bytes
    for uid, size_bytes in sorted(alone.items()):
        shown_bytes = min(size_bytes, left_bytes)
        if shown_bytes > 0:
            yield MemoryPart(uid, shown_bytes)
        left_bytes -= shown_bytes
    if left_bytes > 0:
        yield MemoryPart("", left_bytes)


def _groups(
    ledgers: Mapping[int, NodeMemory], held: Mapping[ContainerKey, Placement]
) -> tuple[MemoryGroup, ...]:
    """Groups of several NUMA nodes, by their lowest node."""
    groups = sorted({numa_mask.ids(each.group) for each in ledgers.values()})
    holders = {
        nodes: dict.fromkeys(
            key.pod_uid for key, part in held.items() for block in part.memory
            if block.nodes == nodes
        )
        for nodes in groups
    }  # fmt: skip
    return tuple(MemoryGroup(nodes, tuple(holders[nodes])) for nodes in groups if len(nodes) > 1)


def _devices(ledger: DeviceLedger) -> Iterator[MapDevice]:
    owners = {
        (resource, name): uid
        for uid, containers in ledger.records.items()
        for records in containers.values()
        for resource, record in records.items()
        for name in record.device_ids
    }
    for row in device_map.device_map(ledger):
        for names, state in (
            (row.in_use, DeviceUse.IN_USE),
            (row.free, DeviceUse.FREE),
            (row.unhealthy, DeviceUse.UNHEALTHY),
        ):
            for name in names:
                uid = owners.get((row.resource, name), "")
                yield MapDevice(row.resource, name, row.nodes, state, uid)


def _pod(uid: str, pod: Pod | None, sums: PodSums, *, is_active: bool) -> MapPod:
    return MapPod(
        uid=uid,
        namespace="" if pod is None else pod.namespace,
        name="" if pod is None else pod.name,
        qos_class=None if pod is None else pod.qos_class,
        nodes=sums.nodes,
        cpus=sums.cpus,
        memory_bytes=sums.memory_bytes,
        devices=sums.devices,
        is_active=is_active,
    )
