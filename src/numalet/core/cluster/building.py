"""Builds the cluster from the API server's objects: every node decidable, or with the reason.

A node's allocations are from its NumaNode, or rebuilt from its pods. Its machine and configuration
are from its NumaNodeClass, or from a rule of the user. A node with insufficient data is undecided,
with a finding that names the missing data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Final

from numalet.core.admission import node_resources
from numalet.core.cluster import classes, objects, rebuilding, trust
from numalet.core.cluster.classes import ClassSpec
from numalet.core.cluster.cluster import (
    NO_LABELS,
    Cluster,
    ClusterNode,
    ClusterPod,
    Origin,
    UndecidedNode,
)
from numalet.core.cluster.objects import ClusterObjects, ListedNode, ListedState, TopologyFacts
from numalet.core.config.releases import versions
from numalet.core.config.releases.release import Release
from numalet.core.config.rules import StartRefused
from numalet.core.findings.cluster import (
    ClusterAmountsDerived,
    ClusterClassBlank,
    ClusterClassDoesNotStart,
    ClusterClassUnknown,
    ClusterHoldersUnknown,
    ClusterNodeWithoutClass,
    ClusterOnlySums,
    ClusterOtherSize,
    ClusterReleaseUnknown,
    ClusterUnreadPods,
)
from numalet.core.model import pod_demand, resources
from numalet.core.model.findings import Finding
from numalet.core.model.node_constraints import NodeIdentity
from numalet.core.model.quantity import ZERO, Quantity
from numalet.core.model.value import Value, replace
from numalet.core.node.node import Node

POOL_LABEL: Final = "node.kubernetes.io/instance-type"
"""The default label of a node that names its pool."""

_MEMORY_TOLERANCE: Final = 100
"""Memory may differ by 1 part in this number: firmware reserves different amounts on machines of
one model."""


class ClassRule(Value, kw_only=True):
    """A rule of the user: these nodes have this machine and configuration.

    ``names`` are patterns such as ``gpu-*``; if there are any, one has to match. All ``labels``
    have to match. Without a ``release`` the node's own kubelet version determines it. Without a
    ``spec`` the machine or configuration is not known: ``pool`` names the rule, ``blank`` what it
    lacks.
    """

    spec: ClassSpec | None
    pool: str = ""
    blank: str = ""
    release: Release | None = None
    names: tuple[str, ...] = ()
    labels: Mapping[str, str] = NO_LABELS

    def matches(self, node: ListedNode) -> bool:
        is_named = not self.names or any(fnmatchcase(node.name, each) for each in self.names)
        return is_named and all(node.labels.get(k) == value for k, value in self.labels.items())


class Classes:
    """Classes by name; each is started once, on first use."""

    def __init__(self, specs: Mapping[str, ClassSpec], rules: Iterable[ClassRule] = ()) -> None:
        self.specs = specs
        self._rules = tuple(rules)
        # A class is started once, because thousands of nodes share it.
        self._started: dict[str, Node | StartRefused] = {}
        self._names: dict[tuple[int, str], str] = {}
        self._of_rules: dict[str, ClassSpec] = {}
        self._offers: dict[tuple[object, ...], tuple[Mapping[str, int], Mapping[str, int]]] = {}

    def empty(self, name: str) -> Node | StartRefused | None:
        """Return an empty node of the class, if the class is known."""
        spec = self.specs.get(name) or self._of_rules.get(name)
        if spec is None:
            return None
        if name not in self._started:
            self._started[name] = classes.start(spec)
        return self._started[name]

    def forget(self, name: str) -> None:
        """Restart the class on its next use: it was deleted or changed."""
        self._started.pop(name, None)

    def bounded(self, node: Node, most: Mapping[str, int]) -> Node:
        """Return the node, which offers at most these amounts: milli-CPUs for CPU, else units."""
        if not most:
            return node
        offered = node.roster.offered
        key = (id(offered), *sorted(most.items()))
        # Nodes of one class are recognized by shared values. The cached pair keeps the first alive,
        # so no other one can get its id.
        if key not in self._offers:
            self._offers[key] = offered, {**offered, **most}
        return replace(node, roster=replace(node.roster, offered=self._offers[key][1]))

    def of_rule(self, node: ListedNode) -> str | Finding | None:
        """Return the class of the first rule that matches the node, if any."""
        for at, rule in enumerate(self._rules):
            if rule.matches(node):
                if rule.spec is None:
                    return ClusterClassBlank(node=node.name, pool=rule.pool, blank=rule.blank)
                # Without a release in the rule, that of the node's own kubelet decides.
                version = versions.minor_version(node.kubelet_version)
                release = rule.release or (None if version is None else version.release)
                if release is None:
                    return ClusterReleaseUnknown(node=node.name, version=node.kubelet_version)
                return self._named(at, rule.spec, release)
        return None

    def _named(self, at: int, of: ClassSpec, release: Release) -> str:
        if (at, release.name) not in self._names:
            spec = replace(of, behaviour=replace(of.behaviour, release=release))
            name = classes.class_name(spec)
            self._of_rules[name] = spec
            self._names[at, release.name] = name
        return self._names[at, release.name]


class NodeInputs(Value, kw_only=True):
    """The input for one node; ``bound`` are its pods that are not over, in order of their start."""

    listed: ListedNode
    bound: Sequence[ClusterPod] = ()
    state: ListedState | None = None
    topology: TopologyFacts | None = None
    unread_pods: int = 0


def build(
    given: ClusterObjects, rules: Iterable[ClassRule] = (), pool_label: str = POOL_LABEL
) -> Cluster:
    known = Classes(given.classes, rules)
    nodes: dict[str, ClusterNode] = {}
    undecided: dict[str, UndecidedNode] = {}
    for inputs in inputs_of(given):
        made = node_of(inputs, known, given.pods, pool_label)
        if isinstance(made, ClusterNode):
            nodes[made.name] = made
        else:
            undecided[made.name] = made
    return Cluster(
        nodes=nodes,
        undecided=undecided,
        pods=given.pods,
        budgets=objects.budgets_over(given.budgets.values(), given.pods.values()),
        notes=given.notes,
    )


def inputs_of(given: ClusterObjects) -> Iterator[NodeInputs]:
    bound = rebuilding.by_node(given.pods.values())
    for name, listed in sorted(given.nodes.items()):
        yield NodeInputs(
            listed=listed,
            bound=bound.get(name, ()),
            state=given.states.get(name),
            topology=given.topologies.get(name),
            unread_pods=given.unread_pods.get(name, 0),
        )


def node_of(
    inputs: NodeInputs, known: Classes, pods: Mapping[str, ClusterPod], pool_label: str
) -> ClusterNode | UndecidedNode:
    """Return the node, or why it is undecided; ``pods`` are all of the cluster, by uid."""
    listed = inputs.listed
    pool = listed.labels.get(pool_label, "")
    name, empty = _class_of(inputs, known)
    if isinstance(empty, Finding):
        return UndecidedNode(name=listed.name, why=empty, pool=pool, labels=listed.labels)
    # Only the name and labels differ between members of a class; the managers are shared.
    member = _member(empty, listed)
    node, origin, notes = _with_pods(inputs, member, empty, pods, is_of_class=name)
    other_sizes = list(_other_sizes(node, listed))
    sizes = [
        ClusterOtherSize(resource=resource, offered=str(here), allocatable=str(says))
        for resource, here, says in other_sizes
    ]
    # The kubelet itself wrote the Node object, so the class cannot offer more.
    most = {
        resource: pod_demand.number(resource, says)
        for resource, here, says in other_sizes
        if says < here
    }
    if inputs.unread_pods:
        notes = (*notes, ClusterUnreadPods(count=inputs.unread_pods))
    return ClusterNode(
        name=listed.name,
        node=known.bounded(node, most),
        origin=origin,
        class_name=name,
        pool=pool,
        labels=listed.labels,
        taints=listed.taints,
        is_cordoned=listed.is_cordoned,
        is_ready=listed.is_ready,
        notes=(*sizes, *notes),
        uid=listed.uid,
    )


def contradictions(
    inputs: NodeInputs, known: Classes, pods: Mapping[str, ClusterPod]
) -> tuple[Finding, ...]:
    """Return why the published state cannot be the node's own; empty without a state.

    ``pods`` are all of the cluster, by uid.
    """
    state = inputs.state
    empty = None if state is None else known.empty(state.class_name)
    if state is None or not isinstance(empty, Node):
        return ()
    member = _member(empty, inputs.listed)
    return trust.checked(member, state, pods, inputs.bound).contradictions


def _member(empty: Node, listed: ListedNode) -> Node:
    identity = NodeIdentity(name=listed.name, labels=listed.labels, has_all_labels=True)
    return classes.member(empty, identity)


def _class_of(inputs: NodeInputs, known: Classes) -> tuple[str, Node | Finding]:
    """Return the name of the node's class and an empty node of it, or the reason without one."""
    listed, state = inputs.listed, inputs.state
    published = None if state is None else known.empty(state.class_name)
    if state is not None and isinstance(published, Node):
        # The published class first; a rule only if that is missing or does not start.
        return state.class_name, published
    name = known.of_rule(listed)
    if isinstance(name, str):
        started = known.empty(name)
        if isinstance(started, Node):
            return name, started
        published = started
    if isinstance(published, StartRefused):
        problem = str(published.findings[0])
        return "", ClusterClassDoesNotStart(node=listed.name, problem=problem)
    if isinstance(name, Finding):
        return "", name
    if state is not None:
        return "", ClusterClassUnknown(node=listed.name, name=state.class_name)
    return "", _nothing_but_sums(listed.name, inputs.topology)


