"""A day of pods: what a scheduler costs that goes by sums."""

from __future__ import annotations

from dataclasses import replace

from numalet.core.cluster.cluster import Arrival, Cluster, ClusterNode, ClusterPod
from numalet.core.model.node_constraints import HostPort, NodeConstraints
from numalet.core.model.pod import Pod
from numalet.insight.fleet.kube_scheduler import ScoredNodes, Scoring, Strategy
from numalet.insight.fleet.preference import Preference
from numalet.insight.fleet.replay import ReplayRules, SentBy, replay
from values import gpu_fleet

HOUR = 3600.0


def _arrival(
    at_seconds: float, gpus: int, hours: float = 1.0, count: int = 1, pod: Pod | None = None
) -> Arrival:
    shape = pod or gpu_fleet.pod(f"of-{gpus}", gpus)
    return Arrival(
        at_seconds=at_seconds,
        duration_seconds=hours * HOUR,
        pod=ClusterPod(pod=shape),
        count=count,
    )


def _nodes(*names: str) -> Cluster:
    return gpu_fleet.cluster([gpu_fleet.running(name, []) for name in names])


def test_a_quiet_day_costs_nothing() -> None:
    answer = replay(_nodes("a", "b"), [_arrival(0, 4, count=4)])
    for run in (answer.blind, answer.seeing):
        assert (run.started, run.rejections, run.never_started) == (4, 0, 0)
        assert list(run.waiting_seconds) == [0.0] * 4
        assert run.end_seconds == HOUR
    assert (answer.resource, answer.pods) == (gpu_fleet.GPU, 4)
    assert (answer.lost_device_hours, answer.waited_device_hours) == (0.0, 0.0)


def test_a_blind_scheduler_sends_a_pod_to_the_same_trap_again_and_again() -> None:
    trap = gpu_fleet.running("a", [gpu_fleet.pod(uid, 2) for uid in "wxyz"], gone=("w", "y"))
    full = gpu_fleet.running("b", [gpu_fleet.pod("u", 4), gpu_fleet.pod("v", 4)], gone=("v",))
    more_left = gpu_fleet.running("c", [gpu_fleet.pod("t", 8, gib=8)], on=gpu_fleet.empty("none"))
    cluster = gpu_fleet.cluster([trap, full, more_left])
    answer = replay(cluster, [_arrival(0, 4), _arrival(300, 1, hours=0.5)])
    assert answer.seeing.rejections == 0
    assert answer.seeing.waiting_seconds[-1] == 0.0
    blind = answer.blind
    assert blind.rejections_by_node == {"a": blind.rejections}
    assert blind.most_rejections_of_a_pod == blind.rejections > 3
    # After 300 s the small pod goes to the trap, which then has less left than the other node.
    assert blind.waiting_seconds[-1] == 310.0
    assert round(blind.waiting_device_seconds) == 4 * 310
    assert round(answer.waited_device_hours * HOUR) == 4 * 310
    assert answer.lost_device_hours > 0


def test_packing_keeps_room_for_large_pods_that_spreading_loses() -> None:
    # Four machines; small pods that run all day, and then pods that need a whole machine.
    loose = gpu_fleet.empty("restricted")
    cluster = gpu_fleet.cluster([gpu_fleet.running(name, [], on=loose) for name in "abcd"])
    small = [_arrival(at, gpus, hours=9) for at, gpus in enumerate((1, 2, 4, 1, 2, 4))]
    whole = gpu_fleet.pod("whole", 8, cpus=60, gib=500)
    trace = [*small, _arrival(600, 8, count=2, pod=whole)]
    days = {
        by: replay(cluster, trace, ReplayRules(preference=by)).seeing
        for by in (Preference.PACK, Preference.SPREAD)
    }
    # 14 GPUs of small pods fit on two machines, or leave no machine without one.
    assert days[Preference.PACK].waiting_seconds[-2:] == [0.0, 0.0]
    assert days[Preference.SPREAD].waiting_seconds[-2] > 8 * HOUR
    assert {(each.started, each.rejections) for each in days.values()} == {(8, 0)}


def test_a_pod_that_fits_nowhere_is_given_up_at_the_end() -> None:
    answer = replay(_nodes("a"), [_arrival(0, 8), _arrival(0, 4), _arrival(0, 9)])
    for run in (answer.blind, answer.seeing):
        assert (run.started, run.never_started) == (1, 2)
    assert answer.blind.rejections > 0
    assert answer.seeing.rejections == 0


