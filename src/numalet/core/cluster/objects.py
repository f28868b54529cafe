"""The API server's objects of a cluster, before any decision: nodes, pods, budgets.

The relevant fields of ``nodes``, ``pods``, ``poddisruptionbudgets`` and ``noderesourcetopologies``,
from a dump or a watch; ``building`` makes the cluster.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from numalet.core.cluster.classes import ClassSpec
from numalet.core.cluster.cluster import NO_LABELS, ClusterPod, DisruptionBudget, Taint
from numalet.core.cluster.published_state import PublishedState
from numalet.core.model.findings import Finding
from numalet.core.model.node_constraints import NodeRequirement
from numalet.core.model.pod import NO_RESOURCES, Resources
from numalet.core.model.value import Value


class ListedNode(Value, kw_only=True):
    """A Node object. ``allocatable`` and ``capacity`` are from its status, exact."""

    name: str
    uid: str = ""
    labels: Mapping[str, str] = NO_LABELS
    taints: tuple[Taint, ...] = ()
    is_cordoned: bool = False
    is_ready: bool = True
    kubelet_version: str = ""
    allocatable: Resources = NO_RESOURCES
    capacity: Resources = NO_RESOURCES


class LabelSelector(Value):
    """``matchLabels`` and ``matchExpressions``; an empty selector selects everything.

    An expression that Kubernetes would reject selects nothing.
    """

    labels: Mapping[str, str] = NO_LABELS
    expressions: tuple[NodeRequirement, ...] = ()

    def selects(self, labels: Mapping[str, str]) -> bool:
        return all(labels.get(key) == value for key, value in self.labels.items()) and all(
            _holds(each, labels) for each in self.expressions
        )


def _holds(each: NodeRequirement, labels: Mapping[str, str]) -> bool:
    there = labels.get(each.key)
    match each.operator:
        case "In":
            return there is not None and there in each.values
        case "NotIn":
            return there is None or there not in each.values
        case "Exists":
            return there is not None
        case "DoesNotExist":
            return there is None
        case _:
            return False


class BudgetFacts(Value, kw_only=True):
    """A PodDisruptionBudget; without a selector it covers no pods."""

    namespace: str
    name: str
    allowed: int = 0
    selector: LabelSelector | None = None


class TopologyFacts(Value, kw_only=True):
    """A NodeResourceTopology: its attributes, and the number of zones of type Node.

    ``capacity`` has the sizes of zones whose name ends with the number of a NUMA node, such as
    ``node-0``, by that number.
    """

    node_name: str
    zones: int = 0
    capacity: Mapping[int, Resources] = MappingProxyType({})
    attributes: Mapping[str, str] = NO_LABELS


def budgets_over(
    facts: Iterable[BudgetFacts], pods: Iterable[ClusterPod]
) -> tuple[DisruptionBudget, ...]:
    """Return the budgets with the pods that they cover, by namespace and name."""
    every = sorted(facts, key=lambda each: (each.namespace, each.name))
    # A budget selects only pods of its namespace. Grouping the pods once avoids a test of every pod
    # against every budget.
    by_namespace: dict[str, list[ClusterPod]] = {each.namespace: [] for each in every}
    for pod in pods if every else ():
        if pod.pod.namespace in by_namespace:
            by_namespace[pod.pod.namespace].append(pod)
    return tuple(
        DisruptionBudget(
            namespace=each.namespace,
            name=each.name,
            allowed=each.allowed,
            pod_uids=frozenset(
                pod.pod.uid
                for pod in by_namespace[each.namespace]
                if each.selector is not None and each.selector.selects(pod.pod.labels)
            ),
        )
        for each in every
    )


class ListedState(Value):
    """A NumaNode: the name of its class, its state, and its last change in seconds since 1970."""

    class_name: str
    state: PublishedState
    published_seconds: float | None = None


class ClusterObjects(Value, kw_only=True):
    """All relevant objects: pods by uid, budgets by namespace and name, others by name.

    ``states`` are NumaNodes, ``classes`` NumaNodeClasses. ``unread_pods`` counts, by node, pods
    that could not be parsed.
    """

    nodes: Mapping[str, ListedNode] = MappingProxyType({})
    pods: Mapping[str, ClusterPod] = MappingProxyType({})
    budgets: Mapping[str, BudgetFacts] = MappingProxyType({})
    topologies: Mapping[str, TopologyFacts] = MappingProxyType({})
    states: Mapping[str, ListedState] = MappingProxyType({})
    classes: Mapping[str, ClassSpec] = MappingProxyType({})
    unread_pods: Mapping[str, int] = MappingProxyType({})
    notes: tuple[Finding, ...] = ()

    def __repr__(self) -> str:
        return f"<ClusterObjects: nodes {len(self.nodes)}, pods {len(self.pods)}>"
