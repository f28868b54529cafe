"""The phase of a pod: Kubernetes' summary of its containers.

Kubelet: ``getPhase`` and, for a pod that is being deleted, ``SyncTerminatedPod``, v1.32.
"""

from __future__ import annotations

from enum import Enum

from numalet.core.model.pod import ContainerKind
from numalet.core.workload import lifecycle
from numalet.core.workload.run import ContainerPhase, PodRun
from numalet.core.workload.spec import Workload


class PodPhase(Enum):
    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


def phase(workload: Workload, run: PodRun) -> PodPhase:
    """Return the phase of the whole pod.

    A pod that is over succeeded if all containers except sidecars succeeded; until its last
    container ended it is Running.
    """
    if run.verdict is None:
        return PodPhase.PENDING
    if not run.verdict.admitted:
        return PodPhase.FAILED
    began = any(
        run.of(each.name).attempt for each in workload.containers if each.kind is ContainerKind.APP
    )
    if not lifecycle.is_ending(workload, run):
        return PodPhase.RUNNING if began and _all_began(workload, run) else PodPhase.PENDING
    if any(_is_up(run, each.name) for each in workload.containers):
        return PodPhase.RUNNING if began else PodPhase.PENDING
    return PodPhase.SUCCEEDED if _ended_well(workload, run) else PodPhase.FAILED


def _all_began(workload: Workload, run: PodRun) -> bool:
    runs = [run.of(each.name) for each in workload.containers if each.kind is ContainerKind.APP]
    return all(of.phase is ContainerPhase.RUNNING or of.last_exit is not None for of in runs)


def _is_up(run: PodRun, name: str) -> bool:
    return run.of(name).phase in (ContainerPhase.STARTING, ContainerPhase.RUNNING)


def _ended_well(workload: Workload, run: PodRun) -> bool:
    for each in workload.containers:
        last = run.of(each.name).last_exit
        if each.kind is not ContainerKind.SIDECAR and (last is None or last.code):
            return False
    return True
