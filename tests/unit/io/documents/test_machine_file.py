"""Descriptions of machines, right and wrong."""

from __future__ import annotations

from typing import Any

import pytest

from numalet.core.model.findings import BadInput, Location
from numalet.core.model.kubelet_view import kubelet_view
from numalet.core.model.machine_info import (
    CoreInfo,
    HugePages,
    MachineInfo,
    NumaNodeInfo,
    OperatingSystem,
)
from numalet.io.documents.machine import machine_file

HERE = Location("machine.yaml", "$")
GIB = 1 << 30


def _view(value: object) -> MachineInfo:
    return kubelet_view(machine_file.decode(value, HERE))


def _found(value: object) -> list[tuple[str, str, dict[str, Any]]]:
    with pytest.raises(BadInput) as caught:
        machine_file.decode(value, HERE)
    for finding in caught.value.findings:
        assert str(finding)
        assert finding.where.document == "machine.yaml"
    return [(f.code, f.where.path, dict(f.fields)) for f in caught.value.findings]


def _codes(value: object) -> list[str]:
    return [code for code, _, _ in _found(value)]


def said(message: str) -> dict[str, object]:
    """The fields of an error of the input."""
    return {"message": message, "expected": ""}


def _node(**fields: object) -> dict[str, object]:
    return {"nodes": [{"memory": 0, **fields}]}


def test_the_form_of_recorded_scenarios_is_read() -> None:
    info = _view(
        {
            "numa_nodes": [
                {
                    "id": 4,
                    "memory_bytes": 3 * GIB,
                    "hugepages": [
                        {"page_size_kib": 1048576, "count": 1},
                        {"page_size_kib": 2048, "count": 7},
                    ],
                    "distances": [10, 21],
                    "cores": [
                        {"id": 0, "socket": 0, "threads": [0, 8], "uncore_cache": 1},
                        {"id": 1, "socket": 0, "threads": [1, 9], "uncore_cache": None},
                    ],
                },
                {
                    "id": 1,
                    "memory_bytes": 2 * GIB,
                    "hugepages": [{"page_size_kib": 2048, "count": 1}],
                    "cores": [{"id": 0, "socket": 3, "threads": [2], "uncore_cache": 2}],
                },
            ]
        }
    )
    assert info == MachineInfo(
        nodes=(
            NumaNodeInfo(
                4,
                3 * GIB,
                (HugePages(1048576, 1), HugePages(2048, 7)),
                (CoreInfo(0, 0, (0, 8), 1), CoreInfo(0, 1, (1, 9))),
                (10, 21),
            ),
            NumaNodeInfo(1, 2 * GIB, (HugePages(2048, 1),), (CoreInfo(3, 0, (2,), 2),), None),
        ),
        memory_capacity_bytes=5 * GIB,
        cpu_count=5,
        socket_count=2,
        hugepages=(HugePages(1048576, 1), HugePages(2048, 8)),
        physical_core_count=3,
    )


def test_the_short_form_is_read() -> None:
    info = _view(
        {
            "os": "windows",
            "nodes": [
                {
                    "memory": "1Gi",
                    "hugepages": {"2Mi": 3},
                    "cpus": "0-1,4-5",
                    "threads_per_core": 2,
                },
                {"memory": 5 << 20, "cpus": [2, 3], "socket": 0},
                {"id": 9, "memory": "0", "cpus": 6},
            ],
            "distances": [[10, 20, 30], [20, 10, 30], [30, 30, 10]],
        }
    )
    assert info.os is OperatingSystem.WINDOWS
    assert info.nodes == (
        NumaNodeInfo(
            0,
            GIB,
            (HugePages(2048, 3),),
            (CoreInfo(0, 0, (0, 4)), CoreInfo(0, 1, (1, 5))),
            (10, 20, 30),
        ),
        NumaNodeInfo(1, 5 << 20, (), (CoreInfo(0, 2, (2,)), CoreInfo(0, 3, (3,))), (20, 10, 30)),
        NumaNodeInfo(9, 0, (), (CoreInfo(2, 0, (6,)),), (30, 30, 10)),
    )


def test_cores_without_ids_are_numbered_in_their_socket() -> None:
    (node,) = _view(
        {"nodes": [{"memory": 0, "socket": 5, "cores": [{"threads": "0,2"}, {"threads": [1]}]}]}
    ).nodes
    assert node.cores == (CoreInfo(5, 0, (0, 2)), CoreInfo(5, 1, (1,)))


