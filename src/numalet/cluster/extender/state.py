"""The state of the extender: the followed cluster, and the promises since.

``refresh`` processes changes before every answer, so that each answer includes the last event of
the watch.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from numalet.cluster.extender.log import ExtenderLog
from numalet.cluster.extender.metrics import ExtenderMetrics, NodeOrigins, OriginChange
from numalet.cluster.extender.prewarming import Prewarming
from numalet.cluster.extender.standing import OLDEST_VIEW_SECONDS, Standing
from numalet.cluster.following import FollowedClasses
from numalet.cluster.live import LiveCluster
from numalet.core.cluster.cluster import Cluster, ClusterPod
from numalet.core.model import grammar
from numalet.core.model.value import Value, field
from numalet.insight.fleet.preference import Preference
from numalet.insight.scheduling import expected_nodes, preempting
from numalet.insight.scheduling.expected_nodes import ExpectedNodes, Promise
from numalet.insight.scheduling.filtering import Filtered, FilterRules, NodeFilter
from numalet.insight.scheduling.preempting import Preempted, RunningPods, VictimSet
from numalet.insight.scheduling.scoring import NodeScorer, Scored
from numalet.io.kube_api.pace import PACE, Pace

PROMISE_SECONDS: Final = 30.0
BUDGET_SHARE: Final = 0.8
"""Share of the scheduler's time-out for decisions."""
LATE_SECONDS: Final = 0.4
"""The scheduler may see a change this much earlier than we do, on a busy machine."""
_LATE_TURNS: Final = 5
"""A process that got no CPU for a while reads in these what has come meanwhile."""
_FEW_REFUSED: Final = 4
"""Up to this many waiting pods share the time. If there are more, one at a time waits."""
MOST_SETTLED: Final = 10_000
"""Limit of remembered pods that no further call concerns."""
_MOST_SAID: Final = 10


class ExtenderRules(Value, kw_only=True):
    """Rules of the answers. ``timeout_seconds`` is the scheduler's ``httpTimeout``.

    The readiness probe fails after ``oldest_view_seconds`` without news of the cluster.
    """

    filtering: FilterRules = field(default_factory=FilterRules)
    preference: Preference = Preference.PACK
    timeout_seconds: float = 5.0
    promise_seconds: float = PROMISE_SECONDS
    late_seconds: float = LATE_SECONDS
    oldest_view_seconds: float = OLDEST_VIEW_SECONDS


class StateListener:
    """Events of a state; its listeners are called immediately."""

    def something_changed(self) -> None:
        """The watch had an event that is not processed yet."""

    def pod_changed(self, before: ClusterPod | None, now: ClusterPod | None) -> None:
        """A pod before and after a change; None: it does not exist."""

    def node_renewed(self, name: str) -> None:
        """The state of a node was updated."""

    def said_yes(self, pod: ClusterPod, names: Sequence[str]) -> None:
        """The pod may be sent to these decided nodes, and to no others."""


