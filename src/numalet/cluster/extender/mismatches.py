"""Pods that a kubelet rejected and we predicted it would admit: our model of that node is wrong.

Each mismatch is logged with both decisions, ours and the kubelet's, and counted; and its node gets
no pod of this shape for a while (``insight/scheduling/backing_off``). If we did not
predict an admission, a rejection does not count: another component sent the pod there, or the node
was undecided. Only the latest predictions are kept, and only of pods that have not started yet.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Final

from numalet.cluster.extender.state import ExtenderState, StateListener
from numalet.core.cluster.cluster import ClusterNode, ClusterPod
from numalet.core.cluster.facts import FactReader, StateFacts
from numalet.core.cluster.holding import on_the_way
from numalet.core.model import resources
from numalet.wording import numbers

MOST_PODS: Final = 10_000
MOST_NAMES: Final = 2_000_000
"""Limit of remembered node names, over all pods without a node."""


class ModelMismatches(StateListener):
    """Compares predictions with the fate of pods. Belongs to the event loop of its state."""

    def __init__(self, state: ExtenderState) -> None:
        self._state = state
        self._yeses: OrderedDict[str, Sequence[str]] = OrderedDict()
        """The nodes to which a pod may be sent, by its uid."""
        self._names = 0
        self._sent: OrderedDict[str, ClusterNode] = OrderedDict()
        """The state of a pod's node when the pod was seen there, by the pod's uid."""
        self._rejected: dict[str, list[tuple[ClusterPod, ClusterNode]]] = {}
        """Rejected pods, by the name of a node that is not renewed yet."""
        self._reader = FactReader()
        state.listeners.append(self)

    def said_yes(self, pod: ClusterPod, names: Sequence[str]) -> None:
        uid = pod.pod.uid
        self._forget_yes(uid)
        if not names:
            return
        self._yeses[uid] = names
        self._names += len(names)
        # Two limits, because one pod may pass on thousands of nodes.
        while len(self._yeses) > MOST_PODS or self._names > MOST_NAMES:
            self._forget_yes(next(iter(self._yeses)))

    def pod_changed(self, before: ClusterPod | None, now: ClusterPod | None) -> None:
        if now is None:
            if before is not None:
                self._forget_yes(before.pod.uid)
                self._sent.pop(before.pod.uid, None)
            return
        self._see_where(now)
        if now.is_over:
            on = self._sent.pop(now.pod.uid, None)
            if on is not None and now.was_rejected:
                self._rejected.setdefault(on.name, []).append((now, on))
        elif now.pod.phase == "Running":
            self._sent.pop(now.pod.uid, None)

    def node_renewed(self, name: str) -> None:
        for pod, on in self._rejected.pop(name, ()):
            # Only now the state of the node excludes the rejected pod.
            now = self._state.now_seconds()
            seconds = self._state.filter.was_refused(pod.pod, name, now)
            self._state.metrics.mismatch(pod.reason)
            self._state.log.complain(
                "a kubelet rejected a pod we predicted it would admit",
                pod=str(pod.pod),
                node=name,
                reason=pod.reason,
                kubelet_says=pod.message,
                origin=on.origin.value,
                state=self._short(on),
                left_alone_seconds=round(seconds),
            )

    def _see_where(self, now: ClusterPod) -> None:
        """Keep the state of the node that a passed pod was sent to."""
        uid, name = now.pod.uid, now.pod.node_name
        if not name or uid not in self._yeses:
            return
        on = self._state.nodes.base(name)
        if on is not None and name in self._yeses[uid]:
            # The node as it was for our decision. Nodes are immutable values, so this costs a
            # reference.
            self._sent[uid] = on
            if len(self._sent) > MOST_PODS:
                self._sent.popitem(last=False)
        self._forget_yes(uid)

    def _forget_yes(self, uid: str) -> None:
        self._names -= len(self._yeses.pop(uid, ()))

    def _short(self, on: ClusterNode) -> str:
        facts = self._reader.facts(on.node)
        pods, coming = len(on.node.snapshot.pods), len(on_the_way(on))
        parts = [f"{pods} pods", f"{coming} of them on their way", *_free(facts)]
        return ", ".join(parts)


def _free(facts: StateFacts) -> Iterator[str]:
    if facts.free_cpus:
        yield f"CPUs free {_by_numa_node(facts.free_cpus)}"
    if facts.node_class.counts_memory:
        sizes = [node.tables[resources.MEMORY].free for node in facts.memory.values()]
        yield f"memory free {'+'.join(map(numbers.size, sizes))}"
    for name, devices in facts.devices.items():
        yield f"{name} free {_by_numa_node([*devices.free_by_mask().values()] or [0])}"


def _by_numa_node(counts: Sequence[int]) -> str:
    return "+".join(map(str, counts))
