"""A node as it will be once the pods that were sent to it have come.

A published state says what the kubelet has decided. A pod that was bound since then is on its way:
it counts in the sums and holds nothing. Who sends more pods has to know what it will hold, so it is
admitted here in advance, and after it the pods that were promised to the node and are not even
bound. A pod that the node would reject holds nothing in advance either.

A state says nothing of a pod that holds nothing. So one that was admitted while the plugin of its
devices was gone is taken for one on its way as soon as the plugin is back: the devices that it asks
for are kept free for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from numalet.core.cluster import holding
from numalet.core.cluster.cluster import ClusterNode, Origin
from numalet.core.model.pod import Pod
from numalet.core.model.value import replace
from numalet.core.node.node import Node

_RUNNING: Final = "Running"


def expected(on: ClusterNode, promised: Iterable[Pod] = ()) -> ClusterNode:
    """The node with the pods that are on their way to it, and then with those promised, in order.

    It is the same object where there are none. A promised pod that is bound meanwhile counts once.
    """
    node = on.node.without_plugins()
    known = node.snapshot.pods
    coming = on_the_way(on)
    for pod in coming:
        node = node.remove(pod.uid)
    for pod in coming:
        node = _admitted(node, pod)
    for pod in promised:
        if pod.uid not in known:
            node = _admitted(node, pod)
    return on if node.snapshot is on.node.snapshot else replace(on, node=node)


def on_the_way(on: ClusterNode) -> tuple[Pod, ...]:
    """Pods that are bound to a node and of which its published state does not know yet.

    One that is known to run may be among them: its status was written sooner than the state that
    has it. Where the state was rebuilt, its pods have been admitted already.
    """
    if on.origin is not Origin.PUBLISHED:
        return ()
    node = on.node
    return tuple([pod for pod in node.snapshot.pods.values() if not _is_decided(node, pod)])


def awaited(on: ClusterNode) -> tuple[Pod, ...]:
    """Pods on the way that the node's state will say something of, once they are admitted."""
    return tuple([pod for pod in on_the_way(on) if holding.may_hold(on.node, pod)])


def _is_decided(node: Node, pod: Pod) -> bool:
    snapshot, uid = node.snapshot, pod.uid
    return (
        uid in snapshot.cpu.exclusive
        or uid in snapshot.cpu.pods
        or uid in snapshot.memory.blocks
        or uid in snapshot.memory.pods
        or uid in snapshot.device.records
        or uid in snapshot.affinities
        or (pod.phase == _RUNNING and not holding.may_hold(node, pod))
    )


def _admitted(node: Node, pod: Pod) -> Node:
    after, decision = node.admit(pod)
    return after if decision.admitted else node