class ExtenderState:
    """Belongs to one event loop."""

    def __init__(
        self,
        rules: ExtenderRules,
        classes: FollowedClasses,
        pace: Pace = PACE,
        log: ExtenderLog | None = None,
    ) -> None:
        self.rules = rules
        self.log = log or ExtenderLog()
        self.metrics = ExtenderMetrics()
        self.listeners: list[StateListener] = []
        self.live = LiveCluster(
            classes.rules,
            classes.pool_label,
            pace,
            on_pod=self._pod_changed,
            on_change=self._something_changed,
        )
        self.standing = Standing(self.live, rules.oldest_view_seconds)
        self.nodes = ExpectedNodes()
        self.origins = NodeOrigins()
        self._filter = NodeFilter(self.nodes, rules.filtering)
        self._clock = pace.clock
        self._scorer = NodeScorer(self.nodes, self._filter.memory, rules.preference)
        self.prewarming = Prewarming(self._filter, self.refresh, pace.clock, self._scorer.prepare)
        self._settled: OrderedDict[str, None] = OrderedDict()
        self._is_known = False
        self._refused_by_all: set[str] = set()
        """The uids of waiting pods."""
        self._late_uid = ""
        self._others_rest_until = 0.0
        self._show()

    @property
    def settled(self) -> frozenset[str]:
        """The uids of pods last seen bound, ended or deleted."""
        return frozenset(self._settled)

    @property
    def filter(self) -> NodeFilter:
        return self._filter

    def now_seconds(self) -> float:
        return self._clock.now_seconds()

    def refresh(self) -> None:
        changes: list[OriginChange] = []
        for name in self.live.renewed():
            node = self.live.node(name)
            self.nodes.put(name, node)
            change = self.origins.put(name, node)
            if change is not None:
                changes.append(change)
            for listener in self.listeners:
                listener.node_renewed(name)
        self._say_changes(changes)
        late = self.nodes.pass_time(self.now_seconds())
        self.metrics.late(len(late))
        for each in late:
            self.log.say("promise expired", pod=str(each.pod.pod), node=each.node_name)
        if self.live.is_ready and not self._is_known:
            self._is_known = True
            self._say_ready()

    async def wait_for_late_news(
        self, pod: ClusterPod, names: Sequence[str], began_seconds: float
    ) -> None:
        """Wait until a node admits the pod, for its part of ``late_seconds``.

        Call this before ``filtered``. The scheduler asks again about a waiting pod at the moment at
        which its own watch shows a change, such as a deletion. If our watch is a little later, a
        refusal would be out of date at once, and in a quiet cluster nothing wakes the pod then.
        """
        waiting = len(self._refused_by_all | {pod.pod.uid})
        is_crowded = waiting > _FEW_REFUSED and pod.pod.uid != self._late_uid
        rests = is_crowded and self.now_seconds() < self._others_rest_until
        is_idle = not self.rules.late_seconds or not self.live.is_current
        if rests or is_idle or not expected_nodes.needs_decision(pod.pod):
            return
        until = began_seconds + BUDGET_SHARE * self.rules.timeout_seconds
        # The scheduler waits too, so all waiting pods together do not hold it up for longer.
        seconds = self.rules.late_seconds / min(waiting, _FEW_REFUSED)
        loop, turns = asyncio.get_running_loop(), 0
        ends_at = loop.time() + seconds
        while turns < _LATE_TURNS or loop.time() < ends_at:
            if not self._is_refused_by_all(pod, names, lambda: self.now_seconds() < until):
                return
            turns += 1
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds / _LATE_TURNS):
                    await self.live.wait_for_change()
        # In a cluster with many waiting pods, later changes wake them anyway.
        self._late_uid = pod.pod.uid
        self._others_rest_until = self.now_seconds() + self.rules.late_seconds

    def _is_refused_by_all(
        self, pod: ClusterPod, names: Sequence[str], may_go_on: Callable[[], bool]
    ) -> bool:
        self.nodes.release(pod.pod.uid)
        self.refresh()
        of = self._filter.memory.of(pod.pod)
        if self._filter.memory.decide(of, names, may_go_on):
            return False
        verdicts = [of.by_name.get(name) for name in names]
        return bool(names) and all(each is not None and not each.admitted for each in verdicts)

    def filtered(
        self, pod: ClusterPod, names: list[str], began_seconds: float | None = None
    ) -> Filtered:
        """Return which of these nodes admit the pod; this ends its earlier promise.

        The time budget runs from ``began_seconds``, by default from now.
        """
        # A pod that no kubelet can refuse passes at once, without a promise.
        if not expected_nodes.needs_decision(pod.pod):
            everywhere = Filtered(passed=names)
            self.metrics.filtered(everywhere, self.rules.filtering)
            return everywhere
        began = self.now_seconds() if began_seconds is None else began_seconds
        until = began + BUDGET_SHARE * self.rules.timeout_seconds
        # The pod is decided on without its own earlier promise.
        self.nodes.release(pod.pod.uid)
        self.refresh()
        answer = self._filter.filtered(pod, names, lambda: self.now_seconds() < until, began)
        if len(answer.passed) == 1:
            # With a single node the scheduler sends no prioritize call.
            self.promise(pod, answer.passed[0])
        # Nodes that passed only for lack of time are not predictions.
        lets_late_pass = answer.unexamined and self.rules.filtering.passes_unexamined
        if expected_nodes.needs_decision(pod.pod) and not lets_late_pass:
            self.say_yes(pod, answer.passed)
        self.metrics.filtered(answer, self.rules.filtering)
        if answer.unexamined:
            self.log.repeat(
                "not all nodes were examined in time", "",
                pod=str(pod.pod), nodes=len(names), missing=answer.unexamined,
            )  # fmt: skip
        is_refused = bool(answer.failed) and not answer.passed
        (self._refused_by_all.add if is_refused else self._refused_by_all.discard)(pod.pod.uid)
        if is_refused and self.log.refused_by_all(pod, answer):
            self.metrics.refused_by_all()
        return answer

    def scored(
        self, pod: ClusterPod, names: list[str], began_seconds: float | None = None
    ) -> Scored:
        """Return the points of these nodes; the pod is promised to the best one.

        The time budget runs from ``began_seconds``, by default from now.
        """
        began = self.now_seconds() if began_seconds is None else began_seconds
        until = began + BUDGET_SHARE * self.rules.timeout_seconds
        self.nodes.release(pod.pod.uid)
        self.refresh()
        answer = self._scorer.scored(pod, names, lambda: self.now_seconds() < until)
        if answer.best is not None:
            self.promise(pod, answer.best)
        if answer.unexamined:
            self.log.repeat(
                "not all nodes were scored in time", "",
                pod=str(pod.pod), nodes=len(names), missing=answer.unexamined,
            )  # fmt: skip
        return answer

    def preempted(
        self,
        pod: ClusterPod,
        candidates: Mapping[str, VictimSet],
        began_seconds: float | None = None,
    ) -> Preempted:
        """Return which of these victim sets help the pod; this ends its promise."""
        began = self.now_seconds() if began_seconds is None else began_seconds
        until = began + BUDGET_SHARE * self.rules.timeout_seconds
        self.nodes.release(pod.pod.uid)
        self.refresh()
        cluster = self.live.cluster() or Cluster()
        running = RunningPods(pods=cluster.pods, budgets=cluster.budgets)
        answer = preempting.preempted(
            self._filter, pod, candidates, running, lambda: self.now_seconds() < until, began
        )
        self.log.say(
            "victims were examined",
            pod=str(pod.pod), nodes=len(candidates), useless=len(answer.useless),
            enlarged=len(answer.enlarged), missing=answer.unexamined,
        )  # fmt: skip
        return answer

    def say_yes(self, pod: ClusterPod, names: Sequence[str]) -> None:
        for each in self.listeners:
            each.said_yes(pod, names)

    def promise(self, pod: ClusterPod, node_name: str) -> None:
        """Promise the pod to this node, until its object shows a node or the promise expires."""
        # A scheduler that did not wait for the answer may have bound the pod or seen its
        # deletion.
        if pod.pod.uid in self._settled:
            return
        until = self.now_seconds() + self.rules.promise_seconds
        self.nodes.promise(Promise(pod, node_name, until))
        self.metrics.promised()

    def _pod_changed(self, before: ClusterPod | None, now: ClusterPod | None) -> None:
        if now is not None and now.is_waiting:
            self.prewarming.seen(now)
        if now is None or now.pod.node_name or now.is_over:
            gone = now or before
            if gone is not None:
                self.nodes.release(gone.pod.uid)
                self.log.forget(gone.pod.uid)
                self._refused_by_all.discard(gone.pod.uid)
                self._settle(gone.pod.uid)
        was_there = before is not None and before.pod.node_name and not before.is_over
        if before is not None and was_there and (now is None or now.is_over):
            self.nodes.ended(before.pod, self.live.bound_to(before.pod.node_name))
        for listener in self.listeners:
            listener.pod_changed(before, now)

    def _something_changed(self) -> None:
        for each in self.listeners:
            each.something_changed()

    def _settle(self, uid: str) -> None:
        # The answer to a call may arrive after the event that ended the pod. Without this memory it
        # would be promised room that no event releases again.
        self._settled[uid] = None
        self._settled.move_to_end(uid)
        if len(self._settled) > MOST_SETTLED:
            self._settled.popitem(last=False)

    def _say_ready(self) -> None:
        counts = {origin: count for origin, count in self.origins.counts.items() if count}
        known = sum(self.origins.counts.values())
        self.log.say(grammar.singular(f"ready: {known} nodes are known"), **counts)

    def _say_changes(self, changes: list[OriginChange]) -> None:
        """Log nodes with a better or worse origin; the first few only."""
        for each in changes[:_MOST_SAID]:
            say = self.log.say if each.is_better else self.log.complain
            say(f"the state of a node is {each.now} now", node=each.name, before=each.before,
                why=each.why)  # fmt: skip
        if len(changes) > _MOST_SAID:
            self.log.complain("so did other nodes", count=len(changes) - _MOST_SAID)

    def _back_offs(self) -> int:
        """Return the number of back-offs in force; a changed node may have ended one earlier."""
        now = self.now_seconds()
        listed = self._filter.back_offs.by_shape.values()
        return sum(each.until_seconds > now for one in listed for each in one.values())

    def _show(self) -> None:
        self.metrics.show_cluster_nodes(lambda: self.origins.counts)
        self.metrics.show(
            {
                "up": lambda: self.live.is_current,
                "view_age_seconds": lambda: self.live.age_seconds,
                "ready": lambda: not self.standing.why_not_ready(),
                "leader": lambda: self.standing.is_active,
                "promises": lambda: len(self.nodes.promises),
                "shapes": lambda: len(self._filter.memory),
                "prewarmed_total": lambda: self.prewarming.shapes_done,
                "back_offs": self._back_offs,
            }
        )
