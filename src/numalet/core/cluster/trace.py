"""A trace: when which pods came to a cluster, and for how long they ran."""

from __future__ import annotations

from dataclasses import dataclass

from numalet.core.cluster.cluster import ClusterPod


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """So many pods of one shape that come at once; each runs for so long once it is admitted.

    ``at_seconds`` counts from the beginning of the trace.
    """

    at_seconds: float
    duration_seconds: float
    pod: ClusterPod
    count: int = 1
