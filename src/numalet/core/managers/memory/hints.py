"""The sets of NUMA nodes that can hold a demand, in the kubelet's order of hints.

The manager offers a set if the allocatable memory of its nodes suffices, the groups allow it, and
their free memory suffices, including the memory that this pod may reuse on exactly this set. A hint
is preferred if it has the size of the smallest set with enough allocatable memory, even if that set
itself is not offered. Every requested type offers the same sets.

A rule describes the sets of unused nodes, because adding a node never hurts. The few other possible
sets are its islands (``core.hints.rule``): nodes and groups in use, and sets with reusable memory.
Kubelet: ``staticPolicy.calculateHints``, v1.32.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from numalet.core.hints import few_nodes, requirement, rule
from numalet.core.hints.few_nodes import TriedSets
from numalet.core.hints.provider import Candidates, Hint, Reason
from numalet.core.hints.requirement import OpenSets
from numalet.core.hints.rule import HintRule
from numalet.core.managers.memory.demand import Demand
from numalet.core.managers.memory.ledger import (
    UINT64,
    Blocks,
    MemoryBlock,
    MemoryLedger,
    NodeMemory,
)
from numalet.core.managers.memory.reasons import (
    GivesNoMemory,
    NodeInGroup,
    NodeInUse,
    TooLittleAllocatable,
    TooLittleFree,
    UnknownMemoryType,
)
from numalet.core.model import numa_mask
from numalet.core.model.numa_mask import NumaMask
from numalet.core.model.value import Value

# On few NUMA nodes, ``of_demand`` enumerates the sets as the kubelet does, with the same tests in
# one loop over sums.


def of_demand(ledger: MemoryLedger, pod_uid: str, demand: Demand) -> TriedSets:
    """Test every set of the ledger's nodes, which must be few."""
    all_nodes, allocatable_of = ledger.capacity.nodes, ledger.capacity.of_sets
    nodes = [ledger.nodes[node_id] for node_id in numa_mask.ids(all_nodes)]
    reusable = ledger.reusable.of_pod(pod_uid)
    wanted = []
    for name, asked in demand.items():
        free = few_nodes.sums(all_nodes, [node.tables[name].free for node in nodes])
        wanted.append((name, asked, allocatable_of[name], free))
    bound = [
        (1 << node_id, node.group, node.assignments)
        for node_id, node in ledger.nodes.items()
        if node.assignments or node.group.bit_count() > 1
    ]
    size = 0
    offered = []
    for mask in few_nodes.every_set(all_nodes):
        for _, asked, allocatable, _ in wanted:
            if allocatable[mask] & UINT64 < asked:
                break
        else:
            # The preferred size comes from the first set with enough allocatable memory, even if
            # the next tests reject this set.
            size = size or mask.bit_count()
            if bound and not _respects(bound, mask):
                continue
            for name, asked, _, free in wanted:
                if (free[mask] + reusable.get((mask, name), 0)) & UINT64 < asked:
                    break
            else:
                offered.append(mask)
    return TriedSets(size or len(nodes), tuple(offered) if demand else ())


def is_short(ledger: MemoryLedger, pod_uid: str, demand: Demand) -> bool:
    """Return whether all nodes together surely have too little free memory of a type.

    Then no set of nodes is offered, because adding a node never hurts. Memory that this pod may
    reuse is not counted, so a pod with some is never short.
    """
    nodes = ledger.nodes.values()
    for name, asked in demand.items():
        # A sum below the demand does not wrap around, and neither do its parts.
        if sum([node.tables[name].free for node in nodes]) < asked:
            return not ledger.reusable.of_pod(pod_uid)
    return False


def _respects(bound: Sequence[tuple[NumaMask, NumaMask, int]], mask: NumaMask) -> bool:
    """Return whether a set splits no group, and uses nodes in use only as their group.

    ``bound`` are the nodes in use or in a group: each with its group and its assignments.
    """
    is_single = mask.bit_count() == 1
    for node, group, assignments in bound:
        if not node & mask:
            continue
        # A single node is refused if it is part of a group, in use or not. Its own assignments do
        # not matter: pods on one node alone may share it.
        if is_single:
            return group.bit_count() <= 1
        if assignments and group != mask:
            return False
    return True


