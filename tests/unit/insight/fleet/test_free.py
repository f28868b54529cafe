"""What must go: priorities, owners and budgets respected, smallest first, cheapest of these."""

from __future__ import annotations

from dataclasses import replace

from numalet.core.cluster.cluster import (
    Cluster,
    ClusterNode,
    ClusterPod,
    Controller,
    DisruptionBudget,
)
from numalet.core.config.behaviour import EXACT
from numalet.core.managers.device.inventory import Device, Health
from numalet.core.model.node_constraints import HostPort, NodeConstraints
from numalet.core.model.pod import Container, Pod, QosClass
from numalet.core.model.quantity import Quantity
from numalet.insight.fleet import evicting
from numalet.insight.fleet import evicting as freeing
from numalet.insight.fleet.evicting import (
    CopiesAnswer,
    FreeAnswer,
    FreeQuestion,
    NodeAnswer,
    Outcome,
    Proof,
)
from numalet.insight.fleet.victims import VictimRules, WhyKept
from values import gpu_fleet

DEFAULT = freeing.DEFAULT_QUESTION
BIG = gpu_fleet.pod("big", 4)


def free(cluster: Cluster, pod: Pod, question: FreeQuestion = DEFAULT) -> FreeAnswer:
    """The answer for a pod that tolerates nothing."""
    return freeing.free(cluster, ClusterPod(pod=pod), question)


def _going(answer: NodeAnswer | None) -> list[str]:
    assert answer is not None
    return [each.pod.uid for each in answer.going]


def _fragmented(name: str = "n") -> ClusterNode:
    """2 GPUs free on each NUMA node, held by ``b`` and ``d``."""
    pods = [gpu_fleet.pod(f"{name}-{uid}", 2) for uid in "abcd"]
    return gpu_fleet.running(name, pods, gone=(f"{name}-a", f"{name}-c"))


def test_one_pod_of_two_gpus_must_go_for_one_of_four() -> None:
    answer = free(gpu_fleet.cluster([_fragmented()]), BIG)
    assert _going(answer.best) == ["n-b"]
    assert answer.is_proved
    best = answer.best
    assert best is not None
    assert best.decision is not None
    assert best.decision.admitted
    assert best.rejection is not None
    assert best.rejection.code == "admission/not-aligned"


def test_nothing_goes_where_there_is_room() -> None:
    cluster = gpu_fleet.cluster([_fragmented("a"), gpu_fleet.running("z", [])])
    answer = free(cluster, BIG)
    assert (answer.nodes[0].name, _going(answer.nodes[0])) == ("z", [])
    assert answer.nodes[1].outcome is Outcome.LARGER


def test_a_node_without_the_devices_is_none_although_its_kubelet_would_admit_the_pod() -> None:
    odd = replace(Container(name="c"), requests={"example.com/odd": Quantity.from_int(1)})
    asked = Pod(uid="odd", name="odd", app_containers=(odd,))
    answer = free(gpu_fleet.cluster([gpu_fleet.running("z", [])]), asked)
    assert (answer.nodes, answer.not_eligible) == ((), 1)


def test_every_node_has_its_own_smallest_set_if_asked() -> None:
    cluster = gpu_fleet.cluster([_fragmented("a"), gpu_fleet.running("z", [])])
    answer = free(cluster, BIG, question=FreeQuestion(every_node=True))
    assert [(each.name, _going(each)) for each in answer.nodes] == [("z", []), ("a", ["a-b"])]


def test_a_pod_that_fits_on_no_numa_node_is_refused_whatever_goes() -> None:
    answer = free(gpu_fleet.cluster([_fragmented()]), gpu_fleet.pod("whole", 8))
    assert answer.best is None
    assert answer.nodes[0].outcome is Outcome.NO_SET
    assert answer.is_proved


def test_that_no_set_makes_room_on_one_numa_node_is_proved_without_trying_any() -> None:
    none = FreeQuestion(most_sets=0)
    answer = free(gpu_fleet.cluster([_fragmented()]), gpu_fleet.pod("whole", 8), question=none)
    assert (answer.nodes[0].outcome, answer.nodes[0].proof) == (Outcome.NO_SET, Proof.SMALLEST)
    assert answer.sets_tried == 0
    pods = [gpu_fleet.pod(uid, 2, priority=10 * (uid in "ac")) for uid in "abcd"]
    kept = gpu_fleet.cluster([gpu_fleet.running("n", pods)])
    answer = free(kept, gpu_fleet.pod("new", 4, priority=5), question=none)
    assert (answer.nodes[0].outcome, answer.is_proved) == (Outcome.NO_SET, True)


