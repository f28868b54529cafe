"""The fewest NUMA nodes that hold all resources of a pod together.

The kubelet prefers a set only if it has the minimum size for each resource alone. With 32 CPUs per
node, the policy restricted rejects a pod with 40 CPUs and memory that fits one node: the CPUs
prefer two nodes, the memory one. This rule instead prefers the sets of the size that the neediest
resource needs on an empty machine, if all resources offer them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Final

from numalet.core.hints import fitness
from numalet.core.hints.filtering import HintList, Offer, Ruled
from numalet.core.hints.fitness import Distances
from numalet.core.hints.hint import Hint
from numalet.core.model import numa_mask
from numalet.core.model.numa_mask import NumaMask

_MOST_SETS_TRIED: Final = 5_000
"""With more sets of that size, such as 4 of 30 nodes, the rule prefers nothing."""


def fewest_nodes(
    offers: Sequence[Offer], all_nodes: NumaMask, distances: Distances | None
) -> Hint | None:
    """Return the best set for all resources together as a preferred hint, if any."""
    wishes = [_wish(offer) for offer in offers if not _accepts_any(offer)]
    size = max((size for _, size in wishes), default=0)
    possible = math.comb(all_nodes.bit_count(), size)
    if not size or not all(size for _, size in wishes) or possible > _MOST_SETS_TRIED:
        return None
    sets = map(numa_mask.of, combinations(numa_mask.ids(all_nodes), size))
    common = {mask for mask in sets if all(offers(mask) for offers, _ in wishes)}
    return Hint(fitness.best_preferred(common, distances), True) if common else None


def _accepts_any(offer: Offer) -> bool:
    return not isinstance(offer, Ruled) and Hint(None, True) in offer


def _wish(offer: Offer) -> tuple[Callable[[NumaMask], bool], int]:
    """Return a predicate for offered sets, and the preferred size; 0 if it is unknown."""
    if isinstance(offer, Ruled):
        return offer.rule.offers, offer.rule.preferred_size
    return _masks(offer).__contains__, _preferred_size(offer)


def _masks(hints: HintList) -> frozenset[NumaMask]:
    return frozenset(hint.mask for hint in hints if hint.mask is not None)


def _preferred_size(hints: HintList) -> int:
    sizes = (hint.mask.bit_count() for hint in hints if hint.preferred and hint.mask is not None)
    return min(sizes, default=0)
