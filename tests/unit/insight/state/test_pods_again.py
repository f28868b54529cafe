"""The pods that run, beside the answer whether a kubelet starts with their state files."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from numalet.core.config.behaviour import EXACT
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.config.releases import table
from numalet.core.managers.device.inventory import Device
from numalet.core.model.findings import Severity
from numalet.core.model.pod import Container, ContainerKind, Pod, PodLevelResources, QosClass
from numalet.core.model.quantity import Quantity
from numalet.core.node import node as nodes
from numalet.core.node.node import Node
from numalet.insight.output import state_document
from numalet.insight.state import restart_check
from numalet.insight.state.restart_check import RestartAnswer, RestoreCheck
from values import builders, cpu_builders

MACHINE = replace(cpu_builders.shape(1, 1, 16, 1), memory_capacity_bytes=64 << 30)
NONE = KubeletConfig(uses_default_eviction=True)
NEWEST = replace(EXACT, release=table.of_name("1.36"))
GPU = "example.com/gpu"
APP, INIT = ContainerKind.APP, ContainerKind.INIT


def static(**more: Any) -> KubeletConfig:
    return KubeletConfig(
        cpu_manager_policy="static", reserved_system_cpus="0", uses_default_eviction=True, **more
    )


def with_gpu(*kinds: ContainerKind) -> Pod:
    asked = {GPU: Quantity.parse("1")}
    pod = builders.pod("u", *(Container(each.value, each, asked, asked) for each in kinds))
    return replace(pod, qos_class=QosClass.BEST_EFFORT)


def check(config: KubeletConfig, *pods: Pod, before: KubeletConfig | None = None) -> RestoreCheck:
    """The check of what a kubelet wrote that ran these pods."""
    node = nodes.start(before or config, MACHINE, devices={GPU: (Device("0"),)}, behaviour=NEWEST)
    assert isinstance(node, Node), node
    for pod in pods:
        node, decision = node.admit(pod)
        assert decision.admitted, decision.rejection
        node = node.pod_started(pod.uid)
    return restart_check.check(config, MACHINE, node.state_files(), NEWEST, pods)


def codes(checked: RestoreCheck) -> list[str] | None:
    return None if checked.pods is None else [each.code for each in checked.pods]


def test_a_pod_without_devices_is_admitted_again() -> None:
    asked = {"cpu": Quantity.parse("4"), "memory": Quantity.parse("1Mi")}
    checked = check(static(), builders.pod("u", Container("c", APP, asked, asked)))

    assert (codes(checked), checked.loses_pods) == ([], False)
    assert state_document.checked(checked, "/st").pods == []


def test_without_pods_nothing_is_said_of_pods() -> None:
    assert codes(check(static())) is None
    assert state_document.checked(check(static()), "/st").pods is None


def test_of_a_kubelet_that_does_not_start_nothing_is_said_of_pods() -> None:
    asked = {"cpu": Quantity.parse("4"), "memory": Quantity.parse("1Mi")}
    pod = builders.pod("u", Container("c", APP, asked, asked))
    checked = check(NONE, pod, before=static())

    assert checked.answer is RestartAnswer.REFUSED
    assert (codes(checked), checked.loses_pods) == (None, False)


def test_a_pod_that_waits_for_its_plugin_is_lost() -> None:
    checked = check(NONE, with_gpu(INIT, APP))

    assert codes(checked) == ["restart/pod-rejected"]
    assert checked.loses_pods
    assert checked.pods is not None
    (lost,) = checked.pods
    assert str(lost).startswith(
        "the kubelet rejects pod default/u, which runs, unless its device plugin registers before "
        "the kubelet sees the pod: UnexpectedAdmissionError: "
    )
    documents = state_document.checked(checked, "/st").pods or []
    assert [each.code for each in documents] == ["restart/pod-rejected"]


def test_after_a_reboot_every_pod_with_a_device_needs_its_plugin() -> None:
    checked = check(NONE, with_gpu(APP))

    assert codes(checked) == ["restart/pod-needs-plugin"]
    assert not checked.loses_pods
    assert checked.pods is not None
    (finding,) = checked.pods
    assert finding.severity is Severity.WARNING


def test_a_pod_that_is_placed_a_second_time_is_a_warning() -> None:
    config = static(
        topology_manager_policy="best-effort",
        topology_manager_scope="pod",
        feature_gates={"PodLevelResources": True, "PodLevelResourceManagers": True},
    )
    asked = {"cpu": Quantity.parse("2"), "memory": Quantity.parse("1Gi")}
    pod = builders.pod("u", Container("a", APP, {}, {}))
    pod = replace(pod, pod_level=PodLevelResources(asked, asked, QosClass.GUARANTEED))
    checked = check(config, pod)

    assert [str(each) for each in checked.pods or ()] == [
        "container a of pod default/u runs with CPUs 1-2; after the restart the kubelet gives "
        "it CPUs 3-4"
    ]
    assert not checked.loses_pods
