"""A cluster followed from its API server: a current value, rebuilt in parts.

Every collection is listed and watched. A change marks its nodes, and only these are rebuilt when
the value is read next. Until all lists are complete there is no value: half a cluster would seem
small. A missing (no such CRD) or forbidden optional collection is treated as empty, with a note.
After a lost connection the value stays unchanged, and ``age_seconds`` is its age.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Mapping, Set
from functools import partial
from typing import Any, Final, TypeAlias

from numalet.cluster.findings import (
    ClusterCollectionForbidden,
    ClusterDisconnected,
    ClusterUnlisted,
    not_to_be_had,
)
from numalet.cluster.live_copies import LiveCopies, UnreadObject
from numalet.core.cluster import building, objects, rebuilding
from numalet.core.cluster.building import Classes, ClassRule, NodeInputs
from numalet.core.cluster.classes import ClassSpec
from numalet.core.cluster.cluster import (
    Cluster,
    ClusterNode,
    ClusterPod,
    DisruptionBudget,
    UndecidedNode,
)
from numalet.core.cluster.objects import ListedNode, ListedState
from numalet.core.model.findings import Finding
from numalet.io.documents.cluster import cluster_decoder, numa_node
from numalet.io.documents.cluster.cluster_decoder import ObjectDecoder
from numalet.io.documents.text.typed import Place
from numalet.io.kube_api import follow
from numalet.io.kube_api.api_objects import OBJECT_KINDS, ObjectKind
from numalet.io.kube_api.client import ApiClient
from numalet.io.kube_api.follow import (
    Changed,
    Connected,
    Deleted,
    Disconnected,
    News,
    Replaced,
)
from numalet.io.kube_api.pace import PACE, Pace
from numalet.io.tasks import together

_NODES_IN_A_TURN: Final = 50

PodListener: TypeAlias = Callable[[ClusterPod | None, ClusterPod | None], None]
"""Called with each pod before and after a change; None: it does not exist."""


class LiveCluster:
    """A cluster that ``follow`` keeps current; ``cluster`` is its current value.

    Without locks: it belongs to one event loop.
    """

    def __init__(
        self,
        rules: Iterable[ClassRule] = (),
        pool_label: str = building.POOL_LABEL,
        pace: Pace = PACE,
        on_pod: PodListener = lambda before, now: None,
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        self._on_pod = on_pod
        self._on_change = on_change
        self._pool_label = pool_label
        self._pace = pace
        self._copies = LiveCopies()
        self._specs: dict[str, ClassSpec] = {}
        self._classes = Classes(self._specs, rules)
        self._decoder = ObjectDecoder()
        self._listed: set[str] = set()
        self._wanted = {each.path for each in OBJECT_KINDS}
        self._problems: dict[str, Finding] = {}
        self._lost_at: dict[str, float] = {}
        self._dirty: set[str] = set()
        # Collected once a reader asks: without one they would grow with every node that ever was.
        self._renewed: set[str] | None = None
        self._nodes: dict[str, ClusterNode] = {}
        self._undecided: dict[str, UndecidedNode] = {}
        self._pods: Mapping[str, ClusterPod] | None = None
        self._budgets: tuple[DisruptionBudget, ...] | None = None
        self._value: Cluster | None = None
        self._changed = asyncio.Event()

    @property
    def is_ready(self) -> bool:
        """Whether every collection was listed, or is known to be missing."""
        return self._wanted <= self._listed

    @property
    def is_current(self) -> bool:
        """Whether it is ready, and all watches are connected."""
        return self.is_ready and not self._lost_at

    @property
    def age_seconds(self) -> float:
        """How long some of it may have been out of date; 0 while it is current."""
        lost = self._lost_at.values()
        return self._pace.clock.now_seconds() - min(lost) if lost else 0.0

    @property
    def problems(self) -> tuple[Finding, ...]:
        """Why it is not ready, or not current."""
        kinds = (ClusterUnlisted, ClusterDisconnected)
        return tuple(each for each in self._problems.values() if isinstance(each, kinds))

    @property
    def notes(self) -> tuple[Finding, ...]:
        return (*self._problems.values(), *self._decoder.notes())

    @property
    def specs(self) -> Mapping[str, ClassSpec]:
        return dict(self._specs)

    @property
    def published_seconds(self) -> Mapping[str, float]:
        """When nodes last changed their objects, since 1970."""
        states: Mapping[str, ListedState] = self._copies.of_kind[numa_node.KIND]
        return {
            name: each.published_seconds
            for name, each in states.items()
            if each.published_seconds is not None
        }

    @property
    def pods(self) -> Mapping[str, ClusterPod]:
        pods: Mapping[str, ClusterPod] = self._copies.of_kind["Pod"]
        return pods

    @property
    def listed_nodes(self) -> Mapping[str, ListedNode]:
        nodes: Mapping[str, ListedNode] = self._copies.of_kind["Node"]
        return nodes

    @property
    def changed_nodes(self) -> Set[str]:
        """Names of nodes that ``renewed`` would rebuild."""
        return self._dirty

    def bound_to(self, name: str) -> frozenset[str]:
        """Return the uids of the pods that are bound to a node, including ended ones."""
        return frozenset(self._copies.bound.get(name, ()))

    def node(self, name: str) -> ClusterNode | UndecidedNode | None:
        return self._nodes.get(name) or self._undecided.get(name)

    def renewed(self) -> tuple[str, ...]:
        """Rebuild nodes with changes; return their names since the last call, at first all.

        For one reader with a value per node. Empty before it is ready.
        """
        if not self.is_ready:
            return ()
        # Rebuild only changed nodes, at the time of the reading: a burst of events costs one
        # rebuild.
        for name in self._dirty:
            self._make(name)
        self._dirty.clear()
        names = {*self._nodes, *self._undecided} if self._renewed is None else self._renewed
        self._renewed = set()
        return tuple(names)

    async def value(self) -> Cluster | None:
        """Return ``cluster``; other tasks run while many nodes are rebuilt."""
        for at, name in enumerate(tuple(self._dirty) if self.is_ready else ()):
            # A cluster of 5,000 nodes takes seconds; requests are answered in between.
            if at % _NODES_IN_A_TURN == 0:
                await asyncio.sleep(0)
            if name in self._dirty:
                self._make(name)
                self._dirty.discard(name)
        return self.cluster()

    def cluster(self) -> Cluster | None:
        """The current cluster, once it is ready. Unchanged nodes are the same objects as before."""
        if not self.is_ready:
            return None
        if self._value is None:
            for name in self._dirty:
                self._make(name)
            self._dirty.clear()
            # Copied only after a change of a pod: a cluster may have 100,000 pods, and most changes
            # concern nodes.
            if self._pods is None:
                self._pods = dict(self._copies.of_kind["Pod"])
            if self._budgets is None:
                facts = self._copies.of_kind["PodDisruptionBudget"].values()
                self._budgets = objects.budgets_over(facts, self._pods.values())
            self._value = Cluster(
                nodes=dict(self._nodes),
                undecided=dict(self._undecided),
                pods=self._pods,
                budgets=self._budgets,
                notes=self.notes,
            )
        return self._value

    async def wait_for_change(self) -> None:
        """Return once anything has changed since this was last awaited."""
        await self._changed.wait()
        self._changed.clear()

    async def wait_until_ready(self) -> None:
        while not self.is_ready:
            await self.wait_for_change()

    async def follow(self, api: ApiClient) -> None:
        """Keep the cluster current until this is cancelled.

        Raises ``BadInput`` if the credentials could never be read.
        """
        async with together() as group:
            for each in OBJECT_KINDS:
                group.create_task(self._follow(api, each))

    async def _follow(self, api: ApiClient, what: ObjectKind) -> None:
        news = follow.follow(
            api,
            what.collection,
            partial(self._decoded, what),
            what.key,
            self._pace,
        )
        async with contextlib.aclosing(news):
            async for each in news:
                if self._apply_event(what, each):
                    self._value = None
                    self._changed.set()
                    self._on_change()

    def _decoded(self, what: ObjectKind, content: bytes) -> Any:
        made = self._decoder.decode(what.name, content, Place(what.path))
        return UnreadObject(cluster_decoder.node_name_of(content)) if made is None else made[1]

    def _apply_event(self, what: ObjectKind, news: News[Any]) -> bool:
        copy = self._copies.of_kind[what.name]
        match news:
            case Replaced(items):
                self._listed.add(what.path)
                self._has_it(what)
                for key in self._copies.keys(what.name):
                    if key not in items:
                        self._put(what.name, key, None)
                for key, item in items.items():
                    # An unchanged object is the identical one after a new list.
                    if copy.get(key) is not item:
                        self._put(what.name, key, item)
            case Changed(key, item):
                self._put(what.name, key, item)
            case Deleted(key):
                self._put(what.name, key, None)
            case Connected():
                self._has_it(what)
            case Disconnected():
                return self._mark_disconnected(what, news)
        return True

    def _has_it(self, what: ObjectKind) -> None:
        self._problems.pop(what.path, None)
        self._lost_at.pop(what.path, None)

    def _mark_disconnected(self, what: ObjectKind, news: Disconnected) -> bool:
        """Return whether the loss is new."""
        lasting = None if what.is_needed else not_to_be_had(what.path, news.status)
        if isinstance(lasting, ClusterCollectionForbidden) and self._is_watched(what):
            # The collection was listed, so it exists; if it is forbidden, the next event says so.
            lasting = None
        if lasting is not None and self._problems.get(what.path) == lasting:
            return False
        # Treated as empty from now on: waiting for it would block everything.
        if lasting is not None:
            self._lost_at.pop(what.path, None)
            self._problems[what.path] = lasting
            for key in self._copies.keys(what.name):
                self._put(what.name, key, None)
            self._listed.add(what.path)
        elif what.path in self._listed:
            self._lost_at.setdefault(what.path, self._pace.clock.now_seconds())
            self._problems[what.path] = ClusterDisconnected(path=what.path, problem=news.why)
        else:
            self._problems[what.path] = ClusterUnlisted(path=what.path, problem=news.why)
        return True

    def _is_watched(self, what: ObjectKind) -> bool:
        """Return whether it was listed without a problem since."""
        return what.path in self._listed and what.path not in self._problems

    def _put(self, kind: str, key: str, item: Any) -> None:
        item = self._put_unread(kind, key, item)
        copy = self._copies.of_kind[kind]
        before = copy.pop(key, None)
        if item is not None:
            copy[key] = item
        match kind:
            case "Pod":
                self._put_pod(key, before, item)
            case "NumaNode":
                self._put_state(key, before, item)
            case "NumaNodeClass":
                self._put_class(key, item)
            case "Node":
                self._dirty.add(key)
            case "NodeResourceTopology":
                # It only says why a node is undecided.
                if key not in self._nodes:
                    self._dirty.add(key)
            case _:
                self._budgets = None

    def _put_unread(self, kind: str, key: str, item: Any) -> Any:
        """Return the object; record an unreadable one, and return None."""
        unread = item if isinstance(item, UnreadObject) else None
        before = self._copies.unread.pop((kind, key), None)
        if unread is not None:
            self._copies.unread[kind, key] = unread
        elif before is not None:
            self._decoder.forget(kind, key)
        for each, count in ((before, -1), (unread, 1)):
            if each is not None and each.node_name:
                self._dirty.add(each.node_name)
                self._copies.unread_on[each.node_name] += count
        if before is not None and not self._copies.unread_on[before.node_name]:
            del self._copies.unread_on[before.node_name]
        return None if unread is not None else item

    def _put_pod(self, uid: str, before: ClusterPod | None, item: ClusterPod | None) -> None:
        for each in (before, item):
            if each is not None and each.pod.node_name:
                self._dirty.add(each.pod.node_name)
        self._pods = None
        # Budgets select pods by their labels alone.
        if before is None or item is None or before.pod.labels != item.pod.labels:
            self._budgets = None
        if before is not None and before.pod.node_name:
            there = self._copies.bound[before.pod.node_name]
            del there[uid]
            if not there:
                del self._copies.bound[before.pod.node_name]
        if item is not None and item.pod.node_name:
            self._copies.bound.setdefault(item.pod.node_name, {})[uid] = item
        # The place of a pod decides whether other states that name it are trusted.
        self._dirty |= self._copies.holders.get(uid, set())
        self._on_pod(before, item)

    def _put_state(self, name: str, before: ListedState | None, item: ListedState | None) -> None:
        holders = self._copies.holders
        for uid in before.state.pods if before is not None else ():
            holders[uid].discard(name)
            if not holders[uid]:
                del holders[uid]
        for uid in item.state.pods if item is not None else ():
            holders.setdefault(uid, set()).add(name)
        self._dirty.add(name)

    def _put_class(self, name: str, item: ClassSpec | None) -> None:
        self._specs.pop(name, None)
        self._classes.forget(name)
        if item is not None:
            self._specs[name] = item
        # A node needs its class to be decided.
        states = self._copies.of_kind[numa_node.KIND]
        self._dirty |= {node for node, each in states.items() if each.class_name == name}

    def _make(self, name: str) -> None:
        copies = self._copies.of_kind
        if self._renewed is not None:
            self._renewed.add(name)
        self._nodes.pop(name, None)
        self._undecided.pop(name, None)
        # A NumaNode may exist before its Node, or after it; without the Node there is nothing to
        # decide about.
        listed = copies["Node"].get(name)
        if listed is None:
            return
        inputs = NodeInputs(
            listed=listed,
            bound=rebuilding.in_order(self._copies.bound.get(name, {}).values()),
            state=copies[numa_node.KIND].get(name),
            topology=copies["NodeResourceTopology"].get(name),
            unread_pods=self._copies.unread_on[name],
        )
        made = building.node_of(inputs, self._classes, copies["Pod"], self._pool_label)
        if isinstance(made, ClusterNode):
            self._nodes[name] = made
        else:
            self._undecided[name] = made
