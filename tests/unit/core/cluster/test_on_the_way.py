"""Pods of which the published state of their node says nothing yet, and what may hold anything."""

from __future__ import annotations

from dataclasses import replace

import pytest

from numalet.core.cluster import classes, holding, published
from numalet.core.cluster.cluster import ClusterNode, Origin
from numalet.core.cluster.holding import awaited, expected, on_the_way
from numalet.core.config.behaviour import EXACT, NATIVE, Behaviour
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.config.releases import table
from numalet.core.model.pod import Container, Pod, PodLevelResources, QosClass
from numalet.core.model.quantity import Quantity
from numalet.core.node.node import Node
from values import gpu_fleet


def node_of(node: Node, origin: Origin = Origin.PUBLISHED) -> ClusterNode:
    return ClusterNode(name="n", node=node, origin=origin, class_name="c")


def running(pod: Pod) -> Pod:
    return replace(pod, phase="Running", node_name="n")


def burstable(uid: str) -> Pod:
    return replace(gpu_fleet.pod(uid, cpus=1, gib=1), qos_class=QosClass.BURSTABLE)


A, B = running(gpu_fleet.pod("a", 4)), gpu_fleet.pod("b", 4)


def sent(*pods: Pod, has_decided: tuple[Pod, ...] = (A,)) -> ClusterNode:
    """A node that published its decisions on some of these pods."""
    node = gpu_fleet.empty()
    for each in has_decided:
        node, decision = node.admit(each)
        assert decision.admitted
    empty = classes.start(classes.spec_of(node, gpu_fleet.kubelet_config()))
    assert isinstance(empty, Node), empty
    return node_of(published.onto(empty, published.of_node(node), pods))


def test_pods_of_which_the_state_says_nothing_are_on_their_way() -> None:
    on = sent(A, B)
    assert on_the_way(on) == (B,)
    assert awaited(on) == (B,)
    assert {*expected(on).node.snapshot.device.records} == {"a", "b"}


def test_a_pod_that_runs_already_may_be_newer_than_the_state() -> None:
    on = sent(A, running(B))
    assert [each.uid for each in awaited(on)] == ["b"]
    assert "b" in expected(on).node.snapshot.cpu.exclusive


def test_pods_that_hold_nothing_are_not_awaited() -> None:
    here, there = burstable("c"), running(burstable("d"))
    on = sent(A, here, there)
    assert on_the_way(on) == (here,)
    assert awaited(on) == ()
    assert sorted(expected(on).node.snapshot.pods) == ["a", "c", "d"]


def test_a_node_on_which_all_is_decided_is_expected_to_be_as_it_is() -> None:
    on = sent(A, running(burstable("d")))
    assert expected(on) is on


def test_a_promised_pod_comes_after_those_on_the_way_and_counts_once() -> None:
    on = sent(A, B)
    last = gpu_fleet.pod("last", 1)
    assert expected(on, [B, last]).node.snapshot.pods.keys() == {"a", "b"}
    assert "last" in expected(sent(A), [last]).node.snapshot.device.records


def test_of_a_node_that_was_rebuilt_nothing_is_on_its_way() -> None:
    on = replace(sent(A, B), origin=Origin.REBUILT)
    assert on_the_way(on) == ()


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        (gpu_fleet.pod("p", 1), True),
        (gpu_fleet.pod("p", cpus=1, gib=1), True),
        (burstable("p"), False),
        (replace(gpu_fleet.pod("p", 1), qos_class=QosClass.BURSTABLE), True),
    ],
)
def test_what_may_hold_something(pod: Pod, expected: bool) -> None:
    assert holding.may_hold(gpu_fleet.empty(), pod) is expected


def test_without_managers_only_devices_are_held() -> None:
    node = gpu_fleet.empty(config=KubeletConfig(eviction_hard={}))
    assert not holding.may_hold(node, gpu_fleet.pod("p", cpus=1, gib=1))
    assert holding.may_hold(node, gpu_fleet.pod("p", 1))


def test_devices_whose_plugin_went_for_good_are_not_held() -> None:
    node = gpu_fleet.empty(config=KubeletConfig(eviction_hard={}))
    pod = gpu_fleet.pod("p", 1)
    gone = node.plugin_stopped(gpu_fleet.GPU)
    assert holding.may_hold(gone, pod)
    assert not holding.may_hold(gone.resource_expired(gpu_fleet.GPU), pod)


