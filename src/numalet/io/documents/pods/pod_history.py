"""The history of a pod from its status: its arrival on the node, and its end.

``kubectl get pods`` sorts by name, not by arrival. The kubelet writes ``startTime`` when it first
sees a pod (v1.32: ``status_manager``, ``updateStatusInternal``), so it is the best estimate of the
order of admissions.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias

from numalet.core.model import pod_standing
from numalet.core.model.pod_standing import PodStanding
from numalet.core.model.value import Value

_OUT_OF: Final = "OutOf"
_REASONS_TEXT: Final = """
    AppArmor Evicted InvalidNodeInfo NodeAffinity NodeName NodePorts NodeShutdown NodeUnschedulable
    PodFeatureUnsupported PodOSNotSupported PodOSSelectorNodeLabelDoesNotMatch SMTAlignmentError
    ProhibitedCPUAllocation SysctlForbidden TaintToleration TopologyAffinityError
    UnexpectedAdmissionError UnexpectedPredicateFailureType
"""
_REASONS: Final = frozenset(_REASONS_TEXT.split())
"""Status reasons of a rejected pod (v1.32: ``lifecycle``, managers)."""

_MIRROR: Final = "kubernetes.io/config.mirror"
"""The annotation of a mirror pod; its value is the uid of the static pod."""

Moment: TypeAlias = tuple[datetime, datetime, str]


def standing(pod: Mapping[Any, Any], here: str | None = None) -> PodStanding:
    """The state of the pod from the view of one node; ``here`` as in ``pod_standing``."""
    phase, node_name = _member(pod, "status", "phase"), _member(pod, "spec", "nodeName")
    return pod_standing.standing(
        phase if isinstance(phase, str) else None,
        node_name if isinstance(node_name, str) else None,
        here,
    )


class RecordedRejection(Value):
    """``status.reason`` and ``status.message`` of a pod that a kubelet's admission rejected."""

    reason: str
    message: str


def rejection(pod: Mapping[Any, Any]) -> RecordedRejection | None:
    status = _member(pod, "status")
    if not isinstance(status, Mapping) or status.get("phase") != "Failed":
        return None
    reason = status.get("reason")
    if not isinstance(reason, str) or not (reason in _REASONS or reason.startswith(_OUT_OF)):
        return None
    # An evicted pod has the same phase and may have the same reason, but its containers ran.
    if any(map(_has_run, _container_statuses(status))):
        return None
    message = status.get("message")
    return RecordedRejection(reason, message if isinstance(message, str) else "")


def came(pod: Mapping[Any, Any]) -> Moment | None:
    """The sort key for the pod's arrival: ``startTime``, else ``creationTimestamp``.

    Times have whole seconds; age and name break ties.
    """
    created = _moment(_member(pod, "metadata", "creationTimestamp"))
    seen = _moment(_member(pod, "status", "startTime")) or created
    if seen is None:
        return None
    name = f"{_member(pod, 'metadata', 'namespace')}/{_member(pod, 'metadata', 'name')}"
    return seen, created or seen, name


def created(pod: Mapping[Any, Any]) -> Moment | None:
    """The sort key for a kubelet's start, which sorts the pods by creation time."""
    moment = _moment(_member(pod, "metadata", "creationTimestamp"))
    return None if moment is None else (moment, moment, "")


def static_uid(pod: Mapping[Any, Any]) -> str | None:
    """The uid of the static pod behind a mirror pod; state files use that one."""
    uid = _member(pod, "metadata", "annotations", _MIRROR)
    return uid if isinstance(uid, str) and uid else None


def _member(value: object, *names: str) -> object:
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _moment(value: object) -> datetime | None:
    if isinstance(value, str):
        with suppress(ValueError):
            moment = datetime.fromisoformat(value)
            return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return None


def _container_statuses(status: Mapping[Any, Any]) -> list[object]:
    statuses: list[object] = []
    for name in ("initContainerStatuses", "containerStatuses"):
        listed = status.get(name)
        statuses += listed if isinstance(listed, list) else []
    return statuses


def _has_run(status: object) -> bool:
    return bool(
        _member(status, "containerID")
        or _member(status, "state", "running")
        or _member(status, "state", "terminated")
        or _member(status, "lastState", "terminated")
    )
