"""The nodes of a cluster with the pods that they are expected to get, and their verdicts on shapes.

A *promised* pod is one that a scheduler may send to a node, and whose object does not show it yet.
Single changes update the nodes, because decisions concern thousands of nodes many times in a
second. A verdict is computed on its first use, and an answer costs one lookup per unchanged node.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from numalet.core.admission.predicates import OS_LABEL
from numalet.core.cluster import shapes
from numalet.core.cluster.any_order import AnyOrder
from numalet.core.cluster.arrivals import Arrivals
from numalet.core.cluster.cluster import ClusterNode, ClusterPod, UndecidedNode
from numalet.core.cluster.holding import awaited, expected
from numalet.core.cluster.keys import StateKey
from numalet.core.cluster.shapes import ShapeKey
from numalet.core.cluster.verdicts import NodeReader, NodeVerdict, VerdictTable
from numalet.core.model import resources
from numalet.core.model.node_constraints import UNCONSTRAINED
from numalet.core.model.pod import Container, ContainerKind, Pod, QosClass
from numalet.core.model.value import Value
from numalet.insight.fleet.footprint import Footprints
from numalet.insight.fleet.preference import Rank

_MOST_CHANGES: Final = 100_000


class Promise(Value):
    """A pod for which a node was named to the scheduler, until a time of any steady clock."""

    pod: ClusterPod
    node_name: str
    until_seconds: float


class ExpectedNodes:
    """A mutable collection, for one thread; ``undecided`` is by name, and read-only for others."""

    def __init__(self) -> None:
        self.undecided: dict[str, UndecidedNode] = {}
        self.changes: list[str] = []
        """Names of nodes in the order of their changes, with repetitions, for caches by node."""
        self.forgotten = 0
        """The number of changes dropped from the list.

        A reader that knows fewer reads all nodes again.
        """
        self._bases: dict[str, ClusterNode] = {}
        self._nodes: dict[str, ClusterNode] = {}
        self._stale: dict[str, None] = {}
        self._arrivals: dict[str, Arrivals] = {}
        self._by_uid: dict[str, Promise] = {}
        self._on: dict[str, dict[str, Promise]] = {}
        self._departed: dict[str, dict[str, tuple[Pod, Set[str]]]] = {}
        """Pods by node name and uid, with the uids of those that were bound there at their end."""

    @property
    def nodes(self) -> Mapping[str, ClusterNode]:
        """The nodes with the pods that they are expected to get, by name."""
        # Built on the first use after a change: a binding releases a promise and changes the node.
        for name in self._stale:
            self._build(name)
        self._stale.clear()
        return self._nodes

    @property
    def promises(self) -> Mapping[str, Promise]:
        return self._by_uid

    def base(self, name: str) -> ClusterNode | None:
        """Return the node without the pods that it is expected to get."""
        return self._bases.get(name)

    def put(self, name: str, base: ClusterNode | UndecidedNode | None) -> None:
        """Set the current knowledge of a node; without a value, the node was deleted."""
        self._bases.pop(name, None)
        self.undecided.pop(name, None)
        if isinstance(base, ClusterNode):
            self._bases[name] = base
        elif base is not None:
            self.undecided[name] = base
        if name in self._departed:
            self._forget_departed(name)
        self._renew(name)

    def ended(self, pod: Pod, others: Set[str]) -> None:
        """Note the end of a bound pod, and the uids of the others on its node.

        Call this before ``put`` with the node without it.
        """
        if others:
            self._departed.setdefault(pod.node_name, {})[pod.uid] = (pod, others)

    def departed(self, name: str) -> tuple[Pod, ...]:
        """Return pods that ended when others, which are still on their way, were bound."""
        return tuple([pod for pod, _ in self._departed.get(name, {}).values()])

    def _forget_departed(self, name: str) -> None:
        base = self._bases.get(name)
        coming = set() if base is None else {pod.uid for pod in awaited(base)}
        kept = {
            uid: each
            for uid, each in self._departed.pop(name).items()
            if not coming.isdisjoint(each[1])
        }
        if kept:
            self._departed[name] = kept

    def promise(self, promise: Promise) -> None:
        """Promise a pod to a node; this ends an earlier promise for it on another node."""
        uid, before = promise.pod.pod.uid, self._by_uid.get(promise.pod.pod.uid)
        is_known = before is not None and (
            (before.node_name, before.pod.pod) == (promise.node_name, promise.pod.pod)
        )
        if not is_known:
            self.release(uid)
        self._by_uid[uid] = self._on.setdefault(promise.node_name, {})[uid] = promise
        if not is_known:
            self._renew(promise.node_name)

    def release(self, uid: str) -> None:
        """End a promise: the pod is bound or deleted, or the scheduler tries it again."""
        promise = self._by_uid.pop(uid, None)
        if promise is None:
            return
        there = self._on[promise.node_name]
        del there[uid]
        if not there:
            del self._on[promise.node_name]
        self._renew(promise.node_name)

    def pass_time(self, now_seconds: float) -> list[Promise]:
        late = [each for each in self._by_uid.values() if each.until_seconds <= now_seconds]
        for each in late:
            self.release(each.pod.pod.uid)
        return late

    def promised_on(self, name: str) -> tuple[Promise, ...]:
        """Return the promises for a node, oldest first."""
        return tuple(self._on.get(name, {}).values())

    def _renew(self, name: str) -> None:
        self._stale[name] = None
        self.changes.append(name)
        if len(self.changes) > _MOST_CHANGES:
            # Readers remember how many changes they have seen. This number lets them notice that
            # some were dropped.
            self.forgotten += len(self.changes)
            self.changes.clear()

    def _build(self, name: str) -> None:
        base = self._bases.get(name)
        if base is None:
            self._nodes.pop(name, None)
            self._arrivals.pop(name, None)
            return
        # Built again from the base, in the order of the promises: admissions cannot be undone one
        # by one.
        promised = [each.pod.pod for each in self._on.get(name, {}).values()]
        arrivals = self._arrivals.setdefault(name, Arrivals())
        node = self._nodes[name] = expected(base, promised, arrivals)
        if node is base:
            del self._arrivals[name]


MOST_SHAPES: Final = 256
"""The most recently used shapes."""
_NODES_IN_A_TURN: Final = 32


@dataclass(eq=False)
class ShapeVerdicts:
    """All that is known about one shape. ``by_name`` is read-only for others."""

    table: VerdictTable
    by_name: dict[str, NodeVerdict] = field(default_factory=dict)
    texts: dict[StateKey, str] = field(default_factory=dict)
    """Refusal texts, see ``reasons``."""
    ranks: dict[str, Rank | None] = field(default_factory=dict)
    """By node name; a node that does not admit the pod has no rank. Filled by ``scoring``."""
    curable: dict[str, bool] = field(default_factory=dict)
    """Refusing nodes by name: whether evictions could help, see ``evictions``."""
    emptied: dict[StateKey, bool] = field(default_factory=dict)
    """Whether a node in this state after evictions admits the shape, see ``evictions``."""
    safe: dict[str, bool] = field(default_factory=dict)
    """Whether a node admits the shape in any order, by name; see ``any_order``."""
    known_changes: int = 0

    @cached_property
    def footprints(self) -> Footprints:
        return Footprints(self.table)

    @property
    def reader(self) -> NodeReader:
        return self.table.reader


class ShapeMemory:
    """The tables of the most recently used shapes, over the same nodes."""

    def __init__(self, nodes: ExpectedNodes, most_shapes: int = MOST_SHAPES) -> None:
        self._nodes = nodes
        self._reader = NodeReader()
        self._most_shapes = most_shapes
        self._by_shape: OrderedDict[ShapeKey, ShapeVerdicts] = OrderedDict()
        self.orders: Final = AnyOrder(self._reader.reader)

    def __len__(self) -> int:
        return len(self._by_shape)

    def of(self, pod: Pod) -> ShapeVerdicts:
        """Return the table of the pod's shape, without the nodes that changed since."""
        key = shapes.shape_key(pod)
        known = self._by_shape.get(key)
        if known is None:
            known = self._by_shape[key] = ShapeVerdicts(
                VerdictTable(shapes.shape_of(pod), self._reader)
            )
            while len(self._by_shape) > self._most_shapes:
                self._by_shape.popitem(last=False)
        self._by_shape.move_to_end(key)
        self._follow(known)
        return known

    def decide(
        self, of: ShapeVerdicts, names: Iterable[str], may_go_on: Callable[[], bool]
    ) -> tuple[str, ...]:
        """Decide on the nodes of these names; return the names of those not reached.

        ``may_go_on`` is called every few decisions.
        """
        nodes, by_name = self._nodes.nodes, of.by_name
        missing = [name for name in names if name not in by_name and name in nodes]
        for at, name in enumerate(missing):
            if at % _NODES_IN_A_TURN == 0 and not may_go_on():
                return tuple(missing[at:])
            by_name[name] = of.table.verdict(of.reader.facts(name, nodes[name].node))
        return ()

    def is_safe(self, of: ShapeVerdicts, pod: Pod, name: str) -> bool:
        """Return whether it admits the pod in any order with those that it is expected to get."""
        known = of.safe.get(name)
        if known is None:
            base, promised = self._nodes.base(name), self._nodes.promised_on(name)
            known = of.safe[name] = (
                base is not None
                and not base.is_distrusted
                and self.orders.admits(
                    base, [each.pod.pod for each in promised], pod, self._nodes.departed(name)
                )
            )
        return known

    @property
    def names(self) -> Iterable[str]:
        """The names of all nodes with enough data for a decision."""
        return tuple(self._nodes.nodes)

    def prepare(self, may_go_on: Callable[[], bool]) -> bool:
        """Read the facts of new and changed nodes; return whether all were read.

        Facts that are not read here are read for the next pod.
        """
        self._reader.keep_only(self._nodes.nodes)
        every = self._nodes.nodes.items()
        unread = [
            (name, each.node) for name, each in every if not self._reader.has(name, each.node)
        ]
        for at, (name, node) in enumerate(unread):
            if at % _NODES_IN_A_TURN == 0 and not may_go_on():
                return False
            # The state is computed on its first use, so it is used here.
            _ = self._reader.facts(name, node).state
        return True

    def _follow(self, known: ShapeVerdicts) -> None:
        changes, forgotten = self._nodes.changes, self._nodes.forgotten
        # Changes were dropped from the list that this table has not seen.
        caches: tuple[dict[str, Any], ...] = (
            known.by_name, known.ranks, known.curable, known.safe
        )  # fmt: skip
        if known.known_changes < forgotten:
            for each in caches:
                each.clear()
        else:
            for name in changes[known.known_changes - forgotten :]:
                for each in caches:
                    each.pop(name, None)
        known.known_changes = forgotten + len(changes)


