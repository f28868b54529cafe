"""Plan the current actions on rejected pods, and the state for the next plan.

The state may be lost: data that must outlive a breaker is stored on the objects.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final, TypeAlias

from numalet.core.cluster.cluster import ClusterPod
from numalet.core.model.value import Value
from numalet.insight.fleet.assessing import Assessor
from numalet.insight.rejections import (
    counting,
    holding,
    informing,
    recreating,
    shape_questions,
    trap_taints,
)
from numalet.insight.rejections.actions import Action, Inform, ResumeJob
from numalet.insight.rejections.counting import NO_WINDOW, StormKey, Window
from numalet.insight.rejections.holding import Hold, HoldInputs, HoldPlan
from numalet.insight.rejections.informing import Informed
from numalet.insight.rejections.recreating import JobInputs, RecreatePlan
from numalet.insight.rejections.rejected_pod import RejectedPod
from numalet.insight.rejections.rules import BreakerRules, Measure
from numalet.insight.rejections.shape_questions import BreakerFacts, ShapeQuestions
from numalet.insight.rejections.trap_taints import TaintInputs, TaintPlan, TrapKey, TrapMemory
from numalet.wording import numbers

IssuedKey: TypeAlias = tuple[str, str]
"""The verb of an action and its target."""

_NO_ONE: Final[Sequence[RejectedPod]] = ()


class BreakerState(Value, kw_only=True):
    """The state between two plans. Times are seconds since 1970.

    ``again_at_seconds`` is when something may be due without any change, if ever.
    """

    window: Window = NO_WINDOW
    stormy: Mapping[StormKey, float] = MappingProxyType({})
    """Storms in progress, and when their last pod was rejected."""
    issued: Mapping[IssuedKey, float] = MappingProxyType({})
    """Times of planned actions, until they are planned again."""
    traps: Mapping[TrapKey, TrapMemory] = MappingProxyType({})
    informed: Mapping[StormKey, Informed] = MappingProxyType({})
    resumed: Mapping[str, float] = MappingProxyType({})
    """The last time when a Job of a shape was resumed, by digest."""
    holds: Mapping[str, Hold] = MappingProxyType({})
    """Controllers that may create no pods, by uid."""
    digests: Mapping[str, str] = MappingProxyType({})
    """The digests of the shapes of waiting pods, by uid."""
    again_at_seconds: float | None = None


def planned(
    before: BreakerState,
    rejections: Iterable[RejectedPod],
    facts: BreakerFacts,
    now_seconds: float,
    rules: BreakerRules,
    assessor: Assessor,
) -> tuple[BreakerState, tuple[Action, ...]]:
    """Return the next state, and the current actions in the order of their execution.

    ``rejections`` are all rejected pods that exist now. Pass the same ``assessor`` every time: it
    caches decisions.
    """
    plan = _Plan(before, rejections, facts, now_seconds, rules, assessor)
    actions = tuple(plan.actions())
    return plan.after(actions[: rules.most_actions], len(actions)), actions[: rules.most_actions]


class _Plan:
    """One plan; call ``actions`` once, and ``after`` then."""

    def __init__(
        self,
        before: BreakerState,
        rejections: Iterable[RejectedPod],
        facts: BreakerFacts,
        now_seconds: float,
        rules: BreakerRules,
        assessor: Assessor,
    ) -> None:
        self._before, self._facts, self._now, self._rules = before, facts, now_seconds, rules
        self._pods: dict[StormKey, list[RejectedPod]] = {}
        # By uid, so that equal input gives equal actions whatever the order of the list is.
        for each in sorted(rejections, key=lambda each: each.uid):
            if rules.scope.covers(each):
                self._pods.setdefault((each.owner, each.shape), []).append(each)
        every = [each for pods in self._pods.values() for each in pods]
        self._window = counting.counted(before.window, every, now_seconds, rules)
        self._storms = counting.storms(self._window, now_seconds, rules)
        self._stormy = self._known_storms()
        # An action without a visible effect is planned again later, so failures need no report.
        # Repeating a completed action changes nothing.
        self._issued = {
            key: at
            for key, at in before.issued.items()
            if 0 <= now_seconds - at < rules.retry_seconds
        }
        self._waiting = shape_questions.waiting(facts.cluster, before.digests, rules.scope)
        pods: dict[str, ClusterPod] = {each.shape: each.pod for each in every}
        self._questions = ShapeQuestions(
            shape_questions.settled(facts.cluster),
            assessor,
            {**pods, **self._waiting.by_digest},
        )
        self._informed = {
            key: each
            for key, each in before.informed.items()
            if key in self._storms or not each.is_old(now_seconds, rules)
        }
        self._taints = TaintPlan(traps=before.traps, actions=())
        self._holds = HoldPlan({}, ())
        self._recreated = RecreatePlan((), ())

    def _known_storms(self) -> dict[StormKey, float]:
        """Return all storms that ever exceeded the budget and have a recent pod."""
        stormy = dict(self._before.stormy)
        for key, storm in self._storms.items():
            if key in stormy or storm.was_over_budget:
                stormy[key] = storm.last_at_seconds
        oldest = self._now - self._rules.inform_seconds
        return {key: at for key, at in stormy.items() if at > oldest or key in self._pods}

    def actions(self) -> Iterator[Action]:
        """Yield the actions: those that end the storm first, cleaning up last."""
        allowed = self._rules.allowed
        if Measure.TAINT in allowed:
            self._taints = trap_taints.plan(self._before.traps, self._taint_inputs())
            yield from self._taints.actions
        if Measure.SUSPEND in allowed:
            yield from self._of_jobs()
        if Measure.HOLD in allowed:
            self._holds = holding.plan(self._before.holds, self._hold_inputs())
            yield from self._holds.actions
        # After the taints, because the event names the traps that could not get one.
        if Measure.INFORM in allowed:
            yield from self._events()
        if Measure.RECREATE in allowed:
            every = [each for pods in self._pods.values() for each in pods]
            self._recreated = recreating.recreated_pods(
                every, self._questions, self._is_of("pod"), self._now, self._rules
            )
            yield from self._recreated.actions
        if Measure.PRUNE in allowed:
            stormy = [self._pods[key] for key in sorted(self._stormy) if key in self._pods]
            for prune in recreating.replaced_pods(stormy, self._rules):
                if (prune.verb, prune.target) not in self._issued:
                    yield prune

    def _taint_inputs(self) -> TaintInputs:
        return TaintInputs(
            nodes=self._facts.nodes,
            storms=self._storms,
            waiting=frozenset(self._waiting.by_digest),
            waiting_since=self._waiting.since_seconds,
            questions=self._questions,
            is_issued=self._is_of("node"),
            now_seconds=self._now,
            rules=self._rules,
        )

    def _hold_inputs(self) -> HoldInputs:
        is_tainting = Measure.TAINT in self._rules.allowed
        return HoldInputs(
            storms=[
                pods
                for key, pods in self._pods.items()
                if self._storms[key].is_over_budget
                and (not is_tainting or key in self._taints.without_taint)
            ],
            rejections=[each for pods in self._pods.values() for each in pods],
            questions=self._questions,
            is_issued=self._is_of("controller"),
            now_seconds=self._now,
            rules=self._rules,
        )

    def _of_jobs(self) -> Iterator[Action]:
        given = JobInputs(
            facts=self._facts,
            questions=self._questions,
            is_issued=self._is_of("job"),
            resumed_at_seconds=self._before.resumed,
            now_seconds=self._now,
            rules=self._rules,
        )
        yield from recreating.resumed(given)
        storms = [pods for key, pods in self._pods.items() if self._storms[key].is_over_budget]
        yield from recreating.suspended(storms, given)

    def _events(self) -> Iterator[Inform]:
        for key, storm in self._storms.items():
            pods, known = self._pods.get(key, _NO_ONE), self._informed.get(key)
            held = {each.chain[0].text for each in pods if self._is_held(each)}
            is_new = known is None or (bool(held) and not known.is_held)
            is_due = known is None or is_new or known.is_due(self._now, self._rules)
            if not storm.is_over_budget or not pods or not is_due:
                continue
            what = informing.explained(self._questions, pods[-1].pod)
            if (
                known is None
                or is_new
                or known.is_old(self._now, self._rules)
                or known.cause != what.cause
            ):
                self._informed[key] = Informed(self._now, what.cause, is_held=bool(held))
                more = self._without_taint(len(self._taints.without_taint.get(key, ())))
                if held:
                    more += f" New pods of {', '.join(sorted(held))} are refused until one fits."
                yield informing.event(pods, len(storm.recent), what, more, self._rules)

    def _without_taint(self, count: int) -> str:
        if not count:
            return ""
        nodes, share = numbers.counted(count, "trap node"), 100 * self._rules.taint_share
        return (
            f" {nodes} had to be left without a taint: at most {share:.10g} % of a pool may have "
            "it, and never its last node."
        )

    def _is_held(self, pod: RejectedPod) -> bool:
        return bool(pod.chain) and pod.chain[0].uid in self._holds.holds

    def _is_of(self, kind: str) -> _IsIssued:
        return _IsIssued(self._issued, kind)

    def after(self, actions: Sequence[Action], wanted: int) -> BreakerState:
        """Return the next state after these actions, of ``wanted`` planned ones."""
        issued = {**self._issued, **{(each.verb, each.target): self._now for each in actions}}
        resumed = {
            shape: at
            for shape, at in self._before.resumed.items()
            if 0 <= self._now - at < recreating.SETTLE_SECONDS
        }
        known = self._facts.suspended_jobs
        for each in actions:
            if isinstance(each, ResumeJob) and each.uid in known:
                resumed[known[each.uid].shape] = self._now
        # Actions above the limit are due at once.
        moments = [self._now] if wanted > len(actions) else [*self._moments(resumed, issued)]
        return BreakerState(
            window=self._window,
            stormy=self._stormy,
            issued=issued,
            traps=self._taints.traps,
            informed=self._informed,
            resumed=resumed,
            holds=self._holds.holds,
            digests=self._waiting.digests,
            again_at_seconds=min(moments, default=None),
        )

    def _moments(
        self, resumed: Mapping[str, float], issued: Mapping[IssuedKey, float]
    ) -> Iterator[float]:
        """Yield the times when something may be due without any change."""
        rules = self._rules
        for storm in self._storms.values():
            if storm.is_over_budget:
                # A storm that stops causes no further event; only time shows that it has ended.
                yield self._now + rules.window_seconds
        for at in issued.values():
            yield at + rules.retry_seconds
        for at in resumed.values():
            yield at + recreating.SETTLE_SECONDS
        for job in self._facts.suspended_jobs.values():
            # A second apart: a Job that is due but cannot be resumed must not make the plans follow
            # each other at once.
            yield max(job.until_seconds, self._now + 1.0)
        held = self._holds.moments(rules)
        for at in (*self._taints.moments, *self._recreated.due_at_seconds, *held):
            if at > self._now:
                yield at


class _IsIssued(Value):
    issued: Mapping[IssuedKey, float]
    kind: str

    def __call__(self, verb: str, name: str) -> bool:
        return (verb, f"{self.kind} {name}") in self.issued
