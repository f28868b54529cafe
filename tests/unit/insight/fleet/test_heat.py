"""A fleet as it is drawn: what is free on each NUMA node of each node, and which are traps."""

from __future__ import annotations

from dataclasses import replace

import pytest

import numalet
from numalet.core.cluster.cluster import Cluster, UndecidedNode
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.managers.device.inventory import Device, Health
from numalet.core.model import input_error
from numalet.core.model.pod import QosClass
from numalet.core.node.node import Node
from numalet.insight.fleet import fit, traps
from numalet.insight.fleet.heat import FleetCell, FleetMap, FleetMapper, FreeShare
from values import gpu_fleet
from values.gpu_fleet import GIB, GPU, asking, split_fleet


def _map(cluster: Cluster, resource: str | None = None) -> FleetMap:
    return FleetMapper().map(cluster, traps.traps(cluster, [asking(4)]), resource)


def _cell(of: FleetMap, name: str) -> FleetCell:
    return next(each for pool in of.pools for each in pool.cells if each.name == name)


def test_devices_are_free_on_their_numa_nodes() -> None:
    fleet = _map(split_fleet())
    assert fleet.resource == GPU
    assert fleet.resources == (GPU, "cpu", "memory")
    cell = _cell(fleet, "split")
    assert cell.shares == (FreeShare(0, 2, 4), FreeShare(1, 2, 4))
    assert cell.in_all == FreeShare(-1, 4, 8)
    assert cell.trap is not None
    assert cell.trap.stranded[GPU] == 4
    (pool,) = fleet.pools
    assert (pool.name, pool.nodes, pool.traps) == ("gpus", 4, 1)
    assert (pool.free, pool.total, pool.most_on_one) == (4 + 4 + 7 + 8, 32, 4)


def test_cpus_and_memory_are_free_as_the_managers_count_them() -> None:
    split = _cell(_map(split_fleet(), "cpu"), "split")
    assert split.shares == (FreeShare(0, 22_000, 30_000), FreeShare(1, 24_000, 32_000))
    memory = _cell(_map(split_fleet(), "memory"), "split")
    assert memory.shares == (
        FreeShare(0, 191 * GIB, 255 * GIB),
        FreeShare(1, 192 * GIB, 256 * GIB),
    )
    assert memory.in_all == FreeShare(-1, 383 * GIB, 511 * GIB)


def test_free_is_what_requests_leave_also_of_pods_in_the_shared_pool() -> None:
    shared = replace(gpu_fleet.pod("shares", cpus=3, gib=5), qos_class=QosClass.BURSTABLE)
    cluster = gpu_fleet.cluster([gpu_fleet.running("one", [shared])])
    cell = _cell(_map(cluster, "cpu"), "one")
    # No CPU is exclusive, but another pod can get only what the requests leave.
    assert cell.shares == (FreeShare(0, 30_000, 30_000), FreeShare(1, 32_000, 32_000))
    assert cell.in_all == FreeShare(-1, 59_000, 62_000)
    (pool,) = _map(cluster, "memory").pools
    assert (pool.free, pool.total) == (506 * GIB, 511 * GIB)


def test_an_unknown_resource_is_not_drawn() -> None:
    assert _map(split_fleet(), "no/such").resource == GPU


@pytest.mark.parametrize(
    ("config", "resource"),
    [
        (KubeletConfig(), "cpu"),
        (KubeletConfig(), "memory"),
        (replace(gpu_fleet.kubelet_config(), memory_manager_policy="None", reserved_memory=()),
         "memory"),
    ],
)  # fmt: skip
def test_without_a_manager_the_sum_of_requests_is_free_as_it_is_for_a_pod_that_asks(
    config: KubeletConfig, resource: str
) -> None:
    node = numalet.start_node(config, gpu_fleet.machine())
    assert isinstance(node, Node)
    on = gpu_fleet.running("web", [gpu_fleet.pod("runs", cpus=2, gib=4)], on=node)
    cluster = gpu_fleet.cluster([on])
    (pool,) = _map(cluster, resource).pools
    cell = _cell(_map(cluster, resource), "web")
    assert cell.shares == ()
    assert pool.most_on_one is None
    one = gpu_fleet.asking(0, cpus=1, gib=0) if resource == "cpu" else asking(0, cpus=0, gib=8)
    copies = fit.capacity(cluster, one)["web"]
    assert copies == pool.free // (1000 if resource == "cpu" else 8 * GIB) > 0
    assert pool.total > pool.free == cell.in_all.free


def test_devices_without_a_numa_node_are_elsewhere_and_sick_ones_nowhere() -> None:
    devices = [
        Device("a", (0,)), Device("b", ()), Device("c", (0, 1)), Device("d", (1,), Health.UNHEALTHY)
    ]  # fmt: skip
    node = numalet.start_node(
        gpu_fleet.kubelet_config(), gpu_fleet.machine(), devices={GPU: devices}
    )
    assert isinstance(node, Node)
    on = gpu_fleet.running("mixed", [], on=node)
    cell = _cell(_map(Cluster(nodes={"mixed": on})), "mixed")
    assert cell.shares == (FreeShare(0, 2, 2), FreeShare(1, 1, 1))
    assert cell.elsewhere == FreeShare(-1, 1, 1)
    assert cell.in_all == FreeShare(-1, 3, 3)
    sick = replace(gpu_fleet.running("sick", [gpu_fleet.pod("x", 4)]), name="sick")
    lost = numalet.start_node(
        gpu_fleet.kubelet_config(), gpu_fleet.machine(), devices={GPU: devices[:1]}
    )
    assert isinstance(lost, Node)
    inventory = replace(sick.node.snapshot.device, inventory=lost.snapshot.device.inventory)
    sick = replace(sick, node=sick.node.at(replace(sick.node.snapshot, device=inventory)))
    # Four devices are requested and one is left: nothing is free, and not minus three.
    assert _cell(_map(gpu_fleet.cluster([sick])), "sick").in_all == FreeShare(-1, 0, 1)


