"""A node as it will be once the pods that were sent to it have come.

A published state says what the kubelet has decided. A pod that was bound since then is on its way:
it counts in the sums and holds nothing. Who sends more pods has to know what it will hold, so it is
admitted here in advance, and after it the pods that were promised to the node and are not even
bound. A pod that the node would reject holds nothing in advance either.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from numalet.core.cluster.cluster import ClusterNode, Origin
from numalet.core.model.pod import Pod
from numalet.core.node.node import Node
from numalet.core.snapshot.snapshot import Snapshot

_RUNNING: Final = "Running"


def expected(on: ClusterNode, promised: Iterable[Pod] = ()) -> ClusterNode:
    """The node with the pods that are on their way to it, and then with those promised, in order.

    It is the same object where there are none. A promised pod that is bound meanwhile counts once.
    """
    node = on.node.without_plugins()
    known = node.snapshot.pods
    for pod in on_the_way(on):
        node = _admitted(node.remove(pod.uid), pod)
    for pod in promised:
        if pod.uid not in known:
            node = _admitted(node, pod)
    return on if node.snapshot is on.node.snapshot else replace(on, node=node)


def on_the_way(on: ClusterNode) -> tuple[Pod, ...]:
    """Pods that are bound to a node and of which its published state does not know yet.

    Where the state was rebuilt, its pods have been admitted already.
    """
    if on.origin is not Origin.PUBLISHED:
        return ()
    snapshot = on.node.snapshot
    return tuple([pod for uid, pod in snapshot.pods.items() if not _is_decided(snapshot, uid, pod)])


def _is_decided(snapshot: Snapshot, uid: str, pod: Pod) -> bool:
    return (
        pod.phase == _RUNNING
        or uid in snapshot.cpu.exclusive
        or uid in snapshot.cpu.pods
        or uid in snapshot.memory.blocks
        or uid in snapshot.memory.pods
        or uid in snapshot.device.records
        or uid in snapshot.affinities
    )


def _admitted(node: Node, pod: Pod) -> Node:
    after, decision = node.admit(pod)
    return after if decision.admitted else node
