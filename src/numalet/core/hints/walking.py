"""The merge as the kubelet walks it, for machines on which the way decides over its life.

The kubelet takes the distance to a node from the place of a row that has the node's id as its
number. Where ids have gaps, rows are too short for the highest ids, and the kubelet panics as
soon as it compares by distance a set that holds such nodes. Whether it ever does depends on which
set is the best so far when another one of the same size comes, so every combination of hints is
visited, in the kubelet's order. What is left of the walk depends only on the intersection so
far and on the best set so far; so each of these states is walked once.
Kubelet: ``HintMerger.Merge``, ``HintMerger.compare`` and ``NUMAInfo.Closest``, v1.32.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final, NamedTuple

from numalet.core.hints import filtering, fitness, merging
from numalet.core.hints.filtering import HintList, Offer, Ruled
from numalet.core.hints.fitness import Distances
from numalet.core.hints.hint import Hint
from numalet.core.hints.rule import MOST_NODES_LISTED
from numalet.core.model.numa_mask import NumaMask
from numalet.core.model.value import Mutable, Value, field

MOST_STEPS: Final = 300_000
"""Hints taken up in one walk."""


class NoDistance(Value):
    """Two sets are compared by distance, and a row has no place for a node of theirs."""

    code: ClassVar[str] = "hints/no-distance"
    sentence: ClassVar[str] = (
        "prefer-closest-numa-nodes compares the NUMA nodes {mask} with others by distance, and "
        "the kubelet takes the distance to node {node} from place {node} of a row that has not so "
        "many places."
    )
    mask: NumaMask
    node: int


class TooManyComparisons(Value):
    """Whether such sets are ever compared takes too long to find out."""

    code: ClassVar[str] = "hints/too-many-comparisons"
    sentence: ClassVar[str] = (
        "prefer-closest-numa-nodes finds no distance to NUMA node {node}, whose number is higher "
        "than the rows of distances are long; there are too many sets of nodes to know whether "
        "the kubelet would compare one with that node."
    )
    node: int


class _Prefix(NamedTuple):
    """One hint of each list so far: the intersection; the set that all name; all preferred."""

    mask: NumaMask
    named: NumaMask | None
    preferred: bool


class _PanicError(Exception):
    """Ends a walk from wherever it is; ``mask`` is the set that has no mean distance."""

    def __init__(self, mask: NumaMask) -> None:
        super().__init__(mask)
        self.mask = mask


class _TooLongError(Exception):
    """The walk has used up its steps."""


def merge(
    offers: Sequence[Offer], all_nodes: NumaMask, distances: Distances
) -> Hint | NoDistance | TooManyComparisons:
    """The kubelet's best merged hint, or what it would panic over on the way."""
    if all_nodes.bit_count() > MOST_NODES_LISTED and any(isinstance(o, Ruled) for o in offers):
        return TooManyComparisons(_highest(all_nodes))
    lists = filtering.written_out(offers)
    if not all(lists):
        return Hint(all_nodes, False)
    walk = _Walk(lists, merging.size_of_the_neediest(lists), distances)
    try:
        best = walk.best(0, _Prefix(all_nodes, None, True), None)
    except _PanicError as panic:
        return NoDistance(panic.mask, _highest(panic.mask))
    except _TooLongError:
        return TooManyComparisons(_highest(all_nodes))
    return best if best is not None else Hint(all_nodes, False)


def _highest(mask: NumaMask) -> int:
    return mask.bit_length() - 1


class _Walk(Mutable):
    lists: Sequence[HintList]
    wanted: int
    distances: Distances
    steps: int = 0
    known: dict[tuple[int, _Prefix, Hint | None], Hint | None] = field(default_factory=dict)

    def best(self, at: int, prefix: _Prefix, best: Hint | None) -> Hint | None:
        """The best set after all combinations that begin with this prefix."""
        if not prefix.mask or (best is not None and best.preferred and not prefix.preferred):
            return best
        if at == len(self.lists):
            return self._better(best, Hint(prefix.mask, prefix.preferred))
        state = (at, prefix, best)
        if state in self.known:
            return self.known[state]
        for hint in self.lists[at]:
            self.steps += 1
            if self.steps > MOST_STEPS:
                raise _TooLongError
            best = self.best(at + 1, _with(prefix, hint), best)
        self.known[state] = best
        return best

    def _better(self, best: Hint | None, candidate: Hint) -> Hint:
        if best is None or best == candidate:
            return candidate
        assert best.mask is not None
        assert candidate.mask is not None
        if best.preferred != candidate.preferred:
            return candidate if candidate.preferred else best
        masks = (best.mask, candidate.mask)
        if best.mask.bit_count() == candidate.mask.bit_count():
            for mask in masks:
                if not self.distances.are_readable(mask):
                    raise _PanicError(mask)
        if candidate.preferred:
            return Hint(fitness.best_preferred(masks, self.distances), True)
        return Hint(fitness.best_not_preferred(masks, self.wanted, self.distances), False)


def _with(prefix: _Prefix, hint: Hint) -> _Prefix:
    """The prefix and one hint more; the named set matters only while all are preferred."""
    mask, named, preferred = prefix
    preferred = preferred and hint.preferred
    if hint.mask is None:
        return _Prefix(mask, named if preferred else None, preferred)
    if named is not None and named != hint.mask:
        preferred = False
    return _Prefix(mask & hint.mask, hint.mask if preferred else None, preferred)
