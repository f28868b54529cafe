"""Devices that drivers offer, on the machine that is there; claims that none of them satisfies."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from numalet.core.managers.device.inventory import Device
from numalet.core.model.findings import Severity
from values.claim_documents import (
    NUMA,
    ON,
    claim,
    codes,
    container,
    cpus,
    device,
    device_class,
    devices,
    found,
    pod,
    request,
)

GPU = "gpu.example.com"
CPUS = devices("dra.cpu", device("numa0", 0, "2"), device("numa1", 1, "2"))
NEAR = devices(GPU, device("gpu0", 0), device("gpu1", 1))
MEMORY_NODE = devices(GPU, device("gpu0", 2), device("gpu1", 2))


def test_devices_on_nodes_with_cpus_are_fine() -> None:
    assert found(CPUS, NEAR) == []


def test_an_attribute_may_name_a_node_of_memory_alone() -> None:
    (finding,) = found(MEMORY_NODE)
    assert (finding.code, finding.severity) == ("lint/device-on-cpuless-node", Severity.WARNING)
    assert finding.fields == {
        "driver": GPU,
        "devices": "gpu0, gpu1",
        "attribute": NUMA,
        "numa_node": 2,
        "near": "the nearest CPUs are on node 1",
    }
    assert finding.where.path.startswith("$.spec.devices[0].attributes")


@pytest.mark.parametrize("name", ["numaNode", "dra.net/numaNode", "x.example.com/numa_node_id"])
def test_numa_attributes_of_drivers_count_too(name: str) -> None:
    odd = devices(GPU, {"name": "gpu0", "attributes": {name: {"int": 2}}})
    (finding,) = found(odd)
    assert finding.fields["attribute"] == (name if "/" in name else f"{GPU}/{name}")


def test_a_node_that_is_not_there_is_another_finding() -> None:
    findings = found(devices(GPU, device("gpu0", -1), device("gpu1", 7)))
    assert codes(findings) == ["device-on-absent-node"] * 2
    assert [each.fields["numa_node"] for each in findings] == [-1, 7]
    assert findings[0].fields["near"] == "the nodes with CPUs are 0-1"


@pytest.mark.parametrize(
    "slices",
    [
        (devices(GPU, device("gpu0", 2), node="node8"),),
        (devices("dra.memory", device("zone2", 2)),),
        (devices(GPU, device("gpu0", 2)), devices(GPU, device("gpu0", 1), generation=2)),
        (devices(GPU, {"name": "gpu0", "attributes": {"numaNode": {"string": "2"}}}),),
    ],
)
def test_devices_elsewhere_of_memory_or_of_an_older_generation_are_fine(slices: Any) -> None:
    assert found(*slices) == []


def test_of_slices_of_several_nodes_it_must_be_known_which_is_meant() -> None:
    other = devices(GPU, device("gpu0", 2), node="node8")
    (finding,) = found(MEMORY_NODE, other, node="")
    assert (finding.code, finding.severity) == ("lint/slices-of-several-nodes", Severity.NOTE)
    assert codes(found(MEMORY_NODE, node="")) == ["device-on-cpuless-node"]


def test_a_gpu_on_a_memory_node_is_never_aligned_with_cpus() -> None:
    both = claim("both", cpus("cpus", "2"), request("gpu", GPU), match=NUMA)
    findings = found(CPUS, MEMORY_NODE, both)
    assert codes(findings) == ["claim-never-aligned", "device-on-cpuless-node"]
    assert findings[0].severity is Severity.ERROR
    assert findings[0].fields == {
        "claim": "ResourceClaim default/both",
        "attribute": NUMA,
        "values": "cpus has 0, 1; gpu has 2",
        "node": "node node7",
    }
    assert codes(found(CPUS, NEAR, both)) == []


def test_an_attribute_that_devices_lack_is_never_equal() -> None:
    root = "resource.kubernetes.io/pcieRoot"
    both = claim("both", cpus("cpus", "2"), request("gpu", GPU), match=root)
    (finding,) = found(CPUS, NEAR, both)
    assert finding.fields["values"] == "cpus has none; gpu has none"


def test_lists_have_a_value_in_common() -> None:
    root = "resource.kubernetes.io/pcieRoot"
    nic = devices("nic.example.com", {"name": "n", "attributes": {root: {"string": "pci1"}}})
    wide = device("numa0", 0, "4", attributes={root: {"strings": ["pci0", "pci1"]}})
    both = claim("both", cpus("cpus", "2"), request("nic", "nic.example.com"), match=root)
    config = replace(
        ON, feature_gates={"DynamicResourceAllocation": True, "DRAListTypeAttributes": True}
    )
    assert found(devices("dra.cpu", wide), nic, both, config=config) == []
    far = device("numa0", 0, "4", attributes={root: {"strings": ["pci0"]}})
    assert codes(found(devices("dra.cpu", far), nic, both, config=config)) == [
        "claim-never-aligned"
    ]


def test_several_devices_of_one_request_share_the_value() -> None:
    two = claim("two", request("gpu", GPU, count=2), match=NUMA)
    assert codes(found(NEAR, two)) == ["claim-never-aligned"]
    near = devices(GPU, device("gpu0", 0), device("gpu1", 0))
    assert found(near, two) == []


def test_a_device_that_is_too_small_does_not_count_for_the_attribute() -> None:
    uneven = devices("dra.cpu", device("numa0", 0, "1"), device("numa1", 1, "3"))
    first = devices(GPU, device("gpu0", 0))
    both = claim("both", cpus("cpus", "2"), request("gpu", GPU), match=NUMA)
    (finding,) = found(uneven, first, both)
    assert finding.fields["values"] == "cpus has 1; gpu has 0"


def test_a_constraint_is_about_the_requests_that_it_names() -> None:
    both = claim("both", cpus("cpus", "2"), request("gpu", GPU), match=NUMA)
    both["spec"]["devices"]["constraints"][0]["requests"] = ["cpus"]
    assert codes(found(CPUS, MEMORY_NODE, both)) == ["device-on-cpuless-node"]


def test_devices_that_are_not_all_given_may_have_the_value() -> None:
    part = devices(GPU, device("gpu0", 1), resourceSliceCount=2)
    first = devices("dra.cpu", device("numa0", 0, "2"))
    both = claim("both", cpus("cpus", "2"), request("gpu", GPU), match=NUMA)
    assert "claim-never-aligned" not in codes(found(first, part, both))
    complete = devices(GPU, device("gpu0", 1))
    assert "claim-never-aligned" in codes(found(first, complete, both))


@pytest.mark.parametrize(
    ("asked", "wanted", "most"),
    [
        (cpus("r", "3"), "3 of dra.cpu/cpu", "2 in one device"),
        (
            request("r", "dra.cpu", capacity={"requests": {"cpu": "1", "memory": "1Gi"}}),
            "1Gi of memory",
            "0 in one device",
        ),
        (request("r", GPU, count=4), "4 devices", "2"),
        (request("r", GPU, capacity={"requests": {"memory": "1Gi"}}), "1Gi of memory", "0 in one"),
    ],
)
def test_no_device_is_as_large_as_the_request(asked: Any, wanted: str, most: str) -> None:
    (finding,) = found(CPUS, NEAR, claim("c", asked))
    assert (finding.code, finding.fields["asked"]) == ("lint/claim-too-large", wanted)
    assert finding.fields["most"].startswith(most)


def test_amounts_of_different_devices_are_each_not_too_large() -> None:
    def gpus(*memory: str) -> Any:
        sizes = [{"memory": {"value": each}, "cores": {"value": "8"}} for each in memory]
        return devices(GPU, *(device(f"gpu{at}", 0, capacity=of) for at, of in enumerate(sizes)))

    few = device("gpu9", 0, capacity={"memory": {"value": "8Gi"}, "cores": {"value": "2"}})
    asked = claim("c", request("r", GPU, capacity={"requests": {"memory": "4Gi", "cores": "4"}}))
    (finding,) = found(gpus("1Gi", "2Gi"), asked)
    assert finding.fields["most"] == "2Gi in one device"
    offered = gpus("1Gi", "2Gi")
    offered["spec"]["devices"].append(few)
    assert found(offered, asked) == []


def test_a_shared_device_serves_several_at_once() -> None:
    asked = request("r", "dra.cpu", count=3, capacity={"requests": {"cpu": "1"}})
    assert found(CPUS, claim("c", asked)) == []


def test_an_alternative_that_fits_is_enough() -> None:
    either = {
        "name": "r",
        "firstAvailable": [
            {"name": "many", "deviceClassName": GPU, "count": 9},
            {"name": "one", "deviceClassName": GPU},
        ],
    }
    assert found(NEAR, claim("c", either)) == []
    either["firstAvailable"] = either["firstAvailable"][:1]
    (finding,) = found(NEAR, claim("c", either))
    assert finding.fields["request"] == "r/many"


def test_selectors_leave_devices_out() -> None:
    of_class = device_class("fast", f'device.driver == "{GPU}"')
    chosen = {"selectors": [{"cel": {"expression": f'device.attributes["{GPU}"].model == "a"'}}]}
    (finding,) = found(NEAR, of_class, claim("c", request("r", "fast", **chosen)))
    assert (finding.code, finding.severity) == ("lint/claim-without-devices", Severity.WARNING)
    assert found(NEAR, of_class, claim("c", request("r", "fast"))) == []


@pytest.mark.parametrize(
    "objects",
    [
        # A class that was not given, and that no driver is called after.
        (CPUS, claim("c", request("r", "unknown"))),
        # A pool of which a slice is missing.
        (
            devices(GPU, device("a", 0), resourceSliceCount=2),
            claim("c", request("r", GPU, count=9)),
        ),
        # Without slices nothing is known.
        (claim("c", request("r", GPU, count=9)),),
        # A selector that is not understood.
        (NEAR, device_class("odd", "device.capacity.size() > 3"), claim("c", request("r", "odd"))),
    ],
)
def test_what_is_not_certain_is_not_said(objects: Any) -> None:
    assert found(*objects) == []


def test_an_allocated_claim_has_its_devices() -> None:
    large = claim("c", request("r", GPU, count=9))
    large["status"] = {"allocation": {"devices": {}}}
    assert found(NEAR, large) == []


def test_a_claim_of_the_cluster_is_asked_about_if_a_pod_uses_it() -> None:
    large = claim("c", request("r", GPU, count=9))
    large["metadata"]["resourceVersion"] = "7"
    assert found(NEAR, large) == []
    user = pod("p", {"x": "c"}, container("a", {}, "x"))
    assert codes(found(NEAR, large, user)) == ["claim-too-large"]


def test_one_of_several_nodes_that_fits_is_enough() -> None:
    other = devices(GPU, *(device(f"gpu{index}", 0) for index in range(9)), node="node8")
    nine = claim("c", request("r", GPU, count=9))
    assert codes(found(NEAR, other, nine, node="")) == ["slices-of-several-nodes"]
    assert codes(found(NEAR, other, nine)) == ["claim-too-large"]


@pytest.mark.parametrize(
    ("reserved", "offered", "differs"),
    [
        (None, ("2", "2"), False),
        ({"cpu": "1"}, ("1", "2"), False),
        ({"cpu": "500m"}, ("1", "2"), False),
        ({"cpu": "1"}, ("2", "2"), True),
        (None, ("1", "2"), True),
    ],
)
def test_driver_and_kubelet_keep_the_same_cpus_back(
    reserved: dict[str, str] | None, offered: tuple[str, str], differs: bool
) -> None:
    both = devices("dra.cpu", *(device(f"n{at}", at, cpu) for at, cpu in enumerate(offered)))
    findings = found(both, config=replace(ON, kube_reserved=reserved or {}))
    assert codes(findings) == ["dra-cpus-differ-from-allocatable"] * differs


def test_a_resource_is_served_by_one_of_the_two() -> None:
    of_class = device_class(GPU, extendedResourceName="example.com/gpu")
    plugin = {"example.com/gpu": (Device("gpu0"),)}
    (finding,) = found(of_class, devices=plugin)
    assert (finding.code, finding.fields["resource"]) == (
        "lint/extended-resource-served-twice",
        "example.com/gpu",
    )
    assert found(of_class) == []