def _nothing_but_sums(name: str, topology: TopologyFacts | None) -> Finding:
    if topology is None:
        return ClusterNodeWithoutClass(node=name)
    said = ", ".join(f"{key} {value}" for key, value in sorted(topology.attributes.items())[:6])
    count = f"{topology.zones} zone{'' if topology.zones == 1 else 's'}"
    return ClusterOnlySums(node=name, zones=count, attributes=said or "no attributes")


def _with_pods(
    inputs: NodeInputs,
    member: Node,
    empty: Node,
    pods: Mapping[str, ClusterPod],
    is_of_class: str,
) -> tuple[Node, Origin, tuple[Finding, ...]]:
    distrust: tuple[Finding, ...] = ()
    # A state is only valid on the machine and configuration that its class describes.
    if inputs.state is not None and inputs.state.class_name == is_of_class:
        checked = trust.checked(member, inputs.state, pods, inputs.bound)
        if checked.node is not None:
            unknown = sum(uid not in pods for uid in inputs.state.state.pods)
            notes = (ClusterHoldersUnknown(count=unknown),) if unknown else ()
            return checked.node, Origin.PUBLISHED, notes
        distrust = checked.contradictions
    # Rebuild without the node's identity: its labels may have changed since the admission.
    again = rebuilding.rebuilt(empty, inputs.bound)
    node = replace(member, snapshot=again.node.snapshot)
    counts = node.rules.release_rules.allocated_resources_count
    is_derived = counts and any(each.lacks_amounts for each in inputs.bound)
    derived = (ClusterAmountsDerived(),) if is_derived else ()
    return node, Origin.REBUILT, (*distrust, *derived, *again.notes)


def _other_sizes(node: Node, listed: ListedNode) -> Iterator[tuple[str, Quantity, Quantity]]:
    """Yield each resource on which the class and the Node object differ, with both amounts."""
    offered = node_resources.allocatable(node.rules, node.snapshot)
    for name, says in listed.allocatable.items():
        # A Node also lists resources that the managers do not count, such as ephemeral storage.
        is_counted = resources.is_pod_level(name) or resources.is_device(name)
        here = offered.get(name, ZERO)
        if not is_counted or here == says:
            continue
        # CPUs and devices are counted exactly; only memory varies between machines of one model.
        off = abs(here.value - says.value) * _MEMORY_TOLERANCE
        if name != resources.MEMORY or off > max(here.value, says.value):
            yield name, here, says