def test_a_pod_that_no_scheduler_can_place_costs_the_same_on_both_days() -> None:
    # It is rejected for the last time long after the small pod has ended.
    answer = replay(_nodes("a"), [_arrival(0, 5), _arrival(0, 1)])
    for run in (answer.blind, answer.seeing):
        assert (run.started, run.never_started, run.end_seconds) == (1, 1, HOUR)
        assert run.waiting_device_seconds == 5 * HOUR
        assert run.samples[-1].at_seconds <= HOUR
    assert answer.waited_device_hours == answer.lost_device_hours == 0


def test_attempts_can_be_limited() -> None:
    rules = ReplayRules(most_attempts=2)
    answer = replay(_nodes("a"), [_arrival(0, 8), _arrival(0, 1)], rules)
    assert answer.blind.rejections == 2
    assert (answer.blind.started, answer.blind.never_started) == (1, 1)
    # Once at the beginning, and once when the small pod has ended.
    assert answer.blind.waiting_device_seconds == 8 * HOUR


def test_pods_wait_for_room_and_higher_priorities_come_first() -> None:
    late = replace(gpu_fleet.pod("late", 4), priority=5)
    trace = [_arrival(0, 4, count=2), _arrival(10, 4), _arrival(20, 4, pod=late), _arrival(30, 4)]
    run = replay(_nodes("a"), trace).seeing
    assert list(run.waiting_seconds) == [0.0, 0.0, HOUR - 20, HOUR - 10, 2 * HOUR - 30]
    assert run.started == 5
    assert run.samples[0].at_seconds == 0.0
    assert any(each.waiting_devices for each in run.samples)


def test_the_same_day_has_the_same_answer() -> None:
    trace = [_arrival(at * 100.0, 1 + at % 4, hours=0.3) for at in range(30)]
    first, second = (replay(_nodes("a", "b"), trace) for _ in range(2))
    assert first == second
    assert first.blind.sent_by is SentBy.SUMS


def test_pods_without_devices_are_counted_by_cpu() -> None:
    pod = gpu_fleet.pod("small", 0, cpus=20, gib=1)
    answer = replay(_nodes("a"), [_arrival(0, 0, pod=pod, count=4)])
    assert answer.resource == "cpu"
    assert answer.blind.started == 4


def test_an_empty_trace_is_an_empty_day() -> None:
    answer = replay(_nodes("a"), [])
    assert (answer.pods, answer.blind.started, answer.blind.end_seconds) == (0, 0, 0.0)


def _ranked(scoring: Scoring, pod: Pod, *on: ClusterNode) -> list[str]:
    scored = ScoredNodes({each.name: each for each in on}, scoring)
    return [each.name for each in scored.ranked(ClusterPod(pod=pod))]


def test_pods_are_spread_or_packed() -> None:
    used = gpu_fleet.running("a", [gpu_fleet.pod("x", 2)])
    empty, other = gpu_fleet.running("b", []), gpu_fleet.running("c", [])
    pod = gpu_fleet.pod("new", 1)
    assert _ranked(Scoring(), pod, used, empty, other) == ["b", "c", "a"]
    packed = Scoring(Strategy.MOST_ALLOCATED, {gpu_fleet.GPU: 5, "cpu": 1, "example.com/none": 3})
    assert _ranked(packed, pod, used, empty, other) == ["a", "b", "c"]
    assert _ranked(Scoring(weights={"example.com/none": 1}), pod, used, empty) == ["a", "b"]


def test_nodes_on_which_the_pod_may_not_run_are_left_out() -> None:
    served = gpu_fleet.pod("x", 1)
    served = replace(served, constraints=NodeConstraints(ports=(HostPort(80),)))
    busy = gpu_fleet.running("a", [served])
    closed = replace(gpu_fleet.running("b", []), is_cordoned=True)
    free = gpu_fleet.running("c", [])
    assert _ranked(Scoring(), replace(served, uid="y"), busy, closed, free) == ["c"]
    assert _ranked(Scoring(), gpu_fleet.pod("z", 1), busy, closed, free) == ["c", "a"]
    scored = ScoredNodes({"c": free}, Scoring())
    assert scored["c"] is free
    assert _ranked(Scoring(), gpu_fleet.pod("z", 9), busy, free) == []
