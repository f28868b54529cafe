"""The Memory Manager's policy Static: implements ``core.hints.provider.ResourceManager``.

On Windows the same rules have the policy name BestEffort.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from numalet.core.config.behaviour import EXACT, Behaviour
from numalet.core.hints.lowest_set import LowestSet
from numalet.core.hints.provider import (
    NO_HINTS,
    ActiveContainers,
    Hint,
    Impossible,
    ProviderHints,
    Refused,
)
from numalet.core.hints.requirement import OpenSets
from numalet.core.managers.memory import allocation, demand, hints, init_reuse
from numalet.core.managers.memory.demand import Demand
from numalet.core.managers.memory.hints import MemoryHintFamily
from numalet.core.managers.memory.ledger import NOTHING_REUSABLE, UINT64, Blocks, MemoryLedger
from numalet.core.managers.memory.reasons import (
    CanNotExtend,
    CutsGroup,
    DefaultNotPreferred,
    ExtendedNotPreferred,
    NoNodeFits,
    NoSuchPages,
    NotAnInteger,
    NothingOffered,
    UnknownMemoryType,
)
from numalet.core.model import numa_mask
from numalet.core.model.numa_mask import NumaMask
from numalet.core.model.pod import Container, ContainerKey, ContainerKind, Pod, QosClass
from numalet.core.model.value import Value

# The best set of nodes that the manager finds itself. It searches if the merged hint is "any node",
# or if the hint's nodes have too little room because another resource narrowed it. Best is:
# preferred, then fewer nodes, then the lower numbers. Kubelet: ``getDefaultHint``,
# ``extendTopologyManagerHint``, v1.32.


def best(offered: MemoryHintFamily, containing: NumaMask = numa_mask.EMPTY) -> Hint | None:
    """Return the best offered set that contains the given nodes, if any."""
    masks = offered.masks if offered.tried is not None else _possible(offered, containing)
    if containing:
        masks = [mask for mask in masks if numa_mask.contains(mask, containing)]
    if not masks:
        return None
    fewest = min(map(int.bit_count, masks))
    smallest = min([mask for mask in masks if mask.bit_count() == fewest])
    # No offered set is smaller than the preferred size, so the smallest set is the best.
    return Hint(smallest, fewest == offered.preferred_size)


def _possible(offered: MemoryHintFamily, containing: NumaMask) -> Sequence[NumaMask]:
    """Return offered sets, including the best one that contains the given nodes."""
    if offered.rule is None:
        return offered.masks
    if offered.is_empty:
        return ()
    islands, open_sets = offered.rule.islands, offered.rule.open_sets
    extended = OpenSets(
        open_sets.universe, open_sets.mandatory | containing, open_sets.requirements
    )
    smallest = LowestSet(extended).smallest()
    return islands if smallest is None else (*islands, smallest)


class MemoryStaticPolicy(Value):
    """The rules of the kubelet or of native mode; the ledger describes the machine.

    ``no_memory_is_skipped`` is a rule of a release.
    """

    behaviour: Behaviour = EXACT
    no_memory_is_skipped: bool = False

    def container_hints(
        self, ledger: MemoryLedger, pod: Pod, container: Container
    ) -> ProviderHints | Refused:
        """Return hints for one container; no preference unless the pod is Guaranteed."""
        if pod.qos_class is not QosClass.GUARANTEED:
            return NO_HINTS
        asked = demand.of_container(container, self.behaviour)
        if isinstance(asked, NotAnInteger) or (self.no_memory_is_skipped and not asked):
            return NO_HINTS
        blocks = ledger.blocks_of(pod.uid, container.name)
        if blocks is not None:
            return self._held((blocks,), asked)
        if container.kind is ContainerKind.INIT and self._has_ended(ledger, pod, container):
            return NO_HINTS
        return self._computed(ledger, pod, asked)

    def pod_hints(self, ledger: MemoryLedger, pod: Pod) -> ProviderHints | Refused:
        """Return hints for the pod's total; no preference unless the pod is Guaranteed."""
        if pod.qos_class is not QosClass.GUARANTEED:
            return NO_HINTS
        asked = demand.of_pod(pod, self.behaviour)
        if isinstance(asked, NotAnInteger):
            return NO_HINTS
        return self.hints_for(ledger, pod, asked)

    def hints_for(self, ledger: MemoryLedger, pod: Pod, asked: Demand) -> ProviderHints | Refused:
        """Return hints for a total, or for the current nodes of the pod's containers."""
        records = (ledger.blocks_of(pod.uid, each.name) for each in pod.containers())
        # The kubelet compares only the first container that has blocks with the pod's total, so
        # the usual result is "no preference".
        held = [blocks for blocks in records if blocks is not None]
        return self._held(held, asked) if held else self._computed(ledger, pod, asked)

    def _held(self, records: Sequence[Blocks], asked: Demand) -> ProviderHints:
        """Return hints for the existing blocks of these containers, in their order."""
        if self.behaviour.held_memory_is_compared:
            return hints.regenerated(records[0], asked)
        return hints.in_place(block for blocks in records for block in blocks)

    def _has_ended(self, ledger: MemoryLedger, pod: Pod, container: Container) -> bool:
        if self.behaviour.ended_init_containers_return:
            return False
        names = [each.name for each in pod.containers()]
        later = names[names.index(container.name) + 1 :]
        return any(ledger.blocks_of(pod.uid, name) is not None for name in later)

    def _computed(self, ledger: MemoryLedger, pod: Pod, asked: Demand) -> ProviderHints | Refused:
        missing = _missing_type(ledger, asked)
        if missing is not None and not self.behaviour.missing_page_size_crashes:
            return dict.fromkeys(asked, Impossible(NoSuchPages(missing.resource)))
        if missing is not None:
            return Refused(missing)
        if not hints.is_short(ledger, pod.uid, asked):
            offered = hints.family(ledger, pod.uid, asked)
            if not offered.is_empty:
                return dict.fromkeys(asked, offered)
        # Without any set the kubelet answers "no preference" instead of "impossible".
        if not self.behaviour.lack_of_memory_is_reported:
            return NO_HINTS
        return dict.fromkeys(asked, Impossible(NothingOffered()))

    def allocate(
        self, ledger: MemoryLedger, pod: Pod, container: Container, affinity: Hint
    ) -> MemoryLedger | Refused:
        if pod.qos_class is not QosClass.GUARANTEED:
            return ledger
        asked = demand.of_container(container, self.behaviour)
        if self.no_memory_is_skipped and not asked:
            return ledger
        blocks = ledger.blocks_of(pod.uid, container.name)
        if blocks is not None:
            reusable = init_reuse.after(ledger.reusable, pod, container, blocks)
            return ledger.with_reusable(reusable)
        if container.kind is ContainerKind.INIT and self._has_ended(ledger, pod, container):
            return ledger
        if isinstance(asked, NotAnInteger):
            return Refused(asked)
        if not asked and not self.behaviour.no_memory_needs_a_node:
            return ledger
        mask = self.mask_for(ledger, pod.uid, container.name, asked, affinity)
        if isinstance(mask, Refused):
            return mask
        return allocation.allocate(ledger, pod, container, asked, mask)

    def mask_for(
        self, ledger: MemoryLedger, pod_uid: str, container: str, asked: Demand, affinity: Hint
    ) -> NumaMask | Refused:
        """Return the affinity's nodes, replaced or extended if they cannot hold the demand."""
        missing = _missing_type(ledger, asked)
        if missing is not None and not self.behaviour.missing_page_size_crashes:
            return Refused(NoSuchPages(missing.resource))
        if missing is not None:
            return _given_mask(ledger, container, asked, affinity, missing)
        chosen = affinity
        will_do = False
        # 1. "Any node": the manager's own best set.
        if chosen.mask is None:
            default = _best(ledger, pod_uid, asked)
            if default is None or default.mask is None:
                return Refused(NoNodeFits(container))
            if chosen.preferred and not default.preferred:
                return Refused(DefaultNotPreferred(container, default.mask))
            chosen = default
            # Already tested, unless reusable memory helped: the kubelet tests without it below.
            will_do = not ledger.reusable.of_pod(pod_uid)
        mask = chosen.mask if chosen.mask is not None else numa_mask.EMPTY
        # In native mode, drop nodes that provide other resources but no memory.
        mask &= ledger.capacity.nodes
        # 2. Too small: the best superset.
        if not will_do and not self._will_do(ledger, pod_uid, asked, mask):
            extended = _best(ledger, pod_uid, asked, containing=mask)
            if extended is None or extended.mask is None:
                return Refused(CanNotExtend(container, mask))
            if chosen.preferred and not extended.preferred:
                return Refused(ExtendedNotPreferred(container, mask, extended.mask))
            mask = extended.mask
        # 3. A set of several nodes must not overlap a node or group in use.
        cut = _cut_group(ledger, container, mask)
        return mask if cut is None else Refused(cut)

    def _will_do(self, ledger: MemoryLedger, pod_uid: str, asked: Demand, mask: NumaMask) -> bool:
        """Return whether the set can be used unchanged.

        The kubelet considers free memory only, and ignores reusable memory.
        """
        if self.behaviour.groups_stay_whole:
            return hints.why_not(ledger, pod_uid, asked, mask) is None
        return _has_free(ledger, asked, mask)

    def forget_stale(self, ledger: MemoryLedger, active: ActiveContainers) -> MemoryLedger:
        for key in ledger.stale(active):
            ledger = allocation.release(ledger, key)
        uid = ledger.reusable.pod_uid
        if self.behaviour.reuse_outlives_the_pod or not uid:
            return ledger
        if any(key.pod_uid == uid for key in active):
            return ledger
        return _without_reuse(ledger, uid)

    def forget_pods(self, ledger: MemoryLedger, pod_uids: Sequence[str]) -> MemoryLedger:
        for uid in pod_uids:
            ledger = allocation.release_pod(ledger, uid)
            if not self.behaviour.reuse_outlives_the_pod:
                ledger = _without_reuse(ledger, uid)
        return ledger

    def holders(self, ledger: MemoryLedger, pod_uid: str | None = None) -> Collection[ContainerKey]:
        """Return every container with a record, even an empty one."""
        return ledger.holders(pod_uid)

    def container_started(
        self, ledger: MemoryLedger, pod: Pod, container: Container
    ) -> MemoryLedger:
        """Release the init containers that ended before this container.

        Kubelet: ``manager.AddContainer``, v1.32, with any policy and QoS class.
        """
        for earlier in pod.init_containers:
            if earlier.name == container.name:
                break
            if earlier.kind is not ContainerKind.SIDECAR:
                ledger = allocation.release(ledger, ContainerKey(pod.uid, earlier.name))
        if self.behaviour.reuse_outlives_the_pod:
            return ledger
        return _without_reuse(ledger, pod.uid)


