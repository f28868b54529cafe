"""One label of one node is changed when a node would have a pod that waits, and not otherwise."""

from __future__ import annotations

from dataclasses import replace

from numalet.cluster import waker
from numalet.cluster.waker import Touch, Waking, WakingLimits
from numalet.core.cluster.cluster import (
    Cluster,
    ClusterNode,
    ClusterPod,
    Origin,
    Taint,
    TaintEffect,
    UndecidedNode,
)
from numalet.core.cluster.verdicts import Verdicts
from numalet.core.model.findings import NoteFinding
from values import hollow_pods
from values.hollow_pods import pod

LIMITS = WakingLimits(
    patience_seconds=0, node_seconds=5, most_nodes=2, again_seconds=15, longest_seconds=60
)
PATIENT = replace(LIMITS, patience_seconds=2, node_seconds=0)


class TooLittleKnown(NoteFinding):
    code = "test/too-little-known"
    sentence = "nothing is known"


def waiting(name: str, **asked: str) -> ClusterPod:
    """A pod for which the scheduler has found no node."""
    made = pod(name, "", **asked).workload.pod
    return ClusterPod(pod=made, created_at_seconds=0, was_refused=True)


def node(name: str, *held: str) -> ClusterNode:
    """A node on which pods with so many GPUs each run."""
    empty = hollow_pods.node(name)
    for at, gpus in enumerate(held):
        empty, decision = empty.admit(pod(f"{name}-{at}", name, gpu=gpus).workload.pod)
        assert decision.admitted
    return ClusterNode(name=name, node=empty, origin=Origin.PUBLISHED, class_name="gpu")


def cluster(*members: ClusterNode | ClusterPod, undecided: str = "") -> Cluster:
    why = TooLittleKnown()
    return Cluster(
        nodes={each.name: each for each in members if isinstance(each, ClusterNode)},
        pods={each.pod.uid: each for each in members if isinstance(each, ClusterPod)},
        undecided={undecided: UndecidedNode(name=undecided, why=why)} if undecided else {},
    )


class Awake:
    """What is remembered from one time to the next."""

    def __init__(self, limits: WakingLimits = LIMITS) -> None:
        self.waking = Waking()
        self._limits = limits
        self._verdicts = Verdicts()

    def at(self, seconds: float, now: Cluster) -> list[str]:
        """Names of the nodes that are touched then."""
        self.waking, touches = waker.due(self.waking, now, self._verdicts, seconds, self._limits)
        self.touches = touches
        return [each.node_name for each in touches]


FULL = ("4", "4")


def test_a_node_is_touched_when_it_would_have_the_pod_and_would_not_before() -> None:
    awake, job = Awake(), waiting("job", gpu="4")
    assert awake.at(0, cluster(node("a", *FULL), node("b", *FULL), job)) == []
    assert awake.at(9, cluster(node("a", *FULL), node("b", "4", "2"), job)) == []
    assert awake.at(10, cluster(node("a", *FULL), node("b", "4"), job)) == ["b"]
    assert awake.touches == (Touch("b", "default/job"),)
    assert awake.at(11, cluster(node("a", *FULL), node("b", "4"), job)) == []


def test_no_node_is_touched_while_no_pod_waits() -> None:
    awake = Awake()
    running = replace(waiting("job", gpu="4"), pod=pod("job", "a", gpu="4").workload.pod)
    assert awake.at(0, cluster(node("a", *FULL), running)) == []
    assert awake.at(1, cluster(node("a"), running)) == []
    assert awake.at(99, cluster(node("a"))) == []
    assert awake.waking.again_at is None


def test_pods_of_one_shape_are_one_and_one_node_is_enough() -> None:
    awake, jobs = Awake(), [waiting(f"job-{at}", gpu="4") for at in range(3)]
    full = [node(name, *FULL) for name in "abc"]
    assert awake.at(0, cluster(*full, *jobs)) == []
    assert awake.at(1, cluster(*map(node, "abc"), *jobs)) == ["a"]


def test_a_pod_that_waits_on_is_tried_again_less_and_less_often() -> None:
    awake = Awake()
    free = cluster(node("a"), waiting("job", gpu="4"))
    touched = [seconds for seconds in range(300) if awake.at(seconds, free)]
    assert touched == [0, 15, 45, 105, 165, 225, 285]


def test_a_refused_pod_that_a_node_would_admit_is_tried_again_at_once() -> None:
    """The room came between the refusal and the first plan that knows the pod."""
    awake = Awake(PATIENT)
    free = cluster(node("a"), waiting("job", gpu="4"))
    assert [seconds for seconds in range(10) if awake.at(seconds, free)] == [2]


