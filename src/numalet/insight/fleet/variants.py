"""Changed nodes (configuration, release or machine), and the same pods placed on them again.

The nodes of a class start once and are empty. The pods of a changed node are admitted again in the
order of their start. Those that it rejects, and then the waiting pods, are tried on all nodes as by
a scheduler with the extender.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from numalet.core.cluster import classes, rebuilding, shapes
from numalet.core.cluster.classes import ClassSpec, DevicePlaces
from numalet.core.cluster.cluster import Cluster, ClusterNode, ClusterPod, Origin
from numalet.core.cluster.shapes import PodKey
from numalet.core.config.releases.release import Release
from numalet.core.config.rules import StartRefused
from numalet.core.model.findings import NoteFinding
from numalet.core.model.machine_info import MachineInfo
from numalet.core.model.value import Value, field, replace
from numalet.core.node.node import Node
from numalet.insight.fleet import kube_scheduler, parts, traps
from numalet.insight.fleet.assessing import Judge
from numalet.insight.fleet.kube_scheduler import ScoredNodes, Scoring
from numalet.insight.fleet.parts import Origins
from numalet.wording import kubelet_start

NodeVariants: TypeAlias = Mapping[str, Node | StartRefused]
"""Empty nodes by name, or why their kubelets would not start."""


class FleetClassUnknown(NoteFinding):
    sentence = "node {name} is not changed: its machine and configuration are unknown"
    name: str


class MachineShare(Value, kw_only=True):
    """Nodes that get another machine, with these devices.

    They are the next ``nodes`` by name in ``pool`` (or in all pools) after those of earlier shares;
    without ``nodes``, all remaining ones.
    """

    machine: MachineInfo
    devices: DevicePlaces
    pool: str | None = None
    nodes: int | None = None


class Change(Value, kw_only=True):
    """The change; a field that is not set keeps the current value.

    Options are added to the existing ones; an empty value removes one. Only nodes of these
    ``pools`` change, or all if empty. If only machines change, only nodes with another machine
    change.
    """

    policy: str | None = None
    scope: str | None = None
    policy_options: Mapping[str, str] = field(default_factory=dict)
    cpu_options: Mapping[str, str] = field(default_factory=dict)
    memory_policy: str | None = None
    release: Release | None = None
    machines: tuple[MachineShare, ...] = ()
    pools: frozenset[str] = frozenset()

    def concerns(self, node: ClusterNode) -> bool:
        return not self.pools or node.pool in self.pools

    @property
    def is_of_machines_alone(self) -> bool:
        return bool(self.machines) and replace(self, machines=()) == Change(pools=self.pools)

    def shares(self, nodes: Iterable[ClusterNode]) -> dict[str, int]:
        """Return the share of ``machines`` by node name, for nodes with a new machine."""
        given: dict[str, int] = {}
        concerned = sorted((each.name, each.pool) for each in nodes if self.concerns(each))
        for at, share in enumerate(self.machines):
            left = [
                name for name, pool in concerned if name not in given and share.pool in (None, pool)
            ]
            given.update(dict.fromkeys(left[: share.nodes], at))
        return given

    def of(self, spec: ClassSpec, share: MachineShare | None = None) -> ClassSpec:
        config = spec.config
        config = replace(
            config,
            topology_manager_policy=self.policy or config.topology_manager_policy,
            topology_manager_scope=self.scope or config.topology_manager_scope,
            topology_manager_policy_options=_with(
                config.topology_manager_policy_options, self.policy_options
            ),
            cpu_manager_policy_options=_with(config.cpu_manager_policy_options, self.cpu_options),
            memory_manager_policy=self.memory_policy or config.memory_manager_policy,
        )
        return replace(
            spec,
            config=config,
            behaviour=replace(spec.behaviour, release=self.release or spec.behaviour.release),
            machine=spec.machine if share is None else share.machine,
            devices=spec.devices if share is None else share.devices,
        )


def nodes_of(
    cluster: Cluster, specs: Mapping[str, ClassSpec], change: Change
) -> tuple[NodeVariants, tuple[FleetClassUnknown, ...]]:
    """Return every changed node, empty; and findings on nodes of an unknown class.

    ``specs`` are the classes of the cluster's nodes by name.
    """
    started: dict[tuple[str, int | None], Node | StartRefused] = {}
    nodes: dict[str, Node | StartRefused] = {}
    unknown = []
    shares = change.shares(cluster.nodes.values())
    for name, each in sorted(cluster.nodes.items()):
        at = shares.get(name)
        if not change.concerns(each) or (at is None and change.is_of_machines_alone):
            continue
        spec = specs.get(each.class_name)
        if spec is None:
            unknown.append(FleetClassUnknown(name=name))
            continue
        key = (each.class_name, at)
        # A start costs much more than a copy, and thousands of nodes share a few classes.
        if key not in started:
            share = None if at is None else change.machines[at]
            started[key] = classes.start(change.of(spec, share))
        empty = started[key]
        if not isinstance(empty, StartRefused):
            empty = classes.member(empty, each.node.rules.identity)
        nodes[name] = empty
    return nodes, tuple(unknown)


def _with(
    options: Mapping[str, str] | None, changes: Mapping[str, str]
) -> Mapping[str, str] | None:
    if not changes:
        return options
    # An empty value removes the option.
    return {name: value for name, value in {**(options or {}), **changes}.items() if value}


class PoolSide(Value, kw_only=True):
    """One pool on one side: its nodes, the pods on them, and what is stranded, by resource."""

    pool: str
    nodes: int
    running: int
    traps: int
    stranded: Mapping[str, int]


class Side(Value, kw_only=True):
    """A cluster before or after a change, once everything that fits was placed.

    ``displaced`` are pods that their node rejects; ``moved`` those of them that another node
    admits. ``admitted`` are waiting pods that now run; ``waiting`` are all that run nowhere,
    including displaced ones. ``refused`` says why the kubelets of nodes would not start.
    """

    running: int
    displaced: tuple[str, ...]
    moved: tuple[str, ...]
    admitted: tuple[str, ...]
    waiting: tuple[str, ...]
    refused: Mapping[str, str]
    stranded: Mapping[str, int]
    pools: tuple[PoolSide, ...]


class WhatIf(Value, tag_field="schema", tag="numalet.fleet-what-if/1"):
    """Both sides; the origins are those of the cluster as it is.

    Of ``cpu`` the amounts are thousandths of a CPU, of memory and huge pages bytes.
    """

    before: Side
    after: Side
    origins: Origins


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
    return compare(cluster, others, scoring, other_scoring, done)[0]


def compare(
    cluster: Cluster,
    others: NodeVariants,
    scoring: Scoring | None = None,
    other_scoring: Scoring | None = None,
    done: Callable[[], None] = lambda: None,
) -> tuple[WhatIf, Cluster, Cluster]:
    """Answer like ``what_if``; return the clusters of both sides, too."""
    scoring = scoring or Scoring()
    waiting = tuple(cluster.waiting())
    # The waiting pods are tried before the change too, and the shapes are those before it, so that
    # both sides are comparable.
    asked = [each.pod for each in traps.shapes_of(cluster)]
    before, first = _placed(cluster, (), waiting, scoring, {}, asked)
    nodes = dict(cluster.nodes)
    refused: dict[str, str] = {}
    displaced: list[ClusterPod] = []
    by_node = rebuilding.by_node(cluster.pods.values())
    for name, other in sorted(others.items()):
        pods = by_node.get(name, ())
        if isinstance(other, StartRefused):
            refused[name] = kubelet_start.text(other)
            del nodes[name]
            displaced.extend(pods)
        else:
            filled, rejected = filled_again(other, pods)
            nodes[name] = replace(nodes[name], node=filled, origin=Origin.REBUILT)
            displaced.extend(rejected)
        done()
    otherwise = replace(cluster, nodes=nodes)
    after, second = _placed(otherwise, displaced, waiting, other_scoring or scoring, refused, asked)
    return WhatIf(before, after, parts.origins(cluster)), first, second


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
    refused: Mapping[str, str],
    asked: Sequence[ClusterPod],
) -> tuple[Side, Cluster]:
    """Try these pods on all nodes, higher priorities first; ``asked`` are the shapes of traps."""
    judge = Judge()
    nodes = ScoredNodes(cluster.nodes, scoring)
    changed: dict[str, ClusterNode] = {}
    hopeless: set[PodKey] = set()
    placed: dict[str, ClusterPod] = {}
    ordered = sorted((*displaced, *waiting), key=lambda each: -(each.pod.priority or 0))
    for each in ordered:
        new = kube_scheduler.as_new(each)
        shape = shapes.key_of(new)
        ranked = () if shape in hopeless else nodes.ranked(new)
        on = next((on for on in ranked if judge.admits(on, new, shape)), None)
        if on is None:
            hopeless.add(shape)
            continue
        after, _ = on.node.without_plugins().admit(new.pod)
        # Started at once: memory of init containers returns before the next pod is tried.
        changed[on.name] = replace(on, node=after.pod_started(each.pod.uid))
        nodes.put(changed[on.name])
        placed[each.pod.uid] = each
    final = cluster.with_nodes(changed.values())
    found, pools = traps.traps(final, asked), final.pools()
    side = Side(
        running=_running(final.nodes.values()),
        displaced=_names(displaced),
        moved=_names(each for each in displaced if each.pod.uid in placed),
        admitted=_names(each for each in waiting if each.pod.uid in placed),
        waiting=_names(each for each in ordered if each.pod.uid not in placed),
        refused=refused,
        stranded=found.stranded,
        pools=tuple(
            PoolSide(
                pool=each.pool,
                nodes=each.nodes,
                running=_running(pools[each.pool]),
                traps=each.traps,
                stranded=each.stranded,
            )
            for each in found.pools
        ),
    )
    return side, final


def _running(nodes: Iterable[ClusterNode]) -> int:
    return sum(len(each.node.snapshot.pods) for each in nodes)


def _names(pods: Iterable[ClusterPod]) -> tuple[str, ...]:
    return tuple(str(each.pod) for each in pods)
