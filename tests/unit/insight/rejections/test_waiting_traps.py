"""Traps of pods that wait and are rejected by no kubelet: an autoscaler adds a node for them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import pytest

from numalet.core.cluster.cluster import ClusterNode, ClusterPod, Toleration
from numalet.core.cluster.objects import LabelSelector
from numalet.insight.fleet import kube_scheduler
from numalet.insight.rejections.actions import Action, LiftTaint, TaintNode
from numalet.insight.rejections.planning import BreakerState
from numalet.insight.rejections.rejected_pod import shape_digest
from numalet.insight.rejections.rules import BreakerRules, BreakerScope
from oracles import autoscaling
from values.pod_storms import START, big, facts, full, marked, plan, roomy, split

WAITING = BreakerRules(waiting_seconds=60.0)
LATE = START + 60
OTHERS = [full(f"f{at}") for at in range(9)]
"""With one node more a pool of which one may have the taint."""


def waits(uid: str = "w", since_seconds: float = START) -> ClusterPod:
    return replace(big(uid), created_at_seconds=since_seconds)


def tainted(
    nodes: Sequence[ClusterNode],
    rules: BreakerRules = WAITING,
    now_seconds: float = LATE,
    before: BreakerState | None = None,
    pods: Iterable[ClusterPod] = (waits(),),
) -> list[str]:
    _, actions = plan((), facts(nodes, pods), now_seconds, rules, before)
    return [each.node for each in actions if isinstance(each, TaintNode)]


def test_a_node_that_promises_room_to_a_pod_that_waits_for_long_is_a_trap() -> None:
    state, actions = plan((), facts([split("n0"), *OTHERS], [waits()]), LATE, WAITING)
    (action,) = actions
    assert isinstance(action, TaintNode)
    assert (action.node, action.shape, action.owner) == ("n0", shape_digest(big()), "")
    assert action.why == "pods wait for 60 s, and every node that promises room rejects them"
    assert action.until_seconds == LATE + 300
    again, _ = plan((), facts([split("n0"), *OTHERS], [waits()]), LATE + 1, WAITING, state)
    assert again.again_at_seconds == LATE + WAITING.taint_retry_seconds


def test_it_is_not_before_its_time_and_only_where_that_is_asked_for() -> None:
    nodes = [split("n0"), *OTHERS]
    state, actions = plan((), facts(nodes, [waits()]), LATE - 1, WAITING)
    assert (actions, state.again_at_seconds) == ((), LATE)
    assert tainted(nodes, rules=BreakerRules()) == []
    assert tainted(nodes, pods=[big("unknown since when")]) == []


def test_once_a_node_admits_the_pod_no_taint_is_needed() -> None:
    assert tainted([split("n0"), roomy("r0"), *OTHERS]) == []


def test_a_pod_that_tolerates_every_taint_makes_no_traps() -> None:
    bears_all = replace(waits(), tolerations=(Toleration(exists=True),))
    assert tainted([split("n0"), *OTHERS], pods=[bears_all]) == []


def test_all_traps_get_the_taint_or_none() -> None:
    traps = [split("n0"), split("n1")]
    assert tainted([*traps, *OTHERS[:8]]) == []
    more = [full(f"g{at}") for at in range(10)]
    assert tainted([*traps, *OTHERS[:8], *more]) == ["n0", "n1"]


def test_a_taint_that_was_planned_a_moment_ago_is_not_planned_again() -> None:
    nodes = [split("n0"), *OTHERS]
    state, _ = plan((), facts(nodes, [waits()]), LATE, WAITING)
    assert tainted(nodes, now_seconds=LATE + 1, before=state) == []
    assert tainted(nodes, now_seconds=LATE + WAITING.taint_retry_seconds, before=state) == ["n0"]


@pytest.mark.parametrize(
    "scope",
    [
        BreakerScope(without_namespaces=("default",)),
        BreakerScope(owners=("Deployment/*",)),
        BreakerScope(without_owners=("Job/*",)),
        BreakerScope(pod_labels=LabelSelector(labels={"app": "other"})),
    ],
)
def test_pods_out_of_the_scope_make_no_traps(scope: BreakerScope) -> None:
    assert tainted([split("n0"), *OTHERS], rules=replace(WAITING, scope=scope)) == []


@dataclass
class GrowingPool:
    """A pool whose scheduler asks the extender, with a breaker and an autoscaler."""

    nodes: dict[str, ClusterNode]
    waiting: list[ClusterPod]
    rules: BreakerRules
    now_seconds: float = START
    running: dict[str, str] = field(default_factory=dict)
    state: BreakerState = field(default_factory=BreakerState)

    def pass_minutes(self, count: int) -> None:
        """In each the scheduler, the breaker and the autoscaler have their turn."""
        for _ in range(count):
            self._schedule()
            given = facts(self.nodes.values(), self.waiting)
            self.state, actions = plan((), given, self.now_seconds, self.rules, self.state)
            for each in actions:
                self._carry_out(each)
            added = autoscaling.nodes_added(self.nodes, self.waiting, roomy("template"), most=5)
            for _ in range(added):
                name = f"new-{len(self.nodes)}"
                self.nodes[name] = roomy(name)
            self.now_seconds += 60

    def taints(self) -> list[str]:
        """The nodes that have one."""
        return [name for name, each in self.nodes.items() if each.taints]

    def _schedule(self) -> None:
        """To the first node that passes the scheduler's own filters and admits the pod."""
        for pod in tuple(self.waiting):
            for name, on in self.nodes.items():
                node, decision = on.node.admit(pod.pod)
                if kube_scheduler.why_not(on, pod) is None and decision.admitted:
                    self.nodes[name] = replace(on, node=node.pod_started(pod.pod.uid))
                    self.running[pod.pod.uid] = name
                    self.waiting.remove(pod)
                    break

    def _carry_out(self, action: Action) -> None:
        assert isinstance(action, TaintNode | LiftTaint)
        bare = replace(self.nodes[action.node], taints=())
        if isinstance(action, TaintNode):
            bare = marked(bare, action.until_seconds, action.shape)
        self.nodes[action.node] = bare


def pool(traps: int, rules: BreakerRules = WAITING) -> GrowingPool:
    """Ten nodes, of which so many are traps and the others full, and a pod that waits."""
    nodes = [*[split(f"n{at}") for at in range(traps)], *OTHERS[: 10 - traps]]
    return GrowingPool({each.name: each for each in nodes}, [waits()], rules)


def test_without_the_taint_the_pod_waits_for_ever_although_the_pool_may_grow() -> None:
    there = pool(1, BreakerRules())
    there.pass_minutes(60)
    assert (len(there.nodes), there.running, there.taints()) == (10, {}, [])


def test_with_the_taint_a_node_is_added_the_pod_runs_and_the_taint_goes() -> None:
    there = pool(1)
    there.pass_minutes(2)
    assert (there.taints(), len(there.nodes)) == (["n0"], 11)
    there.pass_minutes(1)
    assert there.running == {"w": "new-10"}
    there.pass_minutes(2)
    assert (there.taints(), len(there.nodes)) == ([], 11)


def test_where_the_cap_does_not_reach_nothing_is_tainted_and_nothing_added() -> None:
    there = pool(2)
    there.pass_minutes(60)
    assert (len(there.nodes), there.running, there.taints()) == (10, {}, [])
