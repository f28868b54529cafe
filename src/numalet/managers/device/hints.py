"""Which sets of NUMA nodes are touched by enough devices, in the kubelet's order of hints.

A device touches a set if one of its NUMA nodes is in the set. A set is offered if

1. every device that the pod uses again, and that has a node at all, touches it;
2. these and the free devices that touch it are as many as asked for.

Preferred are sets of the size of the smallest set that is touched by as many devices as asked
for, all devices counted, unhealthy and used ones too. A request for no devices is met by every
set. Kubelet: ``generateDeviceTopologyHints``, v1.32.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from numalet.hints.hint import Hint, Impossible, NoPreference, ResourceHints
from numalet.hints.reasons import Reason
from numalet.managers.device.inventory import KnownDevices
from numalet.managers.device.ledger import DeviceLedger
from numalet.managers.device.reasons import (
    FewerThanAsked,
    LeavesOutReused,
    NoSetOfNodes,
    OtherNumberHeld,
    TooFewOnNodes,
)
from numalet.model.numa_mask import NumaMask
from numalet.model.pod import ContainerKey

NO_DEVICES: frozenset[str] = frozenset()


@dataclass(frozen=True)
class TouchedSets:
    """The sets that could serve one request: a family of hints.

    ``masks`` are in the kubelet's order; ``usable`` are the free devices or those held already,
    ``reused`` those of the pod's init containers.
    """

    resource: str
    requested: int
    devices: KnownDevices
    usable: frozenset[str]
    reused: frozenset[str]
    masks: tuple[NumaMask, ...]
    preferred_size: int

    @cached_property
    def _hints(self) -> tuple[Hint, ...]:
        size = self.preferred_size
        return tuple(Hint(mask, mask.bit_count() == size) for mask in self.masks)

    def hints(self) -> Sequence[Hint]:
        """Every hint, smaller sets first."""
        return self._hints

    def why_not(self, mask: NumaMask) -> Reason | None:
        """Why this set is not offered; None if it is."""
        with_node = sorted(name for name in self.reused if self.devices.mask_of(name))
        for name in with_node:
            if not self.devices.mask_of(name) & mask:
                return LeavesOutReused(mask, self.resource, name)
        touching = sum(1 for name in self.usable if self.devices.mask_of(name) & mask)
        usable = touching + len(with_node)
        if usable < self.requested:
            return TooFewOnNodes(mask, self.resource, usable, self.requested)
        return None


def of_container(
    ledger: DeviceLedger,
    key: ContainerKey,
    resource: str,
    requested: int,
    order: Sequence[NumaMask],
) -> ResourceHints:
    """The hints of one resource for a container. Devices of init containers may be used again.

    A container that holds devices gets the hints of exactly these.
    """
    record = ledger.record(key, resource)
    held = NO_DEVICES if record is None else record.device_ids
    reusable = ledger.reusable.of(key.pod_uid, resource)
    return _hints(ledger, resource, requested, held, reusable, order)


def of_pod(
    ledger: DeviceLedger, pod_uid: str, resource: str, requested: int, order: Sequence[NumaMask]
) -> ResourceHints:
    """The hints of one resource for a pod as one. Nothing counts as used again.

    A pod of which any container holds devices gets the hints of exactly these, all together.
    """
    held = ledger.held_by_pod(pod_uid, resource)
    return _hints(ledger, resource, requested, held, NO_DEVICES, order)


def _hints(
    ledger: DeviceLedger,
    resource: str,
    requested: int,
    held: frozenset[str],
    reusable: frozenset[str],
    order: Sequence[NumaMask],
) -> ResourceHints:
    devices = ledger.inventory.devices_of(resource)
    if not devices.has_topology:
        return NoPreference()
    if held:
        if len(held) != requested:
            return Impossible(OtherNumberHeld(resource, len(held), requested))
        return _offered(devices, resource, requested, held, NO_DEVICES, order)
    free = ledger.free(resource)
    usable = len(free | reusable)
    if usable < requested:
        return Impossible(FewerThanAsked(resource, usable, requested))
    return _offered(devices, resource, requested, free, reusable, order)


def _offered(
    devices: KnownDevices,
    resource: str,
    requested: int,
    usable: frozenset[str],
    reused: frozenset[str],
    order: Sequence[NumaMask],
) -> ResourceHints:
    """The sets that are touched by enough devices; devices are bits here, so that they add up."""
    usable_bits = devices.bits_of(usable)
    # Devices of no node touch no set, so they can neither be missed nor counted.
    reused_bits = devices.bits_of(name for name in reused if devices.mask_of(name))
    needed = requested - reused_bits.bit_count()
    preferred_size = None
    masks = []
    for mask, touching in _touching(order, devices.bits_on_node):
        if preferred_size is None and touching.bit_count() >= requested:
            preferred_size = mask.bit_count()
        if not reused_bits & ~touching and (touching & usable_bits).bit_count() >= needed:
            masks.append(mask)
    if not masks:
        return Impossible(NoSetOfNodes(resource, requested))
    size = order[-1].bit_count() if preferred_size is None else preferred_size
    return TouchedSets(resource, requested, devices, usable, reused, tuple(masks), size)


def _touching(
    order: Sequence[NumaMask], bits_on_node: Mapping[NumaMask, int]
) -> Iterator[tuple[NumaMask, int]]:
    """The devices that touch each set: those on its lowest node and on a set that came before."""
    touching = {0: 0}
    for mask in order:
        rest = mask & (mask - 1)
        found = touching[rest] | bits_on_node.get(mask ^ rest, 0)
        touching[mask] = found
        yield mask, found
