"""The published part of a node's ledgers, as a value without names of tenants, and its extraction.

Pods are uids, containers a few digits of a hash, devices positions in the sorted ids of their
resource. Values that equal an empty node of the class are left out, so a lightly used node has a
small state. ``io`` defines its format.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from numalet.core.admission import roster, scopes
from numalet.core.config.rules import MemoryPolicy
from numalet.core.hints.provider import Hint
from numalet.core.managers.cpu.ledger import CpuLedger
from numalet.core.managers.device import ledger as device_ledger
from numalet.core.managers.device.inventory import Registration
from numalet.core.managers.device.ledger import DeviceLedger
from numalet.core.managers.memory.ledger import UINT64, Blocks, MemoryLedger
from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.numa_mask import NumaMask
from numalet.core.model.pod import ContainerKey
from numalet.core.model.value import Value, field
from numalet.core.node.node import Node

Positions = tuple[int, ...]
"""Devices of one resource by position, ascending."""

_HASH_DIGITS: Final = 6


class Held(Value, kw_only=True):
    """One holder's allocation. None: no record; a record may also be empty."""

    cpus: CpuSet | None = None
    memory: Blocks | None = None
    devices: Mapping[str, Positions] = MappingProxyType({})


class ContainerHeld(Value, kw_only=True):
    """A container's allocation, and other state that outlives its admission.

    ``affinity`` is set if devices are allocated with it only when the container starts.
    ``ran_at_start`` and ``is_assumed`` matter after the kubelet's start: the runtime reported the
    container as running, and it is active although its pod is still unknown.
    """

    container_hash: str
    held: Held = field(default_factory=Held)
    affinity: Hint | None = None
    ran_at_start: bool = False
    is_assumed: bool = False


class PodHeld(Value, kw_only=True):
    """A pod's allocation: its containers in order of name, the whole pod, its reusable resources.

    ``reusable_memory`` is in bytes by set of NUMA nodes and memory type.
    """

    containers: tuple[ContainerHeld, ...] = ()
    whole: Held = field(default_factory=Held)
    reusable: Held = field(default_factory=Held)
    reusable_memory: tuple[tuple[NumaMask, str, int], ...] = ()


class NodeMemoryState(Value, kw_only=True):
    """Memory of one NUMA node that differs from an empty node; bytes by memory type.

    ``free`` has the types with free memory other than allocatable minus reserved.
    """

    assignments: int
    group: NumaMask
    reserved: Mapping[str, int]
    free: Mapping[str, int] = MappingProxyType({})


class DevicesState(Value, kw_only=True):
    """Devices of a resource that are not all present and healthy, as positions below ``count``.

    ``known`` are those of the class, in its order. A resource that ``is_registered`` has a plugin,
    or had one within the grace period.
    """

    count: int
    known: Positions
    healthy: Positions
    unhealthy: Positions
    is_registered: bool


class PublishedState(Value, kw_only=True):
    """The state of a node without its class and without pods that have no allocations.

    ``in_use`` has the devices in use, for resources where they differ from the containers' devices.
    ``shared_cpus`` exists only under the policy static.
    """

    shared_cpus: CpuSet | None = None
    memory: Mapping[int, NodeMemoryState] = MappingProxyType({})
    devices: Mapping[str, DevicesState] = MappingProxyType({})
    in_use: Mapping[str, Positions] = MappingProxyType({})
    pods: Mapping[str, PodHeld] = MappingProxyType({})
    sources_ready: bool = True


def container_hash(key: ContainerKey) -> str:
    """Return 6 hex digits of the SHA-256 of the pod's uid and the container's name."""
    text = f"{key.pod_uid}/{key.container}"
    return hashlib.sha256(text.encode()).hexdigest()[:_HASH_DIGITS]


def of_node(node: Node) -> PublishedState:
    snapshot = node.snapshot
    positions = _positions(snapshot.device)
    held_devices = device_ledger.in_use_by(snapshot.device.records)
    in_use = snapshot.device.in_use
    return PublishedState(
        shared_cpus=None if node.roster.static_cpus is None else snapshot.cpu.default,
        memory=dict(_memory_states(node)),
        devices=dict(_devices_states(snapshot.device, positions)),
        in_use={
            name: _at(positions[name], in_use[name])
            for name in sorted(in_use)
            if in_use[name] != held_devices.get(name)
        },
        pods=_Reader(node, positions).pods(),
        sources_ready=snapshot.sources_ready,
    )


_IdPositions = Mapping[str, Mapping[str, int]]
"""The position of each device by resource and id."""


def _positions(of: DeviceLedger) -> _IdPositions:
    """Return positions of all devices that are known, registered, in use, held or reusable."""
    ids: dict[str, set[str]] = {}
    # Every id that the ledger mentions needs a position, even of devices that no plugin reports
    # any more.
    for resource, known in of.inventory.known.items():
        ids.setdefault(resource, set()).update(known.by_id)
    for resource, registered in of.inventory.registered.items():
        ids.setdefault(resource, set()).update(registered.healthy, registered.unhealthy)
    for more in (of.in_use, device_ledger.in_use_by(of.records), of.reusable.device_ids):
        for resource, names in more.items():
            ids.setdefault(resource, set()).update(names)
    return {
        resource: {name: at for at, name in enumerate(sorted(ids[resource]))}
        for resource in sorted(ids)
    }


