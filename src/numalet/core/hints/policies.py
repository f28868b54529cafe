"""What each policy of the Topology Manager makes of the lists: an affinity and a verdict.

    policy              lists used        admits if     distances
    best-effort         all               always        if the option is on
    restricted          all               preferred     if the option is on
    single-numa-node    single-node only  preferred     never

The policy none asks no provider and is not here. Kubelet: ``policy_best_effort.go`` and its
siblings, v1.32.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, assert_never

from numalet.core.config.rules import TopologyPolicy
from numalet.core.hints import filtering, merging, rule_merging, together, walking
from numalet.core.hints.filtering import Offer
from numalet.core.hints.fitness import Distances
from numalet.core.hints.hint import Hint
from numalet.core.hints.rule_merging import BestHint
from numalet.core.hints.walking import NoDistance, TooManyComparisons
from numalet.core.model.numa_mask import NumaMask
from numalet.core.model.value import Value

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
            admits = policy is TopologyPolicy.BEST_EFFORT or merged.hint.preferred
            return Merged(merged.hint, admits, merged.bounded)
        case TopologyPolicy.SINGLE_NUMA_NODE:
            best = merging.merge(filtering.single_node_only(lists), all_nodes)
            if best.mask == all_nodes:
                # "All nodes" means nothing here: providers shall treat it as "any node".
                best = Hint(None, best.preferred)
            return Merged(best, best.preferred)
        case _:
            assert_never(policy)


def _best(
    lists: Sequence[Offer], all_nodes: NumaMask, distances: Distances | None
) -> BestHint | Crash:
    if distances is None or distances.readable_ids is None:
        return rule_merging.merge(lists, all_nodes, distances)
    walked = walking.merge(lists, all_nodes, distances)
    return BestHint(walked) if isinstance(walked, Hint) else walked
