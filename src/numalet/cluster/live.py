"""A cluster that is kept current from its API server: a value at any moment, made anew in parts.

Every collection is listed and followed. A change marks the nodes that it is about, and these alone
are made anew when the value is asked for next: a node of its own facts, its pods and its
NumaNode. Until all lists are in there is no value: half a cluster would pass for a small one.

A collection that the server does not have (no such CRD), or does not show to these credentials,
counts as empty where a cluster can do without it; the reason stands in the notes.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from numalet.cluster import object_kinds
from numalet.cluster.object_kinds import OBJECT_KINDS, OLD_BUDGETS, ObjectKind
from numalet.core.cluster import building, objects, rebuilding
from numalet.core.cluster.building import Classes, ClassRule, NodeInputs
from numalet.core.cluster.classes import ClassSpec
from numalet.core.cluster.cluster import Cluster, ClusterNode, ClusterPod, UndecidedNode
from numalet.core.cluster.objects import ListedState
from numalet.core.model.findings import Finding, NoteFinding, WarningFinding
from numalet.io.documents import numa_node
from numalet.io.documents.cluster_decoder import ObjectDecoder
from numalet.io.documents.typed import Place
from numalet.io.kube_api import follow
from numalet.io.kube_api.answers import ApiStatus
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


class ClusterCollectionAbsent(NoteFinding):
    code = "cluster/collection-absent"
    sentence = "the API server has no {path}; they count as none"
    path: str


class ClusterCollectionForbidden(WarningFinding):
    code = "cluster/collection-forbidden"
    sentence = "these credentials may not list {path}; they count as none"
    mend = "grant get, list and watch of them"
    path: str


class ClusterDisconnected(WarningFinding):
    code = "cluster/disconnected"
    sentence = "{path} may be out of date: {problem}"
    path: str
    problem: str


@dataclass(slots=True)
class _Copies:
    """What the API server has, as far as it is known, by kind and key."""

    of_kind: dict[str, dict[str, Any]] = field(
        default_factory=lambda: {each.name: {} for each in OBJECT_KINDS}
    )
    bound: dict[str, dict[str, ClusterPod]] = field(default_factory=dict)
    """Pods by node and uid."""
    holders: dict[str, set[str]] = field(default_factory=dict)
    """Nodes whose state names a pod, by uid."""


class LiveCluster:
    """A cluster that ``follow`` keeps current; ``cluster`` is its value at this moment.

    Nothing in here is locked: it belongs to one event loop.
    """

    def __init__(
        self,
        rules: Iterable[ClassRule] = (),
        pool_label: str = building.POOL_LABEL,
        pace: Pace = PACE,
    ) -> None:
        self._pool_label = pool_label
        self._pace = pace
        self._copies = _Copies()
        self._specs: dict[str, ClassSpec] = {}
        self._classes = Classes(self._specs, rules)
        self._decoder = ObjectDecoder()
        self._listed: set[str] = set()
        self._wanted = {each.path for each in OBJECT_KINDS}
        self._problems: dict[str, Finding] = {}
        self._dirty: set[str] = set()
        self._nodes: dict[str, ClusterNode] = {}
        self._undecided: dict[str, UndecidedNode] = {}
        self._value: Cluster | None = None
        self._changed = asyncio.Event()

    @property
    def is_ready(self) -> bool:
        """Whether every collection was listed, or is known not to be there."""
        return self._wanted <= self._listed

    @property
    def is_current(self) -> bool:
        """Whether it is ready, and connected to all that is there."""
        return self.is_ready and not any(
            isinstance(each, ClusterDisconnected) for each in self._problems.values()
        )

    @property
    def notes(self) -> tuple[Finding, ...]:
        """What is to be said of collections and of objects that could not be read."""
        return (*self._problems.values(), *self._decoder.notes())

    def cluster(self) -> Cluster | None:
        """The cluster as it is known now; None until it is ready.

        Nodes about which nothing changed are the same objects as before.
        """
        if not self.is_ready:
            return None
        if self._value is None:
            self._make_dirty_nodes()
            pods: Mapping[str, ClusterPod] = dict(self._copies.of_kind["Pod"])
            budgets = self._copies.of_kind["PodDisruptionBudget"].values()
            self._value = Cluster(
                nodes=dict(self._nodes),
                undecided=dict(self._undecided),
                pods=pods,
                budgets=objects.budgets_over(budgets, pods.values()),
                notes=self.notes,
            )
        return self._value

    async def wait_for_change(self) -> None:
        """Return once anything has changed since this was last awaited."""
        await self._changed.wait()
        self._changed.clear()

    async def wait_until_ready(self) -> None:
        """Return once there is a value."""
        while not self.is_ready:
            await self.wait_for_change()

    async def follow(self, api: ApiClient) -> None:
        """Keep it current until this is cancelled.

        Raises:
            BadInput: the credentials can not be read, and never could.
        """
        async with asyncio.TaskGroup() as group:
            for each in OBJECT_KINDS:
                group.create_task(self._follow(api, each, group))

    async def _follow(self, api: ApiClient, what: ObjectKind, group: asyncio.TaskGroup) -> None:
        news = follow.follow(
            api,
            what.collection,
            partial(self._decoded, what),
            what.key,
            self._pace,
        )
        async with contextlib.aclosing(news):
            async for each in news:
                if self._has_old_budgets_instead(what, each):
                    self._wanted ^= {what.path, OLD_BUDGETS.path}
                    group.create_task(self._follow(api, OLD_BUDGETS, group))
                    return
                self._take_in(what, each)
                self._value = None
                self._changed.set()

    def _decoded(self, what: ObjectKind, content: bytes) -> Any:
        made = self._decoder.decode(what.name, content, Place(what.path))
        if made is None:
            # No news comes of it, and a pod that can not be read is still on its node.
            self._dirty |= self._decoder.unread_pods().keys()
            self._value = None
            self._changed.set()
            return None
        return made[1]

    def _has_old_budgets_instead(self, what: ObjectKind, news: News[Any]) -> bool:
        status = news.status if isinstance(news, Disconnected) else None
        is_absent = status is not None and status.is_not_found
        return is_absent and object_kinds.has_older(what)

    def _take_in(self, what: ObjectKind, news: News[Any]) -> None:
        copy = self._copies.of_kind[what.name]
        match news:
            case Replaced(items):
                self._listed.add(what.path)
                self._problems.pop(what.path, None)
                for key in [key for key in copy if key not in items]:
                    self._put(what.name, key, None)
                for key, item in items.items():
                    if copy.get(key) is not item:
                        self._put(what.name, key, item)
            case Changed(key, item):
                self._put(what.name, key, item)
            case Deleted(key):
                self._put(what.name, key, None)
            case Connected():
                self._problems.pop(what.path, None)
            case Disconnected():
                self._note_problem(what, news)

    def _note_problem(self, what: ObjectKind, news: Disconnected) -> None:
        lasting = None if what.is_needed else _lasting(what.path, news.status)
        if lasting is None:
            self._problems[what.path] = ClusterDisconnected(path=what.path, problem=news.why)
            return
        self._problems[what.path] = lasting
        for key in list(self._copies.of_kind[what.name]):
            self._put(what.name, key, None)
        self._listed.add(what.path)

    def _put(self, kind: str, key: str, item: Any) -> None:
        """Keep an object, or its absence, and mark the nodes that it is about."""
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
            case "Node" | "NodeResourceTopology":
                self._dirty.add(key)
            case _:
                pass

    def _put_pod(self, uid: str, before: ClusterPod | None, item: ClusterPod | None) -> None:
        for each in (before, item):
            if each is not None and each.pod.node_name:
                self._dirty.add(each.pod.node_name)
        if before is not None:
            self._copies.bound.get(before.pod.node_name, {}).pop(uid, None)
        if item is not None and item.pod.node_name:
            self._copies.bound.setdefault(item.pod.node_name, {})[uid] = item
        # Where it is known to be decides whether others that name it are to be trusted.
        self._dirty |= self._copies.holders.get(uid, set())

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
        if item is not None:
            self._specs[name] = item
        states = self._copies.of_kind[numa_node.KIND]
        self._dirty |= {node for node, each in states.items() if each.class_name == name}

    def _make_dirty_nodes(self) -> None:
        copies = self._copies.of_kind
        for name in self._dirty:
            self._nodes.pop(name, None)
            self._undecided.pop(name, None)
            listed = copies["Node"].get(name)
            if listed is None:
                continue
            inputs = NodeInputs(
                listed=listed,
                bound=rebuilding.in_order(self._copies.bound.get(name, {}).values()),
                state=copies[numa_node.KIND].get(name),
                topology=copies["NodeResourceTopology"].get(name),
                unread_pods=self._decoder.unread_pods().get(name, 0),
            )
            made = building.node_of(inputs, self._classes, copies["Pod"], self._pool_label)
            if isinstance(made, ClusterNode):
                self._nodes[name] = made
            else:
                self._undecided[name] = made
        self._dirty.clear()


def _lasting(path: str, status: ApiStatus | None) -> Finding | None:
    """What is to be said of a collection that is not to be had, and need not be waited for."""
    if status is not None and status.is_not_found:
        return ClusterCollectionAbsent(path=path)
    if status is not None and status.is_forbidden:
        return ClusterCollectionForbidden(path=path)
    return None