def _at(positions: Mapping[str, int], names: Iterable[str]) -> Positions:
    return tuple(sorted(positions[name] for name in names))


def _memory_states(node: Node) -> Iterator[tuple[int, NodeMemoryState]]:
    if node.rules.memory.policy is MemoryPolicy.NONE:
        return
    initial = roster.initial_memory(node.rules)
    for node_id, memory in sorted(node.snapshot.memory.nodes.items()):
        # Values of an empty node are left out, which keeps the state of a lightly used node
        # small.
        if memory != initial.get(node_id):
            tables = memory.tables.items()
            yield (
                node_id,
                NodeMemoryState(
                    assignments=memory.assignments,
                    group=memory.group,
                    reserved={name: table.reserved for name, table in tables if table.reserved},
                    free={
                        name: table.free
                        for name, table in tables
                        if table.free != (table.allocatable - table.reserved) & UINT64
                    },
                ),
            )


def _devices_states(
    of: DeviceLedger, positions: _IdPositions
) -> Iterator[tuple[str, DevicesState]]:
    """Yield the resources that differ from a plugin's report with all devices healthy."""
    for resource, places in positions.items():
        registered = of.inventory.registered.get(resource)
        healths = Registration() if registered is None else registered
        state = DevicesState(
            count=len(places),
            known=_at(places, of.inventory.devices_of(resource).by_id),
            healthy=_at(places, healths.healthy),
            unhealthy=_at(places, healths.unhealthy),
            is_registered=registered is not None,
        )
        # All reported and healthy is the normal case, and follows from the class.
        if resource not in of.inventory.known or state != _as_reported(len(places)):
            yield resource, state


def _as_reported(count: int) -> DevicesState:
    every = tuple(range(count))
    return DevicesState(count=count, known=every, healthy=every, unhealthy=(), is_registered=True)


class _Reader:
    def __init__(self, node: Node, positions: _IdPositions) -> None:
        self._node = node
        self._positions = positions
        snapshot = node.snapshot
        has_memory = node.rules.memory.policy is not MemoryPolicy.NONE
        # Under the policy none a state file may have left records that no decision uses; they are
        # not published.
        self._memory = snapshot.memory if has_memory else MemoryLedger({}, {})
        self._cpu = CpuLedger() if node.roster.static_cpus is None else snapshot.cpu
        self._reusing = self._pods_that_reuse()

    def pods(self) -> dict[str, PodHeld]:
        """Return the pods with an allocation or a running container; by uid, sorted."""
        snapshot = self._node.snapshot
        affinities = self._waiting_affinities()
        keys = {
            *self._cpu.holders(),
            *self._memory.holders(),
            *snapshot.device.holders(),
            *snapshot.device.running,
            *snapshot.assumed,
            *affinities,
        }
        containers: dict[str, list[ContainerHeld]] = {}
        for key in sorted(keys):
            containers.setdefault(key.pod_uid, []).append(self._container(key, affinities.get(key)))
        uids = {*containers, *self._cpu.pods, *self._memory.pods, *self._reusing}
        return {uid: self._pod(uid, tuple(containers.get(uid, ()))) for uid in sorted(uids)}

    def _waiting_affinities(self) -> dict[ContainerKey, Hint]:
        """Return the affinities for devices that are allocated when a container starts."""
        snapshot = self._node.snapshot
        return {
            ContainerKey(uid, name): affinity
            for uid, stored in snapshot.affinities.items()
            if uid in snapshot.pods and scopes.devices_wait(self._node.roster, snapshot.pods[uid])
            for name, affinity in stored.items()
        }

    def _container(self, key: ContainerKey, affinity: Hint | None) -> ContainerHeld:
        snapshot = self._node.snapshot
        records = snapshot.device.records.get(key.pod_uid, {}).get(key.container, {})
        return ContainerHeld(
            container_hash=container_hash(key),
            held=Held(
                cpus=self._cpu.cpus_of(*key),
                memory=self._memory.blocks_of(*key),
                devices={
                    resource: _at(self._positions[resource], records[resource].device_ids)
                    for resource in sorted(records)
                },
            ),
            affinity=affinity,
            ran_at_start=key in snapshot.device.running,
            is_assumed=key in snapshot.assumed,
        )

    def _pod(self, uid: str, containers: tuple[ContainerHeld, ...]) -> PodHeld:
        devices = self._node.snapshot.device.reusable
        memory = self._memory.reusable
        return PodHeld(
            containers=containers,
            whole=Held(cpus=self._cpu.pods.get(uid), memory=self._memory.pods.get(uid)),
            reusable=Held(
                cpus=self._cpu.reusable.of_pod(uid) or None,
                devices={
                    resource: _at(self._positions[resource], names)
                    for resource in sorted(devices.device_ids)
                    if (names := devices.of(uid, resource))
                },
            ),
            reusable_memory=tuple(
                (mask, resource, size_bytes)
                for (mask, resource), size_bytes in sorted(memory.sizes.items())
                if size_bytes and memory.pod_uid == uid
            ),
        )

    def _pods_that_reuse(self) -> set[str]:
        devices = self._node.snapshot.device.reusable
        pairs = (
            (self._cpu.reusable.pod_uid, bool(self._cpu.reusable.cpus)),
            (self._memory.reusable.pod_uid, any(self._memory.reusable.sizes.values())),
            (devices.pod_uid, any(devices.device_ids.values())),
        )
        return {uid for uid, has_any in pairs if has_any}
