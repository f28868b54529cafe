"""The shapes of the pods that run, wait or were rejected in a cluster, counted as it changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from numalet.core.cluster import shapes
from numalet.core.cluster.cluster import ClusterPod
from numalet.core.cluster.shapes import PodKey
from numalet.core.model import pod_demand
from numalet.core.model.value import Value
from numalet.insight.fleet import kube_scheduler
from numalet.insight.fleet.assessing import difference


class AskedShape(Value):
    """One shape: a representative pod, and the number of its pods in the cluster.

    ``rejections`` are the node and the reason of each pod that a kubelet rejected.
    """

    pod: ClusterPod
    running: int = 0
    waiting: int = 0
    rejections: tuple[tuple[str, str], ...] = ()

    @property
    def amounts(self) -> Mapping[str, int]:
        """The requests, CPU in thousandths, others in units."""
        return pod_demand.amounts(self.pod.pod)


@dataclass(eq=False)
class _Group:
    """The pods of one shape by uid."""

    pods: dict[str, ClusterPod] = field(default_factory=dict)
    waiting: int = 0
    shape: AskedShape | None = None
    """Computed again after a change."""

    def asked(self) -> AskedShape:
        if self.shape is None:
            # The smallest uid represents the shape, so that results do not depend on the order of
            # changes.
            first = kube_scheduler.as_new(self.pods[min(self.pods)])
            rejections = sorted(
                (each.pod.node_name, each.reason)
                for each in self.pods.values()
                if each.was_rejected
            )
            running = len(self.pods) - self.waiting - len(rejections)
            self.shape = AskedShape(first, running, self.waiting, tuple(rejections))
        return self.shape


class ShapeCounts:
    """Counts the shapes of one cluster after another; reads each pod object once."""

    def __init__(self) -> None:
        self._pods: Mapping[str, ClusterPod] = MappingProxyType({})
        self._groups: dict[PodKey, _Group] = {}
        self._key_of: dict[str, PodKey] = {}
        self._counted: tuple[AskedShape, ...] = ()

    def of(self, pods: Mapping[str, ClusterPod]) -> tuple[AskedShape, ...]:
        """Return the shapes of these pods, by descending number of pods."""
        if pods is not self._pods:
            different = difference(self._pods, pods)
            for uid in (*different.gone, *different.changed):
                self._leave(uid)
            for uid, pod in different.changed.items():
                self._enter(uid, pod)
            self._pods = pods
            if different:
                every = [each.asked() for each in self._groups.values()]
                self._counted = tuple(sorted(every, key=_most_first))
        return self._counted

    def _leave(self, uid: str) -> None:
        key = self._key_of.pop(uid, None)
        if key is None:
            return
        group = self._groups[key]
        group.waiting -= group.pods.pop(uid).is_waiting
        group.shape = None
        if not group.pods:
            del self._groups[key]

    def _enter(self, uid: str, pod: ClusterPod) -> None:
        # A rejected pod is over, but its owner still wants such a pod to run.
        is_past = (pod.is_over and not pod.was_rejected) or pod.is_being_deleted
        # Pods of DaemonSets are left out: they arrive with their node and always fit.
        if is_past or pod.pod.is_static or pod.comes_with_its_node:
            return
        key = shapes.key_of(pod)
        group = self._groups.setdefault(key, _Group())
        group.pods[uid] = pod
        group.waiting += pod.is_waiting
        group.shape = None
        self._key_of[uid] = key


def _most_first(each: AskedShape) -> tuple[int, str, str]:
    pods = each.running + each.waiting + len(each.rejections)
    return (-pods, str(each.pod.pod), each.pod.pod.uid)
