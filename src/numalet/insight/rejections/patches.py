"""The breaker's changes of objects: its marks, the patches, their undo, and the line for the audit.

Patches are built from the current object. Without a patch, the action is not needed: the object is
another one, or others have made the change. A mark contains the end and the shape.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from numalet.core.cluster.cluster import Taint, TaintEffect
from numalet.core.model.value import Value
from numalet.insight.fleet.keeping_away import TAINT_KEY
from numalet.insight.rejections.actions import (
    Action,
    HoldController,
    LiftCause,
    LiftTaint,
    ReleaseController,
    ResumeJob,
    SuspendJob,
    TaintNode,
)
from numalet.insight.rejections.rejected_pod import OwnerLink

TRAP_WHY: Final = "numalet.dev/trap-why"
"""Annotation of a Node: why it has the taint, in words."""
SUSPENDED_UNTIL: Final = "numalet.dev/suspended-until"
SUSPENDED_FOR: Final = "numalet.dev/suspended-for"
"""Annotations of a Job: when its suspension ends at the latest, and the shape of its pods."""
RECREATED_FROM: Final = "numalet.dev/recreated-from"
RECREATE_ATTEMPT: Final = "numalet.dev/recreate-attempt"
"""Annotations of a recreated bare pod: the uid of its predecessor, and the attempt."""

_MOMENT: Final = "%Y%m%dT%H%M%SZ"
_UNDONE: Final = LiftCause.UNDO.value


class EndMark(Value):
    """The end of a change, in seconds since 1970, and the shape for which it was made.

    The mark of a Node is the value of its taint, so that ``kubectl`` shows the end. The taint of
    ``numalet fleet`` has the same key and no value; the breaker never changes it.
    """

    until_seconds: float
    shape: str


def moment_text(seconds: float) -> str:
    return datetime.fromtimestamp(int(seconds), UTC).strftime(_MOMENT)


def moment(text: str) -> float | None:
    """Parse a time into seconds since 1970, if the text is valid."""
    try:
        return datetime.strptime(text, _MOMENT).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None


def trap_value(mark: EndMark) -> str:
    return f"{moment_text(mark.until_seconds)}.{mark.shape}"


def trap_mark(value: str) -> EndMark | None:
    """Parse the value of a taint, if the breaker wrote it."""
    text, _, shape = value.partition(".")
    until = moment(text)
    return None if until is None else EndMark(until, shape)


def on_node(taints: Iterable[Taint]) -> EndMark | None:
    """Return the breaker's mark among the taints of a node, if there is one."""
    for each in taints:
        if each.key == TAINT_KEY and each.effect is TaintEffect.NO_SCHEDULE:
            mark = trap_mark(each.value)
            if mark is not None:
                return mark
    return None


def on_job(annotations: Mapping[str, Any]) -> EndMark | None:
    """Return the mark of a suspended Job; an unreadable time is treated as past."""
    if SUSPENDED_UNTIL not in annotations:
        return None
    until = moment(str(annotations[SUSPENDED_UNTIL]))
    # A Job must not stay suspended because its annotation was damaged.
    return EndMark(0.0 if until is None else until, str(annotations.get(SUSPENDED_FOR) or ""))


def tainting(node: Mapping[str, Any], action: TaintNode) -> dict[str, Any] | None:
    """Return a patch for this Node, unless others set a taint of this key."""
    taints = _taints(node)
    if any(each.get("key") == TAINT_KEY and not _is_own(each) for each in taints):
        return None
    value = trap_value(EndMark(action.until_seconds, action.shape))
    own = {"key": TAINT_KEY, "value": value, "effect": "NoSchedule"}
    kept = [each for each in taints if not _is_own(each)]
    return _patch(node, {TRAP_WHY: action.why}, {"taints": [*kept, own]})


