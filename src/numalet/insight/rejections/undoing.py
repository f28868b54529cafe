"""Undo all changes of the breaker, from the objects alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from numalet.insight.rejections import marks, patches
from numalet.insight.rejections.actions import LiftCause, LiftTaint, ResumeJob


def undo_plan(
    nodes: Iterable[Mapping[str, Any]], jobs: Iterable[Mapping[str, Any]]
) -> tuple[LiftTaint | ResumeJob, ...]:
    # Deleted and recreated pods are left alone: no container of the first ever ran, and the second
    # belong to the user.
    why = LiftCause.UNDO.value
    lifted = [
        LiftTaint(node=str(each["metadata"]["name"]), why=why)
        for each in nodes
        if patches.lifting(each) is not None
    ]
    resumed = [
        ResumeJob(
            namespace=str(metadata.get("namespace") or ""),
            name=str(metadata["name"]),
            uid=str(metadata.get("uid") or ""),
            why=why,
        )
        for metadata in (each["metadata"] for each in jobs)
        if marks.on_job(metadata.get("annotations") or {}) is not None
    ]
    return (
        *sorted(lifted, key=lambda each: each.node),
        *sorted(resumed, key=lambda each: (each.namespace, each.name)),
    )
