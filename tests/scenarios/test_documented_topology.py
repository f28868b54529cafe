"""Statements of the documentation that take two configurations, or several kinds of pods."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from numalet.core.admission.decision import POD
from numalet.core.admission.reasons import NotAligned
from numalet.core.config.rules import StartRefused
from numalet.core.hints.provider import Hint, Impossible, NoPreference
from numalet.core.managers.device.inventory import Device
from numalet.core.model.machine_info import HugePages, MachineInfo
from numalet.core.model.pod import Container, Pod, QosClass
from numalet.core.model.quantity import Quantity
from numalet.core.node import node as nodes
from numalet.core.node.node import Devices, Node
from numalet.io.documents.kubelet import kubelet_config
from numalet.wording import kubelet_start as wording
from values.builders import container, init, pod
from values.explain_bench import GPU, STATIC_CPUS, asking, config, session, shape

ONE_GPU: Devices = {GPU: (Device("g", (1,)),)}
"""The only device, on NUMA node 1."""


def begun(policy: str, scope: str = "container", **more: Any) -> Node:
    """Two NUMA nodes of 8 CPUs, CPU 0 reserved, one GPU on node 1."""
    return session(config(policy, scope, **STATIC_CPUS, **more), shape("2n8c"), ONE_GPU).node


def nodes_of_cpus(cpus: frozenset[int] | None) -> set[int]:
    """The NUMA nodes of these CPUs of the machine ``2n8c``."""
    return {cpu // 8 for cpu in cpus or ()}


def with_gpu(uid: str, cpus: str) -> Pod:
    return asking(pod(uid, container("c", "1Gi")), cpu=cpus, gpu="1")


def test_without_the_topology_manager_cpus_and_devices_are_far_apart() -> None:
    alone, decision = begun("none").admit(with_gpu("u", "2"))
    together, aligned = begun("restricted").admit(with_gpu("u", "2"))

    assert decision.admitted
    assert nodes_of_cpus(alone.snapshot.cpu.cpus_of("u", "c")) == {0}
    assert aligned.admitted
    assert nodes_of_cpus(together.snapshot.cpu.cpus_of("u", "c")) == {1}


def of_class(qos: QosClass) -> Pod:
    """A pod of this class that asks for the GPU and nothing else that a manager looks at."""
    whole = with_gpu(qos.value, "2")
    (one,) = whole.app_containers
    gpu = {GPU: one.requests[GPU]}
    asked = {
        QosClass.GUARANTEED: dict(one.requests),
        QosClass.BURSTABLE: {**gpu, "memory": Quantity.parse("1Gi")},
        QosClass.BEST_EFFORT: gpu,
    }[qos]
    changed = replace(one, requests=asked, limits={**asked, "memory": Quantity.parse("2Gi")})
    if qos is not QosClass.BURSTABLE:
        changed = replace(one, requests=asked, limits=asked)
    return replace(whole, app_containers=(changed,), qos_class=qos)


@pytest.mark.parametrize("qos", QosClass)
@pytest.mark.parametrize("policy", ["best-effort", "restricted", "single-numa-node"])
def test_pods_of_every_qos_class_are_aligned(qos: QosClass, policy: str) -> None:
    _, decision = begun(policy).admit(of_class(qos))

    assert decision.admitted
    # The place of the device is the pod's, whatever its class.
    assert decision.affinities["c"] == Hint(0b10, True)


@pytest.mark.parametrize("qos", QosClass)
def test_pods_of_every_qos_class_are_refused_where_they_can_not_be_aligned(qos: QosClass) -> None:
    apart: Devices = {GPU: (Device("a", (0,)), Device("b", (1,)))}
    node = session(config("single-numa-node", **STATIC_CPUS), shape("2n8c"), apart).node
    both = of_class(qos)
    (one,) = both.app_containers
    two = {GPU: Quantity.from_int(2)}
    changed = replace(one, requests={**one.requests, **two}, limits={**one.limits, **two})

    _, decision = node.admit(replace(both, app_containers=(changed,)))

    assert isinstance(decision.rejection, NotAligned)


@pytest.mark.parametrize(
    ("init_cpus", "app_cpus", "wanted"),
    [(8, (2, 3), 8), (2, (2, 3), 5), (7, (2, 5), 7), (9, (2, 3), 9), (2, (4, 5), 9)],
)
def test_a_pod_demands_the_larger_of_its_apps_sum_and_its_largest_init_container(
    init_cpus: int, app_cpus: tuple[int, int], wanted: int
) -> None:
    """Node 0 has 7 CPUs to give, node 1 has 8: the demand shows in the sets that are offered."""
    parts = [replace_cpus(init("i", "1Gi"), init_cpus), replace_cpus(init("j", "1Gi"), 1)]
    apps = [replace_cpus(container(f"c{n}", "1Gi"), n) for n in app_cpus]
    _, decision = begun("best-effort", "pod").admit(pod("u", *parts, *apps))

    cpus = decision.alignments[POD].hints["cpu"]["cpu"]
    assert not isinstance(cpus, NoPreference | Impossible)
    offered = {hint.mask for hint in cpus.hints()}
    fitting = {0b01: 7, 0b10: 8, 0b11: 15}
    assert offered == {mask for mask, free in fitting.items() if free >= wanted}


def replace_cpus(of: Container, count: int) -> Container:
    """The container with so many whole CPUs."""
    wanted = {**of.requests, "cpu": Quantity.from_int(count)}
    return replace(of, requests=wanted, limits=wanted)


def refusal(machine: MachineInfo, limits: dict[str, str]) -> str:
    """What the kubelet says of a reservation on NUMA node 0; empty if it starts."""
    configured = kubelet_config.decode(
        {"memoryManagerPolicy": "Static", "reservedMemory": [{"numaNode": 0, "limits": limits}]},
        "test",
    )
    found = nodes.start(configured, machine)
    return wording.text(found) if isinstance(found, StartRefused) else ""


def paged() -> MachineInfo:
    """Two NUMA nodes with pages of 2 Mi."""
    of = shape()
    pages = (HugePages(2048, 1024),)
    return replace(of, nodes=tuple(replace(node, hugepages=pages) for node in of.nodes))


def test_only_memory_and_huge_pages_are_kept_back() -> None:
    right = {"memory": "100Mi"}

    assert refusal(shape(), right) == ""
    for wrong in ("storage", "cpu", "example.com/gpu", "hugepages"):
        assert f'the limit type "{wrong}" for NUMA node 0 is not supported' in refusal(
            shape(), {**right, wrong: "1"}
        )


def test_whether_the_kept_back_pages_exist_makes_no_difference() -> None:
    for size in ("2Mi", "512Mi"):
        limits = {"memory": "100Mi", f"hugepages-{size}": "1Gi"}
        assert refusal(paged(), limits) == (
            f'the total amount "1Gi" of type "hugepages-{size}" is not equal to the value "0"'
            " determined by Node Allocatable feature"
        )
