"""Facts about the cluster that the breaker needs, in addition to the rejected pods."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from numalet.core.cluster.cluster import Cluster, ClusterPod
from numalet.core.cluster.objects import ListedNode
from numalet.core.model.value import Value


class SuspendedJob(Value, kw_only=True):
    """A Job with the breaker's mark. ``pod`` is one of its template, if that could be read."""

    namespace: str
    name: str
    uid: str
    until_seconds: float
    shape: str
    pod: ClusterPod | None = None


class BreakerFacts(Value, kw_only=True):
    """The cluster at one time.

    ``cluster`` decides which node admits a shape and which pods wait. ``nodes`` are all Node
    objects by name, including undecided nodes: the cap is calculated from their labels, taints and
    readiness. ``suspended_jobs`` are by uid.
    """

    cluster: Cluster
    nodes: Mapping[str, ListedNode]
    suspended_jobs: Mapping[str, SuspendedJob] = MappingProxyType({})
