"""The nodes of a cluster with the pods that they are expected to get, updated by single changes.

A *promised* pod is one that a scheduler may send to a node, and whose object does not show it yet.
Decisions concern thousands of nodes many times in a second, so nothing here visits all nodes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from numalet.core.cluster.cluster import ClusterNode, ClusterPod, UndecidedNode
from numalet.core.cluster.expected import expected
from numalet.core.model.value import Value

_MOST_CHANGES: Final = 100_000


class Promise(Value):
    """A pod for which a node was named to the scheduler, until a time of any steady clock."""

    pod: ClusterPod
    node_name: str
    until_seconds: float


class ExpectedNodes:
    """A mutable collection, for one thread.

    ``nodes`` and ``undecided`` are by name, and read-only for others.
    """

    def __init__(self) -> None:
        self.nodes: dict[str, ClusterNode] = {}
        self.undecided: dict[str, UndecidedNode] = {}
        self.changes: list[str] = []
        """Names of nodes in the order of their changes, with repetitions, for caches by node."""
        self.forgotten = 0
        """The number of changes dropped from the list.

        A reader that knows fewer reads all nodes again.
        """
        self._bases: dict[str, ClusterNode] = {}
        self._by_uid: dict[str, Promise] = {}
        self._on: dict[str, dict[str, Promise]] = {}

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
        self._renew(name)

    def promise(self, promise: Promise) -> None:
        """Promise a pod to a node; this ends an earlier promise for it."""
        self.release(promise.pod.pod.uid)
        self._by_uid[promise.pod.pod.uid] = promise
        self._on.setdefault(promise.node_name, {})[promise.pod.pod.uid] = promise
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
        base = self._bases.get(name)
        if base is None:
            self.nodes.pop(name, None)
        else:
            promised = [each.pod.pod for each in self._on.get(name, {}).values()]
            self.nodes[name] = expected(base, promised)
        self.changes.append(name)
        if len(self.changes) > _MOST_CHANGES:
            self.forgotten += len(self.changes)
            self.changes.clear()
