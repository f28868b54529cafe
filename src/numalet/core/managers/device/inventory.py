"""The plugins' reports: devices of each resource, their health and NUMA nodes.

``known`` has the last reported devices, even of stopped plugins, and gives their nodes.
``registered`` has ids by health of the resources whose plugin is running or stopped within the
grace period, and gives the devices that can be allocated.

Kubelet: ``allDevices``, ``healthyDevices``, ``unhealthyDevices`` of ``ManagerImpl``, v1.32.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import Enum
from functools import cached_property, reduce
from operator import or_

from numalet.core.model import numa_mask
from numalet.core.model.numa_mask import NumaMask
from numalet.core.model.value import Value

_QUOTA_PREFIX = "requests."
_LONGEST_DOMAIN = 253
_LONGEST_NAME = 63
_LABEL = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_DOMAIN = re.compile(rf"{_LABEL}(?:\.{_LABEL})*", re.ASCII)
_NAME = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?", re.ASCII)


def is_extended_resource(name: str) -> bool:
    """Return whether the name is ``domain/name`` outside Kubernetes' own domain.

    The kubelet checks the domain with the quota prefix, which shortens the allowed length.
    """
    if "kubernetes.io/" in name or name.startswith(_QUOTA_PREFIX):
        return False
    domain, slash, own = (_QUOTA_PREFIX + name).partition("/")
    return (
        bool(slash)
        and len(domain) <= _LONGEST_DOMAIN
        and _DOMAIN.fullmatch(domain) is not None
        and len(own) <= _LONGEST_NAME
        and _NAME.fullmatch(own) is not None
    )


_NOWHERE = 1024
"""Replaces invalid node ids in masks, because plugins may report any number."""


class Health(Enum):
    """Health of a device; only the exact text Healthy means healthy."""

    HEALTHY = "Healthy"
    UNHEALTHY = "Unhealthy"


class Device(Value):
    """One device of a plugin's report; ``numa_nodes`` is empty if unknown."""

    device_id: str
    numa_nodes: tuple[int, ...] = ()
    health: Health = Health.HEALTHY

    def __post_init__(self) -> None:
        """Reject a bare number, or a text, whose letters would become nodes."""
        nodes: object = self.numa_nodes
        if not isinstance(nodes, tuple | list) or not all(isinstance(each, int) for each in nodes):
            raise TypeError(f"numa_nodes is a tuple of node ids, not {self.numa_nodes!r}")


class KnownDevices(Value, dict=True):
    """The last reported devices of one resource by id, healthy or not."""

    by_id: Mapping[str, Device]

    @cached_property
    def masks(self) -> Mapping[str, NumaMask]:
        return {
            name: numa_mask.of(
                min(node, _NOWHERE) if node >= 0 else _NOWHERE for node in device.numa_nodes
            )
            for name, device in self.by_id.items()
        }

    @cached_property
    def ids_by_mask(self) -> Mapping[NumaMask, frozenset[str]]:
        """The devices by the NUMA nodes that they are attached to; only those with a node."""
        ids: dict[NumaMask, set[str]] = {}
        for name, mask in self.masks.items():
            if mask:
                ids.setdefault(mask, set()).add(name)
        return {mask: frozenset(ids[mask]) for mask in sorted(ids)}

    @cached_property
    def has_topology(self) -> bool:
        """Whether the resource gives hints: one device with a NUMA node is enough."""
        return any(device.numa_nodes for device in self.by_id.values())

    @cached_property
    def nodes(self) -> NumaMask:
        """The NUMA nodes of all devices, healthy or not, in use or not."""
        return reduce(or_, self.masks.values(), numa_mask.EMPTY)

    def prepared(self) -> KnownDevices:
        """Compute the cached values that every decision needs."""
        _ = self.ids_by_mask, self.has_topology
        return self

    def mask_of(self, device_id: str) -> NumaMask:
        """Return the NUMA nodes of a device; empty if it has no node or is unknown."""
        return self.masks.get(device_id, numa_mask.EMPTY)


NOTHING_KNOWN = KnownDevices({})


class Registration(Value, dict=True):
    """Device ids of a registered resource by health.

    An id reported once as healthy and once as unhealthy is in both sets.
    """

    healthy: frozenset[str] = frozenset()
    unhealthy: frozenset[str] = frozenset()

    @cached_property
    def healthy_in_order(self) -> tuple[str, ...]:
        """The healthy ids in the checkpoint's order."""
        return tuple(sorted(self.healthy))


class Inventory(Value):
    known: Mapping[str, KnownDevices]
    registered: Mapping[str, Registration]

    def devices_of(self, resource: str) -> KnownDevices:
        """Return the last reported devices; empty without a report."""
        return self.known.get(resource, NOTHING_KNOWN)

    def healthy(self, resource: str) -> frozenset[str]:
        """Return the healthy ids, in use or not."""
        registration = self.registered.get(resource)
        return frozenset() if registration is None else registration.healthy


NOTHING_REPORTED = Inventory({}, {})


def reported(inventory: Inventory, resource: str, devices: Iterable[Device]) -> Inventory:
    """Replace a resource's devices by a plugin's report.

    If an id occurs twice, the last entry gives the device's nodes.
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
    """Mark all devices of a registered resource as unhealthy, because its plugin stopped."""
    old = inventory.registered[resource]
    stopped = Registration(frozenset(), old.unhealthy | old.healthy)
    return Inventory(inventory.known, {**inventory.registered, resource: stopped})


def expired(inventory: Inventory, resource: str) -> Inventory:
    """Unregister a resource after the grace period; its devices stay known."""
    kept = {name: each for name, each in inventory.registered.items() if name != resource}
    return Inventory(inventory.known, kept)


def after_restart(resources: Iterable[str]) -> Inventory:
    """Return the inventory of a kubelet that only read its checkpoint: no device is healthy yet."""
    return Inventory({}, {resource: Registration() for resource in sorted(resources)})
