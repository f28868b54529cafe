"""What a published state may not say, given the class of its node and the pods bound to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from numalet.core.cluster import published, trust
from numalet.core.cluster.cluster import ClusterPod
from numalet.core.cluster.objects import ListedState
from numalet.core.cluster.published_state import (
    ContainerHeld,
    DevicesState,
    Held,
    NodeMemoryState,
    PodHeld,
    PublishedState,
)
from numalet.core.config.behaviour import EXACT
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.config.releases import table
from numalet.core.managers.memory.ledger import MemoryBlock
from numalet.core.model.node_constraints import NodeIdentity
from numalet.core.model.pod import (
    Container,
    ContainerKind,
    Pod,
    PodLevelResources,
    QosClass,
    StatusResources,
)
from numalet.core.model.quantity import Quantity
from numalet.core.node.node import Node
from values import gpu_fleet

GIB = gpu_fleet.GIB


def member(node: Node) -> Node:
    rules = replace(node.rules, identity=NodeIdentity(name="n"))
    return replace(node, roster=replace(node.roster, rules=rules))


def running(pod: Pod, **more: Any) -> ClusterPod:
    return ClusterPod(pod=replace(pod, phase="Running", node_name="n"), **more)


PODS = {uid: running(gpu_fleet.pod(uid, gpus)) for uid, gpus in (("a", 2), ("b", 1))}


def honest(empty: Node | None = None) -> PublishedState:
    node = empty or gpu_fleet.empty()
    for each in PODS.values():
        node, decision = node.admit(each.pod)
        assert decision.admitted
    return published.of_node(node)


def codes(
    state: PublishedState,
    pods: dict[str, ClusterPod] = PODS,
    empty: Node | None = None,
    published_seconds: float | None = None,
) -> list[str]:
    checked = trust.checked(
        member(empty or gpu_fleet.empty()),
        ListedState("c", state, published_seconds),
        pods,
        [each for each in pods.values() if each.pod.node_name == "n"],
    )
    assert (checked.node is None) is bool(checked.contradictions)
    return [each.code.removeprefix("cluster/state-") for each in checked.contradictions]


def with_held(state: PublishedState, uid: str, **parts: Any) -> PublishedState:
    (only,) = state.pods[uid].containers
    changed = replace(only, held=replace(only.held, **parts))
    return replace(state, pods={**state.pods, uid: PodHeld(containers=(changed,))})


def cpus(state: PublishedState, uid: str) -> frozenset[int]:
    held = state.pods[uid].containers[0].held.cpus
    assert held
    return held


def moved(state: PublishedState) -> PublishedState:
    one = frozenset([min(cpus(state, "a"))])
    less = with_held(state, "a", cpus=cpus(state, "a") - one)
    return with_held(less, "b", cpus=cpus(state, "b") | one)


def memory(state: PublishedState, **parts: Any) -> PublishedState:
    return replace(state, memory={**state.memory, 0: replace(state.memory[0], **parts)})


BLOCK = (MemoryBlock((0,), "memory", 64 * GIB),)
LIES: dict[str, tuple[Callable[[PublishedState], PublishedState], list[str]]] = {
    "one CPU moved": (moved, ["other-amount", "other-amount"]),
    "one CPU given back": (
        lambda s: replace(
            with_held(s, "b", cpus=cpus(s, "b") - {min(cpus(s, "b"))}),
            shared_cpus=(s.shared_cpus or frozenset()) | {min(cpus(s, "b"))},
        ),
        ["other-amount"],
    ),
    "one CPU shared too": (
        lambda s: replace(s, shared_cpus=(s.shared_cpus or frozenset()) | {min(cpus(s, "b"))}),
        ["overlap"],
    ),
    "one CPU lost": (
        lambda s: replace(s, shared_cpus=(s.shared_cpus or frozenset()) - {63}),
        ["cpus-lost"],
    ),
    "a CPU that is not there": (
        lambda s: replace(s, shared_cpus=(s.shared_cpus or frozenset()) | {4000}),
        ["absent"],
    ),
    "a pod that holds nothing": (
        lambda s: replace(s, pods={"a": s.pods["a"]}),
        ["cpus-lost", "sum", "sum", "holds-nothing", "holds-nothing", "holds-nothing"],
    ),
    "memory of a NUMA node that is not there": (
        lambda s: with_held(s, "a", memory=(MemoryBlock((0, 7), "memory", GIB),)),
        ["absent"],
    ),
    "memory of a type that is not there": (
        lambda s: with_held(s, "a", memory=(MemoryBlock((0,), "hugepages-1Gi", GIB),)),
        ["absent"],
    ),
    "a NUMA node that is not there": (
        lambda s: replace(s, memory={**s.memory, 9: s.memory[0]}),
        ["absent"],
    ),
    "a group with a NUMA node that is not there": (lambda s: memory(s, group=0b101), ["absent"]),
    "less memory in use": (lambda s: memory(s, reserved={"memory": GIB}), ["sum"]),
    "fewer blocks": (lambda s: memory(s, assignments=1), ["sum"]),
    "a container with less memory": (
        lambda s: with_held(s, "a", memory=(MemoryBlock((0,), "memory", GIB),)),
        ["sum", "other-amount"],
    ),
    "a device that is not there": (
        lambda s: with_held(s, "a", devices={gpu_fleet.GPU: (0, 8)}),
        ["absent"],
    ),
    "a device in use that is not there": (
        lambda s: replace(s, in_use={gpu_fleet.GPU: (0, 1, 2, 99)}),
        ["absent"],
    ),
    "a device of two pods": (
        lambda s: with_held(s, "b", devices=s.pods["a"].containers[0].held.devices),
        ["overlap", "overlap", "other-amount"],
    ),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_noticed(lie: str) -> None:
    change, expected = LIES[lie]
    assert codes(change(honest())) == expected


def test_the_truth_is_believed() -> None:
    assert codes(honest()) == []


def test_nodes_that_have_no_managers_hold_nothing() -> None:
    empty = gpu_fleet.empty(config=KubeletConfig())
    assert codes(honest(empty), empty=empty) == []


@pytest.mark.parametrize("where", ["elsewhere", ""])
def test_a_holder_is_bound_to_the_node(where: str) -> None:
    away = replace(PODS["a"], pod=replace(PODS["a"].pod, node_name=where))
    assert codes(honest(), {**PODS, "a": away}) == ["holder-elsewhere"]


def test_a_holder_that_is_not_known_is_no_contradiction() -> None:
    assert codes(honest(), {"a": PODS["a"]}) == []


@pytest.mark.parametrize(
    "late",
    [
        replace(PODS["b"], pod=replace(PODS["b"].pod, uid="c", phase="Pending")),
        replace(PODS["b"], pod=replace(PODS["b"].pod, uid="c"), is_being_deleted=True),
    ],
)
def test_a_pod_that_does_not_run_may_hold_nothing(late: ClusterPod) -> None:
    assert codes(honest(), {**PODS, "c": late}) == []


@pytest.mark.parametrize(
    ("started_at", "published_at", "expected"),
    [
        (1000.0, 1000.9, []),  # The fraction of a start is not known.
        (1001.0, 1000.9, []),
        (999.0, 1000.0, ["holds-nothing"]),
        (None, 1000.0, ["holds-nothing"]),
        (1000.0, None, ["holds-nothing"]),
    ],
)
def test_a_pod_that_started_after_the_state_was_published_is_not_in_it(
    started_at: float | None, published_at: float | None, expected: list[str]
) -> None:
    late = running(gpu_fleet.pod("c", cpus=1, gib=0), started_at_seconds=started_at)
    assert codes(honest(), {**PODS, "c": late}, published_seconds=published_at) == expected


def test_init_containers_and_pods_of_other_classes_may_hold_nothing() -> None:
    plain = replace(gpu_fleet.pod("c", cpus=1), qos_class=QosClass.BURSTABLE)
    asked = {"cpu": Quantity.from_int(2), "memory": Quantity.from_bytes(GIB)}
    init = Container("setup", ContainerKind.INIT, asked, asked)
    started = gpu_fleet.pod("d", cpus=1, gib=1)
    whole = {**PODS, "c": running(plain), "d": running(replace(started, init_containers=(init,)))}
    node = gpu_fleet.empty()
    for each in whole.values():
        node, decision = node.admit(each.pod)
        assert decision.admitted
    state = published.of_node(node)
    pod = state.pods["d"]
    app = [each for each in pod.containers if each.held.cpus and len(each.held.cpus) == 1]
    assert app
    assert codes(state, whole) == []


def test_a_container_that_is_being_resized_may_have_another_amount() -> None:
    allocated = {"cpu": Quantity.from_int(8), "memory": Quantity.from_bytes(64 * GIB)}
    bigger = gpu_fleet.pod("a", 2, cpus=12)
    resized = replace(bigger, allocated=StatusResources({"main": allocated}, {}))
    assert codes(honest(), {**PODS, "a": running(bigger)}) == ["other-amount"]
    assert codes(honest(), {**PODS, "a": running(resized)}) == []


def test_a_request_that_is_no_whole_number_of_bytes_is_passed_over() -> None:
    huge = {"cpu": Quantity.parse("1"), "memory": Quantity.parse("1500m")}
    container = Container("main", requests=huge, limits=huge)
    odd = Pod("c", "c", app_containers=(container,), qos_class=QosClass.GUARANTEED)
    assert codes(honest(), {**PODS, "c": running(odd)}) == ["holds-nothing"]


def test_a_resource_with_unknown_devices_may_have_more_of_them_than_its_class() -> None:
    every = tuple(range(9))
    devices = DevicesState(count=9, known=every, healthy=every, unhealthy=(), is_registered=True)
    more = with_held(honest(), "a", devices={gpu_fleet.GPU: (7, 8)})
    assert codes(replace(more, devices={gpu_fleet.GPU: devices})) == []


def test_nodes_that_are_used_together_add_up_together() -> None:
    large = running(gpu_fleet.pod("big", 8, cpus=40, gib=400))
    node, decision = gpu_fleet.empty("best-effort").admit(large.pod)
    assert decision.admitted
    state = published.of_node(node)
    empty = gpu_fleet.empty("best-effort")
    assert codes(state, {"big": large}, empty) == []
    assert state.memory[0].group == 0b11
    assert codes(memory(state, reserved={"memory": GIB}), {"big": large}, empty) == ["sum"]


def test_containers_of_one_pod_may_hold_the_same() -> None:
    state = honest()
    held = Held(cpus=cpus(state, "a"))
    extra = ContainerHeld(container_hash="ffffff", held=held)
    pod = replace(state.pods["a"], containers=(*state.pods["a"].containers, extra))
    assert codes(replace(state, pods={**state.pods, "a": pod})) == []


def test_a_state_of_memory_alone_is_of_a_node() -> None:
    alone = PublishedState(
        shared_cpus=frozenset(range(64)),
        memory={0: NodeMemoryState(assignments=0, group=1, reserved={"memory": 1})},
    )
    assert codes(alone, {}) == ["sum"]


def test_of_a_pod_that_is_placed_as_a_whole_the_parts_are_its_own_matter() -> None:
    gates = {"PodLevelResourceManagers": True}
    empty = gpu_fleet.empty(
        config=replace(gpu_fleet.kubelet_config(), feature_gates=gates),
        behaviour=replace(EXACT, release=table.NEWEST),
    )
    pod = gpu_fleet.pod("w", cpus=4, gib=4)
    asked = pod.app_containers[0].requests
    level = PodLevelResources(asked, asked, QosClass.GUARANTEED)
    whole = running(replace(pod, pod_level=level))
    node, decision = empty.admit(whole.pod)
    assert decision.admitted
    assert codes(published.of_node(node), {"w": whole}, empty) == []