def test_nodes_whose_pods_hold_the_same_are_searched_once() -> None:
    on = gpu_fleet.empty("restricted")

    def asked(count: int) -> FreeAnswer:
        """Of each node two pods of one NUMA node have to go; no single one will do."""
        every = []
        for name in (f"n{at}" for at in range(count)):
            pods = [gpu_fleet.pod(f"{name}-{at}", 1) for at in range(8)]
            gone = [f"{name}-{at}" for at in (0, 1, 4, 5)]
            every.append(gpu_fleet.running(name, pods, gone=gone, on=on))
        return free(gpu_fleet.cluster(every), BIG)

    one, many = asked(1), asked(9)
    assert many.is_proved
    assert [len(_going(each)) for each in many.nodes] == [2] * 9
    assert many.sets_tried == 9 * one.sets_tried - 8 * len("2367")


def test_a_pod_that_runs_already_is_asked_about_as_it_is() -> None:
    cluster = gpu_fleet.cluster([_fragmented()])
    again = gpu_fleet.pod("n-b", 2)
    assert _going(free(cluster, again).best) == []


def test_higher_priorities_stay_and_lower_ones_go_first() -> None:
    pods = [gpu_fleet.pod("high", 4, priority=10), gpu_fleet.pod("low", 4, priority=-1)]
    cluster = gpu_fleet.cluster([gpu_fleet.running("n", pods)])
    answer = free(cluster, gpu_fleet.pod("new", 4, priority=5))
    assert _going(answer.best) == ["low"]
    assert answer.nodes[0].kept == {"high": WhyKept.HIGHER_PRIORITY}
    assert _going(free(cluster, gpu_fleet.pod("new", 4, priority=10)).best) == ["low"]
    assert free(cluster, gpu_fleet.pod("new", 4, priority=-2)).best is None


def test_equal_priorities_stay_if_the_rules_say_so() -> None:
    question = FreeQuestion(rules=VictimRules(equal_priority=False))
    answer = free(gpu_fleet.cluster([_fragmented()]), BIG, question=question)
    assert answer.best is None
    assert set(answer.nodes[0].kept.values()) == {WhyKept.EQUAL_PRIORITY}


def test_pods_that_would_come_back_at_once_stay() -> None:
    pods = [gpu_fleet.pod(uid, 2) for uid in ("daemon", "mirror", "static", "free")]
    pods[2] = replace(pods[2], is_static=True)
    owners = {"daemon": Controller("DaemonSet", "d"), "mirror": Controller("Node", "n")}
    cluster = gpu_fleet.cluster([gpu_fleet.running("n", pods)], owners=owners)
    answer = free(cluster, gpu_fleet.pod("new", 2))
    assert _going(answer.best) == ["free"]
    assert answer.nodes[0].kept == {
        "daemon": WhyKept.DAEMON_SET,
        "mirror": WhyKept.STATIC_POD,
        "static": WhyKept.STATIC_POD,
    }


def test_pods_that_nothing_creates_again_go_last_or_stay() -> None:
    pods = [gpu_fleet.pod("bare", 4), gpu_fleet.pod("owned", 4)]
    cluster = gpu_fleet.cluster([gpu_fleet.running("n", pods)], owners={"bare": None})
    assert _going(free(cluster, BIG).best) == ["owned"]
    question = FreeQuestion(rules=VictimRules(without_controller=False))
    answer = free(cluster, BIG, question=question)
    assert answer.nodes[0].kept == {"bare": WhyKept.NO_CONTROLLER}


def _budget(allowed: int, *uids: str) -> DisruptionBudget:
    return DisruptionBudget(
        namespace="default", name="-".join(uids), allowed=allowed, pod_uids=frozenset(uids)
    )


def test_disruption_budgets_are_kept() -> None:
    pods = [gpu_fleet.pod(uid, 2) for uid in "abcd"]
    cluster = gpu_fleet.cluster([gpu_fleet.running("n", pods)])
    one = replace(cluster, budgets=(_budget(1, "a", "b"),))
    assert _going(free(one, BIG).best) == ["c", "d"]
    none = replace(cluster, budgets=(_budget(0, "a", "c"), _budget(2, "d"), _budget(2, "d")))
    answer = free(none, BIG)
    assert answer.best is None
    assert answer.nodes[0].kept == {
        "a": WhyKept.BUDGET,
        "c": WhyKept.BUDGET,
        "d": WhyKept.SEVERAL_BUDGETS,
    }


