"""NodeResourceTopology of what the PodResources API answers, against values worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from numalet.core.config.rules import Scope, TopologyPolicy, TopologyRules
from numalet.core.managers.memory.ledger import MemoryBlock
from numalet.core.model.machine_info import CoreInfo, HugePages, MachineInfo, NumaNodeInfo
from numalet.shared.kubernetes import node_resource_topology
from numalet.shared.kubernetes.pod_resources import (
    Allocatable,
    ContainerEntry,
    PodEntry,
    PodResourcesDevice,
)
from values.builders import GI

GPU = "nvidia.com/gpu"
ALIGNED = TopologyRules(policy=TopologyPolicy.SINGLE_NUMA_NODE, scope=Scope.POD)


def machine() -> MachineInfo:
    """Nodes 0 and 8 with four CPUs each, node 2 with memory alone."""
    nodes = (
        _node(0, (0, 1, 2, 3), (10, 40, 20)),
        _node(2, (), (40, 10, 40)),
        _node(8, (4, 5, 6, 7), (20, 40, 10)),
    )
    return MachineInfo(nodes, 48 * GI, 8, 2)


def _node(node_id: int, cpus: tuple[int, ...], distances: tuple[int, ...]) -> NumaNodeInfo:
    pages = (HugePages(1 << 20, 2),) if cpus else ()
    cores = tuple(CoreInfo(node_id, cpu, (cpu,)) for cpu in cpus)
    return NumaNodeInfo(node_id, 16 * GI, pages, cores, distances)


ALLOCATABLE = Allocatable(
    devices=(
        PodResourcesDevice(GPU, "g0", 0),
        PodResourcesDevice(GPU, "g1", 0),
        PodResourcesDevice(GPU, "g1", 8),
        PodResourcesDevice(GPU, "g2", 8),
        PodResourcesDevice(GPU, "g3", 77),
        PodResourcesDevice("example.com/nowhere", "n0", None),
    ),
    cpus=(1, 2, 3, 4, 5, 6, 7),
    memory=(
        MemoryBlock((0,), "memory", 13 * GI),
        MemoryBlock((0,), "hugepages-1Gi", 2 * GI),
        MemoryBlock((2,), "memory", 16 * GI),
        MemoryBlock((8,), "memory", 14 * GI),
    ),
)


def pod(name: str, cpus: tuple[int, ...] = (), **more: Any) -> PodEntry:
    container = ContainerEntry("c", more.get("devices", ()), cpus, more.get("memory", ()))
    return PodEntry(name, "default", (container,), frozenset({"c"}))


PODS = (
    pod("shares"),
    pod(
        "wide",
        (2, 3, 4),
        devices=(PodResourcesDevice(GPU, "g1", 0), PodResourcesDevice(GPU, "g1", 8)),
        memory=(
            MemoryBlock((0, 8), "memory", 15 * GI),
            MemoryBlock((0,), "hugepages-1Gi", GI),
            MemoryBlock((5,), "memory", GI),
        ),
    ),
    pod("gone", (99,)),
)


def made(rules: TopologyRules = ALIGNED, pods: tuple[PodEntry, ...] = PODS) -> dict[str, Any]:
    return node_resource_topology.topology(machine(), rules, ALLOCATABLE, pods)


def amounts(zone: dict[str, Any]) -> dict[str, tuple[str, str, str]]:
    return {
        each["name"]: (each["capacity"], each["allocatable"], each["available"])
        for each in zone["resources"]
    }


def test_a_zone_says_what_is_there_to_give_and_left() -> None:
    first, memory_only, last = made()["zones"]

    assert [first["name"], memory_only["name"], last["name"]] == ["node-0", "node-2", "node-8"]
    assert {each["type"] for each in made()["zones"]} == {"Node"}
    assert amounts(first) == {
        "cpu": ("4", "3", "1"),
        "hugepages-1Gi": (str(2 * GI), str(2 * GI), str(GI)),
        "memory": (str(16 * GI), str(13 * GI), "0"),
        GPU: ("2", "2", "1"),
    }
    assert amounts(memory_only) == {"memory": (str(16 * GI), str(16 * GI), str(16 * GI))}
    assert amounts(last) == {
        "cpu": ("4", "4", "3"),
        "memory": (str(16 * GI), str(14 * GI), str(12 * GI)),
        GPU: ("2", "2", "1"),
    }


def test_zones_without_cpus_have_no_costs() -> None:
    first, memory_only, _ = made()["zones"]

    assert first["costs"] == [
        {"name": "node-0", "value": 10},
        {"name": "node-2", "value": 40},
        {"name": "node-8", "value": 20},
    ]
    assert "costs" not in memory_only


def test_the_order_of_pods_and_of_their_devices_makes_no_difference() -> None:
    assert made(pods=PODS[::-1]) == made()


def test_a_node_all_of_whose_cpus_are_reserved_says_so() -> None:
    nothing = Allocatable((), (), ())
    zones = node_resource_topology.topology(machine(), ALIGNED, nothing, ())["zones"]

    assert amounts(zones[0]) == {"cpu": ("4", "0", "0")}
    assert amounts(zones[1]) == {"cpu": ("0", "0", "0")}


def attributes(rules: TopologyRules) -> dict[str, str]:
    listed = made(rules)["attributes"]
    assert listed == sorted(listed, key=lambda each: str(each["name"]))
    return {each["name"]: each["value"] for each in listed}


def test_attributes_have_the_documented_names() -> None:
    found = attributes(ALIGNED)

    assert found == {
        "nodeTopologyPodsFingerprint": node_resource_topology.fingerprint(
            [("default", "wide"), ("default", "gone"), ("default", "shares")]
        ),
        "nodeTopologyPodsFingerprintMethod": "all",
        "topologyManagerPolicy": "single-numa-node",
        "topologyManagerScope": "pod",
    }


@pytest.mark.parametrize(("limit", "shown"), [(34, "34"), (None, "1024"), (2000, "1024")])
def test_options_of_the_topology_manager_are_attributes(limit: int | None, shown: str) -> None:
    rules = TopologyRules(
        policy=TopologyPolicy.RESTRICTED, prefer_closest_numa_nodes=True, node_limit=limit
    )
    found = attributes(rules)

    assert found["topologyManagerMaxNUMANodes"] == shown
    assert found["topologyManagerOptionPreferClosestNumaNodes"] == "true"


@pytest.mark.parametrize(
    ("policy", "scope", "name"),
    [
        (TopologyPolicy.NONE, Scope.POD, "None"),
        (TopologyPolicy.BEST_EFFORT, Scope.CONTAINER, "BestEffortContainerLevel"),
        (TopologyPolicy.RESTRICTED, Scope.POD, "RestrictedPodLevel"),
        (TopologyPolicy.SINGLE_NUMA_NODE, Scope.CONTAINER, "SingleNUMANodeContainerLevel"),
    ],
)
def test_the_older_field_names_the_policy_too(
    policy: TopologyPolicy, scope: Scope, name: str
) -> None:
    assert made(TopologyRules(policy=policy, scope=scope))["topologyPolicies"] == [name]


@pytest.mark.parametrize(
    ("pods", "fingerprint"),
    [
        ([], "pfp0v001ef46db3751d8e999"),
        ([("default", "p1")], "pfp0v00152f1f612becb81d1"),
        ([("ns1", "pod1"), ("ns2", "pod2")], "pfp0v001d4294c0b68c76415"),
        ([("ns2", "pod2"), ("ns1", "pod1")], "pfp0v001d4294c0b68c76415"),
    ],
)
def test_pods_have_the_fingerprint_of_schedulers(
    pods: list[tuple[str, str]], fingerprint: str
) -> None:
    assert node_resource_topology.fingerprint(pods) == fingerprint


def test_the_object_may_belong_to_its_node() -> None:
    owner = {"apiVersion": "v1", "kind": "Node", "name": "node-1", "uid": "7"}
    owned = node_resource_topology.named("node-1", made(), owner)
    alone = node_resource_topology.named("node-1", made())

    assert owned["metadata"] == {"name": "node-1", "ownerReferences": [owner]}
    assert alone["metadata"] == {"name": "node-1"}
    assert {"apiVersion", "kind", "metadata", "attributes", "topologyPolicies", "zones"} == set(
        alone
    )
