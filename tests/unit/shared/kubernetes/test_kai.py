"""KAI's annotations, byte by byte: complete, incomplete, and empty."""

from __future__ import annotations

import pytest

from numalet.core.config.rules import MemoryPolicy
from numalet.core.managers.device.inventory import Device
from numalet.core.model.pod import Pod, QosClass
from numalet.core.model.value import replace
from numalet.core.node import node as nodes
from numalet.core.node.node import Node
from numalet.io.documents.kubelet import kubelet_config
from numalet.shared.kubernetes import kai
from numalet.shared.kubernetes.kai import PodProgress
from values import builders, profile_bench
from values.builders import container, init, sidecar, simple

PLACEMENT = "kai.scheduler/numa-placement-observed"
GROUPS = "kai.scheduler/numa-memory-groups-observed"


def two_nodes(policy: MemoryPolicy = MemoryPolicy.STATIC) -> Node:
    """Two NUMA nodes with 8 Gi each, half of it in four huge pages."""
    machine = builders.machine(8, 8, hugepages={1 << 20: 4})
    return builders.node(builders.rules(machine, policy=policy))


def admitted(node: Node, pod: Pod) -> Node:
    after, decision = node.admit(pod)
    assert decision.admitted, decision
    return after


def runs(pod: Pod, *names: str, ended: str = "") -> PodProgress:
    """A pod with these running containers, and one that has ended."""
    running = frozenset(names)
    return PodProgress(pod=pod, started=running | {*ended.split()}, running=running)


def test_amounts_are_those_of_zones_in_order() -> None:
    pod = profile_bench.asks("one", "3Gi", cpu="2", gpu="1")
    node = admitted(profile_bench.started("dgx-h100"), pod)
    assert kai.observed(node, runs(pod, "c")) == {
        PLACEMENT: '[{"zone":"node-0",'
        '"amount":{"cpu":"2","memory":"3221225472","nvidia.com/gpu":"1"}}]',
        GROUPS: '[{"memoryNodes":["node-0"],"amount":{"memory":"3221225472"}}]',
    }


def test_memory_of_several_nodes_is_in_the_groups_alone() -> None:
    pod = simple("wide", "7Gi")
    node = admitted(two_nodes(), pod)
    assert kai.observed(node, runs(pod, "c")) == {
        GROUPS: '[{"memoryNodes":["node-0","node-1"],"amount":{"memory":"7516192768"}}]'
    }


def test_containers_of_one_group_are_summed_by_resource() -> None:
    first = container("a", "1Gi", hugepages_1Gi="2Gi")
    pod = builders.pod("sums", sidecar("s", "1Gi"), first, container("b", "1Gi"))
    node = admitted(two_nodes(), pod)
    assert kai.observed(node, runs(pod, "s", "a", "b")) == {
        PLACEMENT: '[{"zone":"node-0","amount":{"hugepages-1Gi":"2147483648",'
        '"memory":"3221225472"}}]',
        GROUPS: '[{"memoryNodes":["node-0"],"amount":{"hugepages-1Gi":"2147483648",'
        '"memory":"3221225472"}}]',
    }


def test_a_device_on_several_nodes_has_no_zone() -> None:
    config = kubelet_config.decode({"cpuManagerPolicy": "static", "reservedSystemCPUs": "0"}, "")
    devices = {profile_bench.GPU: (Device("g0", (0, 1)), Device("g1", ()))}
    node = nodes.start(config, builders.machine(8, 8), None, devices)
    assert isinstance(node, Node), node
    pod = profile_bench.asks("both", "1Gi", cpu="1", gpu="2")
    assert kai.observed(admitted(node, pod), runs(pod, "c")) == {
        PLACEMENT: '[{"zone":"node-0","amount":{"cpu":"1"}}]',
        GROUPS: "[]",
    }


def test_a_pod_that_holds_nothing_yet_is_not_looked_at_yet() -> None:
    assert kai.observed(two_nodes(), runs(simple("new", "1Gi"))) == {}


@pytest.mark.parametrize(
    "progress",
    [
        runs(simple("new", "1Gi"), "c"),
        runs(builders.pod("new", sidecar("s", "0"), container("c", "1Gi")), "s"),
    ],
    ids=["without memory", "before its container"],
)
def test_a_pod_that_has_begun_without_its_memory_is_incomplete(progress: PodProgress) -> None:
    assert kai.observed(two_nodes(), progress) == {GROUPS: "null"}


def test_memory_of_a_container_that_has_not_started_is_incomplete() -> None:
    pod = simple("one", "1Gi")
    node = admitted(two_nodes(), pod)
    assert kai.observed(node, runs(pod))[GROUPS] == "null"


def test_groups_that_were_known_never_become_absent() -> None:
    progress = runs(simple("lost", "1Gi"))
    assert kai.observed(two_nodes(), progress, "[]") == {GROUPS: "null"}


@pytest.mark.parametrize(
    ("running", "ended", "is_complete"),
    [("i", "", False), ("", "i", False), ("c", "i", True), ("", "i c", True)],
)
def test_a_pod_is_incomplete_until_a_container_follows_its_init_containers(
    running: str, ended: str, is_complete: bool
) -> None:
    pod = builders.pod("two", init("i", "2Gi"), container("c", "1Gi"))
    node = admitted(two_nodes(), pod)
    groups = kai.observed(node, runs(pod, *running.split(), ended=ended))[GROUPS]
    complete = '[{"memoryNodes":["node-0"],"amount":{"memory":"1073741824"}}]'
    assert groups == (complete if is_complete else "null")


def test_without_a_memory_manager_no_pod_has_a_group() -> None:
    pod = simple("free", "1Gi")
    assert kai.observed(two_nodes(MemoryPolicy.NONE), runs(pod)) == {GROUPS: "[]"}


def test_a_burstable_pod_has_devices_and_no_group() -> None:
    pod = replace(profile_bench.asks("b", "1Gi", gpu="1"), qos_class=QosClass.BURSTABLE)
    node = admitted(profile_bench.started("dgx-h100"), pod)
    assert kai.observed(node, runs(pod)) == {
        PLACEMENT: '[{"zone":"node-0","amount":{"nvidia.com/gpu":"1"}}]',
        GROUPS: "[]",
    }
    other = replace(simple("c", "1Gi"), qos_class=QosClass.BURSTABLE)
    assert kai.observed(node, runs(other, "c")) == {}


def test_the_patch_has_the_own_keys_and_the_uid() -> None:
    assert kai.patch(simple("one", "1Gi"), {GROUPS: "[]"}) == (
        "/api/v1/namespaces/default/pods/one",
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": "one",
                "namespace": "default",
                "uid": "one",
                "annotations": {GROUPS: "[]"},
            },
        },
    )
