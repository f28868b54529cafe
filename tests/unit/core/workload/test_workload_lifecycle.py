"""Which step of a pod comes next: order, restarts, pauses, ends."""

from __future__ import annotations

from dataclasses import replace

import pytest

from numalet.core.workload import folding, lifecycle
from numalet.core.workload.lifecycle import Steps, Stop, next_steps
from numalet.core.workload.run import Evicted, PodRun
from numalet.core.workload.spec import RestartPolicy
from values.pod_runs import REJECTED, accepted, at, down, ran, up, workload

ALWAYS, ON_FAILURE, NEVER = RestartPolicy.ALWAYS, RestartPolicy.ON_FAILURE, RestartPolicy.NEVER
FINISHED = Steps(finished=True)


def leaving(name: str, until: float) -> Evicted:
    return Evicted(name, f"default/{name}", at(until))


def test_nothing_starts_before_the_decision() -> None:
    assert next_steps(workload(), accepted(None), at(0)) == Steps()


def test_all_app_containers_start_together() -> None:
    assert next_steps(workload(("a1", "a2")), accepted(), at(0)) == Steps(start=("a1", "a2"))


def test_nothing_starts_while_evicted_pods_still_end() -> None:
    of = workload(("i1", "a"))
    run = folding.after_evicted(accepted(), [leaving("small", 10), leaving("large", 45)])
    waits = Steps(due_again_at=at(45))

    assert next_steps(of, run, at(0), {"small", "large"}) == waits
    assert next_steps(of, run, at(0), {"large", "other"}) == waits
    assert next_steps(of, run, at(0), {"small"}) == Steps(due_again_at=at(10))
    assert next_steps(of, run, at(0), {"other"}).start == ("i1",)
    # Whoever can not be ended holds up nobody for ever.
    assert next_steps(of, run, at(44.9), {"small", "large"}) == waits
    assert next_steps(of, run, at(45), {"small", "large"}).start == ("i1",)
    assert lifecycle.held_up(run, at(11), {"small", "large"}) == (leaving("large", 45),)


def test_a_pod_that_has_begun_waits_for_nobody_any_more() -> None:
    of, evicted = workload(("i1", "a")), [leaving("small", 100)]
    run = folding.after_evicted(ran(accepted(), "i1", 0, 1), evicted)
    assert next_steps(of, run, at(1), {"small"}).start == ("a",)
    gone = folding.deletion_requested(folding.after_evicted(accepted(), evicted), at(1), 30.0)
    assert next_steps(of, gone, at(1), {"small"}).finished


def test_a_pod_that_is_evicted_again_is_awaited_again() -> None:
    run = folding.after_evicted(accepted(), [leaving("small", 10), leaving("large", 45)])
    again = folding.after_evicted(run, [leaving("small", 90)])
    assert again.evicted == (leaving("large", 45), leaving("small", 90))
    assert folding.after_evicted(run, []) is run


@pytest.mark.parametrize(("grace_seconds", "patience"), [(0, 10), (6, 10), (7, 10), (31, 46)])
def test_the_kubelet_gives_an_evicted_pod_half_of_its_time_more(
    grace_seconds: int, patience: float
) -> None:
    assert lifecycle.kill_patience_seconds(grace_seconds) == patience


def test_a_recorded_start_is_not_repeated_but_told() -> None:
    run = folding.starting(accepted(), "a")
    assert next_steps(workload(), run, at(0)) == Steps(under_way=("a",))


def test_init_containers_run_one_after_the_other() -> None:
    of = workload(("i1", "i2", "a"))
    run = accepted()
    assert next_steps(of, run, at(0)).start == ("i1",)
    run = up(run, "i1")
    assert next_steps(of, run, at(0)) == Steps()
    run = down(run, "i1")
    assert next_steps(of, run, at(1)).start == ("i2",)
    assert not lifecycle.is_initialized(of, run)
    run = ran(run, "i2", 1, 2)
    assert next_steps(of, run, at(2)).start == ("a",)
    assert lifecycle.is_initialized(of, run)


@pytest.mark.parametrize("policy", [ALWAYS, ON_FAILURE])
def test_a_failed_init_container_is_started_again(policy: RestartPolicy) -> None:
    of = workload(("i1", "a"), policy)
    assert next_steps(of, ran(accepted(), "i1", 0, 1, code=1), at(1)).start == ("i1",)


def test_a_failed_init_container_ends_a_pod_that_never_restarts() -> None:
    of = workload(("s1", "i1", "i2", "a"), NEVER)
    run = ran(up(accepted(), "s1"), "i1", 0, 1, code=1)
    assert next_steps(of, run, at(2)) == Steps(stop=(Stop("s1", 31.0),))
    assert lifecycle.is_ending(of, run)
    assert next_steps(of, down(run, "s1", 3), at(3)) == FINISHED