def _best(
    ledger: MemoryLedger, pod_uid: str, asked: Demand, containing: NumaMask = numa_mask.EMPTY
) -> Hint | None:
    if hints.is_short(ledger, pod_uid, asked):
        return None
    return best(hints.family(ledger, pod_uid, asked), containing)


def _without_reuse(ledger: MemoryLedger, pod_uid: str) -> MemoryLedger:
    if not pod_uid or ledger.reusable.pod_uid != pod_uid:
        return ledger
    return ledger.with_reusable(NOTHING_REUSABLE)


def _missing_type(ledger: MemoryLedger, asked: Demand) -> UnknownMemoryType | None:
    is_known = asked.keys() <= ledger.capacity.types
    return None if is_known else hints.missing_type(ledger.nodes, asked)


def _given_mask(
    ledger: MemoryLedger,
    container: str,
    asked: Demand,
    affinity: Hint,
    missing: UnknownMemoryType,
) -> NumaMask | Refused:
    """Return the affinity's nodes, although some node lacks a table for a requested type."""
    # The kubelet crashes when it reads a node without such a table. It reads the affinity's nodes
    # first, and the others only to find or to extend a set. Such an affinity comes from the pod's
    # total, which omits the types that only init containers request.
    if affinity.mask is None:
        return Refused(missing)
    inside = {node_id: ledger.nodes[node_id] for node_id in numa_mask.ids(affinity.mask)}
    missing_inside = hints.missing_type(inside, asked)
    if missing_inside is not None:
        return Refused(missing_inside)
    if not _has_free(ledger, asked, affinity.mask):
        return Refused(missing)
    cut = _cut_group(ledger, container, affinity.mask)
    return affinity.mask if cut is None else Refused(cut)


def _has_free(ledger: MemoryLedger, asked: Demand, mask: NumaMask) -> bool:
    node_ids = numa_mask.ids(mask)
    for name, size in asked.items():
        free = 0
        for node_id in node_ids:
            free += ledger.nodes[node_id].tables[name].free
        # Modulo 2^64, as in the kubelet.
        if free & UINT64 < size:
            return False
    return True


def _cut_group(ledger: MemoryLedger, container: str, mask: NumaMask) -> CutsGroup | None:
    if mask.bit_count() > 1:
        for node_id in numa_mask.ids(mask):
            node = ledger.nodes[node_id]
            if node.assignments and node.group != mask:
                return CutsGroup(container, mask, node_id, node.group)
    return None
