"""The memory of a pod that is placed as a whole, and its division among its containers.

Such a pod requests its total of each memory type in ``spec.resources``. It gets one block of each
type on one set of nodes, by one merged hint, and the node map counts these blocks until its last
container ends. A container that is Guaranteed by itself has its own sizes out of them; all others
share the rest.

An example, recorded from a kubelet v1.36: a pod with 1536Mi, init containers i0 (1536Mi) and i1
(768Mi), containers c0 (768Mi) and c1 (0).

    the pod     1536Mi on node 0    counted there as one block
    i0          1536Mi              runs alone, so it may have all of it
    i1           768Mi              runs after i0, from all of it again
    c0           768Mi              exclusive, after the init containers have ended
    c1           768Mi              the shared rest, here without other containers

Kubelet: ``staticPolicy.AllocatePod``, ``validatePodScopeResources``, v1.36.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple

from numalet.core.hints.provider import (
    NO_HINTS,
    WHOLE_POD,
    Hint,
    Impossible,
    ProviderHints,
    Refused,
)
from numalet.core.managers.memory import allocation, demand, hints
from numalet.core.managers.memory.demand import Demand
from numalet.core.managers.memory.ledger import UINT64, Blocks, MemoryBlock, MemoryLedger
from numalet.core.managers.memory.reasons import (
    NoMemoryToShare,
    NoMemoryToShareAtStart,
    NotAnInteger,
    PartNotAnInteger,
)
from numalet.core.managers.memory.static_policy import MemoryStaticPolicy
from numalet.core.model import numa_mask
from numalet.core.model.pod import ContainerKind, Pod
from numalet.core.model.value import Value

_Parts = Mapping[str, Demand]
"""The exclusive demand of each container, by name; empty for one that shares."""


class MemoryPodPools(Value):
    policy: MemoryStaticPolicy

    def hints(self, ledger: MemoryLedger, pod: Pod) -> ProviderHints | Refused:
        """Return hints for the pod's memory; no preference unless the pod is Guaranteed."""
        total = demand.of_pod_level(pod, self.policy.behaviour)
        if not demand.is_guaranteed(pod) or isinstance(total, NotAnInteger):
            return NO_HINTS
        if self._stays(ledger, pod, total):
            return hints.in_place(ledger.pods[pod.uid])
        parts = self._asked_alone(pod)
        lack = parts if isinstance(parts, PartNotAnInteger) else nothing_to_share(pod, total, parts)
        if lack is not None:
            return dict.fromkeys(total, Impossible(lack))
        return self.policy.hints_for(ledger, pod, total) if total else NO_HINTS

    def allocate(self, ledger: MemoryLedger, pod: Pod, affinity: Hint) -> MemoryLedger | Refused:
        total = demand.of_pod_level(pod, self.policy.behaviour)
        if not demand.is_guaranteed(pod) or isinstance(total, NotAnInteger):
            return ledger
        # Kubelet bug in exact mode: after a restart a running pod is allocated again, so the node
        # map counts it twice, while its blocks list it once.
        if self._stays(ledger, pod, total):
            return ledger
        parts = self._asked_alone(pod)
        if isinstance(parts, PartNotAnInteger):
            return Refused(parts)
        lack = nothing_to_share(pod, total, parts)
        if lack is not None:
            return Refused(lack)
        mask = self.policy.mask_for(ledger, pod.uid, WHOLE_POD, total, affinity)
        if isinstance(mask, Refused):
            return mask
        node_ids = numa_mask.ids(mask)
        wraps = self.policy.behaviour.sizes_wrap_around
        divided = {
            name: _blocks(node_ids, part) for name, part in _divided(pod, total, parts, wraps)
        }
        whole = tuple(MemoryBlock(node_ids, name, size) for name, size in total.items())
        return allocation.allocate_whole(ledger, pod.uid, whole, divided)

    def _stays(self, ledger: MemoryLedger, pod: Pod, total: Demand) -> bool:
        if self.policy.behaviour.pods_placed_whole_are_placed_anew:
            return False
        held = ledger.pods.get(pod.uid, ())
        return bool(held) and {each.resource: each.size_bytes for each in held} == total

    def _asked_alone(self, pod: Pod) -> dict[str, Demand] | PartNotAnInteger:
        parts = {}
        for container in pod.containers():
            asked = demand.of_container(container, self.policy.behaviour)
            if isinstance(asked, NotAnInteger):
                return PartNotAnInteger(*astuple(asked))
            parts[container.name] = asked
        return parts


def nothing_to_share(
    pod: Pod, total: Demand, parts: _Parts
) -> NoMemoryToShare | NoMemoryToShareAtStart | None:
    """Return why a container that shares would have no memory of a type, if so.

    Kubelet: ``staticPolicy.validatePodScopeResources``, v1.36.
    """
    exclusive: dict[str, int] = {}
    some_share = False
    for container in pod.containers():
        asked = parts[container.name]
        if container.kind is not ContainerKind.INIT:
            some_share = some_share or not asked
            for name, size in asked.items():
                exclusive[name] = exclusive.get(name, 0) + size
        elif not asked:
            # The kubelet compares the types in random order; here they are sorted.
            for name, size in total.items():
                if exclusive.get(name, 0) >= size:
                    return NoMemoryToShareAtStart(
                        container.name, name, size, exclusive.get(name, 0)
                    )
    for name, size in total.items() if some_share else ():
        if exclusive.get(name, 0) >= size:
            return NoMemoryToShare(name, size, exclusive.get(name, 0))
    return None


def _divided(pod: Pod, total: Demand, parts: _Parts, wraps: bool) -> list[tuple[str, Demand]]:
    """Return every container's part of the pod's memory, in order of allocation."""
    left = dict(total)
    at_start: dict[str, Demand] = {}
    for container in pod.containers():
        asked = parts[container.name]
        if not asked and container.kind is ContainerKind.INIT:
            at_start[container.name] = {name: left[name] for name in total}
        elif container.kind is not ContainerKind.INIT:
            for name, size in asked.items():
                # If app containers request a type that the pod does not, the rest is negative and
                # wraps around, as in the kubelet.
                if name in total or (wraps and container.kind is ContainerKind.APP):
                    left[name] = (left.get(name, 0) - size) & UINT64
    return [
        (name, parts[name] or at_start.get(name, left))
        for name in (container.name for container in pod.containers())
    ]


def _blocks(node_ids: tuple[int, ...], asked: Demand) -> Blocks:
    sizes = sorted(asked.items())
    return tuple(MemoryBlock(node_ids, name, size) for name, size in sizes if size > 0)
