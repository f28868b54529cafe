"""Machines by shape names."""

from __future__ import annotations

import pytest

from numalet.core.model.findings import BadInput
from numalet.core.model.kubelet_view import kubelet_view
from numalet.core.model.machine import HugePagePool
from numalet.core.model.machine_info import CoreInfo
from numalet.core.model.machine_shape import (
    MachineShape,
    machine_of_shape,
    parse_shape,
    resembles_shape,
)


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("2n16c2t", MachineShape(2, 2, 16, 2)),
        ("1n4c", MachineShape(1, 1, 4, 1)),
        ("2s4n8c2t", MachineShape(2, 4, 8, 2)),
    ],
)
def test_a_shape_is_read(text: str, shape: MachineShape) -> None:
    assert parse_shape(text) == shape


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("2n", "machine/shape"),
        ("2c2n", "machine/shape"),
        ("n2c2", "machine/shape"),
        ("2n16c2t ", "machine/shape"),
        ("99999n1c", "machine/shape"),
        ("0n1c", "machine/shape-zero"),
        ("2n0c", "machine/shape-zero"),
        ("0s2n1c", "machine/shape-zero"),
        ("3s4n1c", "machine/shape-uneven"),
        ("8s4n1c", "machine/shape-uneven"),
        ("1025n1c", "machine/shape-too-large"),
        ("8n1025c", "machine/shape-too-large"),
    ],
)
def test_a_bad_shape_is_told_what_is_wrong(text: str, code: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse_shape(text)
    assert [finding.code for finding in caught.value.findings] == [code]


def test_a_misspelt_shape_still_looks_like_one() -> None:
    assert resembles_shape("2n16x")
    assert not resembles_shape("machine.yaml")


def test_siblings_are_numbered_after_all_first_threads() -> None:
    machine = machine_of_shape(MachineShape(2, 2, 2, 2), 1 << 30, {}, "2n2c2t")
    first, second = kubelet_view(machine).nodes
    assert first.cores == (CoreInfo(0, 0, (0, 4)), CoreInfo(0, 1, (1, 5)))
    assert second.cores == (CoreInfo(1, 0, (2, 6)), CoreInfo(1, 1, (3, 7)))


def test_core_ids_go_on_over_the_nodes_of_a_socket() -> None:
    machine = machine_of_shape(MachineShape(1, 2, 2), 1 << 30, {}, "1s2n2c")
    cores = [core.core_id for node in kubelet_view(machine).nodes for core in node.cores]
    assert cores == [0, 1, 2, 3]


def test_distances_tell_home_socket_and_elsewhere_apart() -> None:
    machine = machine_of_shape(MachineShape(2, 4, 1), 1 << 30, {}, "2s4n1c")
    assert machine.nodes[0].distances == (10, 12, 20, 20)
    assert machine.nodes[3].distances == (20, 20, 12, 10)


def test_memory_and_pages_are_per_node_and_summed() -> None:
    machine = machine_of_shape(MachineShape(2, 2, 1), 1 << 40, {2048: 8, 1048576: 3}, "2n1c")
    info = kubelet_view(machine)
    assert info.memory_capacity_bytes == 2 << 40
    assert machine.hugepages == (HugePagePool(1048576, 6), HugePagePool(2048, 16))
    assert machine.nodes[1].hugepages == (HugePagePool(1048576, 3, 3), HugePagePool(2048, 8, 8))
    assert (info.cpu_count, info.socket_count, info.physical_core_count) == (2, 2, 2)


def test_many_nodes_are_listed_by_name() -> None:
    machine = machine_of_shape(MachineShape(12, 12, 1), 1 << 30, {}, "12n1c")
    assert [node.node_id for node in machine.nodes][:4] == [0, 1, 10, 11]
    assert machine.nodes[2].distances == (20,) * 10 + (10, 20)