def test_a_pod_that_the_scheduler_binds_by_itself_touches_no_node() -> None:
    awake, job = Awake(PATIENT), waiting("job", gpu="4")
    assert awake.at(0, cluster(node("a", *FULL), job)) == []
    assert awake.at(1, cluster(node("a", "4"), job)) == []
    assert awake.at(2, cluster(node("a", "4", "4"))) == []
    assert awake.waking.again_at is None


def test_a_pod_that_the_scheduler_has_not_tried_yet_is_left_to_it_for_a_while() -> None:
    awake = Awake(PATIENT)
    new = cluster(node("a"), replace(waiting("job", gpu="4"), was_refused=False))
    assert [seconds for seconds in range(30) if awake.at(seconds, new)] == [15]


def test_the_pause_of_one_pod_does_not_delay_the_next_pod_of_its_shape() -> None:
    awake = Awake(PATIENT)
    first = cluster(node("a"), waiting("first", gpu="4"))
    assert [seconds for seconds in range(100) if awake.at(seconds, first)] == [2, 17, 47]
    second = cluster(node("a"), waiting("second", gpu="4"))
    assert [seconds for seconds in range(100, 110) if awake.at(seconds, second)] == [102]


def test_room_that_changes_all_the_time_does_not_put_the_touch_off() -> None:
    awake, job = Awake(PATIENT), waiting("job", gpu="4")
    states = [cluster(node("a"), job), cluster(node("a"), node("b"), job)]
    touched = [seconds for seconds in range(8) if awake.at(seconds, states[seconds % 2])]
    assert touched[0] == 2


def test_a_pod_that_no_node_would_have_is_not_tried() -> None:
    awake = Awake()
    never = cluster(node("a"), waiting("job", gpu="8"))
    assert [seconds for seconds in range(100) if awake.at(seconds, never)] == []
    assert awake.waking.again_at is None


def test_a_node_to_which_the_scheduler_sends_nothing_is_not_touched() -> None:
    awake, job = Awake(), waiting("job", gpu="4")
    taint = Taint("key", "", TaintEffect.NO_SCHEDULE)
    assert awake.at(0, cluster(node("a", *FULL), node("b", *FULL), job)) == []
    tainted, cordoned = replace(node("a"), taints=(taint,)), replace(node("b"), is_cordoned=True)
    assert awake.at(1, cluster(tainted, cordoned, job)) == []
    assert awake.at(2, cluster(replace(tainted, taints=()), cordoned, job)) == ["a"]


def test_a_node_is_not_touched_twice_in_a_moment_and_nothing_is_forgotten() -> None:
    awake, four, two = Awake(), waiting("four", gpu="4"), waiting("two", gpu="2")
    assert awake.at(0, cluster(node("a", *FULL), four, two)) == []
    assert awake.at(1, cluster(node("a", "4", "2"), four, two)) == ["a"]
    assert awake.at(2, cluster(node("a", "4"), four, two)) == []
    assert awake.waking.again_at == 6
    assert awake.at(6, cluster(node("a", "4"), four, two)) == ["a"]
    assert awake.touches == (Touch("a", "default/four"),)


def test_only_so_many_nodes_are_touched_at_one_time() -> None:
    awake = Awake()
    jobs = [waiting(f"job-{cpus}", gpu="4", cpu=str(cpus)) for cpus in range(1, 6)]
    names = "abcdef"
    assert awake.at(0, cluster(*(node(name, *FULL) for name in names), *jobs)) == []
    empty = cluster(*map(node, names), *jobs)
    assert awake.at(1, empty) == ["a", "b"]
    assert awake.at(2, empty) == ["c", "d"]
    assert awake.at(3, empty) == ["e"]
    assert awake.at(4, empty) == []


def test_what_goes_from_a_node_of_which_little_is_known_wakes_too() -> None:
    awake, job = Awake(), waiting("job", gpu="4")
    there = replace(waiting("there", gpu="4"), pod=pod("there", "dark", gpu="4").workload.pod)
    over = replace(there, pod=replace(there.pod, phase="Succeeded"))
    assert awake.at(0, cluster(job, there, undecided="dark")) == []
    assert awake.at(1, cluster(job, there, undecided="dark")) == []
    assert awake.at(2, cluster(job, over, undecided="dark")) == ["dark"]
    assert awake.at(3, cluster(job, over, undecided="dark")) == []


def test_what_could_not_be_said_at_once_is_said_later() -> None:
    awake, job = Awake(), waiting("job", gpu="4")
    one = replace(waiting("one", gpu="1"), pod=pod("one", "dark", gpu="1").workload.pod)
    two = replace(waiting("two", gpu="1"), pod=pod("two", "dark", gpu="1").workload.pod)
    assert awake.at(0, cluster(job, one, two, undecided="dark")) == []
    assert awake.at(1, cluster(job, two, undecided="dark")) == ["dark"]
    assert awake.at(2, cluster(job, undecided="dark")) == []
    assert awake.at(6, cluster(job, undecided="dark")) == ["dark"]
