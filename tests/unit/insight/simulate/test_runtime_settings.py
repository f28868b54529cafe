"""What the container runtime would be told, in the fields of its API."""

from __future__ import annotations

from dataclasses import replace

import pytest

from numalet.core.admission.decision import Decision
from numalet.core.config.rules import CpuPolicy, CpuRules, MemoryPolicy, MemoryRules, NodeRules
from numalet.core.model.machine_info import MachineInfo, OperatingSystem
from numalet.core.model.pod import Container, Pod, QosClass
from numalet.core.model.quantity import Quantity
from numalet.insight.simulate import outcome
from numalet.insight.simulate.outcome import GroupMask, LinuxSettings, WindowsSettings
from values.builders import GI, machine, node
from values.cpu_builders import cpus

MACHINE = machine(8, 8)
"""Node 0 has the CPUs 0-1, node 1 has 2-3."""


def _container(name: str, cpu: str, memory: str) -> Container:
    asked = {"cpu": Quantity.parse(cpu), "memory": Quantity.parse(memory)}
    return Container(name, requests=asked, limits=asked)


POD = Pod(
    uid="u",
    name="pod",
    app_containers=(_container("pinned", "2", "1Gi"), _container("shared", "500m", "1Gi")),
    qos_class=QosClass.GUARANTEED,
)


def _decision(of: NodeRules, pod: Pod = POD) -> Decision:
    _, decision = node(of).admit(pod)
    return decision


def _rules(
    on: MachineInfo, cpu: CpuPolicy = CpuPolicy.STATIC, memory: MemoryPolicy = MemoryPolicy.STATIC
) -> NodeRules:
    return NodeRules(
        machine=on,
        cpu=CpuRules(policy=cpu, reserved_count=1, reserved_cpus=cpus("0")),
        memory=MemoryRules(policy=memory),
    )


def _windows(on: MachineInfo) -> NodeRules:
    return _rules(replace(on, os=OperatingSystem.WINDOWS), memory=MemoryPolicy.BEST_EFFORT)


def test_a_pinned_container_is_told_its_cpus_and_a_shared_one_the_pool() -> None:
    told = outcome.runtime_settings(_decision(_rules(MACHINE)))

    assert {
        "pinned": LinuxSettings(cpuset_cpus="2-3", cpuset_mems="0"),
        "shared": LinuxSettings(cpuset_cpus="0-1", cpuset_mems="0"),
    } == told


def test_policies_none_tell_nothing() -> None:
    rules = _rules(MACHINE, CpuPolicy.NONE, MemoryPolicy.NONE)
    told = outcome.runtime_settings(_decision(rules))
    assert {"pinned": LinuxSettings("", ""), "shared": LinuxSettings("", "")} == told


def test_nodes_of_a_group_are_listed_without_ranges() -> None:
    pod = replace(POD, app_containers=(_container("wide", "1", "20Gi"),))
    told = outcome.runtime_settings(_decision(_rules(machine(8, 8, 8)), pod))
    assert {"wide": LinuxSettings("1", "0,1,2")} == told


def test_nothing_is_reported_of_a_rejected_pod() -> None:
    pod = replace(POD, app_containers=(_container("huge", "1", "17Gi"),))
    decision = _decision(_rules(MACHINE), pod)

    assert not decision.admitted
    assert outcome.runtime_settings(decision) == {}
    assert decision.placements == {}


def test_a_decision_on_linux_has_no_windows_affinity_but_placements() -> None:
    decision = _decision(_rules(MACHINE))

    assert decision.windows_affinity is None
    assert cpus("2-3") == decision.placements["pinned"].cpus
    assert cpus("") == decision.placements["shared"].cpus
    assert [(block.nodes, block.size_bytes) for block in decision.placements["shared"].memory] == [
        ((0,), GI)
    ]


def test_on_windows_the_merged_set_is_told_by_groups() -> None:
    decision = _decision(_windows(MACHINE))

    assert {"pinned": cpus("0-3"), "shared": cpus("0-1")} == decision.windows_affinity
    assert {
        "pinned": WindowsSettings((GroupMask(0, 0b1111),)),
        "shared": WindowsSettings((GroupMask(0, 0b0011),)),
    } == outcome.runtime_settings(decision)


def test_stand_ins_on_windows_bind_to_nothing() -> None:
    decision = _decision(replace(_windows(MACHINE), managers_are_stand_ins=True))

    assert decision.windows_affinity == {}
    assert {
        "pinned": WindowsSettings(()),
        "shared": WindowsSettings(()),
    } == outcome.runtime_settings(decision)


def test_a_rejected_pod_on_windows_is_bound_to_nothing() -> None:
    pod = replace(POD, app_containers=(_container("huge", "1", "17Gi"),))
    decision = _decision(_windows(MACHINE), pod)

    assert not decision.admitted
    assert decision.windows_affinity == {}


@pytest.mark.parametrize(
    ("listed", "expected"),
    [
        ("", ()),
        ("0", (GroupMask(0, 1),)),
        ("63", (GroupMask(0, 1 << 63),)),
        ("64", (GroupMask(1, 1),)),
        ("0-63", (GroupMask(0, (1 << 64) - 1),)),
        ("3,62-65", (GroupMask(0, 1 << 3 | 1 << 62 | 1 << 63), GroupMask(1, 0b11))),
        ("130,1", (GroupMask(0, 0b10), GroupMask(2, 0b100))),
    ],
)
def test_a_group_has_64_cpus(listed: str, expected: tuple[GroupMask, ...]) -> None:
    assert expected == outcome.group_masks(cpus(listed))