def test_a_sidecar_has_had_its_turn_when_it_runs() -> None:
    of = workload(("s1", "i1", "a"))
    run = folding.starting(accepted(), "s1")
    assert next_steps(of, run, at(0)).start == ()
    run = folding.started(run, "s1", 1, at(0))
    assert next_steps(of, run, at(0)).start == ("i1",)


def test_a_sidecar_that_ended_before_the_next_began_has_its_turn_again() -> None:
    of = workload(("s1", "i1", "a"))
    run = ran(accepted(), "s1", 0, 1)
    assert next_steps(of, run, at(1)).start == ("s1",)
    assert not lifecycle.is_initialized(of, run)


def test_a_sidecar_that_ended_holds_up_nobody_who_began() -> None:
    of = workload(("s1", "i1", "a"), NEVER)
    run = down(up(up(accepted(), "s1"), "i1"), "s1", 1)
    assert next_steps(of, run, at(1)).start == ("s1",)
    run = ran(down(run, "i1", 2), "s1", 1, 2)
    steps = next_steps(of, run, at(3))
    assert (steps.start, steps.due_again_at) == (("a",), at(12))


def test_a_sidecar_is_started_again_beside_running_apps_whatever_the_policy() -> None:
    of = workload(("s1", "a"), NEVER)
    run = down(up(up(accepted(), "s1"), "a"), "s1", 1, code=3)
    assert next_steps(of, run, at(1)).start == ("s1",)


def test_init_containers_are_not_repeated_when_apps_are() -> None:
    of = workload(("i1", "a"))
    run = ran(ran(accepted(), "i1", 0, 1), "a", 1, 2)
    assert next_steps(of, run, at(2)).start == ("a",)


@pytest.mark.parametrize(
    ("policy", "code", "again"),
    [
        (ALWAYS, 0, True),
        (ALWAYS, 1, True),
        (ON_FAILURE, 0, False),
        (ON_FAILURE, 1, True),
        (NEVER, 0, False),
        (NEVER, 1, False),
    ],
)
def test_the_policy_says_who_is_started_again(
    policy: RestartPolicy, code: int, *, again: bool
) -> None:
    steps = next_steps(workload(policy=policy), ran(accepted(), "a", 0, 1, code), at(1))
    assert steps == (Steps(start=("a",)) if again else FINISHED)


def test_a_pod_is_not_over_while_one_app_container_runs() -> None:
    of = workload(("a1", "a2"), NEVER)
    run = ran(up(accepted(), "a2"), "a1", 0, 1)
    assert next_steps(of, run, at(1)) == Steps()
    assert next_steps(of, down(run, "a2", 2), at(2)) == FINISHED


def crashes(*ends: float) -> PodRun:
    """A run whose app container started at once after each pause and ended at these moments."""
    run = accepted()
    for end in ends:
        run = ran(run, "a", end - 1, end, code=1)
    return run


def test_pauses_double_up_to_five_minutes() -> None:
    run, pauses = accepted(), []
    for count in range(8):
        run = ran(run, "a", count, count + 1, code=1)
        pauses.append(run.of("a").back_off_seconds)
    assert pauses == [0, 10, 20, 40, 80, 160, 300, 300]


def test_a_pause_is_waited_for_and_looked_for_at_its_end() -> None:
    run = crashes(1, 2)
    assert next_steps(workload(), run, at(2)) == Steps(due_again_at=at(12))
    assert next_steps(workload(), run, at(11.9)) == Steps(due_again_at=at(12))
    assert next_steps(workload(), run, at(12)) == Steps(start=("a",))


def test_a_clock_that_was_set_back_lengthens_no_pause_and_no_grace_period() -> None:
    run = ran(ran(accepted(), "a", 1000, 1001, code=1), "a", 1001, 1002, code=1)
    assert next_steps(workload(), run, at(1003)).due_again_at == at(1012)
    assert next_steps(workload(), run, at(5)).start == ("a",)
    over = folding.deletion_requested(up(accepted(), "a"), at(1000), 7)
    assert next_steps(workload(), over, at(1001)).stop == (Stop("a", 6.0),)
    assert next_steps(workload(), over, at(5)).stop == (Stop("a", 7.0),)


def test_the_earliest_pause_is_looked_for() -> None:
    run = ran(ran(crashes(1, 2), "a2", 0, 4, code=1), "a2", 4, 5, code=1)
    assert next_steps(workload(("a", "a2")), run, at(5)).due_again_at == at(12)


def test_the_back_off_is_reset_after_a_long_run() -> None:
    run = crashes(1, 2, 13)
    assert run.of("a").back_off_seconds == 20
    run = ran(run, "a", 33, 33 + 601, code=1)
    assert next_steps(workload(), run, at(700)).start == ("a",)
    assert run.of("a").back_off_seconds == 0
    assert ran(run, "a", 700, 701).of("a").back_off_seconds == 10


