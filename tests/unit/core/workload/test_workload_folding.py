"""What a run becomes after news, and that stale news changes nothing."""

from __future__ import annotations

import pytest

from numalet.core.enforcement.comparison import GuaranteeLevel
from numalet.core.workload import folding
from numalet.core.workload.records import PodRecord
from numalet.core.workload.run import Cause, ContainerPhase, Deletion, Exit, ExitReason
from values.pod_runs import ADMITTED, REJECTED, accepted, at, down, ran, up, workload

CAUSE = Cause("runtime/program-not-found", {"program": "mine"})


def test_a_decision_is_kept_with_its_moment() -> None:
    run = folding.decided(accepted(None), ADMITTED, at(3))
    assert (run.verdict, run.decided_at) == (ADMITTED, at(3))
    assert folding.decided(run, REJECTED, at(4)).verdict == REJECTED


def test_a_start_is_counted_when_it_is_recorded() -> None:
    run = folding.starting(accepted(), "a")
    assert (run.of("a").phase, run.of("a").attempt) == (ContainerPhase.STARTING, 1)
    assert run.of("a").restart_count == 0
    again = folding.starting(ran(accepted(), "a", 0, 1), "a")
    assert again.of("a").restart_count == 1


@pytest.mark.parametrize("begun", [True, False])
def test_two_attempts_at_once_are_a_fault(*, begun: bool) -> None:
    run = up(accepted(), "a") if begun else folding.starting(accepted(), "a")
    with pytest.raises(ValueError, match="attempt 1 of 'a'"):
        folding.starting(run, "a")


def test_how_it_is_held_lasts_as_long_as_it_runs() -> None:
    run = folding.starting(accepted(), "a")
    run = folding.started(run, "a", 1, at(1), GuaranteeLevel.PROCESS, ("no-limits",))
    of = run.of("a")
    assert (of.level, of.shortfalls, of.started_at) == (
        GuaranteeLevel.PROCESS,
        ("no-limits",),
        at(1),
    )
    over = down(run, "a", 2).of("a")
    assert (over.level, over.shortfalls, over.started_at) == (None, (), None)
    assert over.last_exit is not None
    assert over.last_exit.started_at == at(1)


def test_the_shims_own_moment_of_the_start_is_kept() -> None:
    exit_ = Exit(code=0, reason=ExitReason.COMPLETED, finished_at=at(9), started_at=at(5))
    run = folding.ended(up(accepted(), "a", 4), "a", 1, exit_)
    assert run.of("a").last_exit == exit_


def test_stale_news_of_a_start_changes_nothing() -> None:
    running = up(accepted(), "a")
    assert folding.started(running, "a", 1, at(5)) is running
    assert folding.started(running, "a", 2, at(5)) is running
    over = down(running, "a")
    assert folding.started(over, "a", 1, at(5)) is over
    recorded = folding.starting(over, "a")
    assert folding.started(recorded, "a", 1, at(5)) is recorded
    assert folding.not_started(over, "a", 1, at(5)) is over


def test_stale_news_of_an_end_changes_nothing() -> None:
    exit_ = Exit(code=1, reason=ExitReason.ERROR, finished_at=at(5))
    over = ran(accepted(), "a", 0, 1)
    assert folding.ended(over, "a", 1, exit_) is over
    again = up(over, "a", 2)
    assert folding.ended(again, "a", 1, exit_) is again
    nothing = accepted()
    assert folding.ended(nothing, "a", 0, exit_) is nothing
    assert folding.ended(nothing, "unknown", 1, exit_) is nothing


def test_an_end_may_come_before_the_news_of_its_start() -> None:
    over = down(folding.starting(accepted(), "a"), "a", 3)
    assert over.of("a").phase is ContainerPhase.TERMINATED
    assert folding.started(over, "a", 1, at(2)) is over


def test_a_failed_start_says_why() -> None:
    run = folding.not_started(folding.starting(accepted(), "a"), "a", 1, at(1), CAUSE)
    assert run.of("a").last_exit == Exit(
        code=128, reason=ExitReason.START_ERROR, finished_at=at(1), cause=CAUSE
    )


def test_a_start_can_be_taken_back() -> None:
    run = folding.start_withdrawn(folding.starting(accepted(), "a"), "a")
    assert (run.of("a").phase, run.of("a").attempt) == (ContainerPhase.WAITING, 0)
    over = ran(accepted(), "a", 0, 1)
    back = folding.start_withdrawn(folding.starting(over, "a"), "a")
    assert (back.of("a").phase, back.of("a").attempt) == (ContainerPhase.TERMINATED, 1)
    assert folding.start_withdrawn(over, "a") is over


def test_a_container_that_is_gone_ended_for_reasons_unknown() -> None:
    run = folding.lost(up(accepted(), "a"), "a", at(7))
    assert run.of("a").last_exit == Exit(
        code=137, reason=ExitReason.UNKNOWN, finished_at=at(7), started_at=at(0)
    )
    assert folding.lost(run, "a", at(8)) is run


def test_a_grace_period_is_only_ever_made_shorter() -> None:
    run = folding.deletion_requested(accepted(), at(10), 30)
    assert run.deletion == Deletion(at(10), 30)
    assert folding.deletion_requested(run, at(12), 30) is run
    assert folding.deletion_requested(run, at(12), 28) is run
    shorter = folding.deletion_requested(run, at(12), 5)
    assert shorter.deletion == Deletion(at(12), 5)


def test_a_record_grows_with_what_happens() -> None:
    record = PodRecord(workload(), accepted(), 3)
    later = record.with_run(up(record.run, "a"), 4)
    assert (later.uid, later.resource_version) == ("uid-1", 4)
    assert later.run.of("a").phase is ContainerPhase.RUNNING
    assert record.run.containers == {}
