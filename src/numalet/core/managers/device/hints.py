"""Which sets of NUMA nodes are touched by enough devices, in the kubelet's order of hints.

A device touches a set if one of its NUMA nodes is in the set. A set is offered if

1. every device that the pod uses again, and that has a node at all, touches it;
2. these and the free devices that touch it are as many as asked for.

Preferred are sets of the size of the smallest set that is touched by as many devices as asked
for, all devices counted, unhealthy and used ones too. A request for no devices is met by every
set. Kubelet: ``generateDeviceTopologyHints``, v1.32.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property

from numalet.core.hints import rule
from numalet.core.hints.hint import Hint, Impossible, NoPreference, ResourceHints
from numalet.core.hints.reasons import Reason
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
    """The sets that could serve one request: a family of hints.

    ``usable`` are the free devices or those held already, ``reused`` those of the pod's init
    containers. ``all_nodes`` are the nodes of the machine.
    """

    resource: str
    requested: int
    devices: KnownDevices
    usable: frozenset[str]
    reused: frozenset[str]
    all_nodes: NumaMask

    @cached_property
    def rule(self) -> HintRule:
        """What is offered, by rule. A device is a part that counts 1."""
        # Devices of no node touch no set, so they can neither be missed nor counted.
        reused = [name for name in self.reused if self.devices.mask_of(name)]
        requirements = [self._touching(self.requested - len(reused), self.usable)]
        if reused:
            requirements.append(self._touching(len(reused), reused))
        open_sets = OpenSets(self.all_nodes, numa_mask.EMPTY, tuple(requirements))
        known = self._touching(self.requested, self.devices.by_id)
        on_empty_machine = OpenSets(self.all_nodes, numa_mask.EMPTY, (known,))
        size = rule.smallest_size(on_empty_machine, otherwise=self.all_nodes.bit_count())
        return HintRule(self.all_nodes, open_sets, size)

    def _touching(self, need: int, names: Iterable[str]) -> Requirement:
        masks = Counter(self.devices.mask_of(name) & self.all_nodes for name in names)
        return Requirement(need, tuple(sorted(item for item in masks.items() if item[0])))

    def hints(self) -> Sequence[Hint]:
        """Every hint, smaller sets first. They may be 2^n."""
        every_set = numa_mask.by_size(numa_mask.ids(self.all_nodes))
        return tuple(
            Hint(mask, self.rule.prefers(mask)) for mask in every_set if self.rule.offers(mask)
        )

    def why_not(self, mask: NumaMask) -> Reason | None:
        """Why this set is not offered; None if it is."""
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
    """The hints of one resource for a container. Devices of init containers may be used again.

    A container that holds devices gets the hints of exactly these.
    """
    record = ledger.record(key, resource)
    held = NO_DEVICES if record is None else record.device_ids
    reusable = ledger.reusable.of(key.pod_uid, resource)
    return _hints(ledger, resource, requested, held, reusable, all_nodes)


def of_pod(
    ledger: DeviceLedger, pod_uid: str, resource: str, requested: int, all_nodes: NumaMask
) -> ResourceHints:
    """The hints of one resource for a pod as one. Nothing counts as used again.

    A pod of which any container holds devices gets the hints of exactly these, all together.
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
    if not devices.has_topology:
        return NoPreference()
    if held:
        if len(held) != requested:
            return Impossible(OtherNumberHeld(resource, len(held), requested))
        return _offered(devices, resource, requested, held, NO_DEVICES, all_nodes)
    free = ledger.free(resource)
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
    """The sets that are touched by enough devices."""
    family = TouchedSets(resource, requested, devices, usable, reused, all_nodes)
    return family if family.rule.has_open_sets else Impossible(NoSetOfNodes(resource, requested))
