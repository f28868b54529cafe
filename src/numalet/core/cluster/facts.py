"""The facts about a node that the admission of a new pod uses, in a quickly comparable form.

``StateFacts`` are the facts of one node: free CPUs as one number and by NUMA node, memory tables,
devices as bits in the order of their ids. ``ClassFacts`` are shared by all nodes of one hardware
and configuration. Both are computed once per object, because a node is a value.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from numalet.core.admission import lifecycle
from numalet.core.admission.roster import Roster
from numalet.core.config.rules import MemoryPolicy
from numalet.core.managers.cpu.cpu_mask import CpuMask
from numalet.core.managers.cpu.static_policy import CpuStaticPolicy
from numalet.core.managers.device.inventory import KnownDevices, Registration
from numalet.core.managers.memory.ledger import UINT64, MemoryLedger, NodeMemory
from numalet.core.model.numa_mask import NumaMask
from numalet.core.node.node import Node
from numalet.core.snapshot.snapshot import Snapshot

_MOST_CLASSES: Final = 4096
"""Cache size; a full cache is cleared, which only costs time."""

_MOST_STATES: Final = 100_000

_FAR_FROM_WRAPPING: Final = 1 << 54
"""With less memory on each of up to 1,023 NUMA nodes, no sum reaches 2^64."""

_NO_REGISTRATION: Final = Registration()


@dataclass(eq=False)
class ClassFacts:
    """Values shared by all nodes of one hardware and configuration. Compares by identity.

    ``roster`` belongs to one of the nodes; of its values only the identity in its rules is that
    node's own.
    """

    roster: Roster

    @property
    def static_cpus(self) -> CpuStaticPolicy | None:
        return self.roster.static_cpus

    @cached_property
    def counts_memory(self) -> bool:
        return self.roster.rules.memory.policy is not MemoryPolicy.NONE

    @cached_property
    def is_nested(self) -> bool:
        """Whether each core, cache and smaller unit lies within one larger unit.

        If not, the kubelet lists a part twice, and counts CPUs taken from it twice.
        """
        if self.static_cpus is None:
            return True
        machine = self.static_cpus.topology
        larger = machine.sockets_of_node if machine.numa_first else machine.nodes_of_socket
        listed = [*larger.values(), *machine.uncores_of_node.values()]
        return all(part.here == part.cpus for parts in listed for part in parts) and all(
            any(core & ~unit.cpus == 0 for unit in units)
            for core in machine.cores.values()
            for units in (machine.nodes, machine.sockets)
        )


@dataclass(eq=False)
class DeviceStock:
    """The devices of one resource, shared by nodes with the same devices. Compares by identity.

    ``masks`` are the NUMA nodes of each device, in the order of the ids.
    """

    masks: tuple[NumaMask, ...]
    healthy: int
    """Bits of the healthy devices."""
    is_registered: bool


@dataclass(eq=False, slots=True)
class DeviceFacts:
    """The devices of one resource on one node; ``in_use`` are bits by the position of the id.

    ``strays`` is the number of unknown ids in use.
    """

    devices: DeviceStock
    in_use: int
    strays: int

    @property
    def free(self) -> int:
        return self.devices.healthy & ~self.in_use

    @property
    def in_use_count(self) -> int:
        return self.in_use.bit_count() + self.strays

    def free_by_mask(self) -> dict[NumaMask, int]:
        """Count the free devices by the NUMA nodes that they are attached to; no zeros."""
        counts: dict[NumaMask, int] = {}
        free = self.free
        for at, mask in enumerate(self.devices.masks):
            if free >> at & 1:
                counts[mask] = counts.get(mask, 0) + 1
        return counts


@dataclass(eq=False)
class StateFacts:
    """The facts of one node. ``snapshot`` has no stale records."""

    node: Node
    node_class: ClassFacts
    snapshot: Snapshot
    readers: FactReader

    @cached_property
    def pool(self) -> CpuMask:
        return self.snapshot.cpu.default_mask

    @cached_property
    def free_cpus(self) -> tuple[int, ...]:
        """The allocatable free CPUs of each NUMA node with CPUs; empty without static policy."""
        static = self.node_class.static_cpus
        if static is None:
            return ()
        free = self.pool & ~static.reserved.cpus
        return tuple([(part.cpus & free).bit_count() for part in static.topology.nodes])

    @property
    def memory(self) -> Mapping[int, NodeMemory]:
        return self.snapshot.memory.nodes

    @cached_property
    def all_memory(self) -> tuple[object, ...]:
        """Every value of the node map that influences a new pod."""
        return (
            tuple([_tables(node) for node in self.memory.values()]),
            _wrapping(self.snapshot.memory),
        )

    @cached_property
    def sizes_are_sane(self) -> bool:
        """Whether no sum over NUMA nodes wraps around at 2^64."""
        return not _wrapping(self.snapshot.memory) and all(
            table.free <= table.allocatable
            for node in self.memory.values()
            for table in node.tables.values()
        )

    @cached_property
    def devices(self) -> Mapping[str, DeviceFacts]:
        """The facts of every resource that the Device Manager handles."""
        ledger = self.snapshot.device
        names = {**ledger.inventory.registered, **ledger.in_use}
        return {name: self.readers.devices(self.snapshot, name) for name in names}

    @cached_property
    def state(self) -> object:
        """One object for all nodes with equal numbers, whatever their names.

        Callers with thousands of nodes decide once for each state: nodes with one state have equal
        keys for every shape without constraints on names, labels and ports.
        """
        requested = self.snapshot.requested
        return self.readers.state(
            (
                self.node_class,
                self.pool,
                self.all_memory,
                tuple(
                    [
                        (name, each.devices, each.in_use, each.strays)
                        for name, each in self.devices.items()
                    ]
                ),
                requested.pods,
                frozenset(requested.amounts.items()),
                bool(self.snapshot.assumed),
            )
        )

    @cached_property
    def alone(self) -> object:
        """Unique; as a part of a key it disables sharing."""
        return object()


def _tables(node: NodeMemory) -> tuple[object, ...]:
    tables = [(table.free, table.allocatable) for table in node.tables.values()]
    return (node.assignments > 0, node.group, *tables)


def _wrapping(ledger: MemoryLedger) -> tuple[str, ...]:
    """Return the memory types whose sum over all nodes, with reusable memory, exceeds 2^64."""
    reusable = sum(ledger.reusable.sizes.values())
    # A quick test for every real machine; the exact sums below are slow and needed only for
    # invented ones.
    if reusable < _FAR_FROM_WRAPPING and all(
        table.allocatable < _FAR_FROM_WRAPPING
        for node in ledger.nodes.values()
        for table in node.tables.values()
    ):
        return ()
    sums: dict[str, int] = {}
    for node in ledger.nodes.values():
        for name, table in node.tables.items():
            sums[name] = sums.get(name, 0) + table.allocatable
    return tuple([name for name, size in sums.items() if size + reusable > UINT64])


@dataclass(eq=False)
class FactReader:
    """Computes facts, and caches values shared by many nodes. Not thread-safe."""

    _classes: dict[tuple[object, ...], ClassFacts] = field(default_factory=dict)
    _devices: dict[tuple[int, int], tuple[object, DeviceStock, Mapping[str, int]]] = field(
        default_factory=dict
    )
    _device_values: dict[tuple[object, ...], DeviceStock] = field(default_factory=dict)
    _states: dict[tuple[object, ...], object] = field(default_factory=dict)

    def facts(self, node: Node) -> StateFacts:
        return StateFacts(node, self.class_of(node.roster), _cleaned(node), self)

    def class_of(self, roster: Roster) -> ClassFacts:
        """Return the class of nodes with this roster, regardless of names and labels."""
        rules = roster.rules
        parts = (
            roster.slots,
            rules.machine,
            rules.topology,
            rules.memory,
            rules.cpu,
            rules.reservation,
            rules.behaviour,
            rules.release_rules,
            roster.offered,
            roster.distances,
            roster.static_cpus,
        )
        # By identity, because hashing a whole machine is slow. Nodes of one class share these
        # objects.
        key = (*map(id, parts), rules.max_pods, rules.managers_are_stand_ins)
        known = self._classes.get(key)
        if known is None:
            _make_room(self._classes)
            # The class's roster keeps the parts alive, so no other object can get their ids.
            known = self._classes[key] = ClassFacts(roster)
        return known

    def state(self, numbers: tuple[object, ...]) -> object:
        if len(self._states) >= _MOST_STATES:
            self._states.clear()
        # An object compares by identity, so later searches need not hash the numbers again.
        return self._states.setdefault(numbers, object())

    def devices(self, snapshot: Snapshot, resource: str) -> DeviceFacts:
        ledger = snapshot.device
        known = ledger.inventory.devices_of(resource)
        registration = ledger.inventory.registered.get(resource)
        devices, positions = self._stock(known, registration)
        in_use, strays = _bits(positions, ledger.in_use.get(resource, ()))
        return DeviceFacts(devices, in_use, strays)

    def device_bits(
        self, snapshot: Snapshot, resource: str, names: Collection[str]
    ) -> tuple[int, int]:
        """Return these devices as bits by the position of the id, and count unknown ones."""
        inventory = snapshot.device.inventory
        # Device ids differ between nodes and only decide between equal devices, so a device is
        # its position in the sorted ids of its resource.
        known, registration = inventory.devices_of(resource), inventory.registered.get(resource)
        return _bits(self._stock(known, registration)[1], names)

    def _stock(
        self,
        known: KnownDevices,
        registration: Registration | None,
        # The cached value keeps both objects alive, so no other object can get their ids.
    ) -> tuple[DeviceStock, Mapping[str, int]]:
        key = (id(known), id(registration))
        remembered = self._devices.get(key)
        if remembered is None:
            _make_room(self._devices)
            healthy = (registration or _NO_REGISTRATION).healthy
            positions = {name: at for at, name in enumerate(sorted({*known.by_id, *healthy}))}
            bits = 0
            for name in healthy:
                bits |= 1 << positions[name]
            masks = tuple(map(known.mask_of, positions))
            topology = tuple(
                [bool(known.by_id[n].numa_nodes) for n in positions if n in known.by_id]
            )
            value = (masks, topology, bits, registration is not None)
            _make_room(self._device_values)
            made = DeviceStock(masks, bits, registration is not None)
            made = self._device_values.setdefault(value, made)
            remembered = self._devices[key] = ((known, registration), made, positions)
        return remembered[1], remembered[2]


def _bits(positions: Mapping[str, int], names: Collection[str]) -> tuple[int, int]:
    bits = strays = 0
    for name in names:
        at = positions.get(name)
        if at is None:
            strays += 1
        else:
            bits |= 1 << at
    return bits, strays


def _make_room(remembered: dict[Any, Any]) -> None:
    if len(remembered) >= _MOST_CLASSES:
        remembered.clear()


def _cleaned(node: Node) -> Snapshot:
    """Return the snapshot after the managers' clean-up, if the next admission does one."""
    snapshot = node.snapshot
    if not snapshot.sources_ready or node.rules.managers_are_stand_ins:
        return snapshot
    if not _may_be_stale(snapshot):
        return snapshot
    return lifecycle.release_stale(node.roster, snapshot)


def _may_be_stale(snapshot: Snapshot) -> bool:
    """Return whether an inactive container has a record; faster than listing active ones."""
    pods = snapshot.pods
    for records in (snapshot.cpu.exclusive, snapshot.memory.blocks, snapshot.device.records):
        for uid, containers in records.items():
            pod = pods.get(uid)
            if pod is None or not containers.keys() <= pod.by_name.keys():
                return True
    return False