class MemoryHintFamily(Value, dict=True):
    """The sets that can hold one demand: a family of hints, shared by its memory types."""

    ledger: MemoryLedger
    pod_uid: str
    demand: Demand
    tried: TriedSets | None = None
    """The offered sets by full enumeration, on few nodes only."""

    @property
    def preferred_masks(self) -> list[NumaMask] | None:
        return None if self.tried is None else self.tried.preferred

    @property
    def rule(self) -> HintRule | None:
        """The offered sets as a rule, unless a list is faster or sizes wrap around."""
        return self.as_rule if self.tried is None else None

    @cached_property
    def as_rule(self) -> HintRule | None:
        # Sums that wrap around follow no rule.
        if self._wraps_around:
            return None
        open_sets = _open_sets(self.ledger.nodes, self.demand)
        islands = tuple(
            mask
            for mask in _possible_islands(self.ledger, self.pod_uid)
            if not open_sets.offers(mask) and self._is_offered(mask)
        )
        return HintRule(numa_mask.of(self.ledger.nodes), open_sets, self.preferred_size, islands)

    def _is_offered(self, mask: NumaMask) -> bool:
        """Return whether ``why_not`` has no reason; faster, because it runs for every used node."""
        if mask.bit_count() > 1:
            return self.why_not(mask) is None
        node = self.ledger.nodes[mask.bit_length() - 1]
        return node.group.bit_count() <= 1 and all(
            node.tables[name].allocatable >= asked
            and node.tables[name].free + self.ledger.reusable.size_bytes(self.pod_uid, mask, name)
            >= asked
            for name, asked in self.demand.items()
        )

    @property
    def preferred_size(self) -> int:
        """The size of the smallest set that could hold the demand on an empty machine.

        All nodes, if no set could.
        """
        return self._preferred_size if self.tried is None else self.tried.preferred_size

    @cached_property
    def _preferred_size(self) -> int:
        nodes = self.ledger.nodes
        if self._wraps_around:
            for mask in numa_mask.by_size(nodes):
                if _too_little_allocatable(nodes, self.demand, mask) is None:
                    return mask.bit_count()
            return len(nodes)
        allocatable = [
            requirement.by_node(asked, {i: n.tables[name].allocatable for i, n in nodes.items()})
            for name, asked in self.demand.items()
        ]
        all_nodes = numa_mask.of(nodes)
        empty_machine = OpenSets(all_nodes, numa_mask.EMPTY, tuple(allocatable))
        return rule.smallest_size(empty_machine, otherwise=len(nodes))

    @cached_property
    def _wraps_around(self) -> bool:
        """Whether a sum may exceed 2^64 and wrap around.

        A larger set may then seem to have less memory.
        """
        reusable = sum(self.ledger.reusable.sizes.values())
        for name in self.demand:
            tables = [node.tables[name] for node in self.ledger.nodes.values()]
            if sum([table.allocatable for table in tables]) + reusable > UINT64:
                return True
            if [table for table in tables if table.free > table.allocatable]:
                return True
        return False

    @property
    def masks(self) -> tuple[NumaMask, ...]:
        """The offered sets, smaller ones first; up to 2^n."""
        return self._masks if self.tried is None else self.tried.offered

    @cached_property
    def _masks(self) -> tuple[NumaMask, ...]:
        if not self.demand:
            return ()
        every_set = numa_mask.by_size(self.ledger.nodes)
        return tuple(mask for mask in every_set if self.why_not(mask) is None)

    @property
    def is_empty(self) -> bool:
        if self.tried is not None:
            return not self.tried.offered
        if self.as_rule is None or not self.demand:
            return not self.masks
        return self.as_rule.is_empty

    def hints(self) -> Sequence[Hint]:
        return TriedSets(self.preferred_size, self.masks).hints()

    def why_not(self, mask: NumaMask) -> Reason | None:
        return why_not(self.ledger, self.pod_uid, self.demand, mask)


def family(ledger: MemoryLedger, pod_uid: str, demand: Demand) -> MemoryHintFamily:
    if len(ledger.nodes) > few_nodes.MOST_NODES:
        return MemoryHintFamily(ledger, pod_uid, demand)
    # Cache the last enumeration in the ledger: after a hint "any node", or one that is too small,
    # ``allocate`` needs it again. The demand of a container is the same object in both calls.
    last = ledger.__dict__.get("tried")
    if last is None or last[0] != pod_uid or last[1] is not demand:
        last = (pod_uid, demand, of_demand(ledger, pod_uid, demand))
        ledger.__dict__["tried"] = last
    return MemoryHintFamily(ledger, pod_uid, demand, last[2])


