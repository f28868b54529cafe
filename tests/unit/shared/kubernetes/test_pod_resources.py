"""What the PodResources API says of a node."""

from __future__ import annotations

from dataclasses import replace

import pytest

from numalet.core.managers.device.inventory import Health
from numalet.core.managers.memory.ledger import MemoryBlock
from numalet.core.model import cpu_set
from numalet.shared.kubernetes import pod_resources
from numalet.shared.kubernetes.pod_resources import ContainerEntry, PodResourcesDevice
from numalet.shared.publish import node_view
from values import served_node, whole_pods
from values.device_bench import GPU, NIC, devices
from values.served_node import ALIGNED, SHARED, TOO_LARGE, WIDE
from values.whole_pods import asked

GI = 1 << 30
MI = 1 << 20


def test_a_container_shows_exclusive_cpus_memory_by_block_and_devices_one_by_one() -> None:
    node = served_node.with_pods([ALIGNED])
    (shown,) = pod_resources.pods(node, [ALIGNED])
    assert (shown.name, shown.namespace) == ("aligned", "ns")
    app = shown.containers[1]
    assert app == ContainerEntry(
        "app",
        (PodResourcesDevice(GPU, "gpu0", 0), PodResourcesDevice(NIC, "nic0", None)),
        app.cpus,
        (MemoryBlock((0,), "hugepages-1Gi", GI), MemoryBlock((0,), "memory", 4 * GI)),
    )
    assert len(app.cpus) == 2
    assert frozenset(app.cpus) == node.snapshot.cpu.cpus_of(ALIGNED.uid, "app")


def test_init_containers_are_not_shown_and_sidecars_come_first() -> None:
    node = served_node.with_pods([ALIGNED])
    (shown,) = pod_resources.pods(node, [ALIGNED])
    assert [container.name for container in shown.containers] == ["sidecar", "app"]
    assert {"app"} == shown.app_containers


def test_the_shared_pool_is_not_reported() -> None:
    node = served_node.with_pods([SHARED])
    (shown,) = pod_resources.pods(node, [SHARED])
    assert shown.containers == (ContainerEntry("app", (), (), ()),)


def test_a_block_on_two_nodes_is_one_entry() -> None:
    node = served_node.with_pods([WIDE])
    (shown,) = pod_resources.pods(node, [WIDE])
    assert shown.containers[0].memory == (MemoryBlock((0, 1), "memory", 20 * GI),)


def test_a_device_of_two_nodes_has_two_entries() -> None:
    taking_all = served_node.pod("greedy", served_node.container("c", gpu="3"))
    node = served_node.with_pods([taking_all])
    (shown,) = pod_resources.pods(node, [taking_all])
    assert [
        PodResourcesDevice(GPU, "gpu0", 0),
        PodResourcesDevice(GPU, "gpu1", 1),
        PodResourcesDevice(GPU, "gpu2", 0),
        PodResourcesDevice(GPU, "gpu2", 1),
    ] == list(shown.containers[0].devices)


def test_pods_come_by_namespace_and_name_also_rejected_ones() -> None:
    known = [WIDE, TOO_LARGE, ALIGNED]
    node = served_node.with_pods(known)
    shown = pod_resources.pods(node, known)
    assert [pod.name for pod in shown] == ["aligned", "too-large", "wide"]
    assert shown[1].containers[0].memory == ()


def test_a_pod_that_is_gone_shows_cpus_and_memory_but_no_devices() -> None:
    node = served_node.with_pods([ALIGNED]).remove(ALIGNED.uid)
    app = pod_resources.pods(node, [ALIGNED])[0].containers[1]
    assert app.devices == ()
    assert app.cpus
    assert app.memory


def test_before_all_sources_were_seen_devices_are_reported_as_well() -> None:
    node = served_node.with_pods([ALIGNED]).remove(ALIGNED.uid)
    early = node.at(replace(node.snapshot, sources_ready=False))
    assert pod_resources.pods(early, [ALIGNED])[0].containers[1].devices


def test_allocatable_does_not_shrink_when_containers_run() -> None:
    empty = pod_resources.allocatable(served_node.with_pods([]))
    assert empty == pod_resources.allocatable(served_node.with_pods([ALIGNED, WIDE]))
    assert cpu_set.text(frozenset(empty.cpus)) == "1-7"
    assert empty.memory == (
        MemoryBlock((0,), "hugepages-1Gi", 2 * GI),
        MemoryBlock((0,), "memory", 15 * GI),
        MemoryBlock((1,), "hugepages-1Gi", 2 * GI),
        MemoryBlock((1,), "memory", 16 * GI),
    )


def test_allocatable_devices_are_the_healthy_ones() -> None:
    node = served_node.with_pods([])
    gone = [*devices("gpu0@0"), *devices("gpu1@1", Health.UNHEALTHY)]
    shown = pod_resources.allocatable(node.devices_reported({GPU: gone})).devices
    assert [PodResourcesDevice(GPU, "gpu0", 0), PodResourcesDevice(NIC, "nic0", None)] == list(
        shown
    )


def test_without_policies_nothing_but_devices_is_allocatable() -> None:
    node = served_node.without_policies()
    found = pod_resources.allocatable(node)
    assert (found.cpus, found.memory) == ((), ())
    assert found.devices


def test_a_type_of_which_nothing_is_left_is_not_allocatable() -> None:
    node = served_node.with_all_of_node_0_reserved()
    shown = pod_resources.allocatable(node).memory
    assert (0, "memory") not in {(each.nodes[0], each.resource) for each in shown}


@pytest.mark.parametrize("release", ["1.36", "1.37"])
def test_later_releases_show_what_a_pod_got_as_a_whole(release: str) -> None:
    containers = {"c0": asked("2", "1Gi"), "c1": asked("500m", "64Mi"), "c2": None}
    pod = whole_pods.pod("u", asked("4", "2Gi"), containers)
    node, decision = whole_pods.node(release=release).admit(pod)
    assert decision.admitted, decision
    (shown,) = pod_resources.pods(node, [pod])
    cpus = [len(each.cpus) for each in shown.containers]
    memory = [sum(block.size_bytes for block in each.memory) for each in shown.containers]
    if release == "1.36":
        assert (shown.cpus, shown.memory) == ((), ())
        # The pool of the pod is shown for each container that shares it.
        assert cpus == [2, 2, 2]
    else:
        assert cpus == [2, 0, 0]
        assert memory == [GI, 64 * MI, 0]
        assert set(shown.containers[0].cpus) < set(shown.cpus)
        assert len(shown.cpus) == 4
        assert [block.size_bytes for block in shown.memory] == [2 * GI]
    # Nothing is counted twice or forgotten in what is published of the node.
    view = node_view.topology_of(node, [pod])
    (zone, _) = view["zones"]
    free = {each["name"]: each["available"] for each in zone["resources"]}
    total = {each["name"]: each["allocatable"] for each in zone["resources"]}
    if release == "1.37":
        assert int(total["cpu"]) - int(free["cpu"]) == 4
        assert int(total["memory"]) - int(free["memory"]) == 2 * GI
