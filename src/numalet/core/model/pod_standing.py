"""The relation of a pod to one node's kubelet, by the pod's object.

Kubelet v1.32: a pod in a terminal phase is inactive (``filterOutInactivePods``), so its records in
the state files are stale; the next admission removes them (``removeStaleState``).
"""

from __future__ import annotations

from enum import Enum
from typing import Final

TERMINAL_PHASES: Final = frozenset({"Succeeded", "Failed"})
PENDING: Final = "Pending"


class PodStanding(Enum):
    FINISHED = "finished"
    OTHER_NODE = "other-node"
    NOT_SCHEDULED = "not-scheduled"
    """The pod waits for the scheduler: no kubelet has seen it."""
    ON_NODE = "on-node"
    UNKNOWN = "unknown"
    """The object has neither a node nor a phase, like a manifest."""


def standing(phase: object, node_name: object, here: str | None = None) -> PodStanding:
    """Return the pod's relation to the node ``here``, or to any node."""
    if phase in TERMINAL_PHASES:
        return PodStanding.FINISHED
    if node_name:
        return PodStanding.ON_NODE if here in (None, node_name) else PodStanding.OTHER_NODE
    return PodStanding.NOT_SCHEDULED if phase == PENDING else PodStanding.UNKNOWN
