"""Pods that a node admits in every order: examples, limits, and what is remembered."""

from __future__ import annotations

from dataclasses import replace

import pytest

from numalet.core.cluster import any_order, classes, published
from numalet.core.cluster.any_order import AnyOrder
from numalet.core.cluster.cluster import ClusterNode, Origin
from numalet.core.cluster.facts import FactReader
from numalet.core.managers.device.inventory import Device
from numalet.core.model.pod import ContainerKey, Pod, QosClass
from numalet.core.model.quantity import Quantity
from numalet.core.node import node as nodes
from numalet.core.node.node import Node
from values import gpu_fleet


def described(node: Node) -> ClusterNode:
    return ClusterNode(name="n", node=node, origin=Origin.DESCRIBED, class_name="c")


def sized(uid: str, cpus: int, gib: int, gpus: int = 0) -> Pod:
    return gpu_fleet.pod(uid, gpus, cpus, gib)


def test_twenty_and_twelve_cpus_are_not_safe_together_and_equal_pods_are() -> None:
    # NUMA nodes with 30 and 32 free CPUs. 20, 20, 12 and 9 fit; 12, 9 and 20 leave no room for the
    # other 20.
    node, orders = gpu_fleet.empty(), AnyOrder(FactReader())
    mixed = [sized("0", 20, 60), sized("1", 20, 60), sized("2", 12, 24), sized("3", 9, 18, 1)]
    after = node
    for each in mixed:
        after, decision = after.admit(each)
        assert decision.admitted
    on = described(node)
    assert not orders.admits(on, mixed[:-1], mixed[-1])
    assert orders.admits(on, mixed[:1], mixed[1])
    equal = [sized(f"equal-{at}", 4, 8) for at in range(10)]
    assert orders.admits(on, equal[:-1], equal[-1])


def test_a_pod_with_devices_of_two_numa_nodes_is_compared_by_the_whole_state() -> None:
    # Under this policy a pod may have CPUs of both NUMA nodes, so numbers do not tell enough.
    on = described(gpu_fleet.empty("best-effort"))
    wide = [sized("0", 40, 60), sized("1", 8, 16)]
    assert AnyOrder(FactReader()).admits(on, wide[:1], wide[1])


def test_the_answer_is_no_where_it_would_take_too_long() -> None:
    on = described(gpu_fleet.empty())
    few = [sized("0", 4, 8), sized("1", 12, 24), sized("2", 8, 32, 2)]
    assert AnyOrder(FactReader()).admits(on, few[:-1], few[-1])
    assert not AnyOrder(FactReader(), most_admissions=2).admits(on, few[:-1], few[-1])
    many = [sized(str(at), 1, 1) for at in range(any_order.MOST_PODS + 1)]
    assert not AnyOrder(FactReader()).admits(on, many[:-1], many[-1])


def test_pods_for_which_one_numa_node_has_room_take_one_admission_for_each_shape() -> None:
    on = described(gpu_fleet.empty())
    six = [sized(str(at), *((4, 8, 0), (3, 8, 1), (2, 8, 0))[at % 3]) for at in range(6)]
    assert AnyOrder(FactReader(), most_admissions=3).admits(on, six[:-1], six[-1])
    # 31 CPUs of a NUMA node are not enough for all of these.
    more = [*six, sized("more", 20, 8)]
    assert not AnyOrder(FactReader(), most_admissions=3).admits(on, more[:-1], more[-1])
    assert AnyOrder(FactReader()).admits(on, more[:-1], more[-1])


def test_a_sum_that_is_too_small_for_all_is_no() -> None:
    # 62 CPUs and 8 GPUs in all.
    on, orders = described(gpu_fleet.empty()), AnyOrder(FactReader())
    assert not orders.admits(on, [sized("0", 30, 8), sized("1", 30, 8)], sized("2", 3, 8))
    assert not orders.admits(on, [sized("0", 4, 8, 4), sized("1", 4, 8, 4)], sized("2", 4, 8, 1))


