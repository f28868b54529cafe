"""A family of hints known by rule: it can be asked without listing 2^n sets.

*Open part*: sets that stay offered when nodes are added (``requirement.OpenSets``).
*Island*: a single set that is offered as it is, whatever its subsets and supersets are; the
Memory Manager's groups of nodes are islands.
*Copies*: resources of one provider may share one rule; each still is a list of its own in the
merge.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Protocol, runtime_checkable

from numalet.core.hints.hint import Hint, HintFamily
from numalet.core.hints.lowest_set import LowestSet
from numalet.core.hints.requirement import OpenSets, Requirement
from numalet.core.model import numa_mask
from numalet.core.model.numa_mask import NumaMask
from numalet.core.model.value import Value

MOST_NODES_LISTED = 12
"""Up to here a family may be listed, 4095 sets at most; beyond it only the rule is asked."""

_FEW_NODES = 8


class HintRule(Value, eq=False, dict=True):
    """The open part and the islands that are offered, and which of all these are preferred.

    ``nodes`` are all that occur in some set. Preferred are sets of the preferred size; with
    ``spanning`` also those that meet it. A rule is equal only to itself.
    """

    nodes: NumaMask
    open_sets: OpenSets
    preferred_size: int
    islands: tuple[NumaMask, ...] = ()
    spanning: Requirement | None = None

    def offers(self, mask: NumaMask) -> bool:
        """Whether the set is offered."""
        return mask in self.islands or self.open_sets.offers(mask)

    def prefers(self, mask: NumaMask) -> bool:
        """Whether the set, which is offered, is a preferred one."""
        if mask.bit_count() == self.preferred_size:
            return True
        return self.spanning is not None and self.spanning.is_met_by(mask)

    @property
    def can_be_listed(self) -> bool:
        """Whether the nodes are so few that all hints may be written out."""
        return self.nodes.bit_count() <= MOST_NODES_LISTED

    @cached_property
    def has_open_sets(self) -> bool:
        """Whether the open part is not empty."""
        return not self.open_sets.is_empty()

    @property
    def is_empty(self) -> bool:
        """Whether no set is offered at all."""
        return not (self.islands or self.has_open_sets)

    @cached_property
    def open_search(self) -> LowestSet:
        """The search for sets of the open part, which remembers what it learned."""
        return LowestSet(self.open_sets)

    @cached_property
    def smallest_open(self) -> NumaMask | None:
        """The smallest set of the open part, the lowest of these; None if it is empty."""
        if not self.has_open_sets:
            return None
        return _single(self.open_sets) or self.open_search.smallest()

    @cached_property
    def smallest_size(self) -> int:
        """The number of nodes of the smallest set that is offered; some set must be."""
        sizes = [island.bit_count() for island in self.islands]
        if self.smallest_open is not None:
            sizes.append(self.smallest_open.bit_count())
        return min(sizes)

    def singles(self) -> Iterator[NumaMask]:
        """The sets of one node that are offered, in order of their numbers."""
        for node_id in numa_mask.ids(self.nodes):
            if self.offers(1 << node_id):
                yield 1 << node_id

    def preferred_singles(self) -> Iterator[Hint]:
        """The preferred hints of one node, in order of their numbers."""
        if self.preferred_size == 1 or self.spanning is not None:
            for mask in self.singles():
                if self.prefers(mask):
                    yield Hint(mask, True)


@runtime_checkable
class FamilyByRule(HintFamily, Protocol):
    """A family that has a rule; None says that this one has to be listed after all."""

    @property
    def rule(self) -> HintRule | None:
        """The rule; the same object at each question."""
        ...


def smallest_size(sets: OpenSets, otherwise: int) -> int:
    """The number of nodes of the smallest set; ``otherwise`` if no set is offered."""
    size = 1 if _single(sets) else LowestSet(sets).fewest()
    return otherwise if size is None else size


def _single(sets: OpenSets) -> NumaMask | None:
    """The lowest set of one node; None without one, or where there are too many to try them all.

    On few nodes this is nearly always the answer, and quicker than to lay out a search for it.
    """
    if sets.universe.bit_count() > _FEW_NODES:
        return None
    masks = (1 << node_id for node_id in numa_mask.ids(sets.universe))
    return next(filter(sets.offers, masks), None)
