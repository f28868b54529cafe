"""Claims and the release: feature gates, versions of the API; names that mean nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.config.releases import table
from numalet.core.model.findings import Severity
from values.claim_documents import (
    claim,
    codes,
    container,
    cpus,
    device,
    device_class,
    devices,
    found,
    named,
    pod,
    request,
)

GPU = "gpu.example.com"
GPUS = devices(GPU, device("gpu0", 0))
PLAIN = claim("one", request("r", GPU))
USER = pod("p", {"c": "one"}, container("a", {}, "c"))
DEFAULT = KubeletConfig(uses_default_eviction=True)


def gates(**more: bool) -> KubeletConfig:
    return replace(DEFAULT, feature_gates=more)


@pytest.mark.parametrize(
    ("release", "is_off"),
    [
        ("1.32", True),
        ("1.33", True),
        ("1.34", False),
        ("1.35", False),
        ("1.36", False),
        ("1.37", False),
    ],
)
def test_allocation_is_off_by_default_before_1_34(release: str, is_off: bool) -> None:
    findings = found(GPUS, PLAIN, USER, config=DEFAULT, release=release)
    of_code = [f for f in findings if f.code == "lint/dynamic-resource-allocation-off"]
    assert [each.severity for each in of_code] == [Severity.ERROR] * is_off
    on = found(GPUS, PLAIN, USER, config=gates(DynamicResourceAllocation=True), release=release)
    assert "dynamic-resource-allocation-off" not in codes(on)


def test_devices_without_pods_that_claim_them_are_worth_a_warning() -> None:
    (finding, *_) = found(GPUS, config=DEFAULT, release="1.33")
    assert (finding.severity, finding.fields["users"]) == (
        Severity.WARNING,
        f"driver {GPU} offers devices",
    )


CAPACITY = claim("one", cpus("r", "1"))
FIRST = claim("one", {"name": "r", "firstAvailable": [{"name": "a", "deviceClassName": GPU}]})
ADMIN = claim("one", request("r", GPU, adminAccess=True))
TOLERANT = claim("one", request("r", GPU, tolerations=[{"key": "x", "operator": "Exists"}]))
EXTENDED = device_class(GPU, extendedResourceName="example.com/gpu")
LISTED = devices(GPU, {"name": "a", "attributes": {"x": {"ints": [1, 2]}}})
MAPPED = devices(GPU, device("a", 0, nodeAllocatableResources={"memory": {"mapping": {}}}))
COUNTERS = devices(GPU, device("a", 0, consumesCounters=[{"counterSet": "s", "counters": {}}]))


@pytest.mark.parametrize(
    ("given", "gate", "first_on"),
    [
        (CAPACITY, "DRAConsumableCapacity", "1.36"),
        (FIRST, "DRAPrioritizedList", "1.34"),
        (ADMIN, "DRAAdminAccess", "1.34"),
        (TOLERANT, "DRADeviceTaints", "1.36"),
        (EXTENDED, "DRAExtendedResource", "1.36"),
        (LISTED, "DRAListTypeAttributes", ""),
        (MAPPED, "DRANodeAllocatableResources", ""),
        (COUNTERS, "DRAPartitionableDevices", "1.36"),
    ],
)
def test_fields_need_their_gates(given: Any, gate: str, first_on: str) -> None:
    lacking = [
        release.name
        for release in table.RELEASES
        for finding in found(given, release=release.name)
        if finding.code == "lint/claim-field-without-gate" and finding.fields["gate"] == gate
    ]
    names = [each.name for each in table.RELEASES]
    assert lacking == names[: names.index(first_on) if first_on else None]


def test_a_gate_that_is_set_is_enough() -> None:
    config = gates(DynamicResourceAllocation=True, DRAConsumableCapacity=True)
    assert found(CAPACITY, config=config, release="1.34") == []
    (finding,) = found(CAPACITY, release="1.34")
    assert str(finding) == (
        "capacity.requests of ResourceClaim default/one needs the feature gate"
        " DRAConsumableCapacity, which is alpha and off in Kubernetes 1.34"
    )
    (older,) = (f for f in found(CAPACITY, release="1.33") if "gate" in f.code)
    assert older.fields["state"] == "does not exist"


def test_what_a_server_printed_it_has_kept() -> None:
    printed = {**CAPACITY, "metadata": {"name": "one", "resourceVersion": "7"}}
    (finding,) = found(printed, release="1.34")
    assert finding.severity is Severity.NOTE


@pytest.mark.parametrize("name", ["example.com/gpu", f"deviceclass.resource.kubernetes.io/{GPU}"])
def test_a_class_by_the_name_of_a_resource_needs_its_gate(name: str) -> None:
    asking = pod("p", {}, container("a", {name: "1"}))
    classes = device_class(GPU, extendedResourceName="example.com/gpu")
    findings = found(classes, asking, release="1.35")
    assert [each.fields["field"] for each in findings] == [
        "extendedResourceName",
        f"a request of {name}",
    ]
    assert found(classes, asking) == []


@pytest.mark.parametrize(
    ("version", "unknown", "off"),
    [
        ("v1alpha3", ["1.34", "1.35", "1.36", "1.37"], ["1.32", "1.33"]),
        ("v1beta1", [], ["1.32", "1.33", "1.34", "1.35", "1.36", "1.37"]),
        ("v1beta2", ["1.32"], ["1.33", "1.34", "1.35", "1.36", "1.37"]),
        ("v1", ["1.32", "1.33"], []),
    ],
)
def test_versions_come_and_go(version: str, unknown: list[str], off: list[str]) -> None:
    given = named("DeviceClass", "x", {}, version)
    by_code: dict[str, list[str]] = {}
    for release in table.RELEASES:
        for code in codes(found(given, release=release.name)):
            by_code.setdefault(code, []).append(release.name)
    expected = {"claim-version-not-served": unknown, "claim-version-off": off}
    assert by_code == {code: names for code, names in expected.items() if names}


def test_the_version_to_write_is_the_newest_that_is_served() -> None:
    (finding,) = found(named("DeviceClass", "x", {}), release="1.33")
    assert (finding.fields["served"], finding.fields["newest"]) == (
        "v1beta2, v1beta1, v1alpha3",
        "resource.k8s.io/v1beta2",
    )
    (beta,) = found(named("DeviceClass", "x", {}, "v1beta1"), release="1.36")
    assert beta.fields["way"] == "write it in the form of resource.k8s.io/v1"


def test_a_server_serves_what_it_printed() -> None:
    printed = named("DeviceClass", "x", {}, "v1beta1")
    printed["metadata"]["uid"] = "u"
    printed["metadata"]["resourceVersion"] = "7"
    assert found(printed) == []


def test_a_container_names_a_claim_that_the_pod_lacks() -> None:
    (finding,) = found(GPUS, PLAIN, pod("p", {"c": "one"}, container("a", {}, "d")))
    assert (finding.code, str(finding)) == (
        "lint/claim-unknown-to-pod",
        "pod default/p, container a uses the claim 'd'; the pod has c",
    )


def test_a_container_names_a_request_that_the_claim_lacks() -> None:
    user = pod("p", {"c": "one"}, container("a", {}, {"name": "c", "request": "s"}))
    (finding,) = found(GPUS, PLAIN, user)
    assert str(finding).endswith("'s' of its claim 'c'; ResourceClaim default/one has r")


def test_claims_that_were_not_given_are_named() -> None:
    user = pod("p", {"c": "lost", "d": "+made"}, container("a", {}, "c", "d"))
    (finding,) = found(GPUS, user)
    assert (finding.code, finding.fields["claims"]) == (
        "lint/claims-not-checked",
        "ResourceClaim default/lost, ResourceClaimTemplate default/made",
    )


def test_a_static_pod_has_no_claims() -> None:
    static = pod("p", {"c": "one"}, container("a", {}, "c"))
    static["metadata"]["annotations"] = {"kubernetes.io/config.source": "file"}
    assert codes(found(GPUS, PLAIN, static)) == ["static-pod-with-claims"]


def test_pod_resources_may_not_list_claims() -> None:
    findings = found(GPUS, PLAIN, USER, release="1.33")
    assert "claims-not-in-pod-resources" in codes(findings)
    assert found(GPUS, PLAIN, USER, release="1.34", config=DEFAULT) == []
    assert "claims-not-in-pod-resources" not in codes(found(GPUS, PLAIN, release="1.33"))


def test_documents_without_claims_have_none_of_these() -> None:
    assert found(pod("p", {}, container("a", {"cpu": "1"})), config=DEFAULT, release="1.32") == []
