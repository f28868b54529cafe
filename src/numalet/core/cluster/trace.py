"""A trace: when which pods came to a cluster, and for how long they ran."""

from __future__ import annotations

from numalet.core.cluster.cluster import ClusterPod
from numalet.core.model.value import Value


class Arrival(Value, kw_only=True):
    """So many pods of one shape that come at once; each runs for so long once it is admitted.

    ``at_seconds`` counts from the beginning of the trace.
    """

    at_seconds: float
    duration_seconds: float
    pod: ClusterPod
    count: int = 1
