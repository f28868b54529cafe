"""Options and gates that change nothing, and options that work against each other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from numalet.core.config.behaviour import EXACT
from numalet.core.config.kubelet_config import KubeletConfig, ReservedMemory
from numalet.core.config.releases import table
from numalet.core.managers.device.inventory import Device
from numalet.core.model.findings import Finding, Severity
from numalet.core.model.machine_info import MachineInfo
from numalet.core.model.pod import Pod, QosClass
from numalet.core.model.quantity import Quantity
from numalet.core.node.node import NO_DEVICES, Devices
from numalet.insight.lint import rules
from numalet.insight.lint.subject import LintSubject
from values import builders, cpu_builders

CODES = ("lint/setting-changes-nothing", "lint/options-oppose-each-other")
ALPHA = "CPUManagerPolicyAlphaOptions"
SOCKET, CORES, NUMA, CACHE = (
    "align-by-socket",
    "distribute-cpus-across-cores",
    "distribute-cpus-across-numa",
    "prefer-align-cpus-by-uncorecache",
)
CONTIGUOUS = [(0, (cpu, cpu + 1), None) for cpu in range(0, 8, 2)]


def large(machine: MachineInfo) -> MachineInfo:
    return replace(machine, memory_capacity_bytes=64 << 30)


def shape(
    sockets: int, nodes: int, cores: int, threads: int, caches: int | None = None
) -> MachineInfo:
    return large(cpu_builders.shape(sockets, nodes, cores, threads, cores_per_cache=caches))


def static(*options: str, **more: Any) -> KubeletConfig:
    given = {
        "cpu_manager_policy": "static",
        "cpu_manager_policy_options": dict.fromkeys(options, "true") or None,
        "feature_gates": {ALPHA: True} if {*options} & {SOCKET, CORES} else {},
        "reserved_system_cpus": "0",
    }
    return KubeletConfig(uses_default_eviction=True, **{**given, **more})


def found(
    config: KubeletConfig,
    machine: MachineInfo,
    *pods: Pod,
    release: str = "1.36",
    devices: Devices = NO_DEVICES,
) -> list[Finding]:
    behaviour = replace(EXACT, release=table.of_name(release))
    subject = LintSubject(
        config=config, machine=machine, pods=pods, behaviour=behaviour, devices=devices
    )
    return [each for each in rules.check(subject).own if each.code in CODES]


def settings(of: list[Finding]) -> list[str]:
    return [each.fields["setting"] for each in of]


def test_align_by_socket_without_a_topology_policy_does_nothing() -> None:
    pods = cpu_builders.simple("a", "2"), cpu_builders.simple("b", "12")
    (finding,) = found(static(SOCKET), shape(2, 4, 4, 2), *pods)

    assert finding.severity is Severity.WARNING
    assert str(finding) == (
        "align-by-socket changes nothing on this machine (4 NUMA nodes, 32 CPUs) for default/a, "
        "default/b in this order: without it they get the same CPUs, memory and devices. It widens "
        "an affinity from its NUMA nodes to their sockets; without a topology policy there is no "
        "affinity"
    )


def test_a_preference_that_the_given_pods_do_not_feel_names_a_container_that_does() -> None:
    aligned = static(SOCKET, topology_manager_policy="restricted")
    (finding,) = found(aligned, shape(2, 4, 4, 2), cpu_builders.simple("a", "2"))

    assert finding.severity is Severity.NOTE
    assert finding.fields["pods"] == "default/a"
    assert "; a container with 7 of cpu after one with 1 of cpu would get others. " in str(finding)
    both = cpu_builders.simple("a", "1"), cpu_builders.simple("b", "7")
    assert found(aligned, shape(2, 4, 4, 2), *both) == []


def test_neighbouring_siblings_are_on_one_core_however_cpus_are_distributed() -> None:
    one = large(cpu_builders.machine(CONTIGUOUS))
    config = static(CORES, reserved_system_cpus="0-1")
    (finding,) = found(config, one, cpu_builders.simple("a", "2"))

    assert finding.fields["setting"] == CORES
    assert finding.fields["other"] == (
        "; a container with 2 of cpu after one with 1 of cpu would get others"
    )
    assert found(static(CORES), shape(1, 1, 4, 2), cpu_builders.simple("a", "2")) == []


@pytest.mark.parametrize(
    ("config", "machine", "expected"),
    [
        (static("full-pcpus-only", reserved_system_cpus="0,4"), shape(1, 1, 4, 2), []),
        (static("full-pcpus-only"), shape(1, 1, 4, 1), ["full-pcpus-only"]),
        (static("strict-cpu-reservation"), shape(1, 1, 4, 1), []),
        (static(cpu_manager_policy_options={NUMA: "false"}), shape(1, 1, 4, 1), []),
    ],
)
def test_an_option_that_refuses_pods_is_reported_only_if_no_pod_feels_it(
    config: KubeletConfig, machine: MachineInfo, expected: list[str]
) -> None:
    assert settings(found(config, machine, cpu_builders.simple("a", "2"))) == expected


def test_without_pods_that_hold_anything_containers_of_every_size_are_tried() -> None:
    (finding,) = found(static(NUMA), shape(1, 1, 4, 1))
    assert finding.fields["pods"] == (
        "a container with 1-3 of cpu, alone or after one with 1 of cpu"
    )
    assert found(static(NUMA), shape(2, 2, 4, 1)) == []
    shared = replace(cpu_builders.simple("a", "2"), qos_class=QosClass.BURSTABLE)
    assert found(static(NUMA), shape(1, 1, 4, 1), shared) == [finding]


def test_a_cache_matters_after_a_small_container() -> None:
    config = static(CACHE, reserved_system_cpus="0-3")
    assert found(config, shape(1, 1, 16, 1, caches=4)) == []
    assert settings(found(config, shape(1, 1, 16, 1, caches=16))) == [CACHE]


def test_options_of_the_topology_manager_are_tried_with_memory_and_devices_too() -> None:
    two = builders.machine(10, 10, distances=((10, 20), (20, 10)))
    config = KubeletConfig(
        uses_default_eviction=True,
        memory_manager_policy="Static",
        reserved_memory=(ReservedMemory(0, {"memory": Quantity.parse("100Mi")}),),
        topology_manager_policy="restricted",
        topology_manager_policy_options={
            "max-allowable-numa-nodes": "8",
            "prefer-closest-numa-nodes": "true",
        },
    )
    gpus = {"example.com/gpu": (Device("0", (0,)), Device("1", (1,)))}
    both = found(config, two, devices=gpus)

    assert settings(both) == ["max-allowable-numa-nodes", "prefer-closest-numa-nodes"]
    assert both[0].fields["pods"] == "any pod"
    assert both[1].fields["pods"] == (
        "a container with up to 15Gi of memory, or 1-2 of example.com/gpu, alone or after one "
        "with 1 of cpu"
    )
    assert found(replace(config, topology_manager_policy="none"), two, devices=gpus) == []


def test_a_memory_request_may_show_the_difference() -> None:
    distances = ((10, 30, 20), (30, 10, 30), (20, 30, 10))
    three = builders.machine(10, 10, 10, distances=distances)
    config = KubeletConfig(
        uses_default_eviction=True,
        memory_manager_policy="Static",
        reserved_memory=(ReservedMemory(0, {"memory": Quantity.parse("100Mi")}),),
        topology_manager_policy="best-effort",
        topology_manager_policy_options={"prefer-closest-numa-nodes": "true"},
    )
    assert found(config, three) == []
    (finding,) = found(config, three, builders.simple("a", "1Gi"))
    assert "of memory would get others" in str(finding)


@pytest.mark.parametrize(
    ("options", "policy", "expected"),
    [
        ((NUMA,), "best-effort", []),
        ((NUMA,), "single-numa-node", [NUMA]),
        ((SOCKET,), "restricted", []),
        ((SOCKET,), "none", [SOCKET]),
    ],
)
def test_without_pods_an_option_that_chooses_between_numa_nodes_may_matter_once_some_are_full(
    options: tuple[str, ...], policy: str, expected: list[str]
) -> None:
    config = static("full-pcpus-only", *options, topology_manager_policy=policy)
    assert settings(found(config, shape(2, 4, 48, 2))) == expected


def test_on_the_two_sockets_of_an_ordinary_server_align_by_socket_has_no_choice() -> None:
    config = static(SOCKET, topology_manager_policy="restricted")
    assert settings(found(config, shape(2, 2, 8, 2))) == [SOCKET]


def test_with_whole_cores_the_first_request_above_a_numa_node_is_a_core_larger() -> None:
    config = static("full-pcpus-only", NUMA, topology_manager_policy="best-effort")
    (finding,) = found(config, shape(2, 2, 16, 2), cpu_builders.simple("a", "2"))
    assert finding.fields["other"] == "; a container with 34 of cpu would get others"


def test_near_numa_nodes_are_preferred_once_others_are_full() -> None:
    far = ((10, 12, 32, 32), (12, 10, 32, 32), (32, 32, 10, 12), (32, 32, 12, 10))
    config = KubeletConfig(
        uses_default_eviction=True,
        memory_manager_policy="Static",
        reserved_memory=(ReservedMemory(0, {"memory": Quantity.parse("100Mi")}),),
        topology_manager_policy="best-effort",
        topology_manager_policy_options={"prefer-closest-numa-nodes": "true"},
    )
    four = builders.machine(10, 10, 10, 10, distances=far)
    assert found(config, four) == []
    (finding,) = found(config, four, builders.simple("a", "1Gi"))
    assert finding.fields["pods"] == "default/a"
    aligned = replace(config, topology_manager_policy="single-numa-node")
    assert settings(found(aligned, four)) == ["prefer-closest-numa-nodes"]


def test_a_gate_without_an_option_of_its_level_does_nothing() -> None:
    gates = {ALPHA: True}
    (finding,) = found(static(feature_gates=gates), shape(1, 1, 4, 1))
    assert finding.fields["setting"] == ALPHA
    # Without the gate the kubelet refuses the option, and the other gate is off.
    assert settings(found(static(SOCKET, feature_gates=gates), shape(1, 1, 4, 1))) == [SOCKET]
    assert found(static(feature_gates={ALPHA: False}), shape(1, 1, 4, 1)) == []


@pytest.mark.parametrize(("release", "count"), [("1.36", 1), ("1.37", 0)])
def test_distributing_over_numa_nodes_can_divide_what_fits_one_socket(
    release: str, count: int
) -> None:
    aligned = static(SOCKET, NUMA, topology_manager_policy="restricted")
    opposed = [
        each
        for each in found(aligned, shape(2, 8, 4, 1), release=release)
        if each.code == "lint/options-oppose-each-other"
    ]
    assert [str(each) for each in opposed] == [
        "distribute-cpus-across-numa works against align-by-socket on this machine (8 NUMA nodes, "
        "32 CPUs): a container with 16 CPUs gets CPUs 4-15,28-31 (2 sockets) with both, and 16-31 "
        "(1 socket) without distribute-cpus-across-numa"
    ] * count


def test_the_given_pods_are_named_where_options_oppose_each_other() -> None:
    aligned = static(SOCKET, NUMA, topology_manager_policy="restricted")
    (finding,) = found(aligned, shape(2, 8, 4, 1), cpu_builders.simple("a", "16"))
    assert finding.fields["container"] == "container c of pod default/a"


@pytest.mark.parametrize("option", [CACHE, CORES])
def test_other_goals_are_compared_too(option: str) -> None:
    config = static(option, SOCKET, topology_manager_policy="restricted")
    codes = {each.code for each in found(config, shape(2, 4, 8, 2, caches=4))}
    assert "lint/options-oppose-each-other" not in codes


def test_large_machines_are_tried_around_the_size_of_a_numa_node() -> None:
    (finding,) = found(static(NUMA), shape(1, 1, 40, 2))
    assert finding.fields["pods"] == (
        "a container with 1-4,8,16,39-40,79 of cpu, alone or after one with 1 of cpu"
    )


def test_machines_with_many_numa_nodes_are_not_searched_for_a_container_that_is_affected() -> None:
    config = static(SOCKET)
    (finding,) = found(config, shape(9, 9, 1, 2), cpu_builders.simple("a", "2"))
    assert finding.fields["other"] == ""
