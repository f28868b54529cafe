"""Autoscalers go by the sums: a pod that is held back waits for ever beside a trap node."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from numalet.core.cluster.cluster import ClusterNode, ClusterPod, Taint, TaintEffect
from numalet.insight.fleet import kube_scheduler
from numalet.insight.fleet.keeping_away import TAINT_KEY
from numalet.insight.scheduling.expected_nodes import ExpectedNodes
from numalet.insight.scheduling.filtering import NodeFilter
from oracles import autoscaling
from values import gpu_fleet

TRAP = Taint(TAINT_KEY, "", TaintEffect.NO_SCHEDULE)
PAIRS = [gpu_fleet.pod(uid, 2) for uid in "abcd"]
MANY = 100


def waiting(name: str, gpus: int) -> ClusterPod:
    return ClusterPod(pod=gpu_fleet.pod(name, gpus))


def full(name: str) -> ClusterNode:
    return gpu_fleet.running(name, PAIRS)


def trap(name: str) -> ClusterNode:
    """Two GPUs are free on each NUMA node: four by the sums."""
    return gpu_fleet.running(name, PAIRS, gone="ac")


def tainted(node: ClusterNode) -> ClusterNode:
    return replace(node, taints=(TRAP,))


@dataclass
class Pool:
    """A pool that an autoscaler may let grow, and whose scheduler asks the extender."""

    nodes: dict[str, ClusterNode]
    pods: list[ClusterPod]
    most_nodes: int
    running: list[str] = field(default_factory=list)

    @staticmethod
    def of(nodes: list[ClusterNode], pods: list[ClusterPod], most_nodes: int = 20) -> Pool:
        return Pool({each.name: each for each in nodes}, pods, most_nodes)

    def turn(self) -> None:
        """The scheduler tries every pod that waits, and then the autoscaler comes."""
        for pod in tuple(self.pods):
            name = self._sent_to(pod)
            if name is not None:
                on = self.nodes[name]
                node, decision = on.node.admit(pod.pod)
                assert decision.admitted
                self.nodes[name] = replace(on, node=node.pod_started(pod.pod.uid))
                self.pods.remove(pod)
                self.running.append(pod.pod.name)
        room = self.most_nodes - len(self.nodes)
        template = gpu_fleet.running("template", [])
        for _ in range(autoscaling.nodes_added(self.nodes, self.pods, template, room)):
            name = f"new-{len(self.nodes)}"
            self.nodes[name] = gpu_fleet.running(name, [])

    def _sent_to(self, pod: ClusterPod) -> str | None:
        """The first node that passes the scheduler's own filters, and then the extender's."""
        known = ExpectedNodes()
        for name, node in self.nodes.items():
            known.put(name, node)
        asked = [n for n, each in self.nodes.items() if kube_scheduler.why_not(each, pod) is None]
        return next(iter(NodeFilter(known).filtered(pod, asked).passed), None)


def test_beside_a_trap_a_pod_waits_for_ever_although_the_pool_may_grow() -> None:
    pool = Pool.of([full("a"), trap("b")], [waiting("four", 4)])
    for _ in range(MANY):
        pool.turn()
    assert ([*pool.nodes], pool.running) == (["a", "b"], [])
    assert autoscaling.hiding(pool.nodes, pool.pods[0]) == ("b",)


def test_without_the_trap_in_the_trial_a_node_is_added_and_the_pod_runs() -> None:
    pool = Pool.of([full("a"), tainted(trap("b"))], [waiting("four", 4)])
    assert autoscaling.hiding(pool.nodes, pool.pods[0]) == ()
    pool.turn()
    assert (len(pool.nodes), pool.running) == (3, [])
    pool.turn()
    assert (len(pool.nodes), pool.running) == (3, ["four"])


def test_one_trap_without_the_taint_is_enough_to_wait_for_ever() -> None:
    pool = Pool.of([tainted(trap("a")), trap("b")], [waiting("four", 4)])
    for _ in range(MANY):
        pool.turn()
    assert (len(pool.nodes), pool.running) == (2, [])


def test_a_pod_that_fits_by_the_sums_counts_there_for_those_after_it() -> None:
    nodes = {"b": trap("b")}
    pods = [waiting(name, 4) for name in ("one", "two", "three")]
    # By the sums the trap has room for one of them, and a new node for the two others.
    homeless = autoscaling.without_a_place(nodes, pods)
    assert [each.pod.name for each in homeless] == ["two", "three"]
    template = gpu_fleet.running("template", [])
    assert autoscaling.nodes_added(nodes, pods, template, most=9) == 1
    assert autoscaling.nodes_added({}, pods, template, most=9) == 2
    assert autoscaling.nodes_added({}, pods, template, most=1) == 1


def test_a_pod_that_no_new_node_could_hold_lets_nothing_grow() -> None:
    template = gpu_fleet.running("template", [])
    assert autoscaling.nodes_added({}, [waiting("nine", 9)], template, most=9) == 0
    pool = Pool.of([], [waiting("eight", 8)], most_nodes=3)
    for _ in range(MANY):
        pool.turn()
    # By the sums eight GPUs are there, and no kubelet with this policy gives them away.
    assert (len(pool.nodes), pool.running) == (1, [])


def test_a_pod_that_a_node_admits_needs_no_new_one() -> None:
    nodes = {"a": trap("a"), "b": gpu_fleet.running("b", [])}
    assert autoscaling.hiding(nodes, waiting("four", 4)) == ()
