"""Short ways to write workloads and what happens to them, for tests."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from numalet.core.model.node_constraints import UNCONSTRAINED
from numalet.core.model.pod import Container, ContainerKind, Pod
from numalet.core.workload import folding
from numalet.core.workload.run import Exit, ExitReason, PodRun, Verdict
from numalet.core.workload.spec import ContainerSpec, RestartPolicy, Workload

START = datetime(2030, 1, 1, tzinfo=UTC)
ADMITTED = Verdict(admitted=True)
REJECTED = Verdict(
    admitted=False,
    reason="TopologyAffinityError",
    message="Resources cannot be allocated with Topology locality",
    cause="admission/not-aligned",
)

_KINDS = {
    "i": ContainerKind.INIT,
    "s": ContainerKind.SIDECAR,
    "a": ContainerKind.APP,
}


def at(seconds: float) -> datetime:
    """So many seconds after the beginning of time."""
    return START + timedelta(seconds=seconds)


def workload(
    names: Sequence[str] = ("a",),
    policy: RestartPolicy = RestartPolicy.ALWAYS,
    grace_seconds: int = 30,
) -> Workload:
    """A pod whose containers are named by their kind: ``i1`` init, ``s1`` sidecar, ``a1`` app."""
    kinds = {name: _KINDS[name[0]] for name in names}
    containers = {name: Container(name, kind) for name, kind in kinds.items()}
    pod = Pod(
        uid="uid-1",
        name="web",
        init_containers=tuple(c for c in containers.values() if c.kind is not ContainerKind.APP),
        app_containers=tuple(c for c in containers.values() if c.kind is ContainerKind.APP),
        constraints=UNCONSTRAINED,
    )
    return Workload(
        pod=pod,
        containers=tuple(
            ContainerSpec(name=name, kind=kind, command=("run", name))
            for name, kind in kinds.items()
        ),
        restart_policy=policy,
        grace_period_seconds=grace_seconds,
    )


def accepted(verdict: Verdict | None = ADMITTED) -> PodRun:
    """A run at the beginning of time, decided at once."""
    run = PodRun(accepted_at=START)
    return run if verdict is None else folding.decided(run, verdict, START)


def up(run: PodRun, name: str, when: float = 0) -> PodRun:
    """The run after the next attempt of this container was recorded and began."""
    run = folding.starting(run, name)
    return folding.started(run, name, run.of(name).attempt, at(when))


def down(
    run: PodRun, name: str, when: float = 1, code: int = 0, reason: ExitReason | None = None
) -> PodRun:
    """The run after this container ended."""
    why = reason or (ExitReason.ERROR if code else ExitReason.COMPLETED)
    exit_ = Exit(code=code, reason=why, finished_at=at(when))
    return folding.ended(run, name, run.of(name).attempt, exit_)


def ran(run: PodRun, name: str, start: float, end: float, code: int = 0) -> PodRun:
    """The run after this container ran from one moment to another."""
    return down(up(run, name, start), name, end, code)
