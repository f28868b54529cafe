"""CPUs that init containers keep unused, and reservations on cores of different sizes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.model.findings import Finding, Severity
from numalet.core.model.machine_info import MachineInfo
from numalet.core.model.pod import Container, Pod, QosClass
from numalet.insight.lint import rules
from numalet.insight.lint.subject import LintSubject
from values import cpu_builders

CODES = ("lint/init-container-keeps-cpus", "lint/reservation-on-uneven-cores")
SMT = replace(cpu_builders.shape(1, 1, 4, 2), memory_capacity_bytes=16 << 30)
WHOLE_CORES = {"full-pcpus-only": "true"}
PAIRS = [(0, (core, core + 5), None) for core in range(4)]
UNEVEN = replace(cpu_builders.machine([*PAIRS, (0, (4,), None)]), memory_capacity_bytes=8 << 30)


def static(**more: Any) -> KubeletConfig:
    given = {"cpu_manager_policy": "static", "kube_reserved": {"cpu": "1"}, **more}
    return KubeletConfig(uses_default_eviction=True, **given)


def found(
    *pods: Pod, config: KubeletConfig | None = None, machine: MachineInfo = SMT
) -> list[Finding]:
    """What these two rules find."""
    subject = LintSubject(config=config or static(), machine=machine, pods=pods)
    return [each for each in rules.check(subject).own if each.code in CODES]


def pod(*containers: Container, uid: str = "p", qos: QosClass = QosClass.GUARANTEED) -> Pod:
    return cpu_builders.pod(uid, *containers, qos=qos)


def test_a_small_init_container_costs_the_pod_a_cpu_that_the_scheduler_does_not_count() -> None:
    init, app = cpu_builders.init("init", "1"), cpu_builders.container("app", "2")
    (finding,) = found(pod(init, app), pod(init, app, uid="q"))

    assert finding.severity is Severity.WARNING
    assert str(finding) == (
        "pod default/p (and 1 more pod like it) holds CPU 4 that no container uses after init "
        "container init has ended: 3 CPUs in all, and the scheduler counts 2"
    )
    assert finding.fields["change"] == (
        "let init container init ask for 2 of cpu; then it keeps none"
    )


def test_a_large_init_container_is_counted_by_the_scheduler_too() -> None:
    init, app = cpu_builders.init("init", "4"), cpu_builders.container("app", "2")
    (finding,) = found(pod(init, app))

    assert finding.severity is Severity.NOTE
    assert (finding.fields["held"], finding.fields["counted"]) == (4, 4)


def test_an_init_container_beside_a_pod_of_the_shared_pool_can_share_it_too() -> None:
    init, app = cpu_builders.init("init", "2"), cpu_builders.container("app", "500m")
    (finding,) = found(pod(init, app))

    assert finding.fields["change"] == (
        "let init container init ask for a number of cpu that is not whole; it then runs in the "
        "shared pool"
    )


@pytest.mark.parametrize(
    "containers",
    [
        (cpu_builders.init("init", "2"), cpu_builders.container("app", "2")),
        (cpu_builders.init("init", "500m"), cpu_builders.container("app", "2")),
        (cpu_builders.sidecar("side", "1"), cpu_builders.container("app", "2")),
        (cpu_builders.init("init", "20"), cpu_builders.container("app", "2")),
    ],
)
def test_init_containers_whose_cpus_are_used_or_shared_are_fine(
    containers: tuple[Container, ...],
) -> None:
    assert found(pod(*containers)) == []


def test_without_exclusive_cpus_none_is_kept() -> None:
    containers = cpu_builders.init("init", "1"), cpu_builders.container("app", "2")
    assert found(pod(*containers), config=static(cpu_manager_policy="none")) == []
    assert found(pod(*containers, qos=QosClass.BURSTABLE)) == []


def test_a_number_of_reserved_cpus_on_uneven_cores_names_the_pod_that_gets_one_of_them() -> None:
    (finding,) = found(config=static(kube_reserved={"cpu": "2"}), machine=UNEVEN)

    assert finding.severity is Severity.WARNING
    assert finding.fields["reserved"] == "0,4"
    assert str(finding) == (
        "CPUs 0,4 are reserved, and cores have different numbers of CPUs: a container with 2 CPUs "
        "gets the reserved CPU 0; while it runs the kubelet does not start again"
    )
    assert finding.fields["change"].endswith("or set reservedSystemCPUs to 0,4-5")


def test_whole_cores_by_name_and_cores_of_one_size_are_fine() -> None:
    named = static(kube_reserved={}, reserved_system_cpus="0,5")
    assert found(config=named, machine=UNEVEN) == []
    assert found(config=static(kube_reserved={"cpu": "1"})) == []
    shared = static(cpu_manager_policy="none", kube_reserved={"cpu": "2"})
    assert found(config=shared, machine=UNEVEN) == []


def test_a_core_that_is_reserved_in_part_is_reported_even_if_no_pod_gets_its_rest() -> None:
    cores = [(0, (0, 1), None), (0, (2, 3), None), (0, (4,), None)]
    machine = replace(cpu_builders.machine(cores), memory_capacity_bytes=8 << 30)
    (finding,) = found(config=static(kube_reserved={"cpu": "4"}), machine=machine)

    assert finding.fields["effect"] == (
        "the kubelet chose them by their number, and only a part of the cores {2,3}"
    )
    whole = static(kube_reserved={"cpu": "4"}, cpu_manager_policy_options=WHOLE_CORES)
    assert found(config=whole, machine=machine) == [], "lint/reserved-cpus-split-cores reports it"
