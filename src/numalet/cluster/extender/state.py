"""What the extender knows: the cluster as it is followed, and what was promised since.

``refresh`` takes in what has changed; it is called before every answer, so that no answer is older
than the last event of the watch.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from numalet.cluster.extender.prewarming import Prewarming
from numalet.cluster.following import FollowedClasses
from numalet.cluster.live import LiveCluster
from numalet.core.cluster.cluster import ClusterPod
from numalet.insight.scheduling.expected_nodes import ExpectedNodes, Promise
from numalet.insight.scheduling.filtering import Filtered, FilterRules, NodeFilter
from numalet.io.kube_api.pace import PACE, Pace

PROMISE_SECONDS: Final = 30.0
BUDGET_SHARE: Final = 0.8
"""Of the scheduler's time-out, so much is used for deciding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtenderRules:
    """How is answered. ``timeout_seconds`` is the scheduler's ``httpTimeout``."""

    filtering: FilterRules = field(default_factory=FilterRules)
    timeout_seconds: float = 5.0
    promise_seconds: float = PROMISE_SECONDS


class ExtenderState:
    """Belongs to one event loop."""

    def __init__(self, rules: ExtenderRules, classes: FollowedClasses, pace: Pace = PACE) -> None:
        self.rules = rules
        self.live = LiveCluster(classes.rules, classes.pool_label, pace, on_pod=self._pod_changed)
        self.nodes = ExpectedNodes()
        self._filter = NodeFilter(self.nodes, rules.filtering)
        self._clock = pace.clock
        self.prewarming = Prewarming(self._filter.memory, self.refresh, pace.clock)

    def refresh(self) -> None:
        """Take in what has changed since the last time."""
        for name in self.live.renewed():
            self.nodes.put(name, self.live.node(name))
        self.nodes.pass_time(self._clock.now_seconds())

    def filtered(self, pod: ClusterPod, names: list[str]) -> Filtered:
        """Which of these nodes admit the pod; what was promised for it before is no more."""
        began = self._clock.now_seconds()
        until = began + BUDGET_SHARE * self.rules.timeout_seconds
        self.nodes.release(pod.pod.uid)
        self.refresh()
        answer = self._filter.filtered(pod, names, lambda: self._clock.now_seconds() < until, began)
        if len(answer.passed) == 1:
            # The scheduler does not ask which node is best, since there is but one.
            self.promise(pod, answer.passed[0])
        return answer

    def promise(self, pod: ClusterPod, node_name: str) -> None:
        """Count the pod on this node, until its object says where it is or time is over."""
        until = self._clock.now_seconds() + self.rules.promise_seconds
        self.nodes.promise(Promise(pod, node_name, until))

    def _pod_changed(self, before: ClusterPod | None, now: ClusterPod | None) -> None:
        if now is not None and now.is_waiting:
            self.prewarming.seen(now)
        if now is None or now.pod.node_name or now.is_over:
            gone = now or before
            if gone is not None:
                self.nodes.release(gone.pod.uid)