def test_a_node_without_cpus_is_fine() -> None:
    info = _view({"nodes": [{"memory": "4Gi"}, {"memory": "4Gi", "cores": None}]})
    assert (info.cpu_count, info.socket_count) == (0, 0)


def test_a_shape_with_sizes_is_a_description_too() -> None:
    value = {
        "shape": "2n2c",
        "memory_per_node": "2Gi",
        "hugepages_per_node": {"1Gi": 1},
        "os": "windows",
    }
    info = _view(value)
    assert info.memory_capacity_bytes == 4 * GIB
    assert info.nodes[1].hugepages == (HugePages(1048576, 1),)
    assert info.os is OperatingSystem.WINDOWS


def test_a_shape_is_checked_with_everything_beside_it() -> None:
    assert _found({"shape": "2m", "nodes": [], "hugepages_per_node": 3}) == [
        (
            "document/unknown-field",
            "$",
            {"name": "nodes", "nearest": "hugepages_per_node, memory_per_node, os, shape"},
        ),
        ("machine/shape", "$.shape", {"value": "2m"}),
        (
            "document/type",
            "$.memory_per_node",
            {"expected": "a size such as 128Gi or a number of bytes", "got": "nothing"},
        ),
        (
            "document/type",
            "$.hugepages_per_node",
            {"expected": "page sizes with counts, {1Gi: 4, 2Mi: 512}", "got": "3"},
        ),
    ]


@pytest.mark.parametrize("value", [None, [], 3, "2n"])
def test_something_else_than_an_object_is_refused(value: object) -> None:
    assert _codes(value) == ["document/type"]


@pytest.mark.parametrize("nodes", [None, [], {}, "x"])
def test_there_must_be_nodes(nodes: object) -> None:
    assert _codes({"nodes": nodes}) == ["document/type"]


def test_too_many_nodes_are_refused() -> None:
    assert _codes({"nodes": [{}] * 1025}) == ["input/too-large"]


def test_every_mistake_is_found_at_its_place() -> None:
    value = {
        "colour": "red",
        "os": "plan9",
        "nodes": [
            {"id": -1, "memory": "1.5.Gi", "speed": 3},
            {"id": 1, "memory": "-1Gi", "distances": [10]},
            7,
        ],
    }
    assert [(code, path) for code, path, _ in _found(value)] == [
        ("input/not-supported", "$.os"),
        ("document/unknown-field", "$"),
        ("document/unknown-field", "$.nodes[0]"),
        ("input/invalid", "$.nodes[0].id"),
        ("input/invalid", "$.nodes[0].memory"),
        ("input/invalid", "$.nodes[1].memory"),
        ("input/invalid", "$.nodes[1].distances"),
        ("document/type", "$.nodes[2]"),
    ]


def test_findings_have_the_line_of_their_place() -> None:
    with pytest.raises(BadInput) as caught:
        machine_file.decode({"nodes": [{"memory": "x"}]}, HERE, len)
    assert [f.where.line for f in caught.value.findings] == [len("$.nodes[0].memory")]


@pytest.mark.parametrize("memory", ["1.5.Gi", "-1Gi", "1e400", "100m", "8Ei", -1, 1 << 63])
def test_a_bad_size_is_refused(memory: object) -> None:
    assert _codes({"nodes": [{"memory": memory}]})[0] in ("input/invalid", "input/invalid")


@pytest.mark.parametrize("memory", [1.5, True, None, ["1Gi"]])
def test_a_size_of_another_type_is_refused(memory: object) -> None:
    assert _codes({"nodes": [{"memory": memory}]}) == ["document/type"]


def test_a_node_must_say_its_memory() -> None:
    assert _codes({"nodes": [{}]}) == ["input/required"]


