"""Patches that perform actions and undo them, built from the current object.

Without a patch, the action is not needed: the object is another one, or others have made the
change.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numalet.insight.fleet.keeping_away import TAINT_KEY
from numalet.insight.rejections import marks
from numalet.insight.rejections.actions import ResumeJob, SuspendJob, TaintNode
from numalet.insight.rejections.marks import EndMark


def tainting(node: Mapping[str, Any], action: TaintNode) -> dict[str, Any] | None:
    """Return a patch for this Node, unless others set a taint of this key."""
    taints = _taints(node)
    if any(each.get("key") == TAINT_KEY and not _is_own(each) for each in taints):
        return None
    value = marks.trap_value(EndMark(action.until_seconds, action.shape))
    own = {"key": TAINT_KEY, "value": value, "effect": "NoSchedule"}
    kept = [each for each in taints if not _is_own(each)]
    return _patch(node, {marks.TRAP_WHY: action.why}, {"taints": [*kept, own]})


def lifting(node: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a patch that removes the breaker's taint, if the node has it."""
    taints = _taints(node)
    kept = [each for each in taints if not _is_own(each)]
    if len(kept) == len(taints):
        return None
    return _patch(node, {marks.TRAP_WHY: None}, {"taints": kept or None})


def suspending(job: Mapping[str, Any], action: SuspendJob) -> dict[str, Any] | None:
    """Return a patch for this Job, unless it is another one, suspended, or has a running pod."""
    spec, status = job.get("spec") or {}, job.get("status") or {}
    if _uid(job) != action.uid or spec.get("suspend") or status.get("ready"):
        return None
    annotations = {
        marks.SUSPENDED_UNTIL: marks.moment_text(action.until_seconds),
        marks.SUSPENDED_FOR: action.shape,
    }
    return _patch(job, annotations, {"suspend": True})


def resuming(job: Mapping[str, Any], action: ResumeJob) -> dict[str, Any] | None:
    """Return a patch for this Job, if the breaker suspended it."""
    annotations = (job.get("metadata") or {}).get("annotations") or {}
    if _uid(job) != action.uid or marks.on_job(annotations) is None:
        return None
    return _patch(job, {marks.SUSPENDED_UNTIL: None, marks.SUSPENDED_FOR: None}, {"suspend": False})


def _taints(node: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return list((node.get("spec") or {}).get("taints") or ())


def _is_own(taint: Mapping[str, Any]) -> bool:
    return (
        taint.get("key") == TAINT_KEY
        and taint.get("effect") == "NoSchedule"
        and marks.trap_mark(str(taint.get("value") or "")) is not None
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
