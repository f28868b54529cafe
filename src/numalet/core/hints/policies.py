"""How each policy of the Topology Manager turns the lists into an affinity and a verdict.

    policy              lists used        admits if     distances

    best-effort         all               always        if the option is on
    restricted          all               preferred     if the option is on
    single-numa-node    single-node only  preferred     never

The policy none asks no provider and is absent here. Kubelet: ``policy_best_effort.go`` and the
files of the other policies, v1.32.
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
    """Admit under restricted although some resource is not on its own fewest nodes.

    Not in the kubelet: see the rule ``fewest_nodes_together``.
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
    """Return the affinity that the policy chooses from the providers' answers, and its verdict.

    Same result as ``decide``, but makes lists only if it needs them.
    """
    masks = None
    if distances is None or distances.readable_ids is None:
        masks = agreement.preferred_by_all(answers)
    if masks is agreement.ANY_NODE:
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
