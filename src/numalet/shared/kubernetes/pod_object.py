"""The Pod object of a record: the accepted manifest, and a status with its conditions.

A rejected pod is as the kubelet leaves it: failed, with reason and message, without conditions.
The agent keeps no condition history: transition times are from decisions, starts and ends.
``numalet.dev/Enforced`` shows the guarantee of running containers. ``numalet.dev/Promised`` is
false for a pod whose allocation no longer fits the machine; other pods do not have it.
Kubelet: ``status.GenerateContainersReadyCondition`` and others, v1.32.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from numalet.core.enforcement.comparison import GuaranteeLevel
from numalet.core.model import moments
from numalet.core.model.pod import ContainerKind
from numalet.core.workload import lifecycle
from numalet.core.workload.lifecycle import PodPhase, phase
from numalet.core.workload.records import PodRecord
from numalet.core.workload.run import ContainerRun, PodRun
from numalet.shared.findings import notes, recorded
from numalet.shared.kubernetes import container_statuses
from numalet.wording import kubelet

ENFORCED: Final = "numalet.dev/Enforced"
PROMISED: Final = "numalet.dev/Promised"

_LEVEL_REASONS: Final = {
    GuaranteeLevel.KERNEL: "Kernel",
    GuaranteeLevel.PROCESS: "ProcessSettings",
    GuaranteeLevel.NONE: "NotEnforced",
}


class _Condition(NamedTuple):
    type: str
    holds: bool
    since: datetime
    reason: str = ""
    message: str = ""

    def shown(self) -> dict[str, Any]:
        texts = {"reason": self.reason, "message": self.message}
        return {
            "type": self.type,
            "status": "True" if self.holds else "False",
            "lastProbeTime": None,
            "lastTransitionTime": moments.seconds(self.since),
            **{name: text for name, text in texts.items() if text},
        }


def conditions(record: PodRecord, phase: PodPhase) -> list[dict[str, Any]]:
    """Build ``status.conditions``; a rejected pod has no conditions."""
    run = record.run
    scheduled = _Condition("PodScheduled", holds=True, since=run.accepted_at)
    if run.verdict is None:
        return [scheduled.shown()]
    if run.verdict.reason == kubelet.PREEMPTING:
        return [_preempted(run)]
    # The kubelet sets no conditions on a pod that it rejected.
    if not run.verdict.admitted:
        return []
    made = [
        _initialized(record, phase),
        *_ready(record, phase),
        scheduled,
        *_enforced(record),
        *_unpromised(record),
    ]
    return [condition.shown() for condition in made]


def _preempted(run: PodRun) -> dict[str, Any]:
    """The condition of a pod that the kubelet preempted."""
    since = run.decided_at or run.accepted_at
    reason, message = "TerminationByKubelet", kubelet.PREEMPTED_CONDITION
    condition = _Condition(
        "DisruptionTarget", holds=True, since=since, reason=reason, message=message
    )
    return condition.shown()


def _initialized(record: PodRecord, phase: PodPhase) -> _Condition:
    if lifecycle.is_initialized(record.workload, record.run):
        since = _latest_end(record, (ContainerKind.INIT,))
        reason = "PodCompleted" if phase is PodPhase.SUCCEEDED else ""
        return _Condition("Initialized", holds=True, since=since, reason=reason)
    waiting = [
        each.name
        for each in record.workload.containers
        if each.kind is not ContainerKind.APP and not container_statuses.is_ready(record, each)
    ]
    return _Condition(
        "Initialized",
        holds=False,
        since=_decided(record),
        reason="ContainersNotInitialized",
        message=kubelet.incomplete(waiting),
    )


def _ready(record: PodRecord, phase: PodPhase) -> list[_Condition]:
    working = [each for each in record.workload.containers if each.kind is not ContainerKind.INIT]
    missing = [each.name for each in working if not container_statuses.is_ready(record, each)]
    kinds = (ContainerKind.APP, ContainerKind.SIDECAR)
    reason = message = ""
    if phase is PodPhase.SUCCEEDED:
        reason = "PodCompleted"
    elif phase is PodPhase.FAILED:
        reason = "PodFailed"
    elif missing:
        reason, message = "ContainersNotReady", kubelet.unready(missing)
    since = _latest_end(record, kinds) if reason else _latest_start(record)
    # The agent does not evaluate readiness gates, so both are equal.
    return [
        _Condition(name, holds=not reason, since=since, reason=reason, message=message)
        for name in ("Ready", "ContainersReady")
    ]


def _enforced(record: PodRecord) -> list[_Condition]:
    """The weakest guarantee of the running containers."""
    runs = [run for run in record.run.containers.values() if run.level is not None]
    if not runs:
        return []
    order = list(GuaranteeLevel)
    weakest = max((run.level for run in runs if run.level is not None), key=order.index)
    short = [run for run in runs if run.shortfalls]
    return [
        _Condition(
            ENFORCED,
            holds=weakest is GuaranteeLevel.KERNEL and not short,
            since=_latest_start(record),
            reason=_LEVEL_REASONS[weakest],
            message="; ".join(_shortfalls(run) for run in short),
        )
    ]


def _unpromised(record: PodRecord) -> list[_Condition]:
    """The condition of a pod whose allocation no longer fits."""
    message = recorded.loss_sentence(record.run.causes)
    if not message:
        return []
    since = _latest_start(record)
    return [_Condition(PROMISED, holds=False, since=since, reason="DoesNotFit", message=message)]


def _shortfalls(run: ContainerRun) -> str:
    return f"{run.name}: {', '.join(map(notes.sentence, run.shortfalls))}"


def _decided(record: PodRecord) -> datetime:
    return record.run.decided_at or record.run.accepted_at


def _latest_end(record: PodRecord, kinds: Iterable[ContainerKind]) -> datetime:
    exits = (
        record.run.of(each.name).last_exit
        for each in record.workload.containers
        if each.kind in kinds
    )
    return max((each.finished_at for each in exits if each), default=_decided(record))


def _latest_start(record: PodRecord) -> datetime:
    starts = (run.started_at for run in record.run.containers.values())
    return max((at for at in starts if at is not None), default=_decided(record))


def pod_object(record: PodRecord) -> dict[str, Any]:
    manifest = record.workload.manifest
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": _metadata(record),
        "spec": manifest.get("spec", {}),
        "status": status(record),
    }


def status(record: PodRecord) -> dict[str, Any]:
    """``status`` alone."""
    run, now = record.run, phase(record.workload, record.run)
    result: dict[str, Any] = {"phase": now.value}
    if shown := conditions(record, now):
        result["conditions"] = shown
    if run.verdict is not None and not run.verdict.admitted:
        result["message"] = kubelet.ended(run.verdict.reason, run.verdict.message)
        result["reason"] = run.verdict.reason
    if run.verdict is not None:
        result["startTime"] = moments.seconds(run.decided_at or run.accepted_at)
        if run.verdict.admitted:
            if statuses := container_statuses.init_containers(record):
                result["initContainerStatuses"] = statuses
            result["containerStatuses"] = container_statuses.app_containers(record)
    result["qosClass"] = record.workload.pod.qos_class.value
    return result


def _metadata(record: PodRecord) -> dict[str, Any]:
    pod = record.workload.pod
    return {
        **record.workload.manifest.get("metadata", {}),
        "name": pod.name,
        "namespace": pod.namespace,
        "uid": pod.uid,
        "resourceVersion": str(record.resource_version),
        "creationTimestamp": moments.seconds(record.run.accepted_at),
        **_deletion(record.run),
    }


def _deletion(run: PodRun) -> dict[str, Any]:
    """As in Kubernetes, the timestamp is the end of the grace period."""
    if run.deletion is None:
        return {}
    grace = timedelta(seconds=run.deletion.grace_seconds)
    return {
        "deletionTimestamp": moments.seconds(run.deletion.requested_at + grace),
        "deletionGracePeriodSeconds": int(run.deletion.grace_seconds),
    }
