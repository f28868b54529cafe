"""Devices from files, scenarios and flags; everything that is wrong is told at once."""

from __future__ import annotations

from typing import Any

import pytest

from numalet.core.managers.device.inventory import Device, Health
from numalet.core.model.findings import BadInput, Location
from numalet.io.documents.machine import device_file
from values.device_bench import GPU, NIC

WHERE = Location("devices.yaml", "$")


def problems(value: object, node_ids: tuple[int, ...] | None = None) -> list[tuple[str, str]]:
    """Codes and paths of what is wrong with a document."""
    with pytest.raises(BadInput) as caught:
        device_file.decode(value, WHERE, node_ids=node_ids)
    for finding in caught.value.findings:
        assert str(finding)
    return [(finding.code, finding.where.path) for finding in caught.value.findings]


def flag_problems(*texts: str, node_ids: tuple[int, ...] | None = None) -> list[str]:
    """Sentences about what is wrong with flags."""
    with pytest.raises(BadInput) as caught:
        device_file.parse_device_flags(texts, node_ids)
    assert {"--device"} == {finding.where.document for finding in caught.value.findings}
    return [str(finding) for finding in caught.value.findings]


def test_a_list_of_resources_is_read_in_its_order() -> None:
    value = [
        {"resource": NIC, "devices": [{"id": "n1", "numa_nodes": [1]}, {"id": "n0"}]},
        {"resource": GPU, "devices": [{"id": "g", "numa_nodes": [0, 1], "health": "Unhealthy"}]},
    ]
    found = device_file.decode(value, WHERE)
    assert {
        NIC: (Device("n1", (1,)), Device("n0")),
        GPU: (Device("g", (0, 1), Health.UNHEALTHY),),
    } == found
    assert list(found) == [NIC, GPU]


def test_the_list_may_be_the_member_devices_and_devices_may_be_short_texts() -> None:
    value = {"devices": [{"resource": GPU, "devices": ["a@0", "b@0+1", "c", "x@y@2"]}]}
    assert {
        GPU: (Device("a", (0,)), Device("b", (0, 1)), Device("c"), Device("x@y", (2,)))
    } == device_file.decode(value, WHERE)


def test_a_plugin_may_have_no_devices() -> None:
    assert device_file.decode([{"resource": GPU, "devices": []}], WHERE) == {GPU: ()}
    assert device_file.parse_device_flags((GPU + "=",)) == {GPU: ()}


def test_a_flag_names_devices_and_their_nodes() -> None:
    text = " example.com/gpu = gpu0@0, gpu1@0+1 ,gpu2"
    ((resource, devices),) = device_file.parse_device_flags((text,)).items()
    assert resource == GPU
    assert (Device("gpu0", (0,)), Device("gpu1", (0, 1)), Device("gpu2")) == devices


def test_devices_of_one_resource_may_be_spread_over_flags() -> None:
    found = device_file.parse_device_flags([f"{GPU}=a@0", f"{NIC}=n", f"{GPU}=b@1"])
    assert {GPU: (Device("a", (0,)), Device("b", (1,))), NIC: (Device("n"),)} == found


def test_no_flags_are_no_devices() -> None:
    assert device_file.parse_device_flags([]) == {}


@pytest.mark.parametrize("value", [None, "x", 5, {}, {"devices": None}])
def test_a_document_that_is_no_list_is_refused(value: Any) -> None:
    path = "$.devices" if isinstance(value, dict) else "$"
    assert [("document/type", path)] == problems(value)


