"""Where a pod stands to the kubelet of one node, by what its object says.

Kubelet v1.32: a pod in a terminal phase is not active (``filterOutInactivePods``), so its records
in the state files are stale and leave them at the next admission (``removeStaleState``). A pod
without a node was never sent to a kubelet.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

TERMINAL_PHASES: Final = frozenset({"Succeeded", "Failed"})
PENDING: Final = "Pending"


class PodStanding(Enum):
    """What the kubelet of a node has to do with a pod."""

    FINISHED = "finished"
    OTHER_NODE = "other-node"
    NOT_SCHEDULED = "not-scheduled"
    """The pod waits for a node: no kubelet has seen it."""
    ON_NODE = "on-node"
    UNKNOWN = "unknown"
    """The object has neither a node nor a phase, as a manifest."""


def standing(phase: object, node_name: object, here: str | None = None) -> PodStanding:
    """Where a pod stands; ``here`` is the node in question, None for whichever node it is on."""
    if phase in TERMINAL_PHASES:
        return PodStanding.FINISHED
    if node_name:
        return PodStanding.ON_NODE if here in (None, node_name) else PodStanding.OTHER_NODE
    return PodStanding.NOT_SCHEDULED if phase == PENDING else PodStanding.UNKNOWN
