"""The NUMA node of each container, in the bytes that the Go module numaplacement reads.

The two hashes are those of the module's own tests.
"""

from __future__ import annotations

from typing import Any

import pytest
import xxhash

from numalet.core.config.rules import TopologyPolicy, TopologyRules
from numalet.core.managers.memory.ledger import MemoryBlock
from numalet.core.model.machine_info import CoreInfo, MachineInfo, NumaNodeInfo
from numalet.shared.kubernetes import numa_placement
from numalet.shared.kubernetes.pod_resources import ContainerEntry, PodEntry, PodResourcesDevice

GPU = "nvidia.com/gpu"
SINGLE = TopologyRules(policy=TopologyPolicy.SINGLE_NUMA_NODE)
LOWER_HASH = ("ns", "pod", "cnt")  # 9468815510407277218
HIGHER_HASH = ("", "", "")  # 11145182160106660097
OTHER = {"name": "topologyManagerPolicy", "value": "single-numa-node"}


def machine(*node_ids: int) -> MachineInfo:
    """Four CPUs on each node: 0 to 3 on the first one."""
    nodes = tuple(
        NumaNodeInfo(node_id, 1 << 30, (), (CoreInfo(0, at, tuple(range(4 * at, 4 * at + 4))),))
        for at, node_id in enumerate(node_ids)
    )
    return MachineInfo(nodes, len(nodes) << 30, 4 * len(nodes), 1)


def held(name: tuple[str, str, str], node_id: int) -> PodEntry:
    """A pod with a CPU of this node; node 0 has CPU 0, node 1 has CPU 4."""
    return entry(name, cpus=(4 * node_id,))


def entry(name: tuple[str, str, str], **more: Any) -> PodEntry:
    namespace, pod, container = name
    cpus, memory = more.get("cpus", ()), more.get("memory", ())
    of = ContainerEntry(container, more.get("devices", ()), cpus, memory)
    return PodEntry(pod, namespace, (of,), frozenset({container}))


def placed(
    *pods: PodEntry, rules: TopologyRules = SINGLE, nodes: tuple[int, ...] = (0, 1)
) -> dict[str, Any]:
    zones = [{"name": f"node-{each}", "type": "Node"} for each in nodes]
    content = {"attributes": [OTHER], "zones": zones}
    return numa_placement.with_placement(content, machine(*nodes), rules, pods)


def metadata(content: dict[str, Any]) -> str | None:
    values = {each["name"]: each["value"] for each in content["attributes"]}
    return values.get("topology.node.k8s.io/numaplacement-metadata")


def vectors(content: dict[str, Any]) -> dict[str, list[dict[str, str]]]:
    return {each["name"]: each["attributes"] for each in content["zones"] if "attributes" in each}


def test_the_zone_with_the_most_containers_has_no_vector() -> None:
    content = placed(held(HIGHER_HASH, 0), held(LOWER_HASH, 1))
    assert content == {
        "attributes": [
            {
                "name": "topology.node.k8s.io/numaplacement-metadata",
                "value": "npv0v001::ve=leb89::cc=2::nn=2::bn=0",
            },
            OTHER,
        ],
        "zones": [
            {"name": "node-0", "type": "Node"},
            {
                "name": "node-1",
                "type": "Node",
                "attributes": [{"name": "topology.node.k8s.io/numaplacement-vector", "value": "!"}],
            },
        ],
    }


def test_containers_are_numbered_in_the_order_of_their_hashes() -> None:
    content = placed(held(LOWER_HASH, 0), held(HIGHER_HASH, 1))
    assert [each["value"] for each in vectors(content)["node-1"]] == ["#"]


def test_a_node_without_containers_says_so() -> None:
    empty = placed(entry(LOWER_HASH))
    assert metadata(empty) == "npv0v001::ve=leb89::cc=0::nn=2::bn=0"
    assert vectors(empty) == {}
    assert metadata(placed()) == metadata(empty)


def test_a_vector_has_differences_of_one_to_three_characters() -> None:
    names = [("default", f"pod-{number}", "main") for number in range(3500)]
    names.sort(key=lambda each: xxhash.xxh64_intdigest("\0".join(each).encode()))
    # The differences between these are 0, 63, 64, 1663 and 1664.
    on_node_1 = {0, 63, 127, 1790, 3454}
    pods = [held(name, int(number in on_node_1)) for number, name in enumerate(names)]
    content = placed(*pods)
    assert metadata(content) == "npv0v001::ve=leb89::cc=3500::nn=2::bn=0"
    assert [each["value"] for each in vectors(content)["node-1"]] == ["!ef!~egf!"]


def test_a_larger_difference_has_one_more_character() -> None:
    names = [("default", f"pod-{number}", "main") for number in range(41_665)]
    names.sort(key=lambda each: xxhash.xxh64_intdigest("\0".join(each).encode()))
    pods = [held(name, int(number == 41_664)) for number, name in enumerate(names)]
    # 41,664 = 64 + 64 * (1 * 25 * 25 + 25 + 0) + 0
    assert [each["value"] for each in vectors(placed(*pods))["node-1"]] == ["ggf!"]


@pytest.mark.parametrize(
    "more",
    [
        {"devices": (PodResourcesDevice(GPU, "g0", 1), PodResourcesDevice("x", "y", None))},
        {"memory": (MemoryBlock((1,), "memory", 0),)},
        {"cpus": (4, 5, 99), "memory": (MemoryBlock((1,), "memory", 1),)},
    ],
    ids=["a device", "memory", "CPUs and memory"],
)
def test_devices_and_memory_place_a_container_as_cpus_do(more: dict[str, Any]) -> None:
    assert metadata(placed(entry(LOWER_HASH, **more))) == "npv0v001::ve=leb89::cc=1::nn=2::bn=1"


@pytest.mark.parametrize(
    "more",
    [
        {"cpus": (3, 4)},
        {"memory": (MemoryBlock((0, 1), "memory", 1),)},
        {"devices": (PodResourcesDevice(GPU, "g0", 0), PodResourcesDevice(GPU, "g0", 1))},
    ],
    ids=["CPUs", "memory", "a device"],
)
def test_nothing_is_added_if_a_container_is_on_several_nodes(more: dict[str, Any]) -> None:
    content = placed(held(HIGHER_HASH, 0), entry(LOWER_HASH, **more))
    assert metadata(content) is None
    assert vectors(content) == {}


def test_nothing_is_added_under_another_policy() -> None:
    rules = TopologyRules(policy=TopologyPolicy.RESTRICTED)
    assert metadata(placed(held(LOWER_HASH, 0), rules=rules)) is None


def test_nothing_is_added_if_numbers_of_nodes_have_gaps() -> None:
    assert metadata(placed(held(LOWER_HASH, 0), nodes=(0, 8))) is None
