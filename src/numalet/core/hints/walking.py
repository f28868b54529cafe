"""The merge in the kubelet's own order, for machines on which that order decides whether it panics.

The kubelet uses a node's id as an index into a row of distances. If ids have gaps, rows are too
short for the highest ids, and the kubelet panics when it compares by distance a set with such
nodes. Whether it does depends on the order of the comparisons. Kubelet: ``HintMerger.Merge``,
``HintMerger.compare`` and ``NUMAInfo.Closest``, v1.32.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final, NamedTuple

from numalet.core.hints import filtering, fitness, merging
from numalet.core.hints.filtering import HintList, Offer, Ruled
from numalet.core.hints.fitness import Distances
from numalet.core.hints.provider import Hint
from numalet.core.hints.rule import MOST_NODES_LISTED
from numalet.core.model.numa_mask import NumaMask
from numalet.core.model.value import Mutable, Value, field

MOST_STEPS: Final = 300_000
"""Maximum number of hints visited in one walk."""


class NoDistance(Value):
    """The kubelet compares two sets by distance, but a row has no entry for one of their nodes."""

    code: ClassVar[str] = "hints/no-distance"
    sentence: ClassVar[str] = (
        "prefer-closest-numa-nodes compares the NUMA nodes {mask} with others by distance. The "
        "kubelet reads the distance to node {node} at index {node} of a row, and the row is too "
        "short."
    )
    mask: NumaMask
    node: int


class TooManyComparisons(Value):
    """The walk is too long to find out whether the kubelet compares such sets."""

    code: ClassVar[str] = "hints/too-many-comparisons"
    sentence: ClassVar[str] = (
        "prefer-closest-numa-nodes has no distance to NUMA node {node}, because its number is "
        "higher than the rows of distances are long. There are too many sets of nodes to predict "
        "whether the kubelet would compare one with that node."
    )
    node: int


class _Prefix(NamedTuple):
    """One hint of each list so far: their intersection, their common set, all preferred or not."""

    mask: NumaMask
    named: NumaMask | None
    preferred: bool


class _PanicError(Exception):
    """Ends a walk; ``mask`` is the set without a mean distance."""

    def __init__(self, mask: NumaMask) -> None:
        super().__init__(mask)
        self.mask = mask


class _TooLongError(Exception):
    """The walk exceeded ``MOST_STEPS``."""


def merge(
    offers: Sequence[Offer], all_nodes: NumaMask, distances: Distances
) -> Hint | NoDistance | TooManyComparisons:
    """Return the kubelet's best merged hint, or the reason for its panic."""
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
        """Return the best set after all combinations that begin with this prefix."""
        # An empty intersection is skipped before any comparison, as in the kubelet. A combination
        # that cannot be preferred any more never replaces a preferred best hint, and the kubelet
        # decides that before it compares distances.
        if not prefix.mask or (best is not None and best.preferred and not prefix.preferred):
            return best
        if at == len(self.lists):
            return self._better(best, Hint(prefix.mask, prefix.preferred))
        # The rest of a walk depends only on the intersection so far and the best set so far, so
        # each such state is walked once.
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
        # Only sets of one size are compared by distance.
        if best.mask.bit_count() == candidate.mask.bit_count():
            for mask in masks:
                if not self.distances.are_readable(mask):
                    raise _PanicError(mask)
        if candidate.preferred:
            return Hint(fitness.best_preferred(masks, self.distances), True)
        return Hint(fitness.best_not_preferred(masks, self.wanted, self.distances), False)


def _with(prefix: _Prefix, hint: Hint) -> _Prefix:
    mask, named, preferred = prefix
    preferred = preferred and hint.preferred
    if hint.mask is None:
        # "Any node" names no set, so it does not prevent a preferred result.
        return _Prefix(mask, named if preferred else None, preferred)
    if named is not None and named != hint.mask:
        preferred = False
    return _Prefix(mask & hint.mask, hint.mask if preferred else None, preferred)