_COUNTED: Final = (resources.CPU, resources.MEMORY, resources.EPHEMERAL_STORAGE)


def needs_decision(pod: Pod) -> bool:
    """Return whether a kubelet might refuse the pod after the scheduler's own checks passed.

    Most pods of most clusters need no decision of the engine, and get their answer at once.
    """
    constraints = pod.constraints or UNCONSTRAINED
    return (
        # The CPU Manager and the Memory Manager place Guaranteed pods.
        pod.qos_class is QosClass.GUARANTEED
        # Releases and feature gates treat pod-level resources differently, and v1.36 may refuse
        # them as EmptyPodSharedPoolError.
        or pod.pod_level is not None
        or bool(pod.claims)
        # The kubelet checks the operating system and strict supplemental groups by itself. A
        # critical pod is not special: if the sums suffice, nothing is evicted for it.
        or bool(constraints.os_name)
        or constraints.strict_groups
        or OS_LABEL in pod.labels
        or any(map(_is_placed, pod.containers()))
    )


def _is_placed(container: Container) -> bool:
    return (
        # Some kubelets refuse sidecars.
        container.kind is ContainerKind.SIDECAR
        or bool(container.claims)
        # The Device Manager refuses even a request of 0 if a device is not healthy.
        or not all(name in _COUNTED or resources.is_hugepages(name) for name in container.limits)
    )
