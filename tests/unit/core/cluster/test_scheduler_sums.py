"""What the scheduler's sums say of a node, right or wrong."""

from __future__ import annotations

from numalet.core.cluster import scheduler_sums
from numalet.core.managers.device.inventory import Device, Health
from numalet.core.model import pod_demand
from values import gpu_fleet
from values.gpu_fleet import GPU


def test_a_node_has_left_what_its_pods_do_not_request() -> None:
    node = gpu_fleet.running("a", [gpu_fleet.pod("p", 3)]).node
    left = scheduler_sums.free(node)
    assert left[GPU] == 5
    assert left["cpu"] == (64 - 2 - 12) * 1000
    assert left["memory"] == (512 - 1 - 96) * gpu_fleet.GIB
    assert left["pods"] == 109


def test_the_sums_promise_room_that_the_kubelet_does_not_have() -> None:
    pods = [gpu_fleet.pod(uid, 2) for uid in "abcd"]
    node = gpu_fleet.running("a", pods, gone=("a", "c")).node
    asked = gpu_fleet.pod("big", 4)
    left = scheduler_sums.free(node)
    assert (left[GPU], node.fits(asked)) == (4, False)
    assert scheduler_sums.has_room(left, pod_demand.amounts(asked))
    assert not scheduler_sums.has_room(left, pod_demand.amounts(gpu_fleet.pod("huge", 5)))


def test_a_full_node_has_no_room_for_a_pod_that_asks_for_nothing() -> None:
    assert not scheduler_sums.has_room({"pods": 0}, {})
    assert scheduler_sums.has_room({"pods": 1}, {})


def test_ephemeral_storage_is_not_counted() -> None:
    assert scheduler_sums.has_room({"pods": 1}, {"ephemeral-storage": 5})


def test_devices_that_fell_ill_are_missing() -> None:
    node = gpu_fleet.running("a", [gpu_fleet.pod("p", 4)]).node
    ill = [Device(f"gpu{at}", (at // 4,), Health.UNHEALTHY) for at in range(8)]
    assert scheduler_sums.free(node.devices_reported({GPU: ill}))[GPU] == -4


def test_one_resource_is_asked_about_as_all_are() -> None:
    node = gpu_fleet.running("a", [gpu_fleet.pod("p", 3)]).node
    left = scheduler_sums.free(node)
    assert {name: scheduler_sums.free_of(node, name) for name in left} == left
    assert scheduler_sums.free_of(node, "example.com/unknown") == 0
