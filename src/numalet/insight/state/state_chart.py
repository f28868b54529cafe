"""State files as a node to draw: its NUMA nodes and the allocations.

Without a machine, the CPUs of a NUMA node and the place of a free device are unknown: blocks have
no CPUs, and exclusive CPUs are drawn with the pod.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from numalet.core.managers.cpu import ledger as cpu_ledger
from numalet.core.managers.device import inventory as inventories
from numalet.core.managers.device.inventory import Device, Inventory
from numalet.core.managers.device.ledger import DeviceLedger, Records
from numalet.core.managers.memory import ledger as memory_ledger
from numalet.core.managers.memory.ledger import MemoryLedger
from numalet.core.model import cpu_set
from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.machine_info import MachineInfo, NumaNodeInfo
from numalet.core.model.machine_queries import NodeClass
from numalet.core.model.value import Value, replace
from numalet.core.node.node import NO_DEVICES, Devices
from numalet.core.snapshot.snapshot import Snapshot
from numalet.insight.maps import node_map
from numalet.insight.maps.node_map import MapPod, NodeMap, Unheld
from numalet.insight.state.reading import States

_NO_RECORDS: Final[Records] = MappingProxyType({})


class StateMachine(Value):
    """The machine of the state files, with its known devices."""

    info: MachineInfo
    devices: Devices = NO_DEVICES


def state_chart(
    states: States, title: str, names: Mapping[str, str], machine: StateMachine | None = None
) -> NodeMap:
    """Return the node of the files; ``names`` are ``namespace/pod`` by uid, if known."""
    memory = memory_ledger.EMPTY_LEDGER if states.memory is None else states.memory.ledger
    cpu = cpu_ledger.EMPTY_LEDGER if states.cpu is None else states.cpu.ledger
    given = NO_DEVICES if machine is None else machine.devices
    snapshot = Snapshot(memory=memory, cpu=cpu, device=_devices(states, given))
    info = _machine(memory) if machine is None else machine.info
    gives_out = bool(cpu.default or cpu.exclusive)
    chart = node_map.of_snapshot(
        snapshot,
        info,
        title,
        {},
        kept_back=_in_no_pool(snapshot, info) if gives_out else cpu_set.EMPTY,
        # The default set of the file includes reserved CPUs, unless the reservation is strict.
        cpus=Unheld.NOT_HELD if machine is None or gives_out else Unheld.SHARED,
        memory=Unheld.FREE if memory.nodes else Unheld.NOT_HELD,
    )
    blocks = chart.nodes
    if machine is None:
        # Without known CPUs, a NUMA node must not be drawn as memory only.
        blocks = tuple(replace(each, node_class=NodeClass.CPU) for each in blocks)
    return replace(chart, nodes=blocks, pods=tuple(_named(each, names) for each in chart.pods))


def _in_no_pool(snapshot: Snapshot, machine: MachineInfo) -> CpuSet:
    """Return CPUs that are neither shared nor exclusive: the strictly reserved ones."""
    exclusive = (cpus for held in snapshot.cpu.exclusive.values() for cpus in held.values())
    return frozenset(machine.cpu_ids).difference(snapshot.cpu.default, *exclusive)


def _devices(states: States, given: Devices) -> DeviceLedger:
    """Merge the given devices with those that the checkpoint names."""
    written = None if states.device is None else states.device.written
    records = _NO_RECORDS if written is None else written.records
    known = {name: {each.device_id: each for each in listed} for name, listed in given.items()}
    for resource, ids in ({} if written is None else written.registered).items():
        for name in ids:
            known.setdefault(resource, {}).setdefault(name, Device(name))
    in_use: dict[str, frozenset[str]] = {}
    for resource, places in _held(records).items():
        in_use[resource] = frozenset(places)
        for name, nodes in places.items():
            of_resource = known.setdefault(resource, {})
            # The checkpoint knows the NUMA nodes only of allocated devices.
            if name not in of_resource or not of_resource[name].numa_nodes:
                of_resource[name] = Device(name, nodes)
    inventory: Inventory = inventories.NOTHING_REPORTED
    for resource in sorted(known):
        inventory = inventories.reported(inventory, resource, known[resource].values())
    return DeviceLedger(inventory=inventory, records=records, in_use=in_use)


def _held(records: Records) -> dict[str, dict[str, tuple[int, ...]]]:
    """Return the NUMA nodes of each allocated device, by resource."""
    places: dict[str, dict[str, tuple[int, ...]]] = {}
    for containers in records.values():
        for of_container in containers.values():
            for resource, record in of_container.items():
                of_resource = places.setdefault(resource, {})
                for node_id, ids in sorted(record.by_node.items()):
                    for name in ids:
                        here = (node_id,) if node_id >= 0 else ()
                        of_resource[name] = (*of_resource.get(name, ()), *here)
    return places


def _named(pod: MapPod, names: Mapping[str, str]) -> MapPod:
    namespace, slash, name = names.get(pod.uid, "").partition("/")
    return replace(pod, namespace=namespace, name=name) if slash else pod


def _machine(memory: MemoryLedger) -> MachineInfo:
    sizes = {
        node_id: sum(table.total for table in node.tables.values())
        for node_id, node in memory.nodes.items()
    }
    nodes = tuple(NumaNodeInfo(node_id, size) for node_id, size in sorted(sizes.items()))
    return MachineInfo(
        nodes=nodes, memory_capacity_bytes=sum(sizes.values()), cpu_count=0, socket_count=0
    )
