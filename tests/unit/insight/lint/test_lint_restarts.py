"""Pods that keep the kubelet from starting again, or that it rejects when it has."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from numalet.core.config.behaviour import EXACT, NATIVE
from numalet.core.config.kubelet_config import KubeletConfig, ReservedMemory
from numalet.core.config.releases import table
from numalet.core.managers.device.inventory import Device
from numalet.core.model.findings import Finding, Severity
from numalet.core.model.node_constraints import UNCONSTRAINED
from numalet.core.model.pod import Container, ContainerKind, Pod, PodLevelResources, QosClass
from numalet.core.model.quantity import Quantity
from numalet.core.node import node as nodes
from numalet.core.node.node import Node
from numalet.insight.lint import rules
from numalet.insight.lint.subject import LintSubject
from numalet.insight.upgrade import compare
from values import builders, cpu_builders

SIXTEEN = replace(cpu_builders.shape(1, 1, 16, 1), memory_capacity_bytes=64 << 30)
WHOLE_CORES = {"cpu_manager_policy_options": {"full-pcpus-only": "true"}}
APP, INIT = ContainerKind.APP, ContainerKind.INIT
CODES = ("lint/pod-stops-next-start", "lint/pod-rejected-after-restart")


def static(**more: Any) -> KubeletConfig:
    return KubeletConfig(
        **{
            "cpu_manager_policy": "static",
            "reserved_system_cpus": "0",
            "uses_default_eviction": True,
            **more,
        }
    )


def cpus(uid: str, count: int, **more: Any) -> Pod:
    asked = {"cpu": Quantity.parse(str(count)), "memory": Quantity.parse("1Mi")}
    return replace(builders.pod(uid, Container("c", APP, asked, asked)), **more)


def subject(config: KubeletConfig, *pods: Pod, release: str = "1.32", **more: Any) -> LintSubject:
    behaviour = replace(EXACT, release=table.of_name(release))
    return LintSubject(
        **{"config": config, "machine": SIXTEEN, "pods": pods, "behaviour": behaviour, **more}
    )


def found(of: LintSubject) -> list[Finding]:
    """What is found about restarts."""
    return [each for each in rules.check(of).own if each.code in CODES]


def files(config: KubeletConfig, *pods: Pod) -> dict[str, str]:
    node = nodes.start(config, SIXTEEN)
    assert isinstance(node, Node), node
    for pod in pods:
        node, decision = node.admit(pod)
        assert decision.admitted
    return node.state_files()


def test_a_pod_that_takes_a_reserved_cpu_keeps_the_kubelet_from_starting_again() -> None:
    # The last core has one CPU, so a core counts as free that has a reserved one.
    cores = [(0, (core, core + 5), None) for core in range(4)]
    odd = cpu_builders.machine([*cores, (0, (4,), None)])
    machine = replace(odd, memory_capacity_bytes=8 << 30)
    config = static(reserved_system_cpus=None, kube_reserved={"cpu": "2"})
    shared, large = cpus("shared", 1, qos_class=QosClass.BURSTABLE), cpus("large", 3)
    of = subject(config, shared, large, machine=machine)
    (finding,) = found(of)

    assert finding.severity is Severity.WARNING
    assert str(finding).startswith(
        "when pod default/large runs, the kubelet does not start again: start cpu manager error: "
        "not all reserved cpus: "
    )
    assert found(replace(of, config=static(reserved_system_cpus="0,5"))) == []


def test_a_pod_of_two_or_more_is_named() -> None:
    pods = cpus("a", 6), cpus("b", 5)
    (finding,) = found(subject(static(**WHOLE_CORES), *pods))

    assert str(finding).startswith(
        "the kubelet admits pod default/a (and 1 more), and rejects it when it starts again while "
        "the pod runs: SMTAlignmentError: "
    )
    assert found(subject(static(), *pods)) == []
    assert found(subject(static(**WHOLE_CORES), cpus("a", 6), cpus("b", 4), cpus("c", 9))) != []


def test_a_pod_that_is_never_admitted_has_no_restart() -> None:
    assert found(subject(static(**WHOLE_CORES), cpus("a", 16))) == []


def test_pods_of_the_state_files_run_already() -> None:
    config, running = static(**WHOLE_CORES), cpus("a", 7)
    written = files(config, running)
    (finding,) = found(subject(config, running, cpus("b", 5), state_files=written))
    assert finding.fields["pod"] == "default/a (and 1 more)"
    # Its manifest is not given, and what it holds is still not free.
    (finding,) = found(subject(config, cpus("b", 5), state_files=written))
    assert finding.fields["pod"] == "default/b"
    other = subject(KubeletConfig(uses_default_eviction=True), cpus("b", 5), state_files=written)
    assert found(other) == [], "the kubelet does not start"


def test_a_pod_whose_plugin_is_late_is_rejected_whatever_its_status_says_now() -> None:
    gpu = {"example.com/gpu": Quantity.parse("1")}
    devices = {"example.com/gpu": (Device("0"), Device("1"))}
    config = KubeletConfig(uses_default_eviction=True)

    def of(*kinds: ContainerKind) -> LintSubject:
        containers = (Container(each.value, each, gpu, gpu) for each in kinds)
        pod = builders.pod("u", *containers, qos=QosClass.BEST_EFFORT)
        return subject(config, replace(pod, phase="Pending"), devices=devices)

    (finding,) = found(of(INIT, APP))
    assert "runs, unless its device plugin registers before the kubelet sees the pod: " in str(
        finding
    )
    assert found(of(APP)) == []


def test_a_pod_that_another_one_evicts_does_not_run() -> None:
    config = static(**WHOLE_CORES, max_pods=1)
    small = cpus("small", 9, constraints=UNCONSTRAINED)
    critical = cpus("critical", 5, priority=2_000_001_000, constraints=UNCONSTRAINED)
    assert all("critical" in each.fields["pod"] for each in found(subject(config, small, critical)))


WITH_MEMORY = {
    "memory_manager_policy": "Static",
    "kube_reserved": {"memory": "100Mi"},
    "reserved_memory": (ReservedMemory(0, {"memory": Quantity.parse("200Mi")}),),
}


@pytest.mark.parametrize(
    ("more", "error"),
    [
        ({}, "current set of available CPUs"),
        ({"cpu_manager_policy": "none", **WITH_MEMORY}, "the expected machine state is different"),
    ],
)
def test_a_pod_that_is_placed_a_second_time_stops_the_start_after_that(
    more: dict[str, Any], error: str
) -> None:
    config = static(
        topology_manager_policy="best-effort",
        topology_manager_scope="pod",
        feature_gates={"PodLevelResources": True, "PodLevelResourceManagers": True},
        **more,
    )
    asked = {"cpu": Quantity.parse("2"), "memory": Quantity.parse("200Mi")}
    whole = builders.pod("whole", Container("a", APP, {}, {}))
    whole = replace(whole, pod_level=PodLevelResources(asked, asked, QosClass.GUARANTEED))
    (finding,) = found(subject(config, cpus("p", 2), whole, release="1.36"))

    assert finding.code == "lint/pod-stops-next-start"
    assert finding.fields["pod"] == "default/whole"
    assert error in finding.fields["error"]


def test_in_native_mode_a_pod_that_runs_goes_on() -> None:
    pods = cpus("a", 6), cpus("b", 5)
    assert found(subject(static(**WHOLE_CORES), *pods, behaviour=NATIVE)) == []


def test_an_empty_pool_has_a_rule_of_its_own() -> None:
    strict = {"cpu_manager_policy_options": {"strict-cpu-reservation": "true"}}
    of = subject(static(**strict), cpus("a", 15), release="1.36")
    codes = [each.code for each in rules.check(of).own]
    assert "lint/pods-empty-the-pool" in codes
    assert found(of) == []


@pytest.mark.parametrize("with_files", [False, True])
def test_in_a_comparison_with_state_files_the_error_is_enough(with_files: bool) -> None:
    pods = cpus("a", 6), cpus("b", 5)
    config = static(**WHOLE_CORES)
    written = files(static(), *pods) if with_files else {}
    before = subject(static(), *pods, state_files=written)
    after = subject(config, *pods, state_files=written)
    codes = {each.code for each in compare.compare(before, after).changes}

    assert ("lint/pod-rejected-after-restart" in codes) is not with_files
    assert ("upgrade/pod-rejected" in codes) is with_files