def test_pods_that_are_being_deleted_count_as_gone() -> None:
    cluster = gpu_fleet.cluster([_fragmented()])
    pods = dict(cluster.pods)
    pods["n-d"] = replace(pods["n-d"], is_being_deleted=True)
    answer = free(replace(cluster, pods=pods), BIG)
    assert (_going(answer.best), answer.nodes[0].leaving) == ([], ("n-d",))


def test_a_pod_that_the_cluster_does_not_know_stays() -> None:
    cluster = gpu_fleet.cluster(
        [gpu_fleet.running("n", [gpu_fleet.pod("x", 8, gib=8)], on=gpu_fleet.empty("none"))]
    )
    answer = free(replace(cluster, pods={}), BIG)
    assert answer.best is None
    assert answer.nodes[0].kept == {"x": WhyKept.UNKNOWN}


def _small(uid: str, cpus: str = "", ports: tuple[HostPort, ...] = ()) -> Pod:
    """A pod that holds nothing: half a CPU, or a port of the host."""
    asked = {"cpu": Quantity.parse(cpus)} if cpus else {}
    return Pod(
        uid=uid,
        name=uid,
        app_containers=(Container("c", requests=asked),),
        qos_class=QosClass.BURSTABLE,
        constraints=NodeConstraints(ports=ports),
    )


def test_pods_that_hold_nothing_go_for_sums_and_ports_alone() -> None:
    smalls = [_small("s1", "20"), _small("s2", "30"), _small("s3", "12"), _small("none")]
    cluster = gpu_fleet.cluster([gpu_fleet.running("n", smalls)])
    assert _going(free(cluster, gpu_fleet.pod("new", 0, cpus=10, gib=1)).best) == ["s3"]
    assert _going(free(cluster, gpu_fleet.pod("new", 0, cpus=20, gib=1)).best) == ["s1"]
    assert _going(free(cluster, gpu_fleet.pod("new", 0, cpus=30, gib=1)).best) == ["s2"]
    served = gpu_fleet.running("n", [_small("web", ports=(HostPort(80),)), _small("other")])
    wants = replace(gpu_fleet.pod("new", 1), constraints=NodeConstraints(ports=(HostPort(80),)))
    assert _going(free(gpu_fleet.cluster([served]), wants).best) == ["web"]
    unknown = replace(wants, constraints=None)
    assert _going(free(gpu_fleet.cluster([served]), unknown).best) == []


def test_a_pod_without_known_ports_is_in_the_way_of_none() -> None:
    odd = replace(_small("odd"), constraints=None)
    wants = replace(gpu_fleet.pod("new", 1), constraints=NodeConstraints(ports=(HostPort(80),)))
    answer = free(gpu_fleet.cluster([gpu_fleet.running("n", [odd])]), wants)
    assert _going(answer.best) == []


def test_room_for_one_more_pod_is_made_too() -> None:
    config = replace(gpu_fleet.kubelet_config(), max_pods=2)
    on = gpu_fleet.empty(config=config)
    cluster = gpu_fleet.cluster([gpu_fleet.running("n", [_small("a"), _small("b")], on=on)])
    assert _going(free(cluster, gpu_fleet.pod("new", 1)).best) == ["a"]


