"""cAdvisor's MachineInfo as a machine."""

from __future__ import annotations

from typing import Any

import pytest

from numalet.core.model.findings import BadInput, Location
from numalet.core.model.kubelet_view import kubelet_view
from numalet.core.model.machine_info import (
    CoreInfo,
    HugePages,
    MachineInfo,
    NodeCache,
    NumaNodeInfo,
)
from numalet.io.documents.machine import cadvisor

HERE = Location("info.json", "$")


def _info(**node: Any) -> dict[str, Any]:
    return {"num_cores": 2, "topology": [{"node_id": 0, **node}]}


def test_a_machine_info_is_read() -> None:
    value = {
        "timestamp": "passed over",
        "num_cores": 2,
        "num_physical_cores": 1,
        "num_sockets": 1,
        "memory_capacity": 4096,
        "hugepages": [{"page_size": 2048, "num_pages": 3}],
        "topology": [
            {
                "node_id": 1,
                "memory": 1024,
                "hugepages": [{"page_size": 2048, "num_pages": 3}],
                "distances": [10],
                "caches": [{"id": 7, "size": 99, "type": "Unified", "level": 3}],
                "cores": [
                    {
                        "core_id": 3,
                        "thread_ids": [4, 2],
                        "uncore_caches": [{"id": 5, "size": 1, "type": "Unified", "level": 3}],
                        "socket_id": 8,
                        "book_id": "1",
                        "drawer_id": "2",
                    }
                ],
            }
        ],
    }
    assert cadvisor.is_machine_info(value)
    assert kubelet_view(cadvisor.decode(value, HERE)) == MachineInfo(
        nodes=(
            NumaNodeInfo(
                1,
                1024,
                (HugePages(2048, 3),),
                (CoreInfo(8, 3, (2, 4), 5, "1", "2"),),
                (10,),
                (NodeCache(3, 7, 99),),
            ),
        ),
        memory_capacity_bytes=4096,
        cpu_count=2,
        socket_count=1,
        hugepages=(HugePages(2048, 3),),
        physical_core_count=1,
    )


def test_null_lists_are_empty() -> None:
    value = _info(hugepages=None, cores=None, caches=None, distances=None)
    (node,) = kubelet_view(cadvisor.decode(value, HERE)).nodes
    assert node == NumaNodeInfo(0, 0)


@pytest.mark.parametrize("value", [None, [], {"topology": []}, {"num_cores": 1}])
def test_other_documents_do_not_look_like_it(value: object) -> None:
    assert not cadvisor.is_machine_info(value)


@pytest.mark.parametrize(
    ("value", "codes"),
    [
        ({"num_cores": 1, "topology": 3}, ["document/type"]),
        (_info(memory=-1), ["input/invalid"]),
        (_info(memory=1 << 64), ["input/invalid"]),
        (_info(node_id=-2), ["input/invalid"]),
        (
            {"num_cores": 0, "topology": [{"node_id": 1}, {"node_id": 1}]},
            ["input/duplicate"],
        ),
        (_info(cores=[{"core_id": 0}]), ["input/required"]),
        (_info(cores=[{"core_id": 0, "thread_ids": [-1]}]), ["input/invalid"]),
        (
            _info(cores=[{"core_id": 0, "thread_ids": [1]}, {"core_id": 1, "thread_ids": [1]}]),
            ["input/duplicate"],
        ),
        (_info(distances=[-1]), ["input/invalid"]),
        (_info(hugepages=[{"page_size": 0, "num_pages": 1}]), ["input/invalid"]),
        (_info(hugepages=[{"page_size": 4, "num_pages": -1}]), ["input/invalid"]),
    ],
)
def test_a_mistake_gets_its_own_finding(value: object, codes: list[str]) -> None:
    with pytest.raises(BadInput) as caught:
        cadvisor.decode(value, HERE)
    assert [finding.code for finding in caught.value.findings] == codes
