"""The drawn values of a node: NUMA nodes with their CPUs, memory and devices, and their holders.

All outputs draw this value. A machine without a kubelet has the same form without allocations.
Sizes are in bytes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from enum import Enum
from typing import Final

from numalet.core.managers.device.inventory import Health
from numalet.core.managers.memory.ledger import MemoryLedger, NodeMemory
from numalet.core.model import cpu_set, numa_mask, resources
from numalet.core.model import machine_queries as ask
from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.machine_info import MachineInfo, NumaNodeInfo
from numalet.core.model.machine_queries import NodeClass
from numalet.core.model.pod import ContainerKey, Pod, QosClass
from numalet.core.model.value import Value, replace
from numalet.core.node.node import NO_DEVICES, Devices, Node
from numalet.core.snapshot import placement
from numalet.core.snapshot.placement import Placement
from numalet.core.snapshot.snapshot import Snapshot
from numalet.insight.maps import map_devices, pod_sums, resource_maps, shared_pool
from numalet.insight.maps.map_devices import DeviceUse, MapDevice
from numalet.insight.maps.pod_sums import PodSums
from numalet.insight.maps.refusal import Refusal
from numalet.insight.maps.resource_maps import CpuCell, NodeCpus
from numalet.insight.maps.shared_pool import NO_POOL, SharedPool
from numalet.wording import explanations

_NOTHING_HELD: Final = Snapshot()


class Unheld(Enum):
    """The meaning of CPUs or memory of a NUMA node that no pod has for itself.

    The words are those of every page, drawing and table. *Free*: a manager may allocate it to one
    pod alone. *Shared*: no manager allocates it per NUMA node, so there is no amount per node.
    *Not held*: state files name no reserved CPUs. A machine without a kubelet has no such word.
    """

    FREE = "free"
    SHARED = "shared"
    NOT_HELD = "not held"
    NO_KUBELET = ""

    @property
    def of_memory(self) -> str:
        return explanations.NOT_PER_NUMA_NODE if self is Unheld.SHARED else self.value


class ColoursBy(Enum):
    """The pods that have one colour and one letter in a drawing."""

    POD = "pod"
    NAMESPACE = "namespace"
    QOS = "qos"


class MemoryPart(Value):
    """The memory of one pod on one NUMA node alone.

    Without a ``pod_uid``: that of all pods with memory on several NUMA nodes, whose shares by node
    are unknown.
    """

    pod_uid: str
    size_bytes: int


class MemoryBar(Value):
    """Memory of one type on one NUMA node: ``total`` is the sum of reserved, parts and free."""

    resource: str
    total_bytes: int
    kept_back_bytes: int
    free_bytes: int
    parts: tuple[MemoryPart, ...] = ()

    @property
    def allocatable_bytes(self) -> int:
        return self.total_bytes - self.kept_back_bytes


class NumaBlock(Value, kw_only=True):
    """One NUMA node. ``cores`` are its CPUs core by core, ``distances`` are to all nodes by id.

    ``caches`` are the CPUs of each last-level cache, if the NUMA node has several.
    """

    node_id: int
    node_class: NodeClass
    sockets: tuple[int, ...]
    cores: tuple[tuple[CpuCell, ...], ...]
    memory: tuple[MemoryBar, ...]
    distances: tuple[int, ...] | None
    caches: tuple[CpuSet, ...] = ()

    @property
    def cpus(self) -> tuple[CpuCell, ...]:
        return tuple(cpu for core in self.cores for cpu in core)


class MemoryGroup(Value):
    """NUMA nodes that the Memory Manager treats as one, and the pods that cause it."""

    nodes: tuple[int, ...]
    pod_uids: tuple[str, ...]


class MapPod(Value, kw_only=True):
    """A pod with an allocation. ``is_active`` is false for leftovers of an ended pod."""

    uid: str
    namespace: str
    name: str
    qos_class: QosClass | None
    """Unknown if only the state files contain the pod."""
    nodes: tuple[int, ...]
    cpus: CpuSet
    memory_bytes: Mapping[str, int]
    devices: Mapping[str, tuple[str, ...]]
    is_active: bool = True

    @property
    def title(self) -> str:
        return pod_title(self.namespace, self.name, self.uid)


def pod_title(namespace: str, name: str, uid: str) -> str:
    """Return ``namespace/name``; state files have neither, only the uid."""
    return f"{namespace}/{name}" if namespace else f"unknown pod {uid[:8]}"


class NodeMap(Value, kw_only=True):
    """The whole node: NUMA nodes by ascending id, pods in the order of their admission.

    ``cpus`` and ``memory`` say what the parts without a holder are. ``colours_by`` is the reader's
    choice for drawings. ``lettered`` are all pods of drawings that share letters and colours, in
    the order of their letters.
    """

    title: str
    nodes: tuple[NumaBlock, ...]
    groups: tuple[MemoryGroup, ...] = ()
    devices: tuple[MapDevice, ...] = ()
    pods: tuple[MapPod, ...] = ()
    socket_count: int = 0
    cpus: Unheld = Unheld.FREE
    memory: Unheld = Unheld.FREE
    pool: SharedPool = NO_POOL
    refused: tuple[Refusal, ...] = ()
    colours_by: ColoursBy = ColoursBy.POD
    lettered: tuple[MapPod, ...] = ()

    def pod(self, uid: str) -> MapPod | None:
        return next((each for each in self.pods if each.uid == uid), None)


def in_letter_order(pods: Iterable[MapPod]) -> tuple[MapPod, ...]:
    """Return each pod once, those with exclusive CPUs first, as in the terminal's table of CPUs."""
    once = {pod.uid: pod for pod in pods}
    return tuple(sorted(once.values(), key=lambda pod: (not pod.cpus, pod.title, pod.uid)))