def test_pods_with_more_choices_than_are_listed_are_compared_by_the_whole_state() -> None:
    on = described(gpu_fleet.empty())
    sizes = [sized(str(at), 1, 2**at) for at in range(7)]
    assert AnyOrder(FactReader()).admits(on, sizes[:-1], sizes[-1])


def test_answers_are_the_same_after_all_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    orders = AnyOrder(FactReader())
    on, other = described(gpu_fleet.empty()), sized("1", 12, 24)
    before = orders.admits(on, [sized("0", 20, 60)], other)
    monkeypatch.setattr(any_order, "_MOST_REMEMBERED", 0)
    assert orders.admits(on, [sized("0", 20, 60)], other) == before
    # Numbers of shapes begin again; another shape has the number of the first one.
    assert not orders.admits(on, [sized("0", 20, 60)], sized("2", 33, 24))


def test_pods_on_their_way_count_and_those_that_hold_nothing_come_first() -> None:
    node = gpu_fleet.empty()
    light = replace(sized("light", 40, 8), qos_class=QosClass.BURSTABLE)
    on = ClusterNode(
        name="n",
        node=published.onto(node, published.of_node(node), [sized("coming", 20, 60), light]),
        origin=Origin.PUBLISHED,
        class_name="c",
    )
    orders = AnyOrder(FactReader())
    assert not orders.admits(on, (), sized("p", 4, 8))  # The sums: 62 CPUs in all.
    assert orders.admits(on, (), sized("p", 2, 8))


def test_pods_on_their_way_may_have_been_decided_before_others_departed() -> None:
    node = gpu_fleet.empty()
    left, right, third = (sized(uid, 8, 32, 2) for uid in ("left", "right", "third"))
    full = node
    for each in (left, right):
        full, decision = full.admit(each)
        assert decision.admitted
    empty = classes.start(classes.spec_of(node, gpu_fleet.kubelet_config()))
    assert isinstance(empty, Node)
    # Both are on NUMA node 0. One has ended, and the third one may have come before or after that.
    on = ClusterNode(
        name="n",
        node=published.onto(empty, published.of_node(full), [right, third]),
        origin=Origin.PUBLISHED,
        class_name="c",
    )
    orders, four = AnyOrder(FactReader()), sized("four", 8, 32, 4)
    assert orders.admits(on, (), four)
    assert not orders.admits(on, (), four, [left])
    assert orders.admits(on, (), sized("two", 8, 32, 2), [left])
    # One of which the state knows nothing counts as one more that comes.
    assert not orders.admits(on, (), four, [sized("unpublished", 8, 32, 3)])
    assert not orders.admits(on, (), sized("five", 8, 32, 5), [left])


def test_where_numbers_do_not_decide_all_is_compared_by_the_whole_state() -> None:
    two = [sized("0", 4, 8, 1), sized("1", 12, 24, 1)]
    both_nodes = [Device(f"gpu{at}", (0, 1)) for at in range(2)]
    node = nodes.start(
        gpu_fleet.kubelet_config(), gpu_fleet.machine(), devices={gpu_fleet.GPU: both_nodes}
    )
    assert isinstance(node, Node)
    orders = AnyOrder(FactReader())
    assert orders.admits(described(node), two[:1], two[1])
    # A container that is active although its pod is not known yet.
    assumed = frozenset({ContainerKey("other", "main")})
    empty = gpu_fleet.empty()
    restarted = described(empty.at(replace(empty.snapshot, assumed=assumed)))
    assert orders.admits(restarted, two[:1], two[1])
    odd = with_resource(two[1], "ephemeral-storage")
    assert orders.admits(described(empty), two[:1], odd)


def with_resource(pod: Pod, name: str) -> Pod:
    (only,) = pod.app_containers
    amounts = {**only.requests, name: Quantity.from_int(1)}
    return replace(pod, app_containers=(replace(only, requests=amounts, limits=amounts),))
