"""Nodes whose sums promise room that no pod can have, what that costs, what to do about them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from numalet.core.cluster.cluster import ClusterPod, Controller
from numalet.core.managers.device.inventory import Device
from numalet.core.model import pod_demand
from numalet.core.model.pod import Container, QosClass
from numalet.core.model.quantity import Quantity
from numalet.core.node import node as nodes
from numalet.core.node.node import Node
from numalet.insight.fleet import keeping_away, traps
from numalet.insight.fleet.keeping_away import KeepAway
from values import gpu_fleet
from values.gpu_fleet import GIB, GPU, asking, split_fleet


@pytest.mark.parametrize(
    ("gpus", "trapped"),
    [
        ((1,), set()),
        ((2,), set()),
        ((4,), {"split"}),
        ((8,), {"empty"}),
        ((4, 8), {"split"}),
        ((2, 4, 8), set()),
    ],
)
def test_a_trap_is_what_is_promised_to_some_and_given_to_none(
    gpus: tuple[int, ...], trapped: set[str]
) -> None:
    cluster = split_fleet()
    answer = traps.traps(cluster, [asking(each) for each in gpus])
    assert {each.node for each in answer.traps} == trapped
    for name, node in cluster.nodes.items():
        fits = any(node.node.fits(gpu_fleet.pod("p", each)) for each in gpus)
        held = node.node.snapshot.requested.amounts.get(GPU, 0)
        promised = any(each <= 8 - held for each in gpus)
        assert (name in trapped) == (promised and not fits)


def test_what_is_stranded_is_everything_that_none_of_the_shapes_can_have() -> None:
    answer = traps.traps(split_fleet(), [asking(4)])
    (trap,) = answer.traps
    assert trap.stranded == {
        "cpu": (64 - 2 - 16) * 1000,
        "memory": (512 - 1 - 128) * GIB,
        GPU: 4,
    }
    assert trap.text == f"4 of {GPU} free, 2 on each NUMA node"
    assert answer.stranded == trap.stranded
    (pool,) = answer.pools
    assert (pool.pool, pool.nodes, pool.traps) == ("gpus", 4, 1)
    assert (pool.stranded[GPU], pool.free[GPU]) == (4, 4 + 4 + 7 + 8)


def test_what_other_pods_can_have_is_not_stranded() -> None:
    answer = traps.traps(split_fleet(), [asking(4), asking(0, 2, 1)], names=("big", "small"))
    (trap,) = answer.traps
    assert trap.stranded == {GPU: 4}
    assert (trap.refused, trap.fitting) == (("big",), ("small",))


def test_the_shapes_are_those_that_run_or_wait() -> None:
    pairs = [gpu_fleet.pod(uid, 2) for uid in "abcd"]
    daemon = gpu_fleet.pod("daemon", 0, 1, 1)
    over = ClusterPod(pod=replace(gpu_fleet.pod("over", 1), phase="Failed", node_name="split"))
    cluster = gpu_fleet.cluster(
        [gpu_fleet.running("split", [*pairs, daemon], gone="ac")],
        waiting=[gpu_fleet.pod("w", 4), gpu_fleet.pod("v", 4)],
        owners={"daemon": Controller("DaemonSet", "d")},
    )
    cluster = replace(cluster, pods={**cluster.pods, "over": over})
    shapes = traps.shapes_of(cluster)
    asked = [(pod_demand.amounts(each.pod.pod)[GPU], each.running, each.waiting) for each in shapes]
    assert asked == [(2, 2, 0), (4, 0, 2)]
    assert traps.traps(cluster).traps == ()
    waiting = {uid: each for uid, each in cluster.pods.items() if each.is_waiting}
    (trap,) = traps.traps(replace(cluster, pods=waiting)).traps
    assert trap.node == "split"


def _rejected(uid: str, gpus: int, on: str, reason: str = "TopologyAffinityError") -> ClusterPod:
    pod = replace(gpu_fleet.pod(uid, gpus), phase="Failed", node_name=on)
    return ClusterPod(pod=pod, reason=reason)


def test_every_shape_says_who_takes_and_who_refuses_it_though_some_pod_fits_everywhere() -> None:
    fleet = split_fleet()
    pods = {
        **fleet.pods,
        "w": ClusterPod(pod=gpu_fleet.pod("w", 4)),
        "r": _rejected("r", 4, "split"),
        "s": _rejected("s", 4, "seven"),
        "t": _rejected("t", 4, "split", "UnexpectedAdmissionError"),
        # A pod that ended by itself is no longer wanted.
        "over": _rejected("over", 8, "split", "Error"),
    }
    answer = traps.traps(replace(fleet, pods=pods))
    # Pods of two GPUs run, and more of them fit, but four nodes differ about four.
    assert answer.traps == ()
    first, *others = traps.urgent_first(answer.shapes)
    assert first.amounts[GPU] == 4
    assert (first.running, first.waiting, first.rejected) == (0, 1, 3)
    assert first.rejected_on == ("seven", "split")
    assert first.rejected_because == ("TopologyAffinityError", "UnexpectedAdmissionError")
    assert first.fitting_nodes == 3
    (refusal,) = first.refused_by
    assert (refusal.nodes, refusal.first) == (1, "split")
    assert refusal.text == f"4 of {GPU} free, 2 on each NUMA node"
    assert first.refusing_nodes == 1
    assert first.standing == (
        "1 waits, 3 were rejected on seven, split (TopologyAffinityError, UnexpectedAdmissionError)"
    )
    assert [each.refused_by for each in others] == [()] * len(others)
    assert {each.standing for each in others} == {""}
    assert all(each.amounts[GPU] < 8 for each in answer.shapes)


def test_the_standing_of_a_shape_names_three_nodes_at_most() -> None:
    rejected = [_rejected(name, 8, name) for name in "abcd"]
    cluster = replace(split_fleet(), pods={each.pod.uid: each for each in rejected})
    (shape,) = traps.traps(cluster).shapes
    assert shape.standing == "4 were rejected on a, b, c and 1 more (TopologyAffinityError)"
    (one,) = traps.traps(replace(cluster, pods={"a": rejected[0]})).shapes
    assert one.standing == "1 was rejected on a (TopologyAffinityError)"


def test_the_cause_of_a_trap_is_said_once_for_all_its_shapes() -> None:
    # The pods hold every CPU of NUMA node 1, and GPUs are free there alone.
    full = [gpu_fleet.pod("gpus", 4, cpus=2), gpu_fleet.pod("cpus", 0, cpus=32, gib=8)]
    cluster = gpu_fleet.cluster([gpu_fleet.running("one", full)])
    asked = [asking(1, cpus, gib) for cpus in (2, 4, 8) for gib in (8, 16, 64)]
    (trap,) = traps.traps(cluster, [*asked, asking(8)]).traps
    assert trap.text == f"4 of {GPU} free on NUMA node 1; no CPU is free there"
    assert len(trap.refused) == len(asked)


def test_what_is_free_beside_the_devices_is_said_and_nothing_about_memory_without_its_manager() -> (
    None
):
    config = replace(gpu_fleet.kubelet_config(), memory_manager_policy="None", reserved_memory=())
    for node, beside in (
        (gpu_fleet.empty(), "at most 2 CPUs and 248Gi of memory free on one of them"),
        (gpu_fleet.empty(config=config), "at most 2 CPUs free on one of them"),
    ):
        full = [gpu_fleet.pod("gpus", 4, cpus=2), gpu_fleet.pod("cpus", 0, cpus=30, gib=8)]
        cluster = gpu_fleet.cluster([gpu_fleet.running("one", full, on=node)])
        (trap,) = traps.traps(cluster, [asking(1, 4, 8), asking(1, 8, 8)]).traps
        assert trap.text == f"4 of {GPU} free on NUMA node 1; {beside}"


def test_without_a_device_or_a_manager_beside_it_the_first_shape_says_what_is_apart() -> None:
    # CPUs are free on NUMA node 1, memory on NUMA node 0.
    apart = [gpu_fleet.pod("a", 0, cpus=28, gib=8), gpu_fleet.pod("b", 0, cpus=4, gib=250)]
    cluster = gpu_fleet.cluster([gpu_fleet.running("one", apart)])
    (trap,) = traps.traps(cluster, [asking(0, 8, 64), asking(0, 10, 80)]).traps
    assert trap.text == "no NUMA node with 8 CPUs and 64Gi of memory together"
    config = replace(
        gpu_fleet.kubelet_config(), cpu_manager_policy="none", memory_manager_policy="None",
        reserved_memory=(),
    )  # fmt: skip
    devices = {GPU: [Device(f"g{at}", (0,)) for at in range(4)], "nic": [Device("n", (1,))]}
    node = nodes.start(config, gpu_fleet.machine(), devices=devices)
    assert isinstance(node, Node)
    both = []
    for gpus in (1, 2):
        pod = gpu_fleet.pod(str(gpus), gpus, 0, 0)
        limits = {**pod.app_containers[0].limits, "nic": Quantity.from_int(1)}
        only = replace(pod.app_containers[0], limits=limits, requests=limits)
        both.append(ClusterPod(pod=replace(pod, app_containers=(only,))))
    cluster = gpu_fleet.cluster([gpu_fleet.running("one", [], on=node)])
    (trap,) = traps.traps(cluster, both).traps
    assert trap.text == f"no NUMA node with 1 of nic and 1 of {GPU} together"


def test_of_shapes_that_ask_for_too_much_of_one_resource_the_smallest_is_named() -> None:
    apart = [gpu_fleet.pod(uid, 0, cpus=20, gib=8) for uid in "ab"]
    cluster = gpu_fleet.cluster([gpu_fleet.running("one", apart)])
    asked = [asking(0, cpus, 4) for cpus in (16, 14, 20, 40)]
    (trap,) = traps.traps(cluster, asked).traps
    assert trap.text == "no NUMA node with 14 CPUs free"
    # Of shapes that are larger than any NUMA node, that is the cause.
    (trap,) = traps.traps(split_fleet(), [asking(8, 32, 32)]).traps[:1]
    assert trap.text == (
        f"8 of {GPU} never fit: no NUMA node has more than 4, and the policy is single-numa-node"
    )


def test_a_pod_that_is_not_aligned_is_never_trapped() -> None:
    half = {"cpu": Quantity.parse("500m")}
    web = replace(
        gpu_fleet.pod("web"),
        app_containers=(Container("c", requests=half),),
        qos_class=QosClass.BURSTABLE,
    )
    assert traps.traps(split_fleet(), [ClusterPod(pod=web)]).traps == ()


def test_the_plan_is_capped_and_leaves_nodes_that_are_used() -> None:
    pairs = [gpu_fleet.pod(uid, 2) for uid in "abcd"]
    cluster = gpu_fleet.cluster(
        [gpu_fleet.running(name, pairs, gone="ac") for name in ("a", "b", "c")]
    )
    every = traps.traps(cluster, [asking(4)]).traps
    plan = keeping_away.plan(every, KeepAway.CORDON, most=2)
    assert (plan.nodes, plan.over_the_cap, plan.still_used) == (["a", "b"], ["c"], [])
    used = traps.traps(cluster, [asking(4), asking(0, 1, 1)]).traps
    plan = keeping_away.plan(used, KeepAway.TAINT, most=2)
    assert (plan.nodes, plan.still_used) == ([], ["a", "b", "c"])


def merged(node: dict[str, object], patch: dict[str, object]) -> dict[str, object]:
    """RFC 7386, as an API server applies it."""
    result = dict(node)
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        elif isinstance(value, dict):
            before = result.get(name)
            result[name] = merged(before if isinstance(before, dict) else {}, value)
        else:
            result[name] = value
    return result


TAINTS = [{"key": "gpu", "effect": "NoSchedule"}]


@pytest.mark.parametrize("how", list(KeepAway))
@pytest.mark.parametrize("spec", [{}, {"podCIDR": "10.0.0.0/24", "taints": TAINTS}])
def test_what_was_done_is_undone_and_nothing_else(how: KeepAway, spec: dict[str, object]) -> None:
    annotations: dict[str, object] = {"kept": "yes"}
    node: dict[str, object] = {
        "metadata": {"name": "a", "resourceVersion": "7", "annotations": annotations},
        "spec": spec,
    }
    patch = keeping_away.patch(node, how)
    assert patch is not None
    assert patch["metadata"]["resourceVersion"] == "7"
    after = merged(node, patch)
    assert after != node
    assert keeping_away.patch(after, how) is None
    back = keeping_away.undoing(after)
    assert back is not None
    assert merged(after, back) == node
    assert keeping_away.undoing(node) is None


def test_a_node_without_anything_is_cordoned_too() -> None:
    patch = keeping_away.patch({}, KeepAway.CORDON)
    assert patch == {
        "metadata": {"annotations": {keeping_away.ANNOTATION: "cordon"}},
        "spec": {"unschedulable": True},
    }
    assert keeping_away.undoing({}) is None


def test_what_an_administrator_has_cordoned_stays_so() -> None:
    cordoned = {"metadata": {}, "spec": {"unschedulable": True}}
    assert keeping_away.patch(cordoned, KeepAway.TAINT) is None
    assert keeping_away.undoing(cordoned) is None


def test_what_a_closed_node_has_is_not_promised() -> None:
    cluster = split_fleet()
    closed = [
        replace(cluster.nodes[name], is_ready=False) for name in cluster.nodes if name != "split"
    ]
    (pool,) = traps.traps(cluster.with_nodes(closed), [asking(4)]).pools
    assert (pool.nodes, pool.closed, pool.free[GPU]) == (4, 3, 4)