def with_letters_of(before: NodeMap, chart: NodeMap) -> NodeMap:
    """Return the chart with the letters of an earlier one: a new pod gets that of one that left."""
    order = before.lettered or in_letter_order(before.pods)
    here, known = {pod.uid: pod for pod in chart.pods}, {pod.uid for pod in order}
    new = iter(in_letter_order(pod for pod in chart.pods if pod.uid not in known))
    kept = [here.get(pod.uid) or next(new, pod) for pod in order]
    return replace(chart, lettered=(*kept, *new))


def of_machine(machine: MachineInfo, title: str, devices: Devices = NO_DEVICES) -> NodeMap:
    cores = _cores(resource_maps.cpu_map(_NOTHING_HELD, machine, cpu_set.EMPTY))
    return NodeMap(
        title=title,
        nodes=tuple(_block(each, cores, _unmanaged(each)) for each in _by_id(machine)),
        devices=tuple(
            MapDevice(
                resource,
                each.device_id,
                tuple(sorted({*each.numa_nodes})),
                DeviceUse.FREE if each.health is Health.HEALTHY else DeviceUse.UNHEALTHY,
                number=numbers[each.device_id],
            )
            for resource in sorted(devices)
            for numbers in [map_devices.numbered(each.device_id for each in devices[resource])]
            for each in devices[resource]
        ),
        socket_count=machine.socket_count,
        cpus=Unheld.NO_KUBELET,
        memory=Unheld.NO_KUBELET,
    )


def of_node(node: Node, title: str, known: Mapping[str, Pod] | None = None) -> NodeMap:
    """Return the map of a node; ``known`` are named inactive pods by uid."""
    machine, policy = node.rules.machine, node.roster.static_cpus
    return of_snapshot(
        node.snapshot,
        machine,
        title,
        known or {},
        left_behind=frozenset(key.pod_uid for key in node.leftovers()),
        kept_back=frozenset(machine.cpu_ids) - policy.allocatable if policy else cpu_set.EMPTY,
        cpus=Unheld.SHARED if policy is None else Unheld.FREE,
        memory=Unheld.FREE if node.snapshot.memory.nodes else Unheld.SHARED,
        pool=shared_pool.of_node(node),
    )


