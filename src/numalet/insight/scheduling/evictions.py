"""Whether evictions could help a pod on a node that refuses it.

kube-scheduler evicts only pods of a lower priority (``PodPriority`` in ``SelectVictimsOnNode`` of
the plugin DefaultPreemption, v1.32), and begins with all of them: where the pod does not fit then,
it tries nothing smaller. So it is asked here. More room is not always better to a kubelet, so that
in rare states fewer evictions would help where all do not; kube-scheduler does not find these
either.

Pods of DaemonSets go if they are of a lower priority: a new one waits until the pod is there. A
*static* pod comes back from its file whatever is done to its mirror in the API, so it stays. So do
pods of which nothing but their records is known.
"""

from __future__ import annotations

from collections.abc import Iterable

from numalet.core.model.pod import Pod
from numalet.core.node.node import Node
from numalet.insight.fleet import victims
from numalet.insight.scheduling.shape_verdicts import ShapeVerdicts


def may_go(there: Pod, new: Pod) -> bool:
    """Whether kube-scheduler may evict a pod for a new one, and it does not come back."""
    return not there.is_static and victims.priority(there) < victims.priority(new)


def without(node: Node, uids: Iterable[str]) -> Node:
    """The node once these pods are gone; what they hold is released at the next admission."""
    return node.at(node.snapshot.without_pods(frozenset(uids)))


def could_help(of: ShapeVerdicts, node: Node) -> bool:
    """Whether a node that refuses the shape admits it once all are gone that may be evicted."""
    new = of.table.pod
    going = [uid for uid, there in node.snapshot.pods.items() if may_go(there, new)]
    return bool(going) and admits(of, without(node, going))


def admits(of: ShapeVerdicts, node: Node) -> bool:
    """Whether a node in a state in which it is not would admit the shape."""
    return of.table.verdict(of.reader.reader.facts(node)).admitted