def test_ten_minutes_to_the_second_are_not_long() -> None:
    run = ran(crashes(1, 2), "a", 12, 612, code=1)
    assert run.of("a").back_off_seconds == 20


def test_a_start_that_fails_is_tried_again_with_pauses() -> None:
    run = folding.starting(accepted(), "a")
    run = folding.not_started(run, "a", 1, at(1))
    assert next_steps(workload(), run, at(1)).start == ("a",)
    run = folding.not_started(folding.starting(run, "a"), "a", 2, at(2))
    assert next_steps(workload(), run, at(2)).due_again_at == at(12)
    assert next_steps(workload(policy=NEVER), run, at(2)) == FINISHED


def test_a_rejected_pod_starts_nothing_and_holds_nothing() -> None:
    of = workload(("i1", "a"))
    run = accepted(REJECTED)
    assert next_steps(of, run, at(0)) == FINISHED
    gone = folding.deletion_requested(run, at(1), 30)
    assert next_steps(of, gone, at(1)) == Steps(finished=True, forgettable=True)


def test_a_running_pod_that_is_rejected_at_a_restart_is_ended() -> None:
    run = folding.decided(up(accepted(), "a"), REJECTED, at(10))
    assert next_steps(workload(), run, at(15)) == Steps(stop=(Stop("a", 25.0),))
    undated = replace(run, decided_at=None)
    assert next_steps(workload(), undated, at(15)) == Steps(stop=(Stop("a", 15.0),))


def test_deletion_ends_app_containers_first_and_sidecars_in_reverse() -> None:
    of = workload(("s1", "s2", "a1", "a2"))
    run = accepted()
    for name in ("s1", "s2", "a1", "a2"):
        run = up(run, name)
    run = folding.deletion_requested(run, at(10), 20)
    apps = (Stop("a1", 20.0), Stop("a2", 20.0))
    assert next_steps(of, run, at(10)) == Steps(stop=apps, due_again_at=at(30))
    run = down(down(run, "a1", 12), "a2", 14)
    assert next_steps(of, run, at(14)) == Steps(stop=(Stop("s2", 18.0),), due_again_at=at(30))
    run = down(run, "s2", 15)
    assert next_steps(of, run, at(15)) == Steps(stop=(Stop("s1", 17.0),))
    run = down(run, "s1", 16)
    assert next_steps(of, run, at(16)) == Steps(finished=True, forgettable=True)


def test_everybody_is_ended_when_the_grace_period_is_over() -> None:
    of = workload(("s1", "a"))
    run = folding.deletion_requested(up(up(accepted(), "s1"), "a"), at(10), 20)
    assert next_steps(of, run, at(30)).stop == (Stop("s1", 2.0), Stop("a", 0.0))
    assert next_steps(of, run, at(99)) == Steps(stop=(Stop("s1", 0.0), Stop("a", 0.0)))


def test_no_grace_is_no_grace_for_sidecars_either() -> None:
    of = workload(("s1", "a"))
    run = folding.deletion_requested(up(up(accepted(), "s1"), "a"), at(10), 0)
    assert next_steps(of, run, at(10)).stop == (Stop("s1", 0.0), Stop("a", 0.0))


def test_a_start_under_way_is_waited_for_before_it_is_ended() -> None:
    run = folding.deletion_requested(folding.starting(accepted(), "a"), at(1), 30)
    assert next_steps(workload(), run, at(1)) == Steps(under_way=("a",))
    begun = folding.started(run, "a", 1, at(2))
    assert next_steps(workload(), begun, at(2)).stop == (Stop("a", 29.0),)
    back = folding.start_withdrawn(run, "a")
    assert next_steps(workload(), back, at(2)) == Steps(finished=True, forgettable=True)


def test_deletion_before_the_decision_leaves_nothing() -> None:
    run = folding.deletion_requested(accepted(None), at(1), 30)
    assert next_steps(workload(), run, at(1)) == Steps(finished=True, forgettable=True)


def test_sidecars_of_a_pod_that_is_over_get_its_grace_from_the_last_end() -> None:
    of = workload(("s1", "a1", "a2"), NEVER, grace_seconds=5)
    run = ran(ran(up(accepted(), "s1"), "a1", 0, 10), "a2", 0, 20)
    assert next_steps(of, run, at(21)) == Steps(stop=(Stop("s1", 6.0),))


def test_a_sidecar_is_always_started_again() -> None:
    of = workload(("s1", "a"), NEVER)
    run = ran(accepted(), "s1", 0, 1)
    assert lifecycle.will_restart(of, of.container("s1"), run.of("s1"))


def test_a_container_that_is_not_there_is_a_fault() -> None:
    with pytest.raises(KeyError):
        workload().container("b")