def of_snapshot(
    snapshot: Snapshot,
    machine: MachineInfo,
    title: str,
    known: Mapping[str, Pod],
    *,
    left_behind: Collection[str] = (), kept_back: Collection[int] = (),
    cpus: Unheld = Unheld.FREE, memory: Unheld = Unheld.FREE, pool: SharedPool = NO_POOL,
) -> NodeMap:  # fmt: skip
    """Return the map of a snapshot on this machine.

    ``known`` are pods by uid, ``left_behind`` uids of inactive ones, ``kept_back`` the CPUs that
    never become exclusive.
    """
    named = {**known, **snapshot.pods}
    held = placement.of_all(snapshot)
    cores = _cores(resource_maps.cpu_map(snapshot, machine, kept_back))
    of_pods: dict[str, list[Placement]] = {}
    for key, each in held.items():
        of_pods.setdefault(key.pod_uid, []).append(each)
    holders = of_pods.keys()
    # Active pods in the order of their admission; leftovers have no order, so they are sorted.
    uids = [*(uid for uid in snapshot.pods if uid in holders), *sorted(holders - {*snapshot.pods})]
    return NodeMap(
        title=title,
        nodes=tuple(
            _block(each, cores, _managed(each, snapshot.memory)) for each in _by_id(machine)
        ),
        groups=_groups(snapshot.memory.nodes, held),
        devices=tuple(map_devices.of_ledger(snapshot.device)),
        pods=tuple(
            _pod(
                uid,
                named.get(uid),
                pod_sums.sums_of_pod(uid, of_pods[uid], snapshot, machine),
                is_active=uid not in left_behind,
            )
            for uid in uids
        ),
        socket_count=machine.socket_count,
        cpus=cpus,
        memory=memory,
        pool=pool,
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
        caches=_caches(node),
    )


def _caches(node: NumaNodeInfo) -> tuple[CpuSet, ...]:
    by_id: dict[int | None, list[int]] = {}
    for core in node.cores:
        by_id.setdefault(core.uncore_cache_id, []).extend(core.threads)
    if None in by_id or len(by_id) == 1:
        return ()
    return tuple(frozenset(cpus) for cpus in sorted(by_id.values(), key=min))


def _unmanaged(node: NumaNodeInfo) -> tuple[MemoryBar, ...]:
    """Return memory without a manager; huge pages are separate."""
    pages = {
        resources.hugepages_name(each.page_size_kib): each.page_size_kib * 1024 * each.count
        for each in node.hugepages
    }
    # The kernel includes huge pages in the memory of a node.
    sizes = {resources.MEMORY: max(node.memory_bytes - sum(pages.values()), 0), **pages}
    return tuple(
        MemoryBar(name, size_bytes, 0, size_bytes)
        for name, size_bytes in sizes.items()
        if size_bytes or name == resources.MEMORY
    )


def _managed(node: NumaNodeInfo, ledger: MemoryLedger) -> tuple[MemoryBar, ...]:
    """Return the memory types of one NUMA node by the Memory Manager's ledger, if it has one."""
    of_node = ledger.nodes.get(node.node_id)
    if of_node is None:
        return _unmanaged(node)
    bars = []
    for row in resource_maps.type_rows(of_node):
        # A huge page size without pages would be an empty bar.
        if not row.total_bytes:
            continue
        alone: dict[str, int] = {}
        for key, block in ledger.counted_blocks():
            # Only blocks on this node alone; the kubelet does not record how a block divides over
            # several.
            if block.resource == row.resource and block.nodes == (node.node_id,):
                alone[key.pod_uid] = alone.get(key.pod_uid, 0) + block.size_bytes
        # Computed from the ledger's figures, so that a bar always adds up.
        kept_back = row.total_bytes - row.reserved_bytes - row.free_bytes
        parts = tuple(_parts(alone, row.reserved_bytes))
        bars.append(MemoryBar(row.resource, row.total_bytes, kept_back, row.free_bytes, parts))
    return tuple(bars)


def _parts(alone: Mapping[str, int], reserved_bytes: int) -> Iterator[MemoryPart]:
    """Yield reserved memory by pod; the rest belongs to pods on several NUMA nodes."""
    left_bytes = reserved_bytes
    for uid, size_bytes in sorted(alone.items()):
        # A kubelet that split a group may account for less on a node than its pods hold there.
        shown_bytes = min(size_bytes, left_bytes)
        if shown_bytes > 0:
            yield MemoryPart(uid, shown_bytes)
        left_bytes -= shown_bytes
    if left_bytes > 0:
        yield MemoryPart("", left_bytes)


def _groups(
    ledgers: Mapping[int, NodeMemory], held: Mapping[ContainerKey, Placement]
) -> tuple[MemoryGroup, ...]:
    groups = sorted({numa_mask.ids(each.group) for each in ledgers.values()})
    holders = {
        nodes: dict.fromkeys(
            key.pod_uid for key, part in held.items() for block in part.memory
            if block.nodes == nodes
        )
        for nodes in groups
    }  # fmt: skip
    return tuple(MemoryGroup(nodes, tuple(holders[nodes])) for nodes in groups if len(nodes) > 1)


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
