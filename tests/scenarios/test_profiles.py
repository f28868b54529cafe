"""Realistic pods on real machines: what the rules determine, node by node.

On every machine CPU 0 and 1Gi of node 0 are for the system, and the topology policy is restricted
unless a test says otherwise.
"""

from __future__ import annotations

import pytest

from numalet.core.config.behaviour import EXACT, NATIVE, Behaviour
from numalet.core.node.node import Node
from values.profile_bench import asks, cpus_of, held, machine_of, offered, started

MODES = pytest.mark.parametrize("mode", [EXACT, NATIVE], ids=["exact", "native"])
GIB = 1 << 30


def _memory_nodes(node: Node, uids: list[str]) -> list[tuple[int, ...]]:
    return [held(node, uid).memory_nodes for uid in uids]


@MODES
def test_a_gpu_with_all_cpus_of_its_node_fits_once_per_cpu_node(mode: Behaviour) -> None:
    pods = [asks(uid, "64Gi", cpu="71", gpu="1") for uid in ("a", "b", "c")]
    node, admitted = offered(started("gb200-34n", mode), pods)
    assert admitted == ["a", "b"]
    assert _memory_nodes(node, admitted) == [(0,), (1,)]
    assert held(node, "a").cpus == frozenset(range(1, 72))
    assert held(node, "b").cpus < frozenset(range(72, 144))
    assert held(node, "a").devices["nvidia.com/gpu"][0] in {"gpu0", "gpu1"}
    assert held(node, "b").devices["nvidia.com/gpu"][0] in {"gpu2", "gpu3"}


@MODES
def test_four_superchips_take_a_pod_with_a_gpu_each(mode: Behaviour) -> None:
    pods = [asks(f"p{index}", "64Gi", cpu="70", gpu="1") for index in range(5)]
    node, admitted = offered(started("gh200-36n", mode), pods)
    assert admitted == ["p0", "p1", "p2", "p3"]
    assert _memory_nodes(node, admitted) == [(0,), (1,), (2,), (3,)]
    assert [held(node, uid).devices["nvidia.com/gpu"] for uid in admitted] == [
        *(("gpu0",), ("gpu1",), ("gpu2",), ("gpu3",))
    ]


@MODES
def test_half_of_a_machine_is_a_socket(mode: Behaviour) -> None:
    pods = [asks(uid, "240Gi", cpu="94") for uid in ("first", "second", "third")]
    node, admitted = offered(started("snc4", mode), pods)
    assert admitted == ["first", "second"]
    assert _memory_nodes(node, admitted) == [(0, 1, 2, 3), (4, 5, 6, 7)]
    assert held(node, "first").cpus < cpus_of(machine_of("snc4"), 0, 1, 2, 3)
    assert len(held(node, "first").cpus) == 94


@MODES
def test_half_of_a_machine_with_32_nodes_is_16_of_them(mode: Behaviour) -> None:
    pods = [asks(uid, "750Gi", cpu="126") for uid in ("first", "second", "third")]
    node, admitted = offered(started("l3-as-numa", mode), pods)
    assert admitted == ["first", "second"]
    assert _memory_nodes(node, admitted) == [tuple(range(16)), tuple(range(16, 32))]
    assert held(node, "first").cpus < frozenset(range(1, 128))
    assert held(node, "second").cpus < frozenset(range(128, 256))


@MODES
def test_fifty_small_pods_stay_on_the_first_node_that_holds_them(mode: Behaviour) -> None:
    pods = [asks(f"p{index}", "4Gi", cpu="1") for index in range(50)]
    node, admitted = offered(started("gb200-34n", mode), pods)
    assert len(admitted) == 50
    assert set(_memory_nodes(node, admitted)) == {(0,)}
    assert frozenset().union(*(held(node, uid).cpus for uid in admitted)) == set(range(1, 51))


def test_fifty_small_pods_fill_two_small_nodes_and_leave_the_expander() -> None:
    pods = [asks(f"p{index}", "4Gi", cpu="1") for index in range(50)]
    node, admitted = offered(started("cxl-2n+1"), pods)
    # 61.66 and 62.96 GiB, 15 pods each; the expander is near no CPU.
    assert admitted == [f"p{index}" for index in range(30)]
    assert _memory_nodes(node, admitted) == [(0,)] * 15 + [(1,)] * 15


