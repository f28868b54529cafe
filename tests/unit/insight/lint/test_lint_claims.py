"""Claims of CPUs and memory beside the kubelet's managers, and beside what pods request."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from numalet.core.model.findings import Severity
from values.claim_documents import (
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

STATIC = replace(ON, cpu_manager_policy="static", reserved_system_cpus="0")
PINNED = replace(ON, memory_manager_policy="Static")
CPUS = devices("dra.cpu", device("numa0", 0, "2"), device("numa1", 1, "2"))
ONE_EACH = devices("dra.cpu", *(device(f"cpu{index}", 0) for index in range(4)))
FULL = {"cpu": "2", "memory": "1Gi"}
TWO = claim("two", cpus("r", "2"))
RIGHT = pod("p", {"c": "two"}, container("a", FULL, "c"))


def test_claims_that_are_repeated_in_requests_are_fine() -> None:
    assert found(CPUS, TWO, RIGHT) == []


def test_a_static_cpu_manager_stands_beside_a_driver_of_cpus() -> None:
    findings = found(CPUS, config=STATIC)
    assert codes(findings) == ["cpu-manager-beside-dra-driver", "dra-cpus-differ-from-allocatable"]
    assert findings[0].severity is Severity.ERROR
    assert findings[0].fields == {"evidence": "dra.cpu offers devices of node node7"}


@pytest.mark.parametrize(
    ("objects", "node"),
    [
        ((devices("dra.cpu", device("a", 0, "2"), node="other"),), "node7"),
        ((devices("gpu.example.com", device("a", 0)),), "node7"),
        ((CPUS, devices("gpu.example.com", device("a", 0), node="node8")), ""),
    ],
)
def test_a_driver_of_another_node_or_of_other_devices_is_fine(objects: Any, node: str) -> None:
    assert "cpu-manager-beside-dra-driver" not in codes(found(*objects, config=STATIC, node=node))


def test_a_claim_of_a_pod_shows_the_driver_too() -> None:
    (first, *_) = found(TWO, RIGHT, config=STATIC)
    assert first.code == "lint/cpu-manager-beside-dra-driver"
    assert first.fields["evidence"] == "pod default/p, container a uses ResourceClaim default/two"


def test_a_class_of_any_name_may_be_of_the_driver_of_cpus() -> None:
    named = device_class("exclusive", 'device.driver == "dra.cpu"')
    of_class = claim("two", cpus("r", "2", "exclusive"))
    (first, *_) = found(named, of_class, RIGHT, config=STATIC)
    assert first.code == "lint/cpu-manager-beside-dra-driver"


def test_a_memory_manager_stands_beside_a_driver_of_memory() -> None:
    zone = devices("dra.memory", device("zone0", 0))
    (first, *_) = found(zone, config=PINNED)
    assert first.code == "lint/memory-manager-beside-dra-driver"
    assert first.fields["policy"] == "Static"
    assert found(zone) == found(CPUS, config=replace(PINNED, reserved_memory=())) == []


@pytest.mark.parametrize(
    ("amounts", "asked"),
    [
        ({"memory": "1Gi"}, "no request of it"),
        ({"cpu": "1", "memory": "1Gi"}, "a request of 1 and a limit of 1"),
        ({"cpu": "4", "memory": "1Gi"}, "a request of 4 and a limit of 4"),
    ],
)
def test_what_is_claimed_and_what_is_requested_must_be_equal(
    amounts: dict[str, str], asked: str
) -> None:
    (finding,) = found(CPUS, TWO, pod("p", {"c": "two"}, container("a", amounts, "c")))
    assert (finding.code, finding.severity) == (
        "lint/claim-differs-from-requests",
        Severity.ERROR,
    )
    assert finding.fields == {
        "pod": "default/p",
        "container": "a",
        "resource": "cpu",
        "claimed": "2",
        "asked": asked,
    }


def test_a_limit_may_not_differ_either() -> None:
    less = container("a", FULL, "c")
    less["resources"]["limits"] = {"memory": "1Gi"}
    (finding,) = found(CPUS, TWO, pod("p", {"c": "two"}, less))
    assert finding.fields["asked"] == "a request of 2 without a limit"


@pytest.mark.parametrize(
    ("given", "claimed"),
    [
        (claim("two", cpus("r", "1"), cpus("s", "2")), "3"),
        (claim("two", request("r", "dra.cpu", count=3)), "3"),
        (claim("two", {**cpus("r", "1500m")}), "1500m"),
    ],
)
def test_the_requests_of_a_claim_add_up(given: Any, claimed: str) -> None:
    findings = found(ONE_EACH, given, RIGHT)
    (finding,) = (each for each in findings if each.code == "lint/claim-differs-from-requests")
    assert finding.fields["claimed"] == claimed


def test_one_request_of_a_claim_counts_alone() -> None:
    both = claim("two", cpus("r", "2"), cpus("s", "4"))
    used = container("a", FULL, {"name": "c", "request": "r"})
    assert found(both, pod("p", {"c": "two"}, used)) == []


def test_amounts_that_can_not_be_known_are_not_compared() -> None:
    every = claim("two", request("r", "dra.cpu", allocationMode="All"))
    either = claim(
        "two",
        {
            "name": "r",
            "firstAvailable": [{"name": name, **cpus("", name)["exactly"]} for name in ("1", "2")],
        },
    )
    uneven = devices("dra.cpu", device("numa0", 0, "2"), device("numa1", 1, "4"))
    whole = claim("two", request("r", "dra.cpu"))
    assert found(CPUS, every, RIGHT) == found(CPUS, either, RIGHT) == []
    assert "claim-differs-from-requests" not in codes(found(uneven, whole, RIGHT))


def test_an_alternative_that_is_no_cpu_leaves_the_amount_open() -> None:
    gpus = devices("gpu.example.com", device("gpu0", 0))
    of_cpus = {"name": "cpus", **cpus("", "4")["exactly"]}
    of_gpu = {"name": "gpu", "deviceClassName": "gpu.example.com"}
    ways = [of_cpus, of_gpu]
    either = claim("two", {"name": "r", "firstAvailable": ways})
    large = devices("dra.cpu", device("numa0", 0, "4"))
    name = "claim-differs-from-requests"
    assert name not in codes(found(large, gpus, either, RIGHT))
    del ways[1]
    assert name in codes(found(large, gpus, either, RIGHT))


def test_memory_is_compared_as_cpus_are() -> None:
    zone = devices("dra.memory", device("zone0", 0, capacity={"size": {"value": "8Gi"}}))
    asked = request("r", "dra.memory", capacity={"requests": {"size": "2Gi"}})
    (finding,) = found(zone, claim("two", asked), RIGHT)
    assert (finding.fields["resource"], finding.fields["claimed"]) == ("memory", "2Gi")


def test_pods_that_are_alike_are_one_finding() -> None:
    wrong = container("a", {"cpu": "1", "memory": "1Gi"}, "c")
    template = claim("two", cpus("r", "2"), kind="ResourceClaimTemplate")
    pods = [pod(name, {"c": "+two"}, wrong) for name in ("p", "q")]
    (finding,) = found(CPUS, template, *pods)
    assert finding.fields["pod"] == "default/p (and 1 more pods like it)"


def test_a_claim_that_counts_for_the_node_is_not_requested_again() -> None:
    mapped = devices(
        "dra.cpu",
        device("numa0", 0, "4", nodeAllocatableResources={"cpu": {"mapping": {}}}),
    )
    on = {"DynamicResourceAllocation": True, "DRANodeAllocatableResources": True}
    config = replace(ON, feature_gates=on)
    (finding,) = found(mapped, TWO, RIGHT, config=config)
    assert (finding.code, finding.severity) == ("lint/claim-counted-twice", Severity.WARNING)
    small = pod("p", {"c": "two"}, container("a", {"cpu": "1m", "memory": "1Gi"}, "c"))
    assert found(mapped, TWO, small, config=config) == []
    assert "claim-differs-from-requests" in codes(found(mapped, TWO, small))


def test_a_claim_of_cpus_is_for_one_container() -> None:
    other = pod("q", {"c": "two"}, container("b", FULL, "c"))
    (finding,) = found(CPUS, TWO, RIGHT, other)
    assert finding.code == "lint/claim-shared"
    assert finding.fields == {
        "claim": "ResourceClaim default/two",
        "resource": "cpu",
        "count": 2,
        "users": "pod default/p, container a; pod default/q, container b",
    }


def test_a_template_makes_a_claim_for_each_pod_and_not_for_each_container() -> None:
    template = claim("two", cpus("r", "2"), kind="ResourceClaimTemplate")
    pods = [pod(name, {"c": "+two"}, container("a", FULL, "c")) for name in ("p", "q")]
    assert found(CPUS, template, *pods) == []
    both = pod("p", {"c": "+two"}, container("a", FULL, "c"), container("b", FULL, "c"))
    assert codes(found(CPUS, template, both)) == ["claim-shared"]


def test_devices_of_other_kinds_may_be_shared() -> None:
    gpus = devices("gpu.example.com", device("gpu0", 0))
    shared = claim("two", request("r", "gpu.example.com"))
    other = pod("q", {"c": "two"}, container("b", FULL, "c"))
    assert found(gpus, shared, RIGHT, other) == []


@pytest.mark.parametrize(
    ("policy", "severity"),
    [("restricted", Severity.WARNING), ("best-effort", Severity.NOTE), ("none", None)],
)
def test_a_policy_does_not_align_what_is_claimed(policy: str, severity: Severity | None) -> None:
    gpus = devices("gpu.example.com", device("gpu0", 0))
    of_gpu = claim("two", request("r", "gpu.example.com"))
    config = replace(STATIC, topology_manager_policy=policy)
    findings = found(gpus, of_gpu, RIGHT, config=config)
    assert [each.severity for each in findings] == ([severity] if severity else [])
    assert set(codes(findings)) <= {"claims-give-no-hints"}


def whole(cpus: str, *containers: Any, limit: str = "") -> Any:
    """A pod with resources as a whole, and two claims of two CPUs each."""
    given = pod("p", {"c": "two", "d": "more"}, *containers)
    given["spec"]["resources"] = {
        "requests": {"cpu": cpus, "memory": "2Gi"},
        "limits": {"cpu": limit or cpus, "memory": "2Gi"},
    }
    return given


MORE = claim("more", cpus("r", "2"))
BARE = (container("a", {}, "c"), container("b", {}, "d"))


@pytest.mark.parametrize("containers", [BARE, (container("a", {"cpu": "2"}, "c"), BARE[1])])
def test_a_pod_with_resources_as_a_whole_repeats_its_claims_there(containers: Any) -> None:
    assert found(CPUS, TWO, MORE, whole("4", *containers)) == []


def test_resources_as_a_whole_may_be_less_than_all_claims() -> None:
    helper = container("h", {"cpu": "500m"})
    (finding,) = found(CPUS, TWO, MORE, whole("4", *BARE, helper))
    assert (finding.code, finding.severity) == (
        "lint/claims-exceed-pod-resources",
        Severity.ERROR,
    )
    assert str(finding) == (
        "pod default/p claims 4 of cpu, and requests 500m besides; as a whole it has a request of 4"
        " and a limit of 4"
    )
    assert finding.fields["needed"] == "4500m"
    assert found(CPUS, TWO, MORE, whole("5", *BARE, helper)) == []
    before = whole("4", *BARE)
    before["spec"]["initContainers"] = [helper]
    assert found(CPUS, TWO, MORE, before) == []


def test_a_container_that_repeats_another_amount_is_wrong_all_the_same() -> None:
    odd = (container("a", {"cpu": "1"}, "c"), BARE[1])
    assert codes(found(CPUS, TWO, MORE, whole("4", *odd))) == ["claim-differs-from-requests"]


def test_where_resources_as_a_whole_do_not_count_containers_have_to_repeat() -> None:
    findings = found(CPUS, TWO, MORE, whole("4", *BARE), release="1.33")
    assert codes(findings).count("claim-differs-from-requests") == 2
    on = replace(ON, feature_gates={"DynamicResourceAllocation": True, "PodLevelResources": True})
    counted = found(CPUS, TWO, MORE, whole("4", *BARE), release="1.33", config=on)
    assert "claim-differs-from-requests" not in codes(counted)
