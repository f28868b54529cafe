"""The relation of a pod to one node's kubelet, by the pod's object.

Kubelet v1.32: a pod in a terminal phase is inactive (``filterOutInactivePods``), so its records in
the state files are stale; the next admission removes them (``removeStaleState``).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Final

TERMINAL_PHASES: Final = frozenset({"Succeeded", "Failed"})
PENDING: Final = "Pending"
REJECTIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "TopologyAffinityError": "1.20",
        "UnexpectedAdmissionError": "1.20",
        "SMTAlignmentError": "1.22",
        "EmptyPodSharedPoolError": "1.36",
    }
)
"""``status.reason`` of rejected pods, and the first release of the kubelet that gives it.

1.20 stands for that release and all older ones.
"""
OUT_OF: Final = "OutOf"
"""Prefix of the reason if the sums of a node are too small, in every release."""


def is_rejection(reason: str) -> bool:
    """Return whether ``status.reason`` of a failed pod means a rejection at admission."""
    return reason in REJECTIONS or reason.startswith(OUT_OF)


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
