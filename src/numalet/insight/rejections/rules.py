"""The limits of the breaker as one value."""

from __future__ import annotations

from enum import Enum
from fnmatch import fnmatchcase
from typing import Final

from numalet.core.cluster import building
from numalet.core.cluster.cluster import ClusterPod
from numalet.core.cluster.objects import LabelSelector
from numalet.core.model.value import Value, field
from numalet.insight.rejections.rejected_pod import RejectedPod


class Measure(Enum):
    """Actions of the breaker; each is enabled separately."""

    PRUNE = "prune"
    """Delete rejected pods of ReplicaSets, except the newest few."""
    INFORM = "inform"
    """Write an event at the owner: why its pods are rejected, and what would work."""
    TAINT = "taint"
    """Keep pods away from trap nodes for a while."""
    SUSPEND = "suspend"
    """Suspend a Job without running pods until a node would admit one."""
    HOLD = "hold"
    """Let the API server refuse new pods of a controller where taints cannot end the storm."""
    RECREATE = "recreate"
    """Create bare pods with the annotation again."""


EVERY_MEASURE: Final = frozenset(Measure)


class BreakerScope(Value, kw_only=True):
    """The pods that the breaker handles; it ignores all others.

    Names are patterns such as ``team-*``. An owner is ``Kind/name``; no pattern means every one.
    """

    namespaces: tuple[str, ...] = ()
    without_namespaces: tuple[str, ...] = ("kube-system",)
    owners: tuple[str, ...] = ()
    without_owners: tuple[str, ...] = ()
    pod_labels: LabelSelector = field(default_factory=LabelSelector)

    def covers(self, pod: RejectedPod) -> bool:
        owner = f"{pod.owner.kind}/{pod.owner.name}"
        return (
            _is_meant(pod.namespace, self.namespaces, self.without_namespaces)
            and _is_meant(owner, self.owners, self.without_owners)
            and self.pod_labels.selects(pod.labels)
        )

    def covers_waiting(self, pod: ClusterPod) -> bool:
        """Return whether the scope includes a pod that waits for a node."""
        # The top owner of a waiting pod is unknown.
        return (
            not (self.owners or self.without_owners)
            and _is_meant(pod.pod.namespace, self.namespaces, self.without_namespaces)
            and self.pod_labels.selects(pod.pod.labels)
        )


class BreakerRules(Value, kw_only=True):
    """Thresholds and limits of the breaker.

    A storm is ``storm_budget`` rejections of one owner and shape within ``window_seconds``; a node
    is a trap for the shape if it made at least ``node_budget`` of them.
    """

    allowed: frozenset[Measure] = EVERY_MEASURE
    scope: BreakerScope = field(default_factory=BreakerScope)
    window_seconds: float = 60.0
    storm_budget: int = 5
    node_budget: int = 2
    kept_failed_pods: int = 3
    """Number of rejected pods of an owner and shape that are kept, the newest."""
    pool_label: str = building.POOL_LABEL
    """The node label with the name of the pool."""
    taint_share: float = 0.1
    """Share of the nodes of a pool that may have the taint, rounded down; never the last node."""
    taint_seconds: float = 300.0
    longest_taint_seconds: float = 3600.0
    """A repeated taint lasts twice as long each time, up to this."""
    waiting_seconds: float | None = None
    """Age of a waiting pod after which nodes become traps without a rejection, if set.

    They are the nodes whose sums suffice for the pod, if all of them would reject it, so that an
    autoscaler adds a node.
    """
    inform_seconds: float = 3600.0
    """Minimum time between two events of one cause for an owner."""
    suspend_seconds: float = 3600.0
    hold_seconds: float = 300.0
    longest_hold_seconds: float = 3600.0
    """A hold is not renewed this long after the last rejection: perhaps no pod is wanted now."""
    recreate_pause_seconds: float = 10.0
    """Wait before a bare pod is recreated; doubled with each attempt."""
    recreate_attempts: int = 6
    retry_seconds: float = 30.0
    """An action without a visible effect is planned again after this time."""
    taint_retry_seconds: float = 5.0
    """The same for a taint on a node that is still a trap: a storm is quick."""
    most_actions: int = 200
    """Limit of actions in one plan; the others are in the next plans."""


def _is_meant(name: str, patterns: tuple[str, ...], without: tuple[str, ...]) -> bool:
    is_named = not patterns or any(fnmatchcase(name, each) for each in patterns)
    return is_named and not any(fnmatchcase(name, each) for each in without)