def test_everything_that_is_wrong_is_reported_with_its_place() -> None:
    value = [
        5,
        {"devices": []},
        {"resource": GPU, "devices": "a"},
        {"resource": GPU, "devices": []},
        {"resource": "gpu", "devices": [7, {"id": 3}, {"id": " "}, "@0"]},
        {
            "resource": NIC,
            "colour": 1,
            "devices": [
                {"id": "a", "numa_nodes": 1, "health": True, "size": 1},
                {"id": "a"},
                {"id": "b", "numa_nodes": [-1, "0", True, 1024, 1, 1], "health": "healthy"},
            ],
        },
    ]
    assert [
        ("document/type", "$[0]"),
        ("document/type", "$[1].resource"),
        ("document/type", "$[2].devices"),
        ("input/duplicate", "$[3].resource"),
        ("input/invalid", "$[4].resource"),
        ("document/type", "$[4].devices[0]"),
        ("document/type", "$[4].devices[1].id"),
        ("devices/id-missing", "$[4].devices[2]"),
        ("devices/id-missing", "$[4].devices[3]"),
        ("document/unknown-field", "$[5]"),
        ("document/unknown-field", "$[5].devices[0]"),
        ("document/type", "$[5].devices[0].numa_nodes"),
        ("input/not-supported", "$[5].devices[0].health"),
        ("input/duplicate", "$[5].devices[1]"),
        ("input/not-supported", "$[5].devices[2].health"),
        *[("input/invalid", "$[5].devices[2]")] * 4,
        ("input/duplicate", "$[5].devices[2]"),
    ] == problems(value)


def test_an_unknown_member_beside_the_list_is_refused() -> None:
    assert problems({"devices": [], "version": 1}) == [("document/unknown-field", "$")]


def test_a_device_on_a_node_that_the_machine_lacks_is_refused() -> None:
    value = [{"resource": GPU, "devices": ["a@0", "b@2+5"]}]
    assert problems(value, (0, 1, 5)) == [("input/not-found", "$[0].devices[1]")]
    assert device_file.decode(value, WHERE, node_ids=(0, 2, 5))


def test_the_place_of_an_inner_document_is_kept() -> None:
    with pytest.raises(BadInput) as caught:
        device_file.decode([1], Location("s.yaml", "$.devices"), len)
    assert [Location("s.yaml", "$.devices[0]", 12)] == [f.where for f in caught.value.findings]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("gpu0@0", "invalid devices 'gpu0@0'"),
        ("", "invalid devices ''"),
        ("gpu=a", "invalid extended resource 'gpu'"),
        ("kubernetes.io/gpu=a", "invalid extended resource 'kubernetes.io/gpu'"),
        (f"{GPU}=a,,b", "a device of example.com/gpu has an empty id"),
        (f"{GPU}=a@0,a@1", "two devices of example.com/gpu have the id 'a'"),
        (f"{GPU}=a@", "invalid NUMA node '' of device 'a'"),
        (f"{GPU}=a@0+", "invalid NUMA node '' of device 'a'"),
        (
            f"{GPU}=a@x",
            "invalid NUMA node 'x' of device 'a'; expected a whole number from 0 to 1023",
        ),
        (f"{GPU}=a@-1", "invalid NUMA node '-1'"),
        (f"{GPU}=a@" + "9" * 5000, "invalid NUMA node "),
        (f"{GPU}=a@1024", "invalid NUMA node 1024"),
        (f"{GPU}=a@1+1", "device 'a' lists NUMA node 1 twice"),
        (
            f"{GPU}=a@3",
            "device 'a' of example.com/gpu is on NUMA node 3, which the machine does"
            " not have; expected one of its NUMA nodes: 0-1",
        ),
    ],
)
def test_a_bad_flag_is_reported_with_the_offending_value(text: str, shown: str) -> None:
    (sentence,) = flag_problems(text, node_ids=(0, 1))
    assert shown in sentence


def test_an_id_that_two_flags_name_is_refused() -> None:
    (sentence,) = flag_problems(f"{GPU}=a@0", f"{GPU}=b,a@1")
    assert "two devices of example.com/gpu have the id 'a'" in sentence


def test_one_bad_flag_is_refused_alone() -> None:
    with pytest.raises(BadInput):
        device_file.parse_device_flags(("gpu0@0",))