def test_devices_that_are_attached_to_no_numa_node_have_no_shares() -> None:
    node = numalet.start_node(
        gpu_fleet.kubelet_config(), gpu_fleet.machine(), devices={GPU: [Device("a", ())]}
    )
    assert isinstance(node, Node)
    cell = _cell(_map(Cluster(nodes={"n": gpu_fleet.running("n", [], on=node)})), "n")
    assert cell.shares == ()
    assert cell.elsewhere == FreeShare(-1, 1, 1)


def test_undecided_nodes_are_in_their_pool_and_pools_can_be_chosen() -> None:
    why = input_error.NotFound("no nodes in x")
    cluster = replace(
        split_fleet(),
        undecided={
            "b": UndecidedNode(name="b", why=why, pool="gpus"),
            "a": UndecidedNode(name="a", why=why, pool="gpus"),
            "c": UndecidedNode(name="c", why=why, pool="other"),
        },
    )
    fleet = _map(cluster)
    assert [each.name for each in fleet.pools] == ["gpus", "other"]
    assert [each.name for each in fleet.pools[0].undecided] == ["a", "b"]
    assert [each.name for each in fleet.of_pool("other").pools] == ["other"]
    assert fleet.of_pool("none").pools == ()
    assert fleet.of_pool("other").pools[0].most_on_one is None
    assert [(each.nodes, each.not_known) for each in fleet.pools] == [(6, 2), (1, 1)]
    (folded, _) = fleet.folded().pools
    assert [(each.name, each.count) for each in folded.undecided] == [("a", 2)]
    assert (folded.nodes, folded.not_known) == (6, 2)
    (alike,) = fleet.alike("b").pools
    assert [each.name for each in alike.undecided] == ["a", "b"]
    assert (alike.cells, alike.nodes) == ((), 2)


def test_nodes_that_are_drawn_alike_are_folded_traps_first() -> None:
    node = gpu_fleet.running("empty-0", [])
    nodes = [replace(node, name=f"empty-{at}") for at in range(5)]
    split = split_fleet().nodes["split"]
    cordoned = replace(node, name="cordoned", is_cordoned=True)
    fleet = _map(gpu_fleet.cluster([*nodes, split, cordoned]))
    (pool,) = fleet.folded().pools
    assert [(each.name, each.count) for each in pool.cells] == [
        ("split", 1), ("empty-0", 5), ("cordoned", 1),
    ]  # fmt: skip
    assert (pool.nodes, pool.closed) == (7, 1)
    opened = [each for each in fleet.pools[0].cells if each.is_open]
    assert pool.free == sum(each.in_all.free for each in opened)
    # The 8 devices of the cordoned node are no room, neither free nor in all.
    assert pool.total == 6 * 8
    (alike,) = fleet.alike("empty-3").pools
    assert [each.name for each in alike.cells] == [f"empty-{at}" for at in range(5)]
    assert fleet.alike("none").pools == ()


def test_a_node_where_the_pod_fits_shares_no_cell_with_one_where_it_does_not() -> None:
    node = gpu_fleet.running("a", [])
    cluster = gpu_fleet.cluster([node, replace(node, name="b"), replace(node, name="c")])
    fleet = FleetMapper().map(cluster, traps.traps(cluster), fitting={"a", "c"})
    (pool,) = fleet.folded().pools
    assert [(each.name, each.count, each.is_fitting) for each in pool.cells] == [
        ("a", 2, True), ("b", 1, False),
    ]  # fmt: skip


def test_nodes_are_found_by_a_part_of_their_name_or_by_their_state() -> None:
    node = gpu_fleet.running("a-1", [])
    why = input_error.NotFound("no nodes in x")
    cluster = replace(
        gpu_fleet.cluster([node, replace(node, name="a-2", is_cordoned=True)]),
        undecided={"b": UndecidedNode(name="b", why=why, pool="gpus")},
    )
    fleet = _map(cluster)

    def found(text: str) -> list[str]:
        pools = fleet.matching(text).pools
        cells = [each.name for pool in pools for each in pool.cells]
        return cells + [each.name for pool in pools for each in pool.undecided]

    assert found("a-") == ["a-1", "a-2"]
    assert found("cordoned") == ["a-2"]
    assert found("undecided") == found("b") == ["b"]
    assert found("") == ["a-1", "a-2", "b"]
    assert fleet.matching("none").pools == ()
    (pool,) = fleet.matching("cordoned").pools
    assert (pool.nodes, pool.closed, pool.free, pool.total) == (1, 1, 0, 0)


def test_a_node_that_is_another_object_is_read_again() -> None:
    mapper, cluster = FleetMapper(), split_fleet()
    asked = traps.traps(cluster)
    before = mapper.map(cluster, asked)
    changed = cluster.with_nodes([replace(gpu_fleet.running("x", []), name="split")])
    after = mapper.map(changed, traps.traps(changed))
    assert _cell(before, "split").in_all.free == 4
    assert _cell(after, "split").in_all.free == 8
    assert _cell(after, "empty") == _cell(before, "empty")
