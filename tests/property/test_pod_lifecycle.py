"""Laws of a pod's life, whatever its containers do and whenever anybody looks."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from numalet.core.model.pod import ContainerKind
from numalet.core.workload import folding
from numalet.core.workload.lifecycle import PodPhase, Steps, next_steps, phase
from numalet.core.workload.run import ContainerPhase, Exit, ExitReason, PodRun
from numalet.core.workload.spec import RestartPolicy, Workload
from values.pod_runs import ADMITTED, REJECTED, START, accepted, workload

pytestmark = pytest.mark.property

KINDS = st.lists(st.sampled_from("is"), max_size=3)
UP = (ContainerPhase.STARTING, ContainerPhase.RUNNING)


class PodLife(RuleBasedStateMachine):
    """A controller obeys ``next_steps``; containers end at any time; news come in any order.

    ``alive`` are the programs that really run, by container and attempt.
    """

    of: Workload
    run: PodRun
    now: datetime
    alive: set[tuple[str, int]]
    over: PodPhase | None = None

    @initialize(
        before=KINDS,
        apps=st.integers(1, 2),
        policy=st.sampled_from(RestartPolicy),
        grace=st.integers(0, 40),
    )
    def begin(self, before: list[str], apps: int, policy: RestartPolicy, grace: int) -> None:
        names = [f"{kind}{index}" for index, kind in enumerate(before)]
        self.of = workload([*names, *(f"a{index}" for index in range(apps))], policy, grace)
        self.run, self.now, self.alive, self.over = accepted(None), START, set(), None

    def steps(self) -> Steps:
        return next_steps(self.of, self.run, self.now)

    @precondition(lambda self: self.run.verdict is None)
    @rule(admitted=st.sampled_from([True, True, True, False]))
    def decide(self, *, admitted: bool) -> None:
        verdict = ADMITTED if admitted else REJECTED
        self.run = folding.decided(self.run, verdict, self.now)

    @rule(fails=st.sampled_from([False, False, False, True]), told=st.booleans())
    def start_what_is_due(self, *, fails: bool, told: bool) -> None:
        for name in self.steps().start:
            assert self.run.deletion is None
            assert self.run.verdict == ADMITTED
            assert not any(alive == name for alive, _ in self.alive)
            self.run = folding.starting(self.run, name)
            attempt = self.run.of(name).attempt
            if fails:
                self.run = folding.not_started(self.run, name, attempt, self.now)
                continue
            self.alive.add((name, attempt))
            if told:
                self.run = folding.started(self.run, name, attempt, self.now)

    @rule()
    def news_of_starts(self) -> None:
        for name, attempt in self.alive:
            self.run = folding.started(self.run, name, attempt, self.now)

    @precondition(lambda self: self.alive)
    @rule(
        data=st.data(),
        code=st.sampled_from([0, 1, 137]),
        early=st.integers(0, 5),
        again=st.booleans(),
    )
    def a_program_ends(self, data: st.DataObject, code: int, early: int, *, again: bool) -> None:
        name, attempt = data.draw(st.sampled_from(sorted(self.alive)))
        self.alive.remove((name, attempt))
        exit_ = Exit(
            code=code,
            reason=ExitReason.ERROR if code else ExitReason.COMPLETED,
            finished_at=self.now - timedelta(seconds=early),
        )
        self.run = folding.ended(self.run, name, attempt, exit_)
        if again:
            assert folding.ended(self.run, name, attempt, exit_) is self.run
            assert folding.started(self.run, name, attempt, self.now) is self.run

    @rule(seconds=st.sampled_from([0.001, 1, 9.999, 10, 301, 700]))
    def time_passes(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    @precondition(lambda self: self.steps().due_again_at is not None)
    @rule()
    def the_next_look_comes(self) -> None:
        looked = self.steps()
        assert looked.due_again_at is not None
        self.now = looked.due_again_at
        assert self.steps() != looked

    @rule(grace=st.integers(0, 60))
    def somebody_wants_it_gone(self, grace: int) -> None:
        self.run = folding.deletion_requested(self.run, self.now, grace)

    @invariant()
    def a_look_is_never_in_the_past(self) -> None:
        at = self.steps().due_again_at
        assert at is None or at > self.now

    @invariant()
    def an_init_container_never_runs_beside_an_app_container(self) -> None:
        up = {name for name, _ in self.alive}
        kinds = {self.of.container(name).kind for name in up}
        assert not {ContainerKind.INIT, ContainerKind.APP} <= kinds

    @invariant()
    def one_attempt_at_a_time(self) -> None:
        names = [name for name, _ in self.alive]
        assert len(names) == len(set(names))

    @invariant()
    def what_is_over_starts_nothing_and_stays_over(self) -> None:
        steps = self.steps()
        if self.run.deletion is not None:
            assert steps.start == ()
        if self.over is not None:
            assert steps.finished
            assert phase(self.of, self.run) is self.over
        if steps.finished:
            assert not self.alive
            assert not any(run.phase in UP for run in self.run.containers.values())
            assert steps == Steps(finished=True, forgettable=self.run.deletion is not None)
            self.over = phase(self.of, self.run)
            admitted = self.run.verdict is not None
            assert not admitted or self.over in (PodPhase.SUCCEEDED, PodPhase.FAILED)
            if self.run.verdict is None:
                self.over = None

    @invariant()
    def a_stop_is_for_what_runs(self) -> None:
        for stop in self.steps().stop:
            assert self.run.of(stop.container).phase is ContainerPhase.RUNNING
            assert stop.grace_seconds >= 0

    @invariant()
    def nothing_hangs(self) -> None:
        """Whoever has nothing to do waits for an event, a look or a decision."""
        steps = self.steps()
        something = steps.start or steps.stop or steps.under_way or steps.due_again_at
        waiting = self.alive or self.run.verdict is None
        assert something or steps.finished or waiting

    @invariant()
    def nobody_remembers_anything(self) -> None:
        """The same answer from an equal run: a crash between two looks changes nothing."""
        twin = replace(self.run, containers=dict(self.run.containers))
        assert next_steps(self.of, twin, self.now) == self.steps()


TestPodLife = PodLife.TestCase
TestPodLife.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
