"""What the breaker has to know of the cluster, beside the rejected pods."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from numalet.core.cluster.cluster import Cluster, ClusterPod
from numalet.core.cluster.objects import ListedNode
from numalet.core.model.value import Value


class SuspendedJob(Value, kw_only=True):
    """A Job that has the breaker's mark. ``pod`` is one of its template, if that could be read."""

    namespace: str
    name: str
    uid: str
    until_seconds: float
    shape: str
    pod: ClusterPod | None = None


class BreakerFacts(Value, kw_only=True):
    """The cluster at one moment.

    ``cluster`` decides: which node admits a shape, which pods wait. ``nodes`` are all Node objects
    by name, those too about which nothing can be decided: their labels, taints and readiness are
    what the cap is worked out from. ``suspended_jobs`` are by uid.
    """

    cluster: Cluster
    nodes: Mapping[str, ListedNode]
    suspended_jobs: Mapping[str, SuspendedJob] = MappingProxyType({})
