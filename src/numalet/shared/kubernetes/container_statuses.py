"""Container statuses of a pod. Kubelet: ``convertToAPIContainerStatuses``, v1.32."""

from __future__ import annotations

from typing import Any, Final

from numalet.core.model import moments
from numalet.core.model.pod import ContainerKind
from numalet.core.workload import lifecycle
from numalet.core.workload.records import PodRecord
from numalet.core.workload.run import ContainerPhase, ContainerRun, Exit, ExitReason
from numalet.core.workload.spec import ContainerSpec
from numalet.shared.findings import runtime
from numalet.wording import kubelet

_INIT_KINDS: Final = (ContainerKind.INIT, ContainerKind.SIDECAR)


def init_containers(record: PodRecord) -> list[dict[str, Any]]:
    """``status.initContainerStatuses``: init containers and sidecars in order."""
    return _statuses(record, _INIT_KINDS)


def app_containers(record: PodRecord) -> list[dict[str, Any]]:
    """``status.containerStatuses``."""
    return _statuses(record, (ContainerKind.APP,))


def is_ready(record: PodRecord, container: ContainerSpec) -> bool:
    """Whether it runs, or is an init container that succeeded."""
    run = record.run.of(container.name)
    if container.kind is not ContainerKind.INIT:
        return run.phase is ContainerPhase.RUNNING
    ended = run.last_exit if run.phase is ContainerPhase.TERMINATED else None
    return ended is not None and ended.code == 0


def container_id(record: PodRecord, run: ContainerRun) -> str:
    """The id of the latest attempt; empty before the first."""
    return f"process://{record.uid}/{run.name}/{run.attempt}" if run.attempt else ""


def _statuses(record: PodRecord, kinds: tuple[ContainerKind, ...]) -> list[dict[str, Any]]:
    return [_status(record, each) for each in record.workload.containers if each.kind in kinds]


def _status(record: PodRecord, container: ContainerSpec) -> dict[str, Any]:
    run = record.run.of(container.name)
    state = _state(record, container, run)
    ended = None if run.last_exit is None else _terminated(record, run, run.last_exit)
    status = {
        "name": container.name,
        "state": state,
        "lastState": {} if ended is None or "terminated" in state else {"terminated": ended},
        "ready": is_ready(record, container),
        "restartCount": run.restart_count,
        "image": container.image,
        "imageID": "",
        "started": run.phase is ContainerPhase.RUNNING,
    }
    if run.attempt:
        status["containerID"] = container_id(record, run)
    return status


def _state(record: PodRecord, container: ContainerSpec, run: ContainerRun) -> dict[str, Any]:
    if run.phase is ContainerPhase.RUNNING:
        running = {} if run.started_at is None else {"startedAt": moments.seconds(run.started_at)}
        return {"running": running}
    if run.phase is not ContainerPhase.TERMINATED or run.last_exit is None:
        return {"waiting": {"reason": _waiting_reason(record), **_held_up(record)}}
    # As in the kubelet, a pending restart shows as CrashLoopBackOff, with the last end in
    # ``lastState``.
    if _waits_for_restart(record, container, run):
        pod = record.workload.pod
        message = kubelet.waiting_to_restart(
            run.back_off_seconds, container.name, pod.name, pod.namespace, pod.uid
        )
        return {"waiting": {"reason": kubelet.CRASH_LOOP, "message": message}}
    return {"terminated": _terminated(record, run, run.last_exit)}


def _waiting_reason(record: PodRecord) -> str:
    has_init = any(each.kind in _INIT_KINDS for each in record.workload.containers)
    return kubelet.POD_INITIALIZING if has_init else kubelet.CONTAINER_CREATING


def _held_up(record: PodRecord) -> dict[str, str]:
    """The message of a pod that waits for evicted pods to end."""
    if record.run.has_begun or lifecycle.is_ending(record.workload, record.run):
        return {}
    # The record does not say which of them have ended, only that the pod starts after the last.
    names = [each.name for each in record.run.evicted]
    return {"message": kubelet.waiting_for(names)} if names else {}


def _waits_for_restart(record: PodRecord, container: ContainerSpec, run: ContainerRun) -> bool:
    return (
        run.back_off_seconds > 0
        and lifecycle.will_restart(record.workload, container, run)
        and not lifecycle.is_ending(record.workload, record.run)
    )


def _terminated(record: PodRecord, run: ContainerRun, exit_: Exit) -> dict[str, Any]:
    cause = exit_.cause
    message = "" if cause is None else runtime.sentence(cause.code, cause.fields)
    if not message and exit_.reason is ExitReason.UNKNOWN:
        message = kubelet.lost()
    terminated: dict[str, Any] = {"exitCode": exit_.code, "reason": exit_.reason.value}
    if exit_.signal is not None:
        terminated["signal"] = exit_.signal
    if message:
        terminated["message"] = message
    if exit_.started_at is not None:
        terminated["startedAt"] = moments.seconds(exit_.started_at)
    terminated["finishedAt"] = moments.seconds(exit_.finished_at)
    if run.phase is ContainerPhase.TERMINATED:
        terminated["containerID"] = container_id(record, run)
    return terminated
