"""Admissions of the pods that a node is expected to get, remembered while nothing else changes.

A node's expected state is built again with each change: a pod is promised, bound, published, or
runs. Most admissions are then the same as before. An admission is remembered by the uids of the
pods that were there, and counts again if the state was equal.
"""

from __future__ import annotations

from typing import Final

from numalet.core.model.pod import Pod
from numalet.core.model.value import Value, replace
from numalet.core.node.node import Node
from numalet.core.snapshot.snapshot import Snapshot

MOST: Final = 32
"""Admissions that one node remembers, the latest ones."""


class _Admission(Value):
    before: Node
    pod: Pod
    after: Node


class Arrivals:
    """Of one node; ``after`` is that of ``holding.expected``. For one thread."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, frozenset[str]], _Admission] = {}

    def after(self, node: Node, pod: Pod) -> Node:
        """Return the node with the pod, or the same node if it rejects the pod."""
        key = (pod.uid, frozenset(node.snapshot.pods))
        known = self._known.get(key)
        if known is None or not (_are_alike(pod, known.pod) and _decide_alike(node, known.before)):
            after, decision = node.admit(pod)
            # A pod that the node would reject gets no allocation in advance.
            known = _Admission(node, pod, after if decision.admitted else node)
            self._known.pop(key, None)
            self._known[key] = known
            if len(self._known) > MOST:
                del self._known[next(iter(self._known))]
        return known.after


def _are_alike(pod: Pod, other: Pod) -> bool:
    """Return whether they differ at most in what a binding and a start change."""
    return pod is other or _bare(pod) == _bare(other)


def _bare(pod: Pod) -> Pod:
    return replace(pod, node_name="", phase="")


def _decide_alike(node: Node, other: Node) -> bool:
    if node is other:
        return True
    one, two = node.snapshot, other.snapshot
    return (
        node.roster == other.roster
        and _in_order(one) == _in_order(two)
        and replace(one, pods={}, revision=0) == replace(two, pods={}, revision=0)
        and all(map(_are_alike, one.pods.values(), two.pods.values()))
    )


def _in_order(snapshot: Snapshot) -> tuple[list[str], ...]:
    """Return the uids of pods and holders; records are released in this order."""
    holders = (snapshot.cpu.exclusive, snapshot.memory.blocks, snapshot.device.records)
    return (list(snapshot.pods), *map(list, holders))
