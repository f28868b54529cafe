"""The sets of NUMA nodes with enough devices, in the kubelet's order of hints.

A device touches a set if one of its NUMA nodes is in the set. The manager offers a set if

1. every device that the pod reuses, and that has a node at all, touches it; 2. these and the free
devices that touch it are at least as many as requested.

It prefers sets of the size of the smallest set that enough devices touch, including unhealthy and
used ones. Every set satisfies a request of 0 devices. Kubelet: ``generateDeviceTopologyHints``,
v1.32.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from numalet.core.hints import few_nodes, rule
from numalet.core.hints.few_nodes import TriedSets
from numalet.core.hints.provider import Hint, Impossible, NoPreference, Reason, ResourceHints
from numalet.core.hints.requirement import OpenSets, Requirement
from numalet.core.hints.rule import HintRule
from numalet.core.managers.device.inventory import KnownDevices
from numalet.core.managers.device.ledger import DeviceLedger
from numalet.core.managers.device.reasons import (
    FewerThanAsked,
    LeavesOutReused,
    NoSetOfNodes,
    OtherNumberHeld,
    TooFewDevicesOnNodes,
)
from numalet.core.model import numa_mask
from numalet.core.model.numa_mask import NumaMask
from numalet.core.model.pod import ContainerKey
from numalet.core.model.value import Value

NO_DEVICES: frozenset[str] = frozenset()


class TouchedSets(Value, dict=True):
    """The sets that can serve one request: a family of hints.

    ``usable`` are the free or already held devices, ``reused`` those of the pod's init containers.
    ``all_nodes`` are the nodes of the machine.
    """

    resource: str
    requested: int
    devices: KnownDevices
    usable: frozenset[str]
    reused: frozenset[str]
    all_nodes: NumaMask
    tried: TriedSets | None = None
    """The offered sets by full enumeration, on few nodes only."""

    @property
    def preferred_masks(self) -> list[NumaMask] | None:
        return None if self.tried is None else self.tried.preferred

    @property
    def rule(self) -> HintRule | None:
        """The offered sets as a rule, unless a list is faster."""
        return self.as_rule if self.tried is None else None

    @cached_property
    def as_rule(self) -> HintRule:
        on_empty_machine = OpenSets(self.all_nodes, numa_mask.EMPTY, (self._known,))
        size = rule.smallest_size(on_empty_machine, otherwise=self.all_nodes.bit_count())
        return HintRule(self.all_nodes, self.open_sets, size)

    @cached_property
    def open_sets(self) -> OpenSets:
        """The offered sets. A device is a part of weight 1."""
        # Devices without a node touch no set: do not require them, do not count them.
        reused = frozenset(name for name in self.reused if self.devices.mask_of(name))
        requirements = [self._touching(self.requested - len(reused), self.usable)]
        if reused:
            requirements.append(self._touching(len(reused), reused))
        return OpenSets(self.all_nodes, numa_mask.EMPTY, tuple(requirements))

    @property
    def _known(self) -> Requirement:
        """The requested number of devices, free or not."""
        return self._touching(self.requested, None)

    def _touching(self, need: int, names: frozenset[str] | None) -> Requirement:
        """Require ``need`` of these devices; without ``names``, of all known ones."""
        counts: dict[NumaMask, int] = {}
        for mask, ids in self.devices.ids_by_mask.items():
            inside = mask & self.all_nodes
            count = len(ids if names is None else ids & names)
            if inside and count:
                counts[inside] = counts.get(inside, 0) + count
        return Requirement(need, tuple(sorted(counts.items())))

    def hints(self) -> Sequence[Hint]:
        """Return every hint, smaller sets first; up to 2^n."""
        if self.tried is not None:
            return self.tried.hints()
        rule, every_set = self.as_rule, numa_mask.by_size(numa_mask.ids(self.all_nodes))
        return tuple(Hint(mask, rule.prefers(mask)) for mask in every_set if rule.offers(mask))

    def why_not(self, mask: NumaMask) -> Reason | None:
        with_node = sorted(name for name in self.reused if self.devices.mask_of(name))
        for name in with_node:
            if not self.devices.mask_of(name) & mask:
                return LeavesOutReused(mask, self.resource, name)
        touching = sum(1 for name in self.usable if self.devices.mask_of(name) & mask)
        usable = touching + len(with_node)
        if usable < self.requested:
            return TooFewDevicesOnNodes(mask, self.resource, usable, self.requested)
        return None


def of_container(
    ledger: DeviceLedger,
    key: ContainerKey,
    resource: str,
    requested: int,
    all_nodes: NumaMask,
) -> ResourceHints:
    """Return the hints of one resource for a container, which may reuse init containers' devices.

    A container that already has devices gets the hints of exactly these.
    """
    record = ledger.record(key, resource)
    held = NO_DEVICES if record is None else record.device_ids
    reusable = ledger.reusable.of(key.pod_uid, resource)
    return _hints(ledger, resource, requested, held, reusable, all_nodes)


def of_pod(
    ledger: DeviceLedger, pod_uid: str, resource: str, requested: int, all_nodes: NumaMask
) -> ResourceHints:
    """Return the hints of one resource for a whole pod, without reuse.

    If any container of the pod has devices, the hints are for all of these together.
    """
    held = ledger.held_by_pod(pod_uid, resource)
    return _hints(ledger, resource, requested, held, NO_DEVICES, all_nodes)


def _hints(
    ledger: DeviceLedger,
    resource: str,
    requested: int,
    held: frozenset[str],
    reusable: frozenset[str],
    all_nodes: NumaMask,
) -> ResourceHints:
    devices = ledger.inventory.devices_of(resource)
    # No device has a NUMA node: the resource takes no part in the merge, and cannot prevent it.
    if not devices.has_topology:
        return NoPreference()
    # A container or pod that has devices gets hints for exactly these.
    if held:
        if len(held) != requested:
            return Impossible(OtherNumberHeld(resource, len(held), requested))
        return _offered(devices, resource, requested, held, NO_DEVICES, all_nodes)
    free = ledger.free(resource)
    # A union, not a sum: after a rejected pod a reusable device can be free as well.
    usable = len(free | reusable)
    if usable < requested:
        return Impossible(FewerThanAsked(resource, usable, requested))
    return _offered(devices, resource, requested, free, reusable, all_nodes)


def _offered(
    devices: KnownDevices,
    resource: str,
    requested: int,
    usable: frozenset[str],
    reused: frozenset[str],
    all_nodes: NumaMask,
) -> ResourceHints:
    tried, is_empty = None, False
    if few_nodes.are_few(all_nodes):
        tried = _tried(devices, requested, usable, reused, all_nodes)
        is_empty = not tried.offered
    family = TouchedSets(resource, requested, devices, usable, reused, all_nodes, tried)
    if is_empty or (tried is None and family.open_sets.is_empty()):
        return Impossible(NoSetOfNodes(resource, requested))
    return family


def _tried(
    devices: KnownDevices,
    requested: int,
    usable: frozenset[str],
    reused: frozenset[str],
    all_nodes: NumaMask,
) -> TriedSets:
    parts = [
        (mask, len(ids), len(ids & usable), len(ids & reused) if reused else 0)
        for mask, ids in devices.ids_by_mask.items()
    ]
    must = sum([again for mask, _, _, again in parts])
    size = 0
    offered = []
    for nodes in few_nodes.every_set(all_nodes):
        known = free = again = 0
        for mask, all_here, free_here, again_here in parts:
            if mask & nodes:
                known += all_here
                free += free_here
                again += again_here
        # The preferred size counts all known devices, even unhealthy and used ones.
        if not size and known >= requested:
            size = nodes.bit_count()
        if again == must and free + again >= requested:
            offered.append(nodes)
    return TriedSets(size or all_nodes.bit_count(), tuple(offered))
