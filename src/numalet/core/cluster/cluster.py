"""Cluster: nodes with their ledgers, pods, pools and disruption budgets at one moment.

``Arrival`` is a row of a trace: when a pod arrives, and how long it runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from types import MappingProxyType
from typing import Final

from numalet.core.config.releases import table
from numalet.core.findings.cluster import StateFinding
from numalet.core.model import pod_standing
from numalet.core.model.findings import Finding
from numalet.core.model.pod import Pod
from numalet.core.model.value import Value, replace
from numalet.core.node.node import Node

NO_LABELS: Final[Mapping[str, str]] = MappingProxyType({})


class Origin(Enum):
    PUBLISHED = "published"
    """From its NumaNode object."""
    REBUILT = "rebuilt"
    """From admitting its pods again, in the order of their start."""
    DESCRIBED = "described"
    """From a description, without any history."""


class TaintEffect(Enum):
    """The effect of a taint on pods that do not tolerate it."""

    NO_SCHEDULE = "NoSchedule"
    PREFER_NO_SCHEDULE = "PreferNoSchedule"
    NO_EXECUTE = "NoExecute"


class Taint(Value):
    key: str
    value: str
    effect: TaintEffect


class Toleration(Value):
    """``spec.tolerations`` of a pod; an empty key or effect matches all.

    ``exists`` is the operator ``Exists``, which ignores the value.
    """

    key: str = ""
    value: str = ""
    exists: bool = False
    effect: TaintEffect | None = None

    def tolerates(self, taint: Taint) -> bool:
        if self.effect is not None and self.effect is not taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        return self.exists or (self.key != "" and self.value == taint.value)


class Controller(Value):
    """The controller of a pod: its kind, such as ``ReplicaSet``, its name and uid."""

    kind: str
    name: str
    uid: str = ""


class ClusterPod(Value, kw_only=True):
    """A pod with the data that only the cluster has. Moments are seconds since 1970, if known.

    ``pod.node_name`` is empty until a scheduler chooses a node.
    """

    pod: Pod
    controller: Controller | None = None
    tolerations: tuple[Toleration, ...] = ()
    scheduler_name: str = "default-scheduler"
    created_at_seconds: float | None = None
    started_at_seconds: float | None = None
    is_being_deleted: bool = False
    lacks_amounts: bool = False
    """Whether it is Guaranteed, but its status lacks some ``allocatedResources``."""
    reason: str = ""
    """``status.reason``, such as ``TopologyAffinityError`` of a pod that a kubelet rejected."""
    message: str = ""
    """``status.message``, with details of the reason."""
    was_refused: bool = False
    """Whether a scheduler has tried it and found no node (its condition PodScheduled)."""

    @property
    def is_over(self) -> bool:
        """Whether its containers have ended for good, so that it has no allocations."""
        return self.pod.phase in pod_standing.TERMINAL_PHASES

    @property
    def was_rejected(self) -> bool:
        """Whether a kubelet rejected it at admission."""
        return self.pod.phase == "Failed" and pod_standing.is_rejection(self.reason)

    @property
    def comes_with_its_node(self) -> bool:
        """Whether a DaemonSet creates it, one on every eligible node."""
        return self.controller is not None and self.controller.kind == "DaemonSet"

    @property
    def is_waiting(self) -> bool:
        return not self.pod.node_name and not self.is_over and not self.is_being_deleted


class DisruptionBudget(Value, kw_only=True):
    """A PodDisruptionBudget: the pods that it covers, and how many of these may be evicted now.

    The reader already evaluated its selector.
    """

    namespace: str
    name: str
    allowed: int
    pod_uids: frozenset[str]


class ClusterNode(Value, kw_only=True):
    """A node with enough data to decide.

    ``class_name`` names its hardware, configuration and release: nodes with equal names have equal
    rules except their identity. ``notes`` list missing or contradictory input.
    """

    name: str
    node: Node
    origin: Origin
    class_name: str
    pool: str = ""
    labels: Mapping[str, str] = NO_LABELS
    taints: tuple[Taint, ...] = ()
    is_cordoned: bool = False
    is_ready: bool = True
    notes: tuple[Finding, ...] = ()
    uid: str = ""
    """The Node object's uid."""

    @property
    def is_open(self) -> bool:
        """Whether the scheduler may place pods there: it is ready and not cordoned."""
        return self.is_ready and not self.is_cordoned

    @property
    def state(self) -> str:
        """Say both, because a node may be cordoned and not ready."""
        words = ["cordoned"] if self.is_cordoned else []
        return ", ".join([*words, "ready" if self.is_ready else "not ready"])

    @property
    def is_distrusted(self) -> bool:
        """Whether its published state does not match its pods: it is older, newer, or wrong."""
        return any(isinstance(each, StateFinding) for each in self.notes)


class UndecidedNode(Value, kw_only=True):
    """A node with insufficient data to decide, and the reason."""

    name: str
    why: Finding
    pool: str = ""
    labels: Mapping[str, str] = NO_LABELS


class Cluster(Value, kw_only=True):
    """All nodes by name, all pods by uid, without references to the outside."""

    nodes: Mapping[str, ClusterNode] = MappingProxyType({})
    undecided: Mapping[str, UndecidedNode] = MappingProxyType({})
    pods: Mapping[str, ClusterPod] = MappingProxyType({})
    budgets: tuple[DisruptionBudget, ...] = ()
    notes: tuple[Finding, ...] = ()
    """Notes about the whole input."""

    def __repr__(self) -> str:
        name, unknown = type(self).__name__, len(self.undecided)
        nodes = f"nodes {len(self.nodes)}" + (f", undecided {unknown}" if unknown else "")
        return f"<{name}: {nodes}, pods {len(self.pods)}>"

    def waiting(self) -> Iterator[ClusterPod]:
        """Yield pods without a node, in order of creation."""
        waiting = [each for each in self.pods.values() if each.is_waiting]
        yield from sorted(waiting, key=lambda each: (each.created_at_seconds or 0.0, each.pod.uid))

    def pools(self) -> Mapping[str, tuple[ClusterNode, ...]]:
        """Return the nodes of each pool, sorted by name."""
        pools: dict[str, list[ClusterNode]] = {}
        for _, each in sorted(self.nodes.items()):
            pools.setdefault(each.pool, []).append(each)
        return {pool: tuple(nodes) for pool, nodes in sorted(pools.items())}

    def with_nodes(self, changed: Iterable[ClusterNode]) -> Cluster:
        """Replace the nodes of the same names."""
        return replace(self, nodes={**self.nodes, **{each.name: each for each in changed}})

    def origins(self) -> Mapping[Origin, int]:
        """Count the nodes by origin, without zeros."""
        counts: dict[Origin, int] = {}
        for each in self.nodes.values():
            counts[each.origin] = counts.get(each.origin, 0) + 1
        return {origin: counts[origin] for origin in Origin if origin in counts}

    def releases(self) -> Mapping[str, int]:
        """Count the nodes by the release of their kubelet, oldest release first."""
        counts = Counter(each.node.rules.behaviour.release for each in self.nodes.values())
        return {each.name: counts[each] for each in table.RELEASES if each in counts}


class Arrival(Value, kw_only=True):
    """``count`` pods of one shape that arrive together; each runs for ``duration_seconds``.

    ``at_seconds`` counts from the beginning of the trace, the run time from the admission.
    """

    at_seconds: float
    duration_seconds: float
    pod: ClusterPod
    count: int = 1
