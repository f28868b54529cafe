"""Pods that a node admits, and that get less than they seem to ask for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from numalet.core.config.behaviour import EXACT
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.config.releases import table
from numalet.core.managers.device.inventory import Device
from numalet.core.model import pod_demand
from numalet.core.model.findings import Finding, Location, Severity
from numalet.core.model.pod import (
    Container,
    ContainerKind,
    Pod,
    PodLevelResources,
    QosClass,
    StatusResources,
)
from numalet.core.model.quantity import Quantity
from numalet.insight.lint import rules
from numalet.insight.lint.subject import LintSubject
from values import builders

MACHINE = builders.machine(10, 10, 10, hugepages={2048: 512})
STATIC = KubeletConfig(
    cpu_manager_policy="static", reserved_system_cpus="0-1", uses_default_eviction=True
)
NONE = KubeletConfig(uses_default_eviction=True)
FULL = {"cpu": "1", "memory": "1Gi"}


def container(
    name: str,
    limits: dict[str, str],
    requests: dict[str, str] | None = None,
    kind: ContainerKind = ContainerKind.APP,
) -> Container:
    """What has a limit and no request requests its limit."""
    most = {each: Quantity.parse(text) for each, text in limits.items()}
    least = {each: Quantity.parse(text) for each, text in (requests or {}).items()}
    return Container(name, kind, {**most, **least}, most)


def pod(name: str, *containers: Container) -> Pod:
    return builders.pod(name, *containers, qos=pod_demand.qos_class(containers))


def found(*pods: Pod, config: KubeletConfig = STATIC, **more: Any) -> list[Finding]:
    subject = LintSubject(config=config, machine=MACHINE, pods=pods, **more)
    return [each for each in rules.check(subject).own if each.code.startswith("lint/")]


@pytest.mark.parametrize(
    ("other", "lacking"),
    [
        (container("s", {}, kind=ContainerKind.SIDECAR), "cpu and memory"),
        (container("s", {}), "cpu and memory"),
        (container("s", {"cpu": "1"}), "memory"),
        (container("s", {"cpu": "1", "memory": "64Mi"}, {"cpu": "100m"}), "cpu"),
        (container("s", {}, kind=ContainerKind.INIT), "cpu and memory"),
    ],
)
def test_a_container_that_costs_the_class_is_named(other: Container, lacking: str) -> None:
    (finding,) = found(pod("p", container("app", FULL), other))
    assert (finding.code, finding.severity) == ("lint/container-without-limits", Severity.WARNING)
    assert finding.fields == {"pod": "default/p", "container": "s", "resources": lacking}
    assert finding.where.path == "pod default/p, container s"


def test_where_nothing_is_pinned_the_class_is_worth_a_note() -> None:
    lost = pod("p", container("app", FULL), container("s", {}))
    assert [f.severity for f in found(lost, config=NONE)] == [Severity.NOTE]


def test_each_container_that_costs_the_class_is_named_once_for_pods_that_are_alike() -> None:
    containers = (container("app", FULL), container("s", {}), container("t", {"cpu": "10m"}))
    findings = found(pod("a", *containers), pod("b", *containers))
    assert [(f.fields["container"], f.fields["pod"]) for f in findings] == [
        ("s", "default/a (and 1 more pods like it)"),
        ("t", "default/a (and 1 more pods like it)"),
    ]


@pytest.mark.parametrize(
    "containers",
    [
        (container("app", FULL), container("s", {"cpu": "1", "memory": "64Mi"})),
        (container("app", {}), container("s", {})),
        (container("app", FULL, {"cpu": "500m"}),),
        (container("app", {}, {"cpu": "1500m"}), container("s", FULL)),
        (container("app", {}, {"memory": "2Gi"}), container("s", FULL)),
    ],
)
def test_pods_that_are_what_they_look_like_are_fine(containers: tuple[Container, ...]) -> None:
    assert found(pod("p", *containers)) == []


@pytest.mark.parametrize(
    ("asked", "whole", "severity"),
    [
        ("1500m", 2, Severity.WARNING),
        ("1001m", 2, Severity.WARNING),
        ("500m", 1, Severity.NOTE),
    ],
)
def test_a_part_of_a_cpu_gets_no_exclusive_cpus(asked: str, whole: int, severity: Severity) -> None:
    (finding,) = found(pod("p", container("c", {"cpu": asked, "memory": "1Gi"})))
    assert (finding.code, finding.severity) == ("lint/fractional-cpus", severity)
    assert (str(finding.fields["asked"]), finding.fields["whole"]) == (asked, whole)
    assert finding.where.path == "pod default/p, container c"


def test_only_exclusive_cpus_must_be_whole() -> None:
    part = container("c", {"cpu": "1500m", "memory": "1Gi"})
    burstable = container("c", {"cpu": "1500m"})
    assert found(pod("p", part), config=NONE) == []
    assert found(pod("p", burstable)) == []
    assert found(pod("p", container("c", {"cpu": "1000m", "memory": "1Gi"}))) == []


@pytest.mark.parametrize(
    ("release", "gates", "scope", "count"),
    [
        ("1.36", {"PodLevelResourceManagers": True}, "pod", 0),
        ("1.36", {"PodLevelResourceManagers": True}, "container", 1),
        ("1.36", {}, "container", 0),
    ],
)
def test_a_container_may_get_exclusive_cpus_of_its_pod(
    release: str, gates: dict[str, bool], scope: str, count: int
) -> None:
    asked = {"cpu": Quantity.parse("2"), "memory": Quantity.parse("3Gi")}
    whole = replace(
        pod("p", container("c", {"cpu": "500m", "memory": "1Gi"})),
        pod_level=PodLevelResources(asked, asked, QosClass.GUARANTEED),
    )
    config = replace(
        STATIC,
        feature_gates=gates,
        topology_manager_policy="best-effort",
        topology_manager_scope=scope,
    )
    behaviour = replace(EXACT, release=table.of_name(release))
    codes = [each.code for each in found(whole, config=config, behaviour=behaviour)]
    assert codes.count("lint/fractional-cpus") == count


GPU = {"nvidia.com/gpu": (Device("gpu0", (0,)),)}
MANY = {
    name: (Device("d", (0,)),)
    for name in (
        *("nvidia.com/mig-1g.5gb", "example.com/gpu", "intel.com/sriov-port-a"),
        *("habana.ai/gaudi", "example.com/fpga2"),
    )
}


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("nvidia.com/gpus", "nvidia.com/gpu"),
        ("nvidia.com/gup", "nvidia.com/gpu"),
        ("nvdia.com/gpu", "nvidia.com/gpu"),
        ("nvidla.com/gpu", "nvidia.com/gpu"),
        ("nvidia-com/gpu", "nvidia.com/gpu"),
        ("nvidia.com/GPU", "nvidia.com/gpu"),
        ("hugepages-2mi", "hugepages-2Mi"),
        ("hugepages-2M", "hugepages-2Mi"),
        ("hugepages-2Gi", "hugepages-2Mi"),
        ("hugepages-2Mib", "hugepages-2Mi"),
        ("memroy", "memory"),
    ],
)
def test_a_name_one_letter_off_is_reported_with_the_name_that_is_offered(
    name: str, near: str
) -> None:
    asking = pod("p", container("c", {**FULL, name: "4Mi" if "page" in name else "1"}))
    told = {f.code: f for f in found(asking, devices=GPU)}
    finding = told["lint/resource-almost-offered"]
    assert finding.severity is Severity.WARNING
    assert (finding.fields["resource"], finding.fields["offered"]) == (name, near)
    assert finding.fields["container"] == "c"


@pytest.mark.parametrize(
    "name",
    [
        *("nvidia.com/mig-2g.5gb", "example.com/npu", "example.com/tpu", "habana.ai/gaudi2"),
        *("intel.com/sriov-port-b", "example.com/fpga", "example.com/fpga3", "hugepages-32Mi"),
        *("hugepages-1Gi", "amd.com/gpu", "example.com/gpu-shared", "nvidia.com/mig-1g.5gb"),
    ],
)
def test_other_real_resources_are_not_slips(name: str) -> None:
    asking = pod("p", container("c", {**FULL, name: "1"}))
    codes = [f.code for f in found(asking, devices=MANY)]
    assert "lint/resource-almost-offered" not in codes


def test_a_name_is_reported_at_the_file_of_its_pod() -> None:
    asking = pod("p", container("c", {**FULL, "nvidia.com/gpus": "1"}))
    places = {"p": lambda _: Location("pods.yaml")}
    (finding,) = found(asking, devices=GPU, pod_places=places)
    assert finding.where == Location("pods.yaml", "pod default/p, container c")


def test_a_status_that_counts_instead_of_the_manifest_is_reported() -> None:
    half = {"cpu": Quantity.parse("1"), "memory": Quantity.parse("512Mi")}
    asking = pod("p", *(container(name, {"cpu": "2", "memory": "1Gi"}) for name in "abc"))
    entries = StatusResources({"a": {}, "b": half}, {})
    asking = replace(asking, allocated=entries)

    def counts(release: str, **gates: bool) -> list[tuple[Any, ...]]:
        behaviour = replace(EXACT, release=table.of_name(release))
        config = replace(STATIC, feature_gates=gates)
        findings = found(asking, config=config, behaviour=behaviour)
        of_rule = [each.fields for each in findings if each.code == "lint/status-counts"]
        return [
            (e["container"], e["resource"], str(e["counted"]), str(e["asked"])) for e in of_rule
        ]

    expected = [("a", "cpu", "0", "2"), ("a", "memory", "0", "1Gi")]
    expected += [("b", "cpu", "1", "2"), ("b", "memory", "512Mi", "1Gi")]
    assert counts("1.33") == counts("1.34") == expected
    assert counts("1.32") == counts("1.35") == counts("1.36") == []
    assert counts("1.33", InPlacePodVerticalScaling=False) == []
