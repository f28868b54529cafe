"""Place the same pods on changed nodes: running, waiting, and stranded.

On each changed node its pods are admitted again in the order of their start. Those that it rejects,
and then the waiting pods, are tried on all nodes as by a scheduler with the extender.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from numalet.core.cluster import rebuilding, shapes
from numalet.core.cluster.cluster import Cluster, ClusterNode, ClusterPod, Origin
from numalet.core.cluster.shapes import PodKey
from numalet.core.config.rules import StartRefused
from numalet.core.model.value import Value, field, replace
from numalet.core.node.node import Node
from numalet.insight.fleet import eligible
from numalet.insight.fleet.judging import Judge
from numalet.insight.fleet.scoring import ScoredNodes, Scoring
from numalet.insight.fleet.variants import NodeVariants


class Side(Value, kw_only=True):
    """A cluster before or after a change, once everything that fits was placed.

    ``displaced`` are pods that their node rejects; ``moved`` those of them that another node
    admits. ``admitted`` are waiting pods that now run; ``waiting`` are all that run nowhere,
    including displaced ones. ``refused`` are nodes whose kubelet would not start.
    """

    cluster: Cluster
    running: int
    displaced: tuple[ClusterPod, ...] = ()
    moved: tuple[ClusterPod, ...] = ()
    admitted: tuple[ClusterPod, ...] = ()
    waiting: tuple[ClusterPod, ...] = ()
    refused: Mapping[str, StartRefused] = field(default_factory=dict)


class WhatIf(Value):
    before: Side
    after: Side


def what_if(
    cluster: Cluster,
    others: NodeVariants,
    scoring: Scoring | None = None,
    other_scoring: Scoring | None = None,
    done: Callable[[], None] = lambda: None,
) -> WhatIf:
    """Compare the current cluster with one in which these empty nodes replace those of their names.

    ``scoring`` is how pods are sent to nodes, ``other_scoring`` how after the change, if different.
    ``done`` is called for each node after its pods were admitted again.
    """
    scoring = scoring or Scoring()
    waiting = tuple(cluster.waiting())
    # The waiting pods are tried before the change too, so that both sides are comparable.
    before = _placed(cluster, (), waiting, scoring, {})
    nodes = dict(cluster.nodes)
    refused: dict[str, StartRefused] = {}
    displaced: list[ClusterPod] = []
    by_node = rebuilding.by_node(cluster.pods.values())
    for name, other in sorted(others.items()):
        pods = by_node.get(name, ())
        if isinstance(other, StartRefused):
            refused[name] = other
            del nodes[name]
            displaced.extend(pods)
        else:
            filled, rejected = filled_again(other, pods)
            nodes[name] = replace(nodes[name], node=filled, origin=Origin.REBUILT)
            displaced.extend(rejected)
        done()
    otherwise = replace(cluster, nodes=nodes)
    after = _placed(otherwise, displaced, waiting, other_scoring or scoring, refused)
    return WhatIf(before, after)


def filled_again(node: Node, pods: Iterable[ClusterPod]) -> tuple[Node, tuple[ClusterPod, ...]]:
    node, rejected = node.without_plugins(), []
    for each in pods:
        node, decision = node.admit(each.pod)
        if decision.admitted:
            node = node.pod_started(each.pod.uid)
        else:
            rejected.append(each)
    return node.release_stale(), tuple(rejected)


def _placed(
    cluster: Cluster,
    displaced: Sequence[ClusterPod],
    waiting: Sequence[ClusterPod],
    scoring: Scoring,
    refused: Mapping[str, StartRefused],
) -> Side:
    """Try these pods on all nodes, higher priorities first."""
    judge = Judge()
    nodes = ScoredNodes(cluster.nodes, scoring)
    changed: dict[str, ClusterNode] = {}
    hopeless: set[PodKey] = set()
    placed: dict[str, ClusterPod] = {}
    ordered = sorted((*displaced, *waiting), key=lambda each: -(each.pod.priority or 0))
    for each in ordered:
        new = eligible.as_new(each)
        shape = shapes.key_of(new)
        ranked = () if shape in hopeless else nodes.ranked(new)
        on = next((on for on in ranked if judge.admits(on, new, shape)), None)
        if on is None:
            hopeless.add(shape)
            continue
        after, _ = on.node.without_plugins().admit(new.pod)
        changed[on.name] = replace(on, node=after.pod_started(each.pod.uid))
        nodes.put(changed[on.name])
        placed[each.pod.uid] = each
    final = cluster.with_nodes(changed.values())
    return Side(
        cluster=final,
        running=sum(len(each.node.snapshot.pods) for each in final.nodes.values()),
        displaced=tuple(displaced),
        moved=tuple(each for each in displaced if each.pod.uid in placed),
        admitted=tuple(each for each in waiting if each.pod.uid in placed),
        waiting=tuple(each for each in ordered if each.pod.uid not in placed),
        refused=refused,
    )
