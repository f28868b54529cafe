"""Builds a node from its published state, so that it decides every later pod alike.

Pods are from the API server, machine and configuration from the class. The state lacks data without
influence: texts of state files, responses of device plugins, the revision. Readers do not know
managers that the kubelet does not have.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from numalet.core.admission import counting
from numalet.core.cluster import classes
from numalet.core.cluster.published_state import (
    ContainerHeld,
    DevicesState,
    NodeMemoryState,
    Positions,
    container_hash,
)
from numalet.core.cluster.published_state import PublishedState as PublishedState
from numalet.core.cluster.published_state import of_node as of_node
from numalet.core.hints.provider import Hint
from numalet.core.managers.cpu.ledger import CpuLedger, ReusableCpus
from numalet.core.managers.device import ledger as device_ledger
from numalet.core.managers.device.inventory import (
    Device,
    Health,
    Inventory,
    KnownDevices,
    Registration,
)
from numalet.core.managers.device.ledger import (
    NO_NODE,
    DeviceLedger,
    DeviceRecord,
    ReusableDevices,
)
from numalet.core.managers.memory.ledger import (
    UINT64,
    MemoryLedger,
    MemoryTable,
    NodeMemory,
    ReusableMemory,
)
from numalet.core.model.pod import ContainerKey, Pod
from numalet.core.model.value import replace
from numalet.core.node.node import Node
from numalet.core.snapshot.snapshot import Snapshot


def onto(empty: Node, state: PublishedState, pods: Iterable[Pod]) -> Node:
    """Return the node with this state and these active pods, in the order of their admission.

    ``empty`` is an empty node of the class. Allocations of other pods are leftovers: they are
    released when the kubelet would release them, at the next admission.
    """
    rules = empty.rules.release_rules
    active: dict[str, Pod] = {}
    sums = empty.snapshot.sums
    for each in pods:
        # QoS class and requests depend on the release, as at the admission.
        pod = counting.counted(each, rules)
        active[pod.uid] = pod
        sums = None if sums is None else sums.plus(pod)
    keyed = {
        uid: list(_with_keys(uid, pod_held.containers, active.get(uid)))
        for uid, pod_held in state.pods.items()
    }
    every = [pair for pairs in keyed.values() for pair in pairs]
    affinities: dict[str, dict[str, Hint]] = {}
    for key, held in every:
        if held.affinity is not None:
            affinities.setdefault(key.pod_uid, {})[key.container] = held.affinity
    return empty.at(
        Snapshot(
            device=_device_ledger(empty.snapshot.device, state, every),
            cpu=_cpu_ledger(empty.snapshot.cpu, state, keyed),
            memory=_memory_ledger(empty.snapshot.memory, state, keyed),
            affinities=affinities,
            pods=active,
            sums=sums,
            # A pod with a manifest is active itself, so its containers need not be assumed.
            assumed=frozenset(
                key for key, held in every if held.is_assumed and key.pod_uid not in active
            ),
            sources_ready=state.sources_ready,
        )
    )


_Keyed = tuple[ContainerKey, ContainerHeld]


def _with_keys(uid: str, containers: Iterable[ContainerHeld], pod: Pod | None) -> Iterator[_Keyed]:
    """Yield the containers with their names, or with substitutes in the same order.

    Records are released in this order. Names with equal hashes match in sorted order.
    """
    names: dict[str, list[str]] = {}
    for name in sorted(pod.by_name) if pod is not None else ():
        names.setdefault(container_hash(ContainerKey(uid, name)), []).append(name)
    for at, each in enumerate(containers):
        known = names.get(each.container_hash)
        # An unknown name becomes a substitute that sorts at the same position.
        name = known.pop(0) if known else f"{at:03d}-{each.container_hash}"
        yield ContainerKey(uid, name), each


def _cpu_ledger(
    empty: CpuLedger, state: PublishedState, keyed: Mapping[str, list[_Keyed]]
) -> CpuLedger:
    if state.shared_cpus is None:
        return empty
    exclusive: dict[str, dict[str, frozenset[int]]] = {}
    reusable = empty.reusable
    for uid, pairs in keyed.items():
        held = {key.container: each.held.cpus for key, each in pairs}
        if of_pod := {name: cpus for name, cpus in held.items() if cpus is not None}:
            exclusive[uid] = of_pod
        if cpus := state.pods[uid].reusable.cpus:
            # A ledger has reusable CPUs of one pod only, so the state has at most one such pod.
            reusable = ReusableCpus(uid, cpus)
    whole = {uid: each.whole.cpus for uid, each in state.pods.items()}
    pods = {uid: cpus for uid, cpus in whole.items() if cpus is not None}
    return CpuLedger(state.shared_cpus, exclusive, reusable, pods)


def _memory_ledger(
    empty: MemoryLedger, state: PublishedState, keyed: Mapping[str, list[_Keyed]]
) -> MemoryLedger:
    nodes = dict(empty.nodes)
    for node_id, memory in state.memory.items():
        if node_id in nodes:
            nodes[node_id] = _node_memory(nodes[node_id], memory)
    blocks = {}
    reusable = empty.reusable
    for uid, pairs in keyed.items():
        held = {key.container: each.held.memory for key, each in pairs}
        if of_pod := {name: each for name, each in held.items() if each is not None}:
            blocks[uid] = of_pod
        if sizes := state.pods[uid].reusable_memory:
            reusable = ReusableMemory(uid, {(mask, name): size for mask, name, size in sizes})
    whole = {uid: each.whole.memory for uid, each in state.pods.items()}
    pods = {uid: each for uid, each in whole.items() if each is not None}
    return MemoryLedger(nodes, blocks, reusable, pods)


def _node_memory(empty: NodeMemory, state: NodeMemoryState) -> NodeMemory:
    tables = {}
    for name, old in empty.tables.items():
        reserved = state.reserved.get(name, 0)
        # Published only if it differs from this, for example after a wrap-around.
        free = state.free.get(name, (old.allocatable - reserved) & UINT64)
        tables[name] = MemoryTable(old.total, old.system_reserved, old.allocatable, reserved, free)
    return NodeMemory(state.assignments, tables, state.group)


def _ids(positions: Positions) -> frozenset[str]:
    return frozenset(map(classes.device_id, positions))


def _device_ledger(
    empty: DeviceLedger, state: PublishedState, every: Iterable[_Keyed]
) -> DeviceLedger:
    inventory = _inventory(empty.inventory, state.devices)
    records: dict[str, dict[str, dict[str, DeviceRecord]]] = {}
    running = set()
    for key, each in every:
        if each.held.devices:
            records.setdefault(key.pod_uid, {})[key.container] = {
                resource: _record(inventory.devices_of(resource), positions)
                for resource, positions in each.held.devices.items()
            }
        if each.ran_at_start:
            running.add(key)
    in_use = {**device_ledger.in_use_by(records)}
    # Published only where it differs from the records: devices without a record after a failed
    # allocation.
    in_use |= {resource: _ids(positions) for resource, positions in state.in_use.items()}
    reusable = empty.reusable
    for uid, of_pod in state.pods.items():
        if devices := of_pod.reusable.devices:
            reusable = ReusableDevices(uid, {name: _ids(each) for name, each in devices.items()})
    return replace(
        empty,
        inventory=inventory,
        records=records,
        in_use=in_use,
        reusable=reusable,
        running=frozenset(running),
        # The checkpoint is not published: the next report of a plugin writes it.
        written=None,
    )


def _record(devices: KnownDevices, positions: Positions) -> DeviceRecord:
    by_node: dict[int, tuple[str, ...]] = {}
    for name in map(classes.device_id, positions):
        known = devices.by_id.get(name)
        for node_id in (known.numa_nodes if known is not None else ()) or (NO_NODE,):
            by_node[node_id] = (*by_node.get(node_id, ()), name)
    return DeviceRecord(dict(sorted(by_node.items())))


def _inventory(empty: Inventory, states: Mapping[str, DevicesState]) -> Inventory:
    if not states:
        return empty
    known, registered = dict(empty.known), dict(empty.registered)
    for resource, state in states.items():
        of_class = [each.numa_nodes for _, each in sorted(empty.devices_of(resource).by_id.items())]
        # If the class has fewer devices, it is not this node's class: no NUMA node for the rest.
        places = [*of_class, *[()] * (len(state.known) - len(of_class))]
        devices = {
            classes.device_id(at): Device(classes.device_id(at), nodes, _health(state, at))
            for at, nodes in zip(state.known, places, strict=False)
        }
        if devices or resource in known:
            known[resource] = KnownDevices(devices)
        registered.pop(resource, None)
        if state.is_registered:
            registered[resource] = Registration(_ids(state.healthy), _ids(state.unhealthy))
    return Inventory(known, registered)


def _health(state: DevicesState, position: int) -> Health:
    return Health.UNHEALTHY if position in state.unhealthy else Health.HEALTHY