def test_devices_that_are_ill_and_in_use_are_no_bound() -> None:
    on = _fragmented()
    ill = [
        Device(f"gpu{at}", (at // 4,), Health.UNHEALTHY if at in (2, 3) else Health.HEALTHY)
        for at in range(8)
    ]
    sick = replace(on, node=on.node.devices_reported({gpu_fleet.GPU: ill}))
    answer = free(gpu_fleet.cluster([sick]), BIG)
    assert on.node.snapshot.device.held_by_pod("n-b", gpu_fleet.GPU) == {"gpu2", "gpu3"}
    assert _going(answer.best) == ["n-d"]


def test_without_predicates_the_managers_alone_are_asked() -> None:
    on = gpu_fleet.empty(behaviour=replace(EXACT, predicates_are_asked=False))
    pods = [gpu_fleet.pod("p", 4), _small("s1", "40")]
    cluster = gpu_fleet.cluster([gpu_fleet.running("n", pods, on=on)])
    assert _going(free(cluster, gpu_fleet.pod("new", 0, cpus=30, gib=1)).best) == []


def test_a_bounded_search_says_that_nothing_is_proved() -> None:
    pods = [gpu_fleet.pod(f"p{at}", 1) for at in range(8)]
    cluster = gpu_fleet.cluster([gpu_fleet.running("n", pods)])
    answer = free(cluster, BIG, question=FreeQuestion(most_sets=1))
    assert answer.nodes[0].proof is Proof.NOT_PROVED
    assert not answer.is_proved
    assert len(_going(answer.best)) == 4
    none_tried = free(cluster, BIG, question=FreeQuestion(most_sets=0))
    assert none_tried.nodes[0].proof is Proof.NOT_PROVED
    guarded = replace(cluster, budgets=(_budget(3, *(each.uid for each in pods)),))
    kept = free(guarded, BIG, question=FreeQuestion(most_sets=0))
    assert kept.nodes[0].outcome is Outcome.UNDECIDED


def test_closed_nodes_are_left_out_and_counted() -> None:
    closed = replace(_fragmented(), is_cordoned=True)
    answer = free(gpu_fleet.cluster([closed]), BIG)
    assert (answer.nodes, answer.not_eligible, answer.best) == ((), 1, None)


def test_a_critical_pod_names_what_the_kubelet_would_evict() -> None:
    smalls = [_small("s1", "40"), _small("s2", "20")]
    cluster = gpu_fleet.cluster([gpu_fleet.running("n", smalls)])
    critical = gpu_fleet.pod("new", 0, cpus=20, gib=1, priority=2_000_000_000)
    assert _going(free(cluster, critical).best) == ["s2"]


def test_an_empty_cluster_has_no_answer() -> None:
    answer = free(Cluster(), BIG)
    assert (answer.best, answer.sets_tried) == (None, 0)
    assert isinstance(next(iter(gpu_fleet.cluster([], [BIG]).pods.values())), ClusterPod)


def test_storage_is_no_device() -> None:
    pods = []
    for uid, gpus in (("a", 4), ("b", 4)):
        pod = gpu_fleet.pod(uid, gpus)
        (only,) = pod.app_containers
        more = {**only.requests, "ephemeral-storage": Quantity.parse("1Gi")}
        changed = replace(only, requests=more, limits=more) if uid == "a" else only
        pods.append(replace(pod, app_containers=(changed,)))
    answer = free(gpu_fleet.cluster([gpu_fleet.running("n", pods)]), BIG)
    assert _going(answer.best) == ["a"]


def test_a_node_that_rejects_the_pod_without_any_other_is_never_freed() -> None:
    answer = free(gpu_fleet.cluster([_fragmented()]), gpu_fleet.pod("big", 8))
    (node,) = answer.nodes
    assert node.outcome is Outcome.NO_SET
    assert answer.never == node.never
    assert "8 of nvidia.com/gpu never fit" in answer.never


def test_a_node_on_which_something_stays_may_fit_one_day() -> None:
    question = FreeQuestion(rules=VictimRules(equal_priority=False))
    answer = free(gpu_fleet.cluster([_fragmented()]), BIG, question)
    assert [(each.outcome, each.never) for each in answer.nodes] == [(Outcome.NO_SET, "")]
    assert answer.never == ""


def copies(cluster: Cluster, count: int) -> CopiesAnswer:
    """The answer for so many copies of a pod of 4 GPUs."""
    return evicting.free_copies(cluster, ClusterPod(pod=BIG), count, DEFAULT)


def test_copies_that_fit_are_not_asked_about_again() -> None:
    cluster = gpu_fleet.cluster([gpu_fleet.running("z", [])])
    answer = copies(cluster, 2)
    assert (answer.fit, answer.is_enough) == (2, True)
    assert [(each.number, _going(each.answer.best)) for each in answer.copies] == [(1, [])]


def test_each_further_copy_finds_what_the_one_before_it_left() -> None:
    nodes = [_fragmented("a"), gpu_fleet.running("z", [gpu_fleet.pod("whole", 4)])]
    budget = DisruptionBudget(
        namespace="default", name="b", allowed=1, pod_uids=frozenset({"a-b", "a-d"})
    )
    cluster = replace(gpu_fleet.cluster(nodes), budgets=(budget,))
    answer = copies(cluster, 4)
    assert answer.fit == 1
    assert [each.number for each in answer.copies] == [2, 3, 4]
    first, second, third = (each.answer.best for each in answer.copies)
    assert (len(_going(first)), len(_going(second)), third) == (1, 1, None)
    assert {*_going(first), *_going(second)} < {"a-b", "a-d", "whole"}
    assert not answer.is_enough
    assert copies(cluster, 3).is_enough
