"""What each policy of the Topology Manager makes of the lists: an affinity and a verdict.

    policy              lists used        admits if     distances
    best-effort         all               always        if the option is on
    restricted          all               preferred     if the option is on
    single-numa-node    single-node only  preferred     never

The policy none asks no provider and is not here. Kubelet: ``policy_best_effort.go`` and its
siblings, v1.32.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TypeAlias, assert_never

from numalet.core.config.rules import TopologyPolicy
from numalet.core.hints import (
    agreement,
    filtering,
    fitness,
    merging,
    rule_merging,
    together,
    walking,
)
from numalet.core.hints.filtering import Offer, Ruled
from numalet.core.hints.fitness import Distances
from numalet.core.hints.hint import Hint, ProviderHints
from numalet.core.hints.rule_merging import BestHint
from numalet.core.hints.walking import NoDistance, TooManyComparisons
from numalet.core.model.numa_mask import NumaMask
from numalet.core.model.value import Value, replace

Crash: TypeAlias = NoDistance | TooManyComparisons


class Merged(Value):
    """The best merged hint, and whether the policy lets it pass.

    ``bounded`` says that the search for the best non-preferred hint was stopped: the affinity
    is one that can come out, but perhaps not the best. It never is where a preferred one exists,
    nor on a machine of 12 nodes or less.
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
    """What restricted admits though not every resource is on its own fewest nodes; else None.

    Not the kubelet's: see the rule ``fewest_nodes_together``.
    """
    if policy is not TopologyPolicy.RESTRICTED:
        return None
    hint = together.fewest_nodes(lists, all_nodes, distances)
    return None if hint is None else Merged(hint, True)


def of_answers(
    policy: TopologyPolicy,
    answers: Collection[ProviderHints],
    all_nodes: NumaMask,
    distances: Distances | None,
) -> Merged | Crash:
    """The affinity that the policy chooses from what the providers answer, and its verdict.

    What ``decide`` says of the answers' lists, which are made only where they are needed.
    """
    masks = None
    if distances is None or distances.readable_ids is None:
        masks = agreement.preferred_by_all(answers)
    if masks is agreement.ANY_NODE:
        # As of every pod that is not Guaranteed: no provider cares.
        return _passing(policy, Hint(all_nodes, True), all_nodes)
    is_single = policy is TopologyPolicy.SINGLE_NUMA_NODE
    # Sets are compared as they were written; only then are foreign node ids cut off.
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
    offers = filtering.lists_of(answers)
    lists = [offer for offer in offers if not isinstance(offer, Ruled)]
    if masks is not None and len(lists) == len(offers):
        return _passing(policy, merging.not_preferred(lists, all_nodes, distances), all_nodes)
    return decide(policy, offers, all_nodes, distances)


def decide(
    policy: TopologyPolicy,
    lists: Sequence[Offer],
    all_nodes: NumaMask,
    distances: Distances | None,
) -> Merged | Crash:
    """The affinity that the policy chooses from the lists, and its verdict.

    A ``Crash`` is why the kubelet would not live to choose one.
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
    """Whether the policy lets the best merged hint pass."""
    if policy is TopologyPolicy.SINGLE_NUMA_NODE and best.mask == all_nodes:
        # "All nodes" means nothing here: providers shall treat it as "any node".
        best = Hint(None, best.preferred)
    return Merged(best, best.preferred or policy is TopologyPolicy.BEST_EFFORT)


def _best(
    lists: Sequence[Offer], all_nodes: NumaMask, distances: Distances | None
) -> BestHint | Crash:
    if distances is None or distances.readable_ids is None:
        return rule_merging.merge(lists, all_nodes, distances)
    walked = walking.merge(lists, all_nodes, distances)
    return BestHint(walked) if isinstance(walked, Hint) else walked
