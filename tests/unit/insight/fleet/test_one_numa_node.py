"""What each NUMA node lacks for a pod that has to come from one."""

from __future__ import annotations

from dataclasses import replace

from numalet.core.cluster import asking, shapes
from numalet.core.cluster.facts import FactReader
from numalet.core.managers.device.inventory import Device
from numalet.core.model.pod import Pod, PodLevelResources, QosClass
from numalet.core.node.node import Node
from numalet.insight.fleet import size_bound
from values import gpu_fleet
from values.gpu_fleet import GIB


def _needs(node: Node, pod: Pod, *uids: str) -> list[list[list[tuple[int, list[int]]]]]:
    """By need and NUMA node what is short, and what each pod gives."""
    facts = FactReader().facts(node)
    counted = asking.of(shapes.shape_of(pod), facts.node_class).pod
    return [
        [[(lack.short, list(lack.gives)) for lack in place] for place in need]
        for need in size_bound.needs(facts, counted, uids)
    ]


def _half(scope: str = "pod") -> Node:
    """2 GPUs, 8 CPUs and 64Gi of each NUMA node in use."""
    pods = [gpu_fleet.pod(uid, 2) for uid in "abcd"]
    on = gpu_fleet.empty(scope=scope)
    return gpu_fleet.running("n", pods, gone=("a", "c"), on=on).node


def test_a_pod_that_is_aligned_as_one_needs_all_on_one_numa_node() -> None:
    memory_short = (128 + 64 + 1 - 256) * GIB
    assert _needs(_half(), gpu_fleet.pod("p", 4), "b", "d") == [
        [
            [(memory_short, [64 * GIB, 0]), (2, [2, 0]), (16 + 2 + 8 - 32, [8, 0])],
            [(memory_short - GIB, [0, 64 * GIB]), (2, [0, 2]), (16 + 8 - 32, [0, 8])],
        ]
    ]


def test_in_scope_container_each_resource_is_a_need_of_its_own() -> None:
    needs = _needs(_half("container"), gpu_fleet.pod("p", 4), "b")
    assert [len(need) for need in needs] == [2, 2, 2]
    assert needs[1] == [[(2, [2])], [(2, [0])]]


def test_the_memory_of_several_containers_that_are_aligned_as_one_is_left_out() -> None:
    pod = gpu_fleet.pod("p", 2)
    (only,) = pod.app_containers
    two = replace(pod, app_containers=(only, replace(only, name="second")))
    assert [len(place) for place in _needs(_half(), two)[0]] == [2, 2]
    assert len(_needs(_half("container"), two)) == 3


def test_devices_on_no_numa_node_are_anywhere() -> None:
    loose = [Device(f"gpu{at}") for at in range(8)]
    node = gpu_fleet.empty().devices_reported({gpu_fleet.GPU: loose})
    assert [len(place) for place in _needs(node, gpu_fleet.pod("p", 4))[0]] == [2, 2]


def test_devices_in_use_without_a_record_count_as_free() -> None:
    node = _half()
    device = node.snapshot.device
    lost = replace(device, in_use={gpu_fleet.GPU: frozenset(f"gpu{at}" for at in range(8))})
    stray = node.at(replace(node.snapshot, device=lost))
    assert _needs(stray, gpu_fleet.pod("p", 4)) == _needs(node, gpu_fleet.pod("p", 4))


def test_nothing_is_said_of_other_policies_and_other_pods() -> None:
    pod = gpu_fleet.pod("p", 4)
    assert _needs(gpu_fleet.empty("restricted"), pod) == []
    nothing = replace(pod, app_containers=(), qos_class=QosClass.BURSTABLE)
    assert _needs(_half(), nothing) == []
    amounts = pod.app_containers[0].requests
    whole = replace(pod, pod_level=PodLevelResources(amounts, amounts, QosClass.GUARANTEED))
    assert _needs(_half(), whole) == []


def test_without_a_static_policy_no_cpus_are_needed() -> None:
    config = replace(gpu_fleet.kubelet_config(), cpu_manager_policy="none")
    node = gpu_fleet.empty(config=config)
    node = gpu_fleet.running("n", [gpu_fleet.pod("a", 2)], on=node).node
    assert [len(place) for place in _needs(node, gpu_fleet.pod("p", 4), "a")[0]] == [2, 2]
