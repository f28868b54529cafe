"""How each policy of the Topology Manager turns the lists into an affinity and a verdict.

    policy              lists used        admits if     distances

    best-effort         all               always        if the option is on
    restricted          all               preferred     if the option is on
    single-numa-node    single-node only  preferred     never

The policy none asks no provider and is absent here. Kubelet: ``policy_best_effort.go`` and the
files of the other policies, v1.32.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import combinations
from typing import Final, TypeAlias, assert_never

from numalet.core.config.rules import TopologyPolicy
from numalet.core.hints import filtering, fitness, merging, rule_merging, walking
from numalet.core.hints.filtering import HintList, Offer, Ruled
from numalet.core.hints.fitness import Distances
from numalet.core.hints.provider import Hint, Impossible, NoPreference, ProviderHints, ResourceHints
from numalet.core.hints.rule_merging import BestHint
from numalet.core.hints.walking import NoDistance, TooManyComparisons
from numalet.core.model import numa_mask
from numalet.core.model.numa_mask import NumaMask
from numalet.core.model.value import Value, replace

ANY_NODE: Final[Sequence[NumaMask | None]] = (None,)


# Most pods are admitted to a set that all families prefer. If each family can name its preferred
# sets, ``preferred_by_all`` intersects these sets without lists of hints. The result equals that of
# ``merging``, or is unknown (docs/explanation/merging.md).


def preferred_by_all(answers: Iterable[ProviderHints]) -> Sequence[NumaMask | None] | None:
    """Return the sets that every family prefers; ``ANY_NODE`` without families.

    An empty result proves that the merge has no preferred hint. The result is None (unknown) if
    some family lacks ``preferred_masks``.
    """
    common: Sequence[NumaMask] | None = None
    for answer in answers:
        before: ResourceHints | None = None
        for resource in answer.values():
            # Resources of one provider often share one family.
            if resource is before or isinstance(resource, NoPreference):
                continue
            if isinstance(resource, Impossible):
                return ()
            masks = getattr(resource, "preferred_masks", None)
            if masks is None:
                return None
            # A list and not a set: on few nodes there are at most 15 masks, and a list comparison
            # is faster than hashing.
            common = masks if common is None else [mask for mask in common if mask in masks]
            if not common:
                return ()
            before = resource
    return ANY_NODE if common is None else common


# The kubelet prefers a set only if it has the minimum size for each resource alone. With 32 CPUs
# per node, the policy restricted rejects a pod with 40 CPUs and memory that fits one node: the CPUs
# prefer two nodes, the memory one. ``fewest_nodes`` instead prefers the sets of the size that the
# neediest resource needs on an empty machine, if all resources offer them.

_MOST_SETS_TRIED: Final = 5_000
"""With more sets of that size, such as 4 of 30 nodes, the rule prefers nothing."""


def fewest_nodes(
    offers: Sequence[Offer], all_nodes: NumaMask, distances: Distances | None
) -> Hint | None:
    """Return the best set for all resources together as a preferred hint, if any."""
    wishes = [_wish(offer) for offer in offers if not _accepts_any(offer)]
    size = max((size for _, size in wishes), default=0)
    # Every set of that size is tested against every resource, so the number of sets bounds the time
    # of an admission.
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


Crash: TypeAlias = NoDistance | TooManyComparisons


class Merged(Value):
    """The best merged hint, and whether the policy admits it.

    ``bounded``: the search for the best non-preferred hint was stopped. The affinity is reachable
    but perhaps not the best. This happens only without a preferred hint and on more than 12 nodes.
    """

    affinity: Hint
    admit: bool
    bounded: bool = False


def decided_together(
    policy: TopologyPolicy,
    lists: Sequence[Offer],
    all_nodes: NumaMask,
    distances: Distances | None,
) -> Merged | None:
    """Return an admission that only numalet's rule ``fewest_nodes_together`` allows.

    Under ``restricted``, the kubelet refuses a pod if one of its resources would fit on fewer
    NUMA nodes alone. With this rule, all resources together must be on their fewest nodes.
    """
    if policy is not TopologyPolicy.RESTRICTED:
        return None
    hint = fewest_nodes(lists, all_nodes, distances)
    return None if hint is None else Merged(hint, True)


def of_answers(
    policy: TopologyPolicy,
    answers: Collection[ProviderHints],
    all_nodes: NumaMask,
    distances: Distances | None,
) -> Merged | Crash:
    """Return the affinity that the policy chooses from the providers' answers, and its verdict.

    Same result as ``decide``, but makes lists only if it needs them.
    """
    masks = None
    if distances is None or distances.readable_ids is None:
        masks = preferred_by_all(answers) if any(answers) else ANY_NODE
    if masks is ANY_NODE:
        # The usual case of a pod that is not Guaranteed: every provider accepts any node.
        return _passing(policy, Hint(all_nodes, True), all_nodes)
    is_single = policy is TopologyPolicy.SINGLE_NUMA_NODE
    # Like the kubelet, compare the sets first and remove unknown node ids afterwards.
    inside = [
        mask & all_nodes
        for mask in masks or ()
        if mask is not None and mask & all_nodes and (not is_single or mask.bit_count() == 1)
    ]
    if inside:
        best = fitness.best_preferred(inside, None if is_single else distances)
        return _passing(policy, Hint(best, True), all_nodes)
    if masks is not None and is_single:
        return _passing(policy, Hint(all_nodes, False), all_nodes)
    if masks is not None and not _name_some_nodes(answers):
        return _passing(policy, Hint(all_nodes, False), all_nodes)
    offers = filtering.lists_of(answers)
    lists = [offer for offer in offers if not isinstance(offer, Ruled)]
    if masks is not None and len(lists) == len(offers):
        return _passing(policy, merging.not_preferred(lists, all_nodes, distances), all_nodes)
    return decide(policy, offers, all_nodes, distances)


def _name_some_nodes(answers: Iterable[ProviderHints]) -> bool:
    """Return whether an answer has a family of hints, and not only "any node" or "impossible"."""
    for answer in answers:
        for resource in answer.values():
            if not isinstance(resource, NoPreference | Impossible):
                return True
    return False


def decide(
    policy: TopologyPolicy,
    lists: Sequence[Offer],
    all_nodes: NumaMask,
    distances: Distances | None,
) -> Merged | Crash:
    """Return the affinity that the policy chooses from the lists, and its verdict.

    A ``Crash`` is the reason why the kubelet would panic before it chooses one.
    """
    match policy:
        case TopologyPolicy.NONE:
            raise ValueError("the policy none merges nothing")
        case TopologyPolicy.BEST_EFFORT | TopologyPolicy.RESTRICTED:
            merged = _best(lists, all_nodes, distances)
            if not isinstance(merged, BestHint):
                return merged
            passing = _passing(policy, merged.hint, all_nodes)
            return replace(passing, bounded=True) if merged.bounded else passing
        case TopologyPolicy.SINGLE_NUMA_NODE:
            best = merging.merge(filtering.single_node_only(lists), all_nodes)
            return _passing(policy, best, all_nodes)
        case _:
            assert_never(policy)


def _passing(policy: TopologyPolicy, best: Hint, all_nodes: NumaMask) -> Merged:
    if policy is TopologyPolicy.SINGLE_NUMA_NODE and best.mask == all_nodes:
        # Like the kubelet: providers get "any node" in place of "all nodes".
        best = Hint(None, best.preferred)
    return Merged(best, best.preferred or policy is TopologyPolicy.BEST_EFFORT)


def _best(
    lists: Sequence[Offer], all_nodes: NumaMask, distances: Distances | None
) -> BestHint | Crash:
    if distances is None or distances.readable_ids is None:
        return rule_merging.merge(lists, all_nodes, distances)
    walked = walking.merge(lists, all_nodes, distances)
    return BestHint(walked) if isinstance(walked, Hint) else walked
