"""What a node publishes, and what is made of it."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from numalet.core.cluster import classes, published
from numalet.core.cluster.published_state import (
    ContainerHeld,
    DevicesState,
    Held,
    NodeMemoryState,
    PodHeld,
    PublishedState,
    container_hash,
)
from numalet.core.config.kubelet_config import KubeletConfig, ReservedMemory
from numalet.core.managers.memory.ledger import MemoryBlock
from numalet.core.model.kubelet_view import kubelet_view
from numalet.core.model.machine_info import MachineInfo
from numalet.core.model.machine_shape import machine_of_shape, parse_shape
from numalet.core.model.pod import Container, ContainerKey, ContainerKind, Pod, QosClass
from numalet.core.model.quantity import Quantity
from numalet.core.node import node as nodes
from numalet.core.node.node import Node
from values import published_lives
from values.builders import GI
from values.device_bench import GPU, devices
from values.published_lives import NIC

CONFIG = KubeletConfig(
    cpu_manager_policy="static",
    memory_manager_policy="Static",
    topology_manager_policy="best-effort",
    reserved_system_cpus="0",
    kube_reserved={"memory": "1Gi"},
    reserved_memory=(ReservedMemory(0, {"memory": Quantity.parse("1Gi")}),),
)
GPUS = {GPU: devices("g0@0 g1@0 g2@1 g3@1")}


def machine() -> MachineInfo:
    shape = parse_shape("2n4c1t")
    return kubelet_view(machine_of_shape(shape, 10 * GI, {}, "2n4c1t"))


def started(config: KubeletConfig = CONFIG) -> Node:
    node = nodes.start(config, machine(), devices=GPUS)
    assert isinstance(node, Node), node
    return node


def pod(uid: str, *containers: Container) -> Pod:
    early = tuple(each for each in containers if each.kind is not ContainerKind.APP)
    apps = tuple(each for each in containers if each.kind is ContainerKind.APP)
    return Pod(uid, uid, init_containers=early, app_containers=apps, qos_class=QosClass.GUARANTEED)


def container(name: str, kind: ContainerKind = ContainerKind.APP, **amounts: str) -> Container:
    texts = {"cpu": "1", "memory": "1Gi", **amounts}
    asked = {
        GPU if resource == "gpu" else resource: Quantity.parse(text)
        for resource, text in texts.items()
    }
    return Container(name, kind, asked, asked)


def admitted(node: Node, *pods: Pod) -> Node:
    for each in pods:
        node, decision = node.admit(each)
        assert decision.admitted, decision.rejection
    return node


def again(node: Node, config: KubeletConfig = CONFIG) -> Node:
    empty = classes.start(classes.spec_of(node, config))
    assert isinstance(empty, Node)
    return published.onto(empty, published.of_node(node), node.snapshot.pods.values())


def test_an_empty_node_publishes_its_shared_cpus_alone() -> None:
    assert published.of_node(started()) == PublishedState(shared_cpus=frozenset(range(8)))


def test_a_node_without_policies_publishes_nothing_but_devices() -> None:
    node = admitted(started(KubeletConfig()), pod("one", container("c", gpu="1")))
    held = ContainerHeld(
        container_hash=container_hash(ContainerKey("one", "c")), held=Held(devices={GPU: (0,)})
    )

    assert published.of_node(node) == PublishedState(pods={"one": PodHeld(containers=(held,))})
    assert again(node, KubeletConfig()).snapshot.device.in_use == {GPU: frozenset({"00000"})}


def test_a_pod_is_its_uid_and_a_container_a_hash() -> None:
    node = admitted(started(), pod("one", container("secret", cpu="2", memory="12Gi", gpu="3")))
    state = published.of_node(node)
    block = MemoryBlock((0, 1), "memory", 12 * GI)
    held = Held(cpus=frozenset({1, 2}), memory=(block,), devices={GPU: (0, 1, 2)})

    assert state.pods == {
        "one": PodHeld(
            containers=(
                ContainerHeld(
                    container_hash=container_hash(ContainerKey("one", "secret")), held=held
                ),
            )
        )
    }
    assert state.memory == {
        0: NodeMemoryState(assignments=1, group=0b11, reserved={"memory": 9 * GI}),
        1: NodeMemoryState(assignments=1, group=0b11, reserved={"memory": 3 * GI}),
    }
    assert "secret" not in repr(state)


def test_containers_of_one_hash_keep_what_each_of_them_holds() -> None:
    held = tuple(
        ContainerHeld(container_hash="000000", held=Held(cpus=frozenset({cpu}))) for cpu in (1, 2)
    )
    state = PublishedState(shared_cpus=frozenset({0}), pods={"one": PodHeld(containers=held)})
    node = published.onto(started(), state, ())

    assert sorted(node.snapshot.cpu.exclusive["one"].values(), key=sorted) == [{1}, {2}]


def test_what_init_containers_leave_is_published_until_another_pod_comes() -> None:
    sizes = {"cpu": "2", "memory": "2Gi", "gpu": "2"}
    early = container("early", ContainerKind.INIT, **sizes)
    node = admitted(started(), pod("one", early, container("late", gpu="1")))
    state = published.of_node(node)

    assert state.pods["one"].reusable == Held(cpus=frozenset({2}), devices={GPU: (1,)})
    assert state.pods["one"].reusable_memory == ((0b01, "memory", 1 * GI),)
    assert published.of_node(again(node)) == state


def test_leftovers_of_pods_that_are_gone_are_left_over_there_too() -> None:
    node = admitted(started(), pod("one", container("b"), container("a", gpu="2"))).remove("one")
    rebuilt = again(node)

    assert len(node.leftovers()) == len(rebuilt.leftovers()) == 2
    assert published.of_node(rebuilt.release_stale()) == published.of_node(node.release_stale())


def test_devices_are_published_that_are_not_as_the_class_has_them() -> None:
    sick = {GPU: devices("g0@0 g1@0")}
    held = admitted(started(), pod("one", container("c", gpu="4")))
    stopped = held.plugin_stopped(GPU)

    assert published.of_node(held.devices_reported(sick)).devices == {
        GPU: DevicesState(count=4, known=(0, 1), healthy=(0, 1), unhealthy=(), is_registered=True)
    }
    assert published.of_node(stopped).devices == {
        GPU: DevicesState(
            count=4, known=(0, 1, 2, 3), healthy=(), unhealthy=(0, 1, 2, 3), is_registered=True
        )
    }
    assert published.of_node(stopped.resource_expired(GPU)).devices == {
        GPU: DevicesState(
            count=4, known=(0, 1, 2, 3), healthy=(), unhealthy=(), is_registered=False
        )
    }
    for each in (held.devices_reported(sick), stopped, stopped.resource_expired(GPU)):
        assert published.of_node(again(each)) == published.of_node(each)


def test_a_state_of_another_class_loses_its_places_and_nothing_breaks() -> None:
    state = PublishedState(
        shared_cpus=frozenset({0}),
        memory={7: NodeMemoryState(assignments=1, group=1 << 7, reserved={})},
        devices={
            NIC: DevicesState(count=2, known=(1,), healthy=(0, 1), unhealthy=(), is_registered=True)
        },
    )
    node = published.onto(started(), state, ())

    assert set(node.snapshot.memory.nodes) == {0, 1}
    assert node.snapshot.device.inventory.known[NIC].by_id["00001"].numa_nodes == ()


@pytest.mark.parametrize("seed", range(25))
def test_random_nodes_publish_the_same_when_they_were_rebuilt(seed: int) -> None:
    life = published_lives.life(random.Random(seed))
    state = published.of_node(life.node)
    rebuilt = published.of_node(again(life.node, life.config))
    known = life.node.snapshot.pods.keys()

    assert replace(rebuilt, pods={}) == replace(state, pods={})
    assert {uid: each for uid, each in rebuilt.pods.items() if uid in known} == {
        uid: each for uid, each in state.pods.items() if uid in known
    }
    assert rebuilt.pods.keys() == state.pods.keys()
