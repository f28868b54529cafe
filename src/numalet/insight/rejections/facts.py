"""What the breaker has to know of the cluster, beside the rejected pods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from numalet.core.cluster.cluster import Cluster, ClusterPod
from numalet.core.cluster.objects import ListedNode


@dataclass(frozen=True, slots=True, kw_only=True)
class SuspendedJob:
    """A Job that has the breaker's mark. ``pod`` is one of its template, if that could be read."""

    namespace: str
    name: str
    uid: str
    until_seconds: float
    shape: str
    pod: ClusterPod | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakerFacts:
    """The cluster at one moment.

    ``cluster`` decides: which node admits a shape, which pods wait. ``nodes`` are all Node objects
    by name, those too about which nothing can be decided: their labels, taints and readiness are
    what the cap is worked out from. ``suspended_jobs`` are by uid.
    """

    cluster: Cluster
    nodes: Mapping[str, ListedNode]
    suspended_jobs: Mapping[str, SuspendedJob] = field(default_factory=lambda: MappingProxyType({}))
