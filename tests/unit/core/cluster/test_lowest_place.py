"""Orders of pods by arithmetic: what is placed where, and which nodes and pods are not meant."""

from __future__ import annotations

from dataclasses import replace

import pytest

from numalet.core.cluster import asking, lowest_place
from numalet.core.cluster.facts import FactReader, StateFacts
from numalet.core.cluster.lowest_place import Orders, Part, TooManyError
from numalet.core.managers.device.inventory import Device
from numalet.core.model.pod import Container, Pod
from numalet.core.model.value import replace as with_values
from numalet.core.node import node as nodes
from numalet.core.node.node import Node
from values import gpu_fleet
from values.gpu_fleet import GIB, GPU

READER = FactReader()


def facts(node: Node) -> StateFacts:
    return READER.facts(node)


def parts(pod: Pod, node: Node) -> tuple[Part, ...] | None:
    of = facts(node)
    return lowest_place.parts(of, asking.of(pod, of.node_class))


def two_containers(gpus: int = 0) -> Pod:
    (first,) = gpu_fleet.pod("two", 1, 4, 8).app_containers
    (second,) = gpu_fleet.pod("two", gpus, 2, 4).app_containers
    return replace(
        gpu_fleet.pod("two"),
        app_containers=(first, replace(second, name="beside"), Container("nothing")),
    )


def test_a_part_is_a_container_or_in_pod_scope_the_whole_pod() -> None:
    first = {"CPUs": 4, "memory": 8 * GIB, GPU: 1}
    assert parts(gpu_fleet.pod("p", 1, 4, 8), gpu_fleet.empty()) == (first,)
    in_containers = parts(two_containers(), gpu_fleet.empty(scope="container"))
    assert in_containers is not None
    assert in_containers[:2] == (first, {"CPUs": 2, "memory": 4 * GIB})
    whole = parts(two_containers(), gpu_fleet.empty())
    assert whole == ({"CPUs": 6, "memory": 12 * GIB, GPU: 1},)


def test_other_policies_and_devices_of_several_containers_are_not_meant() -> None:
    assert parts(gpu_fleet.pod("p", 1), gpu_fleet.empty("restricted")) is None
    assert parts(two_containers(1), gpu_fleet.empty()) is None


def test_what_is_free_is_by_numa_node() -> None:
    node, decision = gpu_fleet.empty().admit(gpu_fleet.pod("p", 1, 4, 8))
    assert decision.admitted
    # 2 CPUs and 1Gi of NUMA node 0 are reserved.
    names = ("CPUs", GPU, "memory")
    assert lowest_place.free(facts(node), names) == ((26, 3, 247 * GIB), (32, 4, 256 * GIB))
    no_static = with_values(gpu_fleet.kubelet_config(), cpu_manager_policy="none")
    assert lowest_place.free(facts(gpu_fleet.empty(config=no_static)), names[:2]) == (
        (0, 4),
        (0, 4),
    )


def test_memory_of_a_group_and_devices_of_several_numa_nodes() -> None:
    wide, decision = gpu_fleet.empty("best-effort").admit(gpu_fleet.pod("wide", 0, 4, 300))
    assert decision.admitted
    assert lowest_place.free(facts(wide), ("memory",)) == ((0,), (0,))
    both = nodes.start(
        gpu_fleet.kubelet_config(), gpu_fleet.machine(), devices={GPU: [Device("gpu0", (0, 1))]}
    )
    assert isinstance(both, Node)
    assert lowest_place.free(facts(both), (GPU,)) is None
    assert lowest_place.free(facts(both), ("memory",)) is not None


FREE = ((4, 2), (8, 4))


def test_pods_go_to_the_lowest_place_in_every_order() -> None:
    # Both pairs go to the first place, whichever comes first, so four of the second kind remain.
    asked = {0: [(1, 1)], 1: [(1, 4)], 2: [(5, 0)]}
    assert Orders(asked).fit(FREE, (0, 0, 1))
    # After the first of these has taken one of the second place, four are nowhere.
    assert not Orders({0: [(5, 1)], 1: [(1, 4)]}).fit(FREE, (0, 1))
    # A pod of two parts.
    assert not Orders({0: [(3, 0), (8, 0)], 1: [(2, 0)]}).fit(FREE, (0, 1, 1))
    assert Orders(asked).fit(FREE, (2, 0))


def test_too_many_orders_have_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lowest_place, "MOST_STEPS", 1)
    with pytest.raises(TooManyError):
        Orders({0: [(1, 1)], 1: [(1, 4)]}).fit(FREE, (0, 0, 1))
