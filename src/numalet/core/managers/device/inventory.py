"""What plugins reported: devices of each resource, their health and NUMA nodes.

There are two sets. ``known`` holds the devices last reported, also of plugins that are gone, and
answers where a device is. ``registered`` holds ids by health of the resources whose plugin is
there or went less than the grace period ago, and answers what may be given out.
Kubelet: ``allDevices``, ``healthyDevices``, ``unhealthyDevices`` of ``ManagerImpl``, v1.32.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from functools import cached_property, reduce
from operator import or_

from numalet.core.model import numa_mask
from numalet.core.model.numa_mask import NumaMask
from numalet.core.model.value import Value

_NOWHERE = 1024
"""Stands in masks for node ids that no machine can have; plugins may report any number."""


class Health(Enum):
    """Health of a device; only the exact text Healthy counts as healthy."""

    HEALTHY = "Healthy"
    UNHEALTHY = "Unhealthy"


class Device(Value):
    """One device as its plugin reports it; ``numa_nodes`` is empty where none are known."""

    device_id: str
    numa_nodes: tuple[int, ...] = ()
    health: Health = Health.HEALTHY

    def __post_init__(self) -> None:
        """Refuse a bare number, or a text, whose letters would be nodes."""
        if not isinstance(self.numa_nodes, tuple | list):
            raise TypeError(f"numa_nodes is a tuple of node ids, not {self.numa_nodes!r}")


class KnownDevices(Value, dict=True):
    """The devices of one resource by id, as last reported, healthy or not."""

    by_id: Mapping[str, Device]

    @cached_property
    def masks(self) -> Mapping[str, NumaMask]:
        """NUMA nodes by device id; empty for devices that are attached to none."""
        return {
            name: numa_mask.of(
                min(node, _NOWHERE) if node >= 0 else _NOWHERE for node in device.numa_nodes
            )
            for name, device in self.by_id.items()
        }

    @cached_property
    def ids_by_mask(self) -> Mapping[NumaMask, frozenset[str]]:
        """The devices that are attached to the same NUMA nodes; those of none are left out."""
        ids: dict[NumaMask, set[str]] = {}
        for name, mask in self.masks.items():
            if mask:
                ids.setdefault(mask, set()).add(name)
        return {mask: frozenset(ids[mask]) for mask in sorted(ids)}

    @cached_property
    def has_topology(self) -> bool:
        """Whether the resource cares about alignment: one device with a NUMA node is enough."""
        return any(device.numa_nodes for device in self.by_id.values())

    @cached_property
    def nodes(self) -> NumaMask:
        """The NUMA nodes that have any of the devices, healthy or not, in use or not."""
        return reduce(or_, self.masks.values(), numa_mask.EMPTY)

    def prepared(self) -> KnownDevices:
        """The same, with all computed that every decision asks for."""
        _ = self.ids_by_mask, self.has_topology
        return self

    def mask_of(self, device_id: str) -> NumaMask:
        """NUMA nodes of a device; empty if it has none or is not known."""
        return self.masks.get(device_id, numa_mask.EMPTY)


NOTHING_KNOWN = KnownDevices({})


class Registration(Value, dict=True):
    """Device ids of a registered resource by health.

    An id that was reported once as healthy and once not is in both sets.
    """

    healthy: frozenset[str] = frozenset()
    unhealthy: frozenset[str] = frozenset()

    @cached_property
    def healthy_in_order(self) -> tuple[str, ...]:
        """The healthy ids as the checkpoint lists them."""
        return tuple(sorted(self.healthy))


class Inventory(Value):
    """All resources, by name."""

    known: Mapping[str, KnownDevices]
    registered: Mapping[str, Registration]

    def devices_of(self, resource: str) -> KnownDevices:
        """The devices last reported; nothing if none ever were."""
        return self.known.get(resource, NOTHING_KNOWN)

    def healthy(self, resource: str) -> frozenset[str]:
        """Ids that may be given out, in use or not; none if the resource is not registered."""
        registration = self.registered.get(resource)
        return frozenset() if registration is None else registration.healthy


NOTHING_REPORTED = Inventory({}, {})


def reported(inventory: Inventory, resource: str, devices: Iterable[Device]) -> Inventory:
    """The inventory after a plugin's report, which replaces the one before.

    If an id occurs twice, the last one says where the device is.
    """
    listed = tuple(devices)
    known = KnownDevices({each.device_id: each for each in listed})
    return Inventory(
        {**inventory.known, resource: known.prepared()},
        {
            **inventory.registered,
            resource: Registration(
                frozenset(d.device_id for d in listed if d.health is Health.HEALTHY),
                frozenset(d.device_id for d in listed if d.health is Health.UNHEALTHY),
            ),
        },
    )


def plugin_stopped(inventory: Inventory, resource: str) -> Inventory:
    """The inventory after the plugin of a registered resource went: nothing is healthy."""
    old = inventory.registered[resource]
    stopped = Registration(frozenset(), old.unhealthy | old.healthy)
    return Inventory(inventory.known, {**inventory.registered, resource: stopped})


def expired(inventory: Inventory, resource: str) -> Inventory:
    """The inventory after the grace period: not registered; its devices stay known."""
    kept = {name: each for name, each in inventory.registered.items() if name != resource}
    return Inventory(inventory.known, kept)


def after_restart(resources: Iterable[str]) -> Inventory:
    """The inventory of a kubelet that has only read its checkpoint: nothing is healthy yet."""
    return Inventory({}, {resource: Registration() for resource in sorted(resources)})
