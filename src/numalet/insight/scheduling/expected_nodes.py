"""The nodes of a cluster as they are expected to be, kept current one change at a time.

    base        a node as it was published or rebuilt, or too little is known of it
    promised    pods that a scheduler was let send there, and whose objects do not say so yet
    expected    the base with the pods on their way and those promised; what is decided on

Thousands of nodes are asked about many times in a second, so that nothing here goes through all of
them: a change names its node, and ``changes`` is the list of these names for those who keep
something for each node.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from numalet.core.cluster.cluster import ClusterNode, ClusterPod, UndecidedNode
from numalet.core.cluster.expected import expected
from numalet.core.model.value import Value

_MOST_CHANGES: Final = 100_000


class Promise(Value):
    """A pod for which a node was named to the scheduler, until a moment of any steady clock."""

    pod: ClusterPod
    node_name: str
    until_seconds: float


class ExpectedNodes:
    """Changed in place; for one thread.

    ``nodes`` and ``undecided`` are by name, and only to be read by others.
    """

    def __init__(self) -> None:
        self.nodes: dict[str, ClusterNode] = {}
        self.undecided: dict[str, UndecidedNode] = {}
        self.changes: list[str] = []
        """Names of nodes, in the order in which they changed; a name may be there many times."""
        self.forgotten = 0
        """How many changes are no longer in the list; who knows of fewer begins anew."""
        self._bases: dict[str, ClusterNode] = {}
        self._by_uid: dict[str, Promise] = {}
        self._on: dict[str, dict[str, Promise]] = {}

    @property
    def promises(self) -> Mapping[str, Promise]:
        """By the uid of the pod."""
        return self._by_uid

    def base(self, name: str) -> ClusterNode | None:
        """The node as it is known, without what it is expected to get."""
        return self._bases.get(name)

    def put(self, name: str, base: ClusterNode | UndecidedNode | None) -> None:
        """The node as it is known now; None: it is gone."""
        self._bases.pop(name, None)
        self.undecided.pop(name, None)
        if isinstance(base, ClusterNode):
            self._bases[name] = base
        elif base is not None:
            self.undecided[name] = base
        self._renew(name)

    def promise(self, promise: Promise) -> None:
        """Count a pod on a node from now on; an earlier promise for it ends."""
        self.release(promise.pod.pod.uid)
        self._by_uid[promise.pod.pod.uid] = promise
        self._on.setdefault(promise.node_name, {})[promise.pod.pod.uid] = promise
        self._renew(promise.node_name)

    def release(self, uid: str) -> None:
        """Count the pod no longer: it is bound, or gone, or asked about anew."""
        promise = self._by_uid.pop(uid, None)
        if promise is None:
            return
        there = self._on[promise.node_name]
        del there[uid]
        if not there:
            del self._on[promise.node_name]
        self._renew(promise.node_name)

    def pass_time(self, now_seconds: float) -> list[Promise]:
        """The promises that came to nothing in time, which end with this."""
        late = [each for each in self._by_uid.values() if each.until_seconds <= now_seconds]
        for each in late:
            self.release(each.pod.pod.uid)
        return late

    def promised_on(self, name: str) -> tuple[Promise, ...]:
        """What was promised on a node, in the order of the promises."""
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
