"""The room on each NUMA node, and the node with most of it."""

from __future__ import annotations

from collections.abc import Mapping

import numalet
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.model.pod import ContainerKey
from numalet.core.model.value import replace
from numalet.core.node.node import Node
from numalet.insight.maps import node_map, room
from numalet.insight.maps.node_map import MemoryBar
from numalet.insight.maps.room import RoomRow
from values import node_charts, shown_nodes
from values.shown_nodes import GIB, guaranteed


def _row(
    node_id: int,
    cpus: int = 0,
    size_bytes: int = 0,
    devices: Mapping[str, tuple[int, int]] | None = None,
    together_with: tuple[int, ...] = (),
) -> RoomRow:
    return RoomRow(
        node_id=node_id, node_class="cpu", free_cpus=cpus, cpus=cpus, total_bytes=size_bytes,
        memory=(MemoryBar("memory", size_bytes, 0, size_bytes),), devices=devices or {},
        together_with=together_with,
    )  # fmt: skip


def test_amounts_are_of_the_allocatable_ones() -> None:
    _, node = shown_nodes.started()
    node, _ = node.admit(guaranteed("a", 2, GIB))
    first, second = room.rooms(node_map.of_node(node, ""))
    assert [(row.free_cpus, row.cpus) for row in (first, second)] == [(13, 15), (16, 16)]
    assert [row.memory[0].allocatable_bytes >> 30 for row in (first, second)] == [31, 32]
    assert [(row.free_bytes or 0) >> 30 for row in (first, second)] == [30, 32]


def test_without_static_policies_no_amount_is_of_a_numa_node() -> None:
    config = KubeletConfig(kube_reserved={"cpu": "500m", "memory": "1Gi"})
    machine = numalet.open_machine("2n4c2t", memory_per_node="8Gi")
    node = numalet.start_node(config, machine)
    assert isinstance(node, Node)
    node, decision = node.admit(guaranteed("a", 2, 9 * GIB))
    assert decision.admitted
    chart = node_map.of_node(node, "")
    assert (chart.memory.of_memory, chart.cpus.value) == ("not allocated per NUMA node", "shared")
    rows = room.rooms(chart)
    assert [(row.free_cpus, row.free_bytes, row.cpus) for row in rows] == [(None, None, 8)] * 2
    assert [row.total_bytes for row in rows] == [8 * GIB] * 2
    assert room.roomiest(rows) is None
    said = "Pods request 2 of 15.5 CPUs and 9Gi of 15Gi of memory."
    assert room.requests_sentence(node) == said


def test_what_pods_of_state_files_request_is_not_known() -> None:
    _, node = shown_nodes.started()
    key = ContainerKey("uid-a", "app")
    node = node.at(replace(node.snapshot, assumed=frozenset({key})))
    assert "is not known" in room.requests_sentence(node)


def test_the_scarcest_device_decides_before_cpus_and_cpus_before_memory() -> None:
    gpu = [_row(0, 50, 9, {"gpu": (0, 4), "nic": (9, 64)}), _row(1, 4, 1, {"gpu": (1, 4)})]
    cpu = [_row(0, 8, 9), _row(1, 9, 1), _row(2, 9, 0)]
    memory = [_row(0, 8, 5), _row(1, 8, 9)]
    alike = [_row(0, 8, 5), _row(1, 8, 5)]
    grouped = [_row(0, 8, 5, together_with=(1,)), _row(1, 9, 5, together_with=(0,)), _row(2, 1)]
    found = [room.roomiest(rows) for rows in (gpu, cpu, memory, alike, grouped, [])]
    assert [each and (each.row.node_id, each.by, each.is_shared) for each in found] == [
        (1, "gpu", False),
        (1, "memory", False),
        (1, "memory", False),
        (0, "", True),
        (2, "", False),
        None,
    ]


def test_a_node_on_which_nothing_is_free_has_no_most_room() -> None:
    assert room.roomiest([_row(0), _row(1)]) is None


def test_numa_nodes_with_nothing_are_named_together() -> None:
    rows = [_row(0, 4), _row(1), _row(2), _row(3, 0, 5), _row(4)]
    tables = room.tables(rows, 1)
    assert (tables.first, tables.others) == ((rows[0],), (rows[3],))
    assert tables.empty_ids == "1-2, 4"


def test_huge_pages_are_named_only_if_a_pod_requests_some() -> None:
    machine = numalet.open_machine("2n4c2t", memory_per_node="8Gi", hugepages_per_node={"1Gi": "2"})
    config = KubeletConfig(kube_reserved={"cpu": "1", "memory": "1Gi"})
    node = numalet.start_node(config, machine)
    assert isinstance(node, Node)
    assert "hugepages" not in room.requests_sentence(node)


def test_devices_are_counted_on_each_of_their_numa_nodes() -> None:
    first, second = room.rooms(node_charts.held())[:2]
    # A device of two NUMA nodes counts on both; one in use and an unhealthy one are not free.
    assert first.devices == {"example.com/nic": (2, 2), "nvidia.com/gpu": (1, 2)}
    assert second.devices == {"example.com/nic": (1, 1), "nvidia.com/gpu": (1, 2)}