@pytest.mark.parametrize(
    ("value", "codes"),
    [
        (_node(memory_bytes=3), ["input/conflict"]),
        (_node(cpus="0", cores=[]), ["input/conflict"]),
        ({"nodes": [{"memory": 0}], "numa_nodes": [{"memory": 0}]}, ["input/conflict"]),
        ({"nodes": [{"id": 3, "memory": 0}, {"id": 3, "memory": 0}]}, ["input/duplicate"]),
        (_node(id=1024), ["input/invalid"]),
        (_node(id="0"), ["document/type"]),
        (_node(cpus="0-x"), ["input/invalid"]),
        (_node(cpus="70000"), ["input/invalid"]),
        (_node(cpus=70000), ["input/invalid"]),
        (_node(cpus=1.5), ["document/type"]),
        (_node(cpus=True), ["document/type"]),
        (_node(cpus=[0, "1"]), ["document/type"]),
        (_node(cpus=[1, 1]), ["input/duplicate"]),
        (_node(cpus="0-2", threads_per_core=2), ["input/invalid"]),
        (_node(cpus="0-2", threads_per_core=0), ["input/invalid"]),
        (_node(cpus="0", socket=-1), ["input/invalid"]),
        (_node(cores=5), ["document/type"]),
        (_node(cores=[5]), ["document/type"]),
        (_node(cores=[{"id": 0}]), ["input/required"]),
        (_node(cores=[{"threads": [0], "extra": 1}]), ["document/unknown-field"]),
        (_node(cores=[{"threads": [0], "uncore_cache": "x"}]), ["document/type"]),
        (_node(cores=[{"threads": [0]}, {"threads": [0]}]), ["input/duplicate"]),
        (_node(hugepages={"x": 1}), ["input/invalid"]),
        (_node(hugepages={"1000k": 1}), ["input/invalid"]),
        (_node(hugepages={"0": 1}), ["input/invalid"]),
        (_node(hugepages={"1Gi": -1}), ["input/invalid"]),
        (_node(hugepages={"1Gi": "4"}), ["document/type"]),
        (_node(hugepages={"1Gi": 1, "1024Mi": 1}), ["input/duplicate"]),
        (_node(hugepages={"1Gi": 1 << 40}), ["input/invalid"]),
        (_node(hugepages=[3]), ["document/type"]),
        (_node(hugepages=[{"page_size_kib": 0, "count": 1}]), ["input/invalid"]),
        (_node(hugepages=[{"page_size_kib": 4}]), ["document/type"]),
        (_node(distances="10"), ["document/type"]),
        (_node(distances=[10, 20]), ["input/invalid"]),
        (_node(distances=["10"]), ["document/type"]),
        (_node(distances=[-1]), ["input/invalid"]),
        ({"nodes": [{"memory": 0}], "distances": [[10], [10]]}, ["input/invalid"]),
        ({"nodes": [{"memory": 0}], "distances": 3}, ["input/invalid"]),
        ({"nodes": [{"memory": 0}], "distances": [[1, 2]]}, ["input/invalid"]),
        ({"os": 5, "nodes": [{"memory": 0}]}, ["input/not-supported"]),
    ],
)
def test_a_mistake_gets_its_own_finding(value: object, codes: list[str]) -> None:
    assert _codes(value) == codes


def test_a_cpu_in_two_nodes_names_the_other_node() -> None:
    value = {"nodes": [{"memory": 0, "cpus": "0-3"}, {"memory": 0, "cpus": "2-5"}]}
    assert _found(value) == [
        (
            "input/duplicate",
            "$.nodes[1]",
            said("CPU 2-3 is also in $.nodes[0]; a CPU belongs to one core of one NUMA node"),
        )
    ]


@pytest.mark.parametrize(
    ("value", "path", "size"),
    [
        ({"nodes": [{"memory": 128}]}, "$.nodes[0].memory", "128"),
        ({"nodes": [{"memory": " 128 "}]}, "$.nodes[0].memory", "128"),
        ({"shape": "2n4c", "memory_per_node": 64}, "$.memory_per_node", "64"),
        (_node(hugepages={2048: 512}), "$.nodes[0].hugepages.2048", "2048"),
    ],
)
def test_a_size_without_a_unit_is_no_number_of_bytes(value: object, path: str, size: str) -> None:
    assert _found(value) == [
        (
            "input/invalid",
            path,
            said(
                f"{size} without a unit is {size} bytes; write the unit, such as {size}Gi, "
                f"{size}Mi or {size}Ki"
            ),
        )
    ]


def test_a_size_whose_field_names_bytes_is_taken_by_the_letter() -> None:
    assert _view({"nodes": [{"memory_bytes": 128}]}).memory_capacity_bytes == 128
    assert _view({"nodes": [{"memory": 0}]}).memory_capacity_bytes == 0
    assert _view({"nodes": [{"memory": 1 << 20}]}).memory_capacity_bytes == 1 << 20