def test_no_devices_at_all_may_be_asked_for() -> None:
    node = gpu_fleet.empty(config=KubeletConfig(eviction_hard={}))
    none = Container("main", requests={gpu_fleet.GPU: Quantity.from_int(0)})
    assert not holding.may_hold(node, Pod("p", "p", app_containers=(none,)))


def placed_as_a_whole(behaviour: Behaviour, config: KubeletConfig | None = None) -> Node:
    """A node in whose pod scope a pod with resources as a whole is placed at once."""
    gates = {"PodLevelResources": True, "PodLevelResourceManagers": True}
    config = replace(config or gpu_fleet.kubelet_config(), feature_gates=gates)
    return gpu_fleet.empty(config=config, behaviour=replace(behaviour, release=table.NEWEST))


def as_a_whole(pod: Pod, qos_class: QosClass = QosClass.GUARANTEED) -> Pod:
    asked = {"cpu": Quantity.from_int(2), "memory": Quantity.from_bytes(gpu_fleet.GIB)}
    return replace(pod, qos_class=qos_class, pod_level=PodLevelResources(asked, asked, qos_class))


def managed(cpu_policy: str, memory_policy: str) -> KubeletConfig:
    config = gpu_fleet.kubelet_config()
    return replace(
        config,
        cpu_manager_policy=cpu_policy,
        memory_manager_policy=memory_policy,
        reserved_memory=config.reserved_memory if memory_policy == "Static" else (),
    )


def test_a_pod_that_is_placed_as_a_whole_holds_something() -> None:
    pod = as_a_whole(gpu_fleet.pod("p", cpus=2, gib=1))
    for behaviour in (EXACT, NATIVE):
        assert holding.may_hold(placed_as_a_whole(behaviour), pod)


@pytest.mark.parametrize(
    ("cpu_policy", "memory_policy", "qos_class", "gpus", "expected"),
    [
        ("none", "None", QosClass.GUARANTEED, 0, False),
        ("none", "None", QosClass.BURSTABLE, 1, True),
        ("static", "None", QosClass.GUARANTEED, 0, True),
        ("static", "None", QosClass.BURSTABLE, 0, False),
        ("none", "Static", QosClass.GUARANTEED, 0, True),
        ("none", "Static", QosClass.BURSTABLE, 0, False),
    ],
)
def test_what_a_pod_that_is_placed_as_a_whole_may_hold_in_native_mode(
    cpu_policy: str, memory_policy: str, qos_class: QosClass, gpus: int, *, expected: bool
) -> None:
    node = placed_as_a_whole(NATIVE, managed(cpu_policy, memory_policy))
    pod = as_a_whole(gpu_fleet.pod("p", gpus, cpus=2, gib=1), qos_class)
    assert holding.may_hold(node, pod) is expected
    admitted, _ = node.admit(pod)
    assert ("p" in published.of_node(admitted).pods) is expected


def test_an_affinity_by_which_devices_come_later_is_said_of_a_pod() -> None:
    node = placed_as_a_whole(EXACT, managed("none", "None"))
    pod = as_a_whole(gpu_fleet.pod("p", cpus=2, gib=1))
    assert holding.may_hold(node, pod)
    admitted, _ = node.admit(pod)
    assert "p" in published.of_node(admitted).pods


def test_in_container_scope_a_pod_as_a_whole_holds_what_its_containers_request() -> None:
    node = placed_as_a_whole(EXACT, gpu_fleet.kubelet_config(scope="container"))
    assert holding.may_hold(node, as_a_whole(gpu_fleet.pod("p", cpus=2, gib=1)))
    assert not holding.may_hold(node, as_a_whole(burstable("p"), QosClass.BURSTABLE))


def test_departed_pods_keep_what_the_state_has_of_them_and_the_others_are_undecided() -> None:
    left, light = gpu_fleet.pod("left", 2), burstable("light")
    on = sent(A, has_decided=(A, left))
    with_them, undecided = holding.with_departed(on, [left, B, light])
    assert undecided == [B]
    after = with_them.node.release_stale().snapshot
    assert {*after.device.records} == {*after.cpu.exclusive} == {*after.memory.blocks}
    assert {*after.device.records} == {"a", "left"}
    assert {*on.node.release_stale().snapshot.device.records} == {"a"}
