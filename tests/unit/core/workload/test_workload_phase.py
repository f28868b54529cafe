"""The phase of a pod through its life."""

from __future__ import annotations

import pytest

from numalet.core.workload import folding
from numalet.core.workload.lifecycle import PodPhase, phase
from numalet.core.workload.run import PodRun
from numalet.core.workload.spec import RestartPolicy, Workload
from values.pod_runs import REJECTED, accepted, at, down, ran, up, workload

ALWAYS, ON_FAILURE, NEVER = RestartPolicy.ALWAYS, RestartPolicy.ON_FAILURE, RestartPolicy.NEVER
PENDING, RUNNING = PodPhase.PENDING, PodPhase.RUNNING
SUCCEEDED, FAILED = PodPhase.SUCCEEDED, PodPhase.FAILED

DELETED = folding.deletion_requested(up(accepted(), "a"), at(5), 30)


@pytest.mark.parametrize(
    ("of", "run", "expected"),
    [
        (workload(), accepted(None), PENDING),
        (workload(), accepted(REJECTED), FAILED),
        (workload(), accepted(), PENDING),
        (workload(), folding.starting(accepted(), "a"), PENDING),
        (workload(), up(accepted(), "a"), RUNNING),
        (workload(("a1", "a2")), up(accepted(), "a1"), PENDING),
        (workload(), ran(accepted(), "a", 0, 1, code=1), RUNNING),
        (workload(), folding.starting(ran(accepted(), "a", 0, 1), "a"), RUNNING),
        (workload(("i1", "a")), up(accepted(), "i1"), PENDING),
        (workload(("i1", "a"), NEVER), ran(accepted(), "i1", 0, 1, code=1), FAILED),
        (workload(("s1", "i1", "a"), NEVER), ran(up(accepted(), "s1"), "i1", 0, 1, 1), PENDING),
        (workload(policy=NEVER), ran(accepted(), "a", 0, 1), SUCCEEDED),
        (workload(policy=NEVER), ran(accepted(), "a", 0, 1, code=2), FAILED),
        (workload(policy=ON_FAILURE), ran(accepted(), "a", 0, 1), SUCCEEDED),
        (workload(("a1", "a2"), NEVER), ran(ran(accepted(), "a1", 0, 1), "a2", 0, 1, 1), FAILED),
        (workload(("s1", "a"), NEVER), ran(up(accepted(), "s1"), "a", 0, 1), RUNNING),
        (
            workload(("s1", "a"), NEVER),
            down(ran(up(accepted(), "s1"), "a", 0, 1), "s1", 2, code=143),
            SUCCEEDED,
        ),
        (workload(), DELETED, RUNNING),
        (workload(), down(DELETED, "a", 6), SUCCEEDED),
        (workload(), down(DELETED, "a", 6, code=143), FAILED),
    ],
)
def test_the_phase_sums_up_the_containers(of: Workload, run: PodRun, expected: PodPhase) -> None:
    assert phase(of, run) is expected
