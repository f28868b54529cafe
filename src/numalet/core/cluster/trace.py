"""A trace: the arrival times of pods in a cluster, and their run times."""

from __future__ import annotations

from numalet.core.cluster.cluster import ClusterPod
from numalet.core.model.value import Value


class Arrival(Value, kw_only=True):
    """``count`` pods of one shape that arrive together; each runs for ``duration_seconds``.

    ``at_seconds`` counts from the beginning of the trace, the run time from the admission.
    """

    at_seconds: float
    duration_seconds: float
    pod: ClusterPod
    count: int = 1
