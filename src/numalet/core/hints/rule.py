"""A family of hints as a rule: it answers questions without listing 2^n sets.

*Open part*: sets that stay offered when they gain nodes (``requirement.OpenSets``). *Island*: one
set that is offered independently of its subsets and supersets, such as a group of the Memory
Manager. *Copies*: resources of one provider may share one rule; each still is a separate list in
the merge.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Protocol, runtime_checkable

from numalet.core.hints.lowest_set import LowestSet
from numalet.core.hints.provider import Hint, HintFamily
from numalet.core.hints.requirement import OpenSets, Requirement
from numalet.core.model import numa_mask
from numalet.core.model.numa_mask import NumaMask
from numalet.core.model.value import Value

MOST_NODES_LISTED = 12
"""Nodes up to which a family may be listed: 4095 sets. Beyond it only the rule is used."""

_FEW_NODES = 8


class HintRule(Value, eq=False, dict=True):
    """The open part, the islands, and which of these sets are preferred.

    ``nodes`` are all nodes that occur in some set. Sets of the preferred size are preferred; with
    ``spanning``, also sets that meet that requirement. Equality is identity.
    """

    nodes: NumaMask
    open_sets: OpenSets
    preferred_size: int
    islands: tuple[NumaMask, ...] = ()
    spanning: Requirement | None = None

    def offers(self, mask: NumaMask) -> bool:
        return mask in self.islands or self.open_sets.offers(mask)

    def prefers(self, mask: NumaMask) -> bool:
        if mask.bit_count() == self.preferred_size:
            return True
        return self.spanning is not None and self.spanning.is_met_by(mask)

    @property
    def can_be_listed(self) -> bool:
        return self.nodes.bit_count() <= MOST_NODES_LISTED

    @cached_property
    def has_open_sets(self) -> bool:
        return not self.open_sets.is_empty()

    @property
    def is_empty(self) -> bool:
        return not (self.islands or self.has_open_sets)

    @cached_property
    def open_search(self) -> LowestSet:
        return LowestSet(self.open_sets)

    @cached_property
    def smallest_open(self) -> NumaMask | None:
        """The lowest of the smallest sets of the open part, unless that is empty."""
        if not self.has_open_sets:
            return None
        return _single(self.open_sets) or self.open_search.smallest()

    @cached_property
    def smallest_size(self) -> int:
        """The number of nodes of the smallest offered set. The rule must not be empty."""
        sizes = [island.bit_count() for island in self.islands]
        if self.smallest_open is not None:
            sizes.append(self.smallest_open.bit_count())
        return min(sizes)

    def singles(self) -> Iterator[NumaMask]:
        """Yield the offered sets of one node, in order of their ids."""
        for node_id in numa_mask.ids(self.nodes):
            if self.offers(1 << node_id):
                yield 1 << node_id

    def preferred_singles(self) -> Iterator[Hint]:
        """Yield the preferred hints of one node, in order of their ids."""
        if self.preferred_size == 1 or self.spanning is not None:
            for mask in self.singles():
                if self.prefers(mask):
                    yield Hint(mask, True)


@runtime_checkable
class FamilyByRule(HintFamily, Protocol):
    """A family that has a rule, unless it must be listed."""

    @property
    def rule(self) -> HintRule | None:
        """The same object on every access."""
        ...


def smallest_size(sets: OpenSets, otherwise: int) -> int:
    """Return the number of nodes of the smallest set; ``otherwise`` if no set is offered."""
    size = 1 if _single(sets) else LowestSet(sets).fewest()
    return otherwise if size is None else size


def _single(sets: OpenSets) -> NumaMask | None:
    """Return the lowest set of one node, unless there are too many nodes to try them all.

    On few nodes this nearly always answers, and is faster than preparing a search.
    """
    if sets.universe.bit_count() > _FEW_NODES:
        return None
    masks = (1 << node_id for node_id in numa_mask.ids(sets.universe))
    return next(filter(sets.offers, masks), None)