def lifting(node: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a patch that removes the breaker's taint, if the node has it."""
    taints = _taints(node)
    kept = [each for each in taints if not _is_own(each)]
    if len(kept) == len(taints):
        return None
    return _patch(node, {TRAP_WHY: None}, {"taints": kept or None})


def suspending(job: Mapping[str, Any], action: SuspendJob) -> dict[str, Any] | None:
    """Return a patch for this Job, unless it is another one, suspended, or has a running pod."""
    spec, status = job.get("spec") or {}, job.get("status") or {}
    if _uid(job) != action.uid or spec.get("suspend") or status.get("ready"):
        return None
    annotations = {
        SUSPENDED_UNTIL: moment_text(action.until_seconds),
        SUSPENDED_FOR: action.shape,
    }
    return _patch(job, annotations, {"suspend": True})


def resuming(job: Mapping[str, Any], action: ResumeJob) -> dict[str, Any] | None:
    """Return a patch for this Job, if the breaker suspended it."""
    annotations = (job.get("metadata") or {}).get("annotations") or {}
    if _uid(job) != action.uid or on_job(annotations) is None:
        return None
    return _patch(job, {SUSPENDED_UNTIL: None, SUSPENDED_FOR: None}, {"suspend": False})


def holding(held: Mapping[str, Any], action: HoldController, now_seconds: float) -> dict[str, Any]:
    """Return a patch of the ConfigMap that adds a controller and removes those whose time is over.

    A key is the uid of the controller. A value is the end, as the admission policy parses it.
    """
    ends = _ends(held)
    over = dict.fromkeys(uid for uid, end in ends.items() if end <= _held_until(now_seconds))
    return _data_patch(held, {**over, action.controller.uid: _held_until(action.until_seconds)})


def releasing(held: Mapping[str, Any], action: ReleaseController) -> dict[str, Any] | None:
    """Return a patch of the ConfigMap that removes the controller, if it is there."""
    uid = action.controller.uid
    return _data_patch(held, {uid: None}) if uid in _ends(held) else None


def release_plan(held: Mapping[str, Any]) -> tuple[ReleaseController, ...]:
    """Return the release of every held controller. The ConfigMap has only their uids."""
    return tuple(
        ReleaseController(controller=OwnerLink("", "", "", "", uid), why=_UNDONE)
        for uid in sorted(_ends(held))
    )


def _ends(held: Mapping[str, Any]) -> Mapping[str, str]:
    return held.get("data") or {}


def _held_until(seconds: float) -> str:
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _data_patch(held: Mapping[str, Any], data: Mapping[str, str | None]) -> dict[str, Any]:
    metadata = {"resourceVersion": (held.get("metadata") or {}).get("resourceVersion")}
    return {"metadata": metadata, "data": dict(data)}


def _taints(node: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return list((node.get("spec") or {}).get("taints") or ())


def _is_own(taint: Mapping[str, Any]) -> bool:
    return (
        taint.get("key") == TAINT_KEY
        and taint.get("effect") == "NoSchedule"
        and trap_mark(str(taint.get("value") or "")) is not None
    )


def _uid(document: Mapping[str, Any]) -> str:
    return str((document.get("metadata") or {}).get("uid") or "")


def _patch(
    document: Mapping[str, Any], annotations: Mapping[str, str | None], spec: Mapping[str, Any]
) -> dict[str, Any]:
    metadata: dict[str, Any] = {"annotations": dict(annotations)}
    # With the resourceVersion, the API server refuses the patch (409) after a change by others.
    version = (document.get("metadata") or {}).get("resourceVersion")
    if version:
        metadata["resourceVersion"] = version
    return {"metadata": metadata, "spec": dict(spec)}


def undo_plan(
    nodes: Iterable[Mapping[str, Any]], jobs: Iterable[Mapping[str, Any]]
) -> tuple[LiftTaint | ResumeJob, ...]:
    # Deleted and recreated pods are left alone: no container of the first ever ran, and the second
    # belong to the user.
    lifted = [
        LiftTaint(node=str(each["metadata"]["name"]), why=_UNDONE)
        for each in nodes
        if lifting(each) is not None
    ]
    resumed = [
        ResumeJob(
            namespace=str(metadata.get("namespace") or ""),
            name=str(metadata["name"]),
            uid=str(metadata.get("uid") or ""),
            why=_UNDONE,
        )
        for metadata in (each["metadata"] for each in jobs)
        if on_job(metadata.get("annotations") or {}) is not None
    ]
    return (
        *sorted(lifted, key=lambda each: each.node),
        *sorted(resumed, key=lambda each: (each.namespace, each.name)),
    )


class AuditLine(Value, kw_only=True):
    """``until`` is a time in UTC; permanent changes have no such time."""

    verb: str
    target: str
    why: str
    until: str | None
    undo: str

    @property
    def text(self) -> str:
        until = "" if self.until is None else f", until {self.until}"
        return f"{self.verb} {self.target}{until}: {self.why} (undo: {self.undo})"

    @property
    def document(self) -> dict[str, str | None]:
        return {
            "verb": self.verb,
            "target": self.target,
            "why": self.why,
            "until": self.until,
            "undo": self.undo,
        }


def audit_line(action: Action) -> AuditLine:
    until = None
    if isinstance(action, TaintNode | SuspendJob | HoldController):
        until = moment_text(action.until_seconds)
    return AuditLine(
        verb=action.verb,
        target=action.target,
        why=" ".join(action.why.split()),
        until=until,
        undo=action.undo,
    )