def test_in_exact_mode_a_pod_without_cpus_of_its_own_lands_in_far_memory() -> None:
    pods = [asks(f"p{index}", "30Gi", cpu="500m") for index in range(6)]
    node, admitted = offered(started("cxl-2n+1"), pods)
    assert admitted == [f"p{index}" for index in range(6)]
    assert _memory_nodes(node, admitted) == [(0,), (0,), (1,), (1,), (2,), (2,)]


def test_in_native_mode_it_waits_for_memory_near_cpus() -> None:
    pods = [asks(f"p{index}", "30Gi", cpu="500m") for index in range(6)]
    node, admitted = offered(started("cxl-2n+1", NATIVE), pods)
    assert admitted == [f"p{index}" for index in range(4)]
    assert _memory_nodes(node, admitted) == [(0,), (0,), (1,), (1,)]


def test_memory_of_accelerators_that_is_kept_back_whole_is_nobodys() -> None:
    # 177.45 and 178.32 GiB are left near the CPUs: too little for the third.
    pods = [
        asks("a", "300Gi", cpu="1"),
        asks("b", "300Gi", cpu="1"),
        asks("c", "180Gi", cpu="500m"),
    ]
    node, admitted = offered(started("gb200-34n"), pods)
    assert admitted == ["a", "b", "c"]
    assert _memory_nodes(node, admitted) == [(0,), (1,), (2,)]
    far = [{"numaNode": node_id, "limits": {"memory": "184Gi"}} for node_id in (2, 10, 18, 26)]
    kept = started(
        "gb200-34n",
        kubeReserved={"memory": f"{924 + 4 * 184 * 1024}Mi"},
        reservedMemory=[{"numaNode": 0, "limits": {"memory": "1Gi"}}, *far],
    )
    assert offered(kept, pods)[1] == ["a", "b"]


@MODES
def test_what_was_removed_is_filled_again(mode: Behaviour) -> None:
    pods = [asks(f"p{index}", "100Gi", cpu="30") for index in range(9)]
    node, admitted = offered(started("epyc-nps4", mode), pods)
    assert admitted == [f"p{index}" for index in range(8)]
    assert _memory_nodes(node, admitted) == [(index,) for index in range(8)]
    freed = {uid: held(node, uid).cpus for uid in ("p6", "p3")}
    for uid in freed:
        node = node.remove(uid)
    again, late = offered(node, [asks(uid, "100Gi", cpu="30") for uid in ("x", "y", "z")])
    assert late == ["x", "y"]
    assert _memory_nodes(again, late) == [(3,), (6,)]
    machine = machine_of("epyc-nps4")
    for uid, node_id in (("x", 3), ("y", 6)):
        assert held(again, uid).cpus < cpus_of(machine, node_id)
    table = again.snapshot.memory.nodes[3].tables["memory"]
    assert table.reserved == 100 * GIB


@MODES
def test_gpus_lead_to_their_nodes_and_come_back_to_them(mode: Behaviour) -> None:
    pods = [asks(f"p{index}", "64Gi", cpu="16", gpu="1") for index in range(5)]
    node, admitted = offered(started("epyc-nps4", mode), pods)
    assert admitted == ["p0", "p1", "p2", "p3"]
    assert _memory_nodes(node, admitted) == [(1,), (2,), (6,), (7,)]
    assert held(node, "p2").devices["nvidia.com/gpu"] == ("gpu2",)
    node = node.remove("p2")
    again, late = offered(node, pods[4:])
    assert _memory_nodes(again, late) == [(6,)]
    assert held(again, "p4").devices["nvidia.com/gpu"] == ("gpu2",)


def test_six_sockets_of_twenty_four_are_the_nearest_if_distances_count() -> None:
    options = {"max-allowable-numa-nodes": "24", "prefer-closest-numa-nodes": "true"}
    node = started("uv-24n", topologyManagerPolicyOptions=options)
    # A blade is two sockets at distance 50; the next blades are at 65.
    node, admitted = offered(node, [asks("big", "170Gi", cpu="84")])
    assert admitted == ["big"]
    chosen = held(node, "big").memory_nodes
    rows = {each.node_id: each.distances or () for each in machine_of("uv-24n").nodes}
    assert len(chosen) == 6
    assert {max(rows[one][other] for other in chosen) for one in chosen} == {65}
    assert all(one ^ 1 in chosen for one in chosen)
