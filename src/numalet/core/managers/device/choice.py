"""The devices of a container: reusable, aligned, unaligned, elsewhere, in this order.

    aligned     free devices with a NUMA node inside the affinity
    unaligned   free devices with NUMA nodes, all outside
    elsewhere   free devices without a NUMA node; all free ones if there is no affinity, or if
                the resource has no topology

The kubelet takes devices of one group in the random order of its map; numalet takes ids in text
order, gpu10 before gpu2. Kubelet: ``devicesToAllocate``, ``filterByAffinity``, v1.32.
"""

from __future__ import annotations

from numalet.core.hints.provider import Hint, Reason
from numalet.core.managers.device.inventory import KnownDevices
from numalet.core.managers.device.ledger import DeviceLedger
from numalet.core.managers.device.preference import (
    CallFailed,
    PreferenceQuestion,
    PreferredDevices,
)
from numalet.core.managers.device.reasons import PreferenceFailed, TooFewFree
from numalet.core.model.numa_mask import NumaMask
from numalet.core.model.pod import ContainerKey
from numalet.core.model.value import Mutable, Value, field


class Groups(Value):
    """Free devices by location."""

    aligned: frozenset[str]
    unaligned: frozenset[str]
    elsewhere: frozenset[str]


class Stuck(Value):
    """Why no choice is possible. Kubelet bug: the devices taken so far stay in use."""

    reason: Reason
    in_use: frozenset[str]


class _Basket(Mutable):
    needed: int
    chosen: set[str] = field(default_factory=set)

    def add(self, device_ids: frozenset[str]) -> bool:
        """Take devices in order of ids until there are enough; return whether there are."""
        if device_ids and self.needed:
            more = sorted(device_ids - self.chosen)[: self.needed]
            self.chosen.update(more)
            self.needed -= len(more)
        return self.needed == 0


def choose(
    ledger: DeviceLedger,
    key: ContainerKey,
    resource: str,
    required: int,
    affinity: Hint,
    plugins: PreferredDevices,
) -> frozenset[str] | Stuck:
    """Choose ``required`` (not 0) devices for a container without any of the resource."""
    devices = ledger.inventory.devices_of(resource)
    basket = _Basket(required)
    # Devices of ended init containers come first, whatever the affinity is.
    if basket.add(ledger.reusable.of(key.pod_uid, resource)):
        return frozenset(basket.chosen)
    # Reused devices can be free if the pod was rejected before; do not count them twice.
    free = ledger.free(resource) - basket.chosen
    if len(free) < basket.needed:
        reason = TooFewFree(key.container, resource, basket.needed, len(free))
        return Stuck(reason, frozenset(basket.chosen))
    groups = split(devices, free, affinity.mask)
    # 1. More aligned devices than needed: the plugin chooses among them. 2. Otherwise take all of
    # them, because the affinity demands it, and the plugin chooses the rest.
    if basket.needed < len(groups.aligned):
        eligible = groups.aligned
    elif basket.add(groups.aligned):
        return frozenset(basket.chosen)
    else:
        eligible = free
    settled = frozenset(basket.chosen)
    question = PreferenceQuestion(key, resource, eligible | settled, settled, required)
    answer = plugins.preferred(question)
    if isinstance(answer, CallFailed):
        return Stuck(PreferenceFailed(key.container, resource, answer.error), settled)
    # There are enough free devices, so ``any`` stops at the last group at the latest.
    preferred = answer.device_ids & eligible
    any(map(basket.add, (preferred, groups.aligned, groups.unaligned, groups.elsewhere)))
    return frozenset(basket.chosen)


def split(devices: KnownDevices, free: frozenset[str], affinity: NumaMask | None) -> Groups:
    """Group the free devices. A device of several nodes is aligned if one of them is inside."""
    if affinity is None or not devices.has_topology:
        return Groups(frozenset(), frozenset(), free)
    aligned: set[str] = set()
    unaligned: set[str] = set()
    for mask, ids in devices.ids_by_mask.items():
        # One node inside the affinity is enough, although the device may be attached to others as
        # well.
        (aligned if mask & affinity else unaligned).update(ids & free)
    return Groups(frozenset(aligned), frozenset(unaligned), free - aligned - unaligned)
