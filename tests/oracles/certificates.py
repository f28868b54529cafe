"""Whether a merged set can come out, shown by the sets that are intersected.

Independent of how the merge searches: sets are put together by chance and then only *asked
about*, each of its own family, with the kubelet's tests (``why_not``). What is returned proves
itself; None proves nothing.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import product
from operator import and_

from numalet.core.hints.filtering import Offer, Ruled
from numalet.core.model import numa_mask
from numalet.core.model.numa_mask import NumaMask

_ATTEMPTS = 300


def of(offers: Sequence[Offer], mask: NumaMask, rng: random.Random) -> list[NumaMask] | None:
    """One set of each family, offered by it, whose intersection is the mask; None if not found."""
    ruled = [offer for offer in offers if isinstance(offer, Ruled)]
    lists = [offer for offer in offers if not isinstance(offer, Ruled) and len(offer) > 1]
    named = [[hint.mask for hint in hints if hint.mask is not None] for hints in lists]
    assert all(map(len, named))
    for listed in product(*named):
        # Of a list one set is taken as it is; what it has too many, others have to leave out.
        if all(numa_mask.contains(each, mask) for each in listed):
            inside = reduce(and_, listed, -1)
            for start in _starts(ruled, mask):
                for _ in range(_ATTEMPTS):
                    sets = _cut_down(ruled, list(start), mask, rng, inside)
                    if sets is not None and proves(ruled, sets, mask, inside):
                        return sets
    return None


def proves(
    ruled: Sequence[Ruled], sets: Sequence[NumaMask], mask: NumaMask, inside: NumaMask = -1
) -> bool:
    """Whether each set is offered by its family, and they intersect to the mask."""
    offered = all(_is_offered(each, set_) for each, set_ in zip(ruled, sets, strict=True))
    return offered and reduce(and_, sets, inside) == mask


def _is_offered(each: Ruled, set_: NumaMask) -> bool:
    return each.family.why_not(set_) is None


def _starts(ruled: Sequence[Ruled], mask: NumaMask) -> Iterator[tuple[NumaMask, ...]]:
    """The largest sets to begin with; resources that share a rule begin with the same one."""
    choices = {}
    for each in ruled:
        rule = each.rule
        largest = [rule.open_sets.universe, *rule.islands]
        choices[id(rule)] = [set_ for set_ in largest if numa_mask.contains(set_, mask)]
    for chosen in product(*choices.values()):
        by_rule = dict(zip(choices, chosen, strict=True))
        start = tuple(by_rule[id(each.rule)] for each in ruled)
        if all(_is_offered(each, set_) for each, set_ in zip(ruled, start, strict=True)):
            yield start


def _cut_down(
    ruled: Sequence[Ruled],
    sets: list[NumaMask],
    mask: NumaMask,
    rng: random.Random,
    inside: NumaMask,
) -> list[NumaMask] | None:
    """Take every node too many out of some set, which stays offered; None if one stays in all."""
    too_many = list(numa_mask.ids(reduce(and_, sets, inside) & ~mask))
    rng.shuffle(too_many)
    for node_id in too_many:
        for at in rng.sample(range(len(sets)), len(sets)):
            without = sets[at] & ~(1 << node_id)
            if _is_offered(ruled[at], without):
                sets[at] = without
                break
        else:
            return None
    return sets