def _open_sets(nodes: Mapping[int, NodeMemory], demand: Demand) -> OpenSets:
    """Return the sets of unused nodes with enough free memory of every type."""
    unused = {node_id: node for node_id, node in nodes.items() if not node.assignments}
    requirements = [
        requirement.by_node(asked, {i: node.tables[name].free for i, node in unused.items()})
        for name, asked in demand.items()
    ]
    if [node for node in unused.values() if node.group.bit_count() > 1]:
        # Only a state file can have it: an unused node in a group. The kubelet offers such a
        # node in larger sets but never alone; weight 1 of a need of 2 expresses that.
        weights = {i: 1 if node.group.bit_count() > 1 else 2 for i, node in unused.items()}
        requirements.append(requirement.by_node(2, weights))
    return OpenSets(numa_mask.of(unused), numa_mask.EMPTY, tuple(requirements))


def _possible_islands(ledger: MemoryLedger, pod_uid: str) -> list[NumaMask]:
    in_use = [
        (1 << node_id, node.group) for node_id, node in ledger.nodes.items() if node.assignments
    ]
    # Each used node alone, and its group: any other set that contains a used node would cut or
    # enlarge a group.
    masks = {each for pair in in_use for each in pair}
    # Reusable memory counts on exactly the set where it is, so that set may fit while larger sets
    # do not.
    if ledger.reusable.pod_uid == pod_uid:
        masks |= {mask for mask, _ in ledger.reusable.sizes}
    return sorted(masks)


def missing_type(nodes: Mapping[int, NodeMemory], demand: Demand) -> UnknownMemoryType | None:
    """Return a requested type that some node has no table for, if any."""
    for node_id, node in nodes.items():
        if not demand.keys() <= node.tables.keys():
            lacking = next(resource for resource in demand if resource not in node.tables)
            return UnknownMemoryType(lacking, node_id)
    return None


def why_not(ledger: MemoryLedger, pod_uid: str, demand: Demand, mask: NumaMask) -> Reason | None:
    """Return why a set cannot hold a demand, by the kubelet's tests in order."""
    outside = mask & ~numa_mask.of(ledger.nodes)
    if outside:
        return GivesNoMemory(outside)
    too_little = _too_little_allocatable(ledger.nodes, demand, mask)
    if too_little is not None:
        return too_little
    nodes = [ledger.nodes[node_id] for node_id in numa_mask.ids(mask)]
    for node_id, node in zip(numa_mask.ids(mask), nodes, strict=True):
        if len(nodes) == 1 and node.group.bit_count() > 1:
            return NodeInGroup(node_id, node.group)
        if len(nodes) > 1 and node.assignments and node.group != mask:
            return NodeInUse(mask, node_id, node.group)
    for name, asked in demand.items():
        free = sum(node.tables[name].free for node in nodes)
        free = (free + ledger.reusable.size_bytes(pod_uid, mask, name)) & UINT64
        if free < asked:
            return TooLittleFree(mask, name, asked, free)
    return None


def _too_little_allocatable(
    nodes: Mapping[int, NodeMemory], demand: Demand, mask: NumaMask
) -> TooLittleAllocatable | None:
    inside = [nodes[node_id] for node_id in numa_mask.ids(mask)]
    for name, asked in demand.items():
        allocatable = sum(node.tables[name].allocatable for node in inside) & UINT64
        if allocatable < asked:
            return TooLittleAllocatable(mask, name, asked, allocatable)
    return None


def regenerated(blocks: Blocks, demand: Demand) -> dict[str, Candidates]:
    """Return the hints of a container that already has blocks: their nodes, preferred.

    Empty ("no preference") if the blocks do not equal the demand. Kubelet: ``regenerateHints``,
    v1.32.
    """
    if len(blocks) != len(demand):
        return {}
    if any(demand.get(block.resource) != block.size_bytes for block in blocks):
        return {}
    return {
        block.resource: Candidates((Hint(numa_mask.of(block.nodes), True),)) for block in blocks
    }


def in_place(blocks: Iterable[MemoryBlock]) -> dict[str, Candidates]:
    """Return hints for existing blocks: their nodes, preferred.

    Empty ("no preference") if they are on different nodes: each block stays, and no single set of
    nodes can express that.
    """
    held = tuple(blocks)
    masks = {numa_mask.of(block.nodes) for block in held}
    if len(masks) != 1:
        return {}
    place = Candidates((Hint(masks.pop(), True),))
    return {block.resource: place for block in held}
