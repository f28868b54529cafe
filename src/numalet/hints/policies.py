"""What each policy of the Topology Manager makes of the lists: an affinity and a verdict.

    policy              lists used        admits if     distances
    best-effort         all               always        if the option is on
    restricted          all               preferred     if the option is on
    single-numa-node    single-node only  preferred     never

The policy none asks nobody and is not here. Kubelet: ``policy_best_effort.go`` and its
siblings, v1.32.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from numalet.config.rules import TopologyPolicy
from numalet.hints import filtering, merging, rule_merging
from numalet.hints.filtering import Offer
from numalet.hints.fitness import Distances
from numalet.hints.hint import Hint
from numalet.model.numa_mask import NumaMask


@dataclass(frozen=True, slots=True)
class Merged:
    """The best merged hint, and whether the policy lets it pass.

    ``bounded`` says that the search for the best non-preferred hint was stopped: the affinity
    is one that can come out, but perhaps not the best. It never is where a preferred one exists,
    nor on a machine of 12 nodes or less.
    """

    affinity: Hint
    admit: bool
    bounded: bool = False


def decide(
    policy: TopologyPolicy,
    lists: Sequence[Offer],
    all_nodes: NumaMask,
    distances: Distances | None,
) -> Merged:
    """The affinity that the policy chooses from the lists, and its verdict."""
    match policy:
        case TopologyPolicy.NONE:
            raise ValueError("the policy none merges nothing")
        case TopologyPolicy.BEST_EFFORT:
            found = rule_merging.merge(lists, all_nodes, distances)
            return Merged(found.hint, True, found.bounded)
        case TopologyPolicy.RESTRICTED:
            found = rule_merging.merge(lists, all_nodes, distances)
            return Merged(found.hint, found.hint.preferred, found.bounded)
        case TopologyPolicy.SINGLE_NUMA_NODE:
            best = merging.merge(filtering.single_node_only(lists), all_nodes)
            if best.mask == all_nodes:
                # "All nodes" says nothing here: providers shall treat it as "any node".
                best = Hint(None, best.preferred)
            return Merged(best, best.preferred)
        case _:
            assert_never(policy)
