"""The limits within which the breaker acts, as one value."""

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
    """What the breaker may do; each is allowed for itself."""

    PRUNE = "prune"
    """Delete rejected pods of ReplicaSets, but the newest few."""
    INFORM = "inform"
    """Write an event at the owner: why its pods are rejected, and what would work."""
    TAINT = "taint"
    """Keep pods away from trap nodes for a while."""
    SUSPEND = "suspend"
    """Suspend a Job of which no pod runs, until a node would admit one."""
    RECREATE = "recreate"
    """Create bare pods anew that ask for it by annotation."""


EVERY_MEASURE: Final = frozenset(Measure)


class BreakerScope(Value, kw_only=True):
    """Whose pods matter; all others are neither counted nor touched.

    Names are patterns such as ``team-*``. An owner is ``Kind/name``; no pattern means every one.
    """

    namespaces: tuple[str, ...] = ()
    without_namespaces: tuple[str, ...] = ("kube-system",)
    owners: tuple[str, ...] = ()
    without_owners: tuple[str, ...] = ()
    pod_labels: LabelSelector = field(default_factory=LabelSelector)

    def covers(self, pod: RejectedPod) -> bool:
        """Whether this pod matters."""
        owner = f"{pod.owner.kind}/{pod.owner.name}"
        return (
            _is_meant(pod.namespace, self.namespaces, self.without_namespaces)
            and _is_meant(owner, self.owners, self.without_owners)
            and self.pod_labels.selects(pod.labels)
        )

    def covers_waiting(self, pod: ClusterPod) -> bool:
        """Whether a pod matters that waits for a node.

        Its top owner is not known, so that none does where owners are chosen.
        """
        return (
            not (self.owners or self.without_owners)
            and _is_meant(pod.pod.namespace, self.namespaces, self.without_namespaces)
            and self.pod_labels.selects(pod.pod.labels)
        )


class BreakerRules(Value, kw_only=True):
    """When the breaker acts, and how far.

    A storm is ``storm_budget`` rejections of one owner and shape within ``window_seconds``; a node
    is a trap for the shape from ``node_budget`` of these on.
    """

    allowed: frozenset[Measure] = EVERY_MEASURE
    scope: BreakerScope = field(default_factory=BreakerScope)
    window_seconds: float = 60.0
    storm_budget: int = 5
    node_budget: int = 2
    kept_failed_pods: int = 3
    """So many rejected pods of an owner and shape stay, the newest."""
    pool_label: str = building.POOL_LABEL
    """The label of a node that names its pool."""
    taint_share: float = 0.1
    """Of the nodes of a pool, rounded down, so many have the taint at one time; never the last."""
    taint_seconds: float = 300.0
    longest_taint_seconds: float = 3600.0
    """A taint that comes again and again lasts twice as long each time, up to this."""
    waiting_seconds: float | None = None
    """The nodes that promise room for a pod which waits for so long, and which would all reject it,
    are traps without a rejection, so that an autoscaler adds a node; None: they are not."""
    inform_seconds: float = 3600.0
    """An owner is informed of one cause at most so often."""
    suspend_seconds: float = 3600.0
    recreate_pause_seconds: float = 10.0
    """Before a bare pod is created anew; doubled with each attempt."""
    recreate_attempts: int = 6
    retry_seconds: float = 30.0
    """An action of which no effect is seen is planned again after this."""
    taint_retry_seconds: float = 5.0
    """The same for a taint on a node that is a trap still: a storm is quick."""
    most_actions: int = 200
    """So many are planned at one time; others follow."""


def _is_meant(name: str, patterns: tuple[str, ...], without: tuple[str, ...]) -> bool:
    is_named = not patterns or any(fnmatchcase(name, each) for each in patterns)
    return is_named and not any(fnmatchcase(name, each) for each in without)
