"""A node after the arrival of all pods that were sent to it.

A published state has the kubelet's decisions so far. A pod that was bound since then is on its way:
it is part of the sums but has no allocation. This module admits it in advance, and then pods that
are expected but not yet bound.
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
    """Return the node with the pods on their way, and then the ``promised`` ones, in order.

    Without such pods it is the same object. A promised pod that is already bound counts once.
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
    """Return pods that are bound to a node but missing from its published state.

    They may include a running pod, if its status is newer than the state. In a rebuilt state all
    pods are already admitted.
    """
    if on.origin is not Origin.PUBLISHED:
        return ()
    node = on.node
    # A state does not list pods without allocations. A pod that was admitted while its device
    # plugin was stopped therefore seems to be on its way once the plugin returns: its devices
    # stay reserved.
    return tuple([pod for pod in node.snapshot.pods.values() if not _is_decided(node, pod)])


def awaited(on: ClusterNode) -> tuple[Pod, ...]:
    """Return pods on their way that will appear in the node's state after their admission."""
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
    # A pod that the node would reject gets no allocation in advance.
    after, decision = node.admit(pod)
    return after if decision.admitted else node
