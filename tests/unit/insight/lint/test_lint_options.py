"""Rules about policies, options, gates, numbers of nodes, CPUs and the kernel; and the start."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from numalet.core.checkpoint import cpu_file, memory_file
from numalet.core.config.kubelet_config import KubeletConfig, ReservedMemory
from numalet.core.config.rules import (
    CpuPolicy,
    CpuRules,
    NodeRules,
    StartStage,
    TopologyPolicy,
    TopologyRules,
)
from numalet.core.findings.machine import MachineNoteCpuless
from numalet.core.managers.device.inventory import Device
from numalet.core.model import input_error
from numalet.core.model.findings import Finding, Severity
from numalet.core.model.machine_info import HugePages, MachineInfo
from numalet.core.model.quantity import Quantity
from numalet.insight.lint import on_options, rules, starting
from numalet.insight.lint.subject import LintSubject
from values import builders, cpu_builders

TWO = builders.machine(10, 10)
FOUR = cpu_builders.shape(4, 4, 4, 2)
MANY = builders.machine(*[10] * 9)
MAX_ALLOWABLE = "max-allowable-numa-nodes"
ALPHA_GATE = "CPUManagerPolicyAlphaOptions"


def config(**changes: Any) -> KubeletConfig:
    return KubeletConfig(uses_default_eviction=True, **changes)


def static_memory(**changes: Any) -> KubeletConfig:
    reserved = (ReservedMemory(0, {"memory": Quantity.parse("100Mi")}),)
    return config(memory_manager_policy="Static", reserved_memory=reserved, **changes)


def found(of: KubeletConfig, machine: MachineInfo = TWO, **more: Any) -> dict[str, Finding]:
    """What our own rules find, by code without ``lint/``; ``test_lint_effects`` has effects."""
    checked = rules.check(LintSubject(config=of, machine=machine, **more))
    own = {finding.code.removeprefix("lint/"): finding for finding in checked.own}
    own.pop("setting-changes-nothing", None)
    return own


def of_rules(rule: Any, cpu: CpuRules, machine: MachineInfo = TWO, **changes: Any) -> list[Finding]:
    """What a rule about a node's rules finds."""
    node_rules = NodeRules(machine=machine, cpu=cpu, **changes)
    return list(rule(LintSubject(config=config(), machine=machine), node_rules))


@pytest.mark.parametrize("word", ["true", "True", " false ", "yes", ""])
def test_a_word_is_no_number_of_nodes(word: str) -> None:
    of = config(
        topology_manager_policy="restricted", topology_manager_policy_options={MAX_ALLOWABLE: word}
    )
    own = found(of)
    assert own["max-allowable-not-a-number"].severity is Severity.ERROR
    assert own["max-allowable-not-a-number"].fields == {"value": word, "nodes": 9}
    unread = found(replace(of, topology_manager_policy="none"))
    assert unread["max-allowable-not-a-number"].severity is Severity.WARNING


def test_a_number_of_nodes_is_fine() -> None:
    options = {MAX_ALLOWABLE: "9"}
    of = static_memory(
        topology_manager_policy="restricted", topology_manager_policy_options=options
    )
    assert found(of) == {}


def test_many_nodes_are_noted_before_a_policy_is_set() -> None:
    own = found(config(), MANY)
    assert list(own) == ["many-nodes"]
    assert own["many-nodes"].severity is Severity.NOTE
    assert own["many-nodes"].fields == {"nodes": 9, "limit": 8}


def test_many_nodes_are_slow_once_they_are_allowed() -> None:
    options = {MAX_ALLOWABLE: "9"}
    of = static_memory(
        topology_manager_policy="restricted", topology_manager_policy_options=options
    )
    assert list(found(of, MANY)) == ["many-nodes-are-slow"]


def test_many_nodes_that_are_not_allowed_are_the_kubelets_business() -> None:
    of = static_memory(topology_manager_policy="restricted")
    checked = rules.check(LintSubject(config=of, machine=MANY))
    assert [f.code for f in checked.start] == ["config/topology-too-many-nodes"]
    assert checked.own == ()


def test_options_without_a_policy_are_not_read() -> None:
    of = config(topology_manager_policy_options={"prefer-closest-numa-nodes": "true"})
    assert list(found(of)) == ["topology-options-not-read"]


def test_an_unread_option_without_its_gate_is_reported() -> None:
    of = config(
        topology_manager_policy_options={MAX_ALLOWABLE: "9", "unheard-of": "1"},
        feature_gates={"TopologyManagerPolicyBetaOptions": False},
    )
    own = found(of)
    assert list(own) == ["topology-options-not-read", "option-without-gate"]
    assert own["option-without-gate"].fields == {
        "option": MAX_ALLOWABLE,
        "maturity": "Beta",
        "gate": "TopologyManagerPolicyBetaOptions",
    }


def test_an_option_of_the_cpu_policy_none_without_its_gate_is_reported() -> None:
    of = config(cpu_manager_policy_options={"align-by-socket": "true", "full-pcpus-only": "true"})
    own = found(of)
    assert list(own) == ["option-without-gate"]
    assert own["option-without-gate"].fields["gate"] == ALPHA_GATE
    assert found(replace(of, feature_gates={ALPHA_GATE: True})) == {}


@pytest.mark.parametrize(
    ("policy", "node_ids", "codes"),
    [
        ("best-effort", (0, 2), ["distances-beyond-rows"]),
        ("best-effort", (0, 1), []),
        ("single-numa-node", (0, 2), []),
    ],
)
def test_distances_that_rows_have_no_place_for_are_reported(
    policy: str, node_ids: tuple[int, ...], codes: list[str]
) -> None:
    gaps = builders.machine(10, 10, node_ids=node_ids, distances=((10, 20), (20, 10)))
    options = {"prefer-closest-numa-nodes": "true"}
    of = static_memory(topology_manager_policy=policy, topology_manager_policy_options=options)

    assert list(found(of, gaps)) == codes


def test_a_part_of_a_cpu_is_reported_with_what_it_is_rounded_to() -> None:
    cpu = CpuRules(policy=CpuPolicy.STATIC, reserved_count=1)
    part = of_rules(on_options.part_of_a_cpu, cpu, reservation={"cpu": Quantity.parse("623m")})
    assert [(f.code, str(f.fields["reserved"]), f.fields["cpus"]) for f in part] == [
        ("lint/part-of-a-cpu-reserved", "623m", 1)
    ]
    whole = {"cpu": Quantity.parse("1000m")}
    assert of_rules(on_options.part_of_a_cpu, cpu, reservation=whole) == []
    part_only = {"cpu": Quantity.parse("623m")}
    assert of_rules(on_options.part_of_a_cpu, CpuRules(), reservation=part_only) == []


def test_split_cores_can_hang_the_distributing_policy() -> None:
    cpu = CpuRules(
        policy=CpuPolicy.STATIC,
        full_pcpus_only=True,
        distribute_cpus_across_numa=True,
        reserved_cpus=frozenset({6, 9, 14}),
        reserved_count=3,
    )

    def hanging(of: CpuRules, machine: MachineInfo = FOUR, **changes: Any) -> list[Finding]:
        return of_rules(on_options.may_hang, of, machine, **changes)

    (finding,) = hanging(cpu)
    assert finding.code == "lint/cpu-policy-may-hang"
    assert finding.fields == {"cores": "{6,22}, {9,25}, {14,30}"}
    whole = frozenset({6, 22, 9, 25})
    for fine in (
        hanging(replace(cpu, reserved_cpus=whole)),
        hanging(replace(cpu, reserved_cpus=whole | {0})),
        hanging(replace(cpu, reserved_cpus=None)),
        hanging(replace(cpu, full_pcpus_only=False)),
        hanging(cpu, cpu_builders.shape(2, 2, 8, 2)),
        hanging(cpu, topology=TopologyRules(policy=TopologyPolicy.SINGLE_NUMA_NODE)),
    ):
        assert fine == []


def test_a_strict_reservation_can_empty_the_pool() -> None:
    cpu = CpuRules(policy=CpuPolicy.STATIC, strict_cpu_reservation=True, reserved_count=1)
    (strict,) = of_rules(on_options.strict_reservation, cpu)
    assert (strict.code, strict.fields) == ("lint/strict-reservation", {"cpus": 3})
    # Only whole cores are given: the thread beside the reserved one stays in the pool.
    whole = replace(cpu, full_pcpus_only=True)
    assert of_rules(on_options.strict_reservation, whole) == []
    (both,) = of_rules(on_options.strict_reservation, replace(whole, reserved_count=2))
    assert both.fields == {"cpus": 2}
    assert of_rules(on_options.strict_reservation, replace(cpu, policy=CpuPolicy.NONE)) == []


def test_a_page_size_that_some_nodes_do_not_know_is_reported() -> None:
    with_pages = replace(TWO.nodes[0], hugepages=(HugePages(1 << 20, 1), HugePages(2048, 1)))
    without = replace(TWO.nodes[1], hugepages=(HugePages(2048, 1),))
    machine = replace(TWO, nodes=(with_pages, without))
    own = found(static_memory(), machine)
    assert list(own) == ["page-size-not-everywhere"]
    assert own["page-size-not-everywhere"].fields == {"type": "hugepages-1Gi", "numa_nodes": "1"}
    assert found(config(), machine) == {}


@pytest.mark.parametrize("value", [0, None])
def test_numa_balancing_that_is_off_or_unknown_is_fine(value: int | None) -> None:
    assert found(static_memory(), numa_balancing=value) == {}


def test_numa_balancing_is_reported_where_something_is_pinned() -> None:
    own = found(static_memory(), numa_balancing=1)
    assert list(own) == ["numa-balancing"]
    assert own["numa-balancing"].where.path == "$.memoryManagerPolicy"
    assert found(config(), numa_balancing=1) == {}
    assert found(static_memory(), builders.machine(10), numa_balancing=1) == {}
    pinning_cpus = config(cpu_manager_policy="static", kube_reserved={"cpu": "1"})
    own = found(pinning_cpus, numa_balancing=2)
    assert own["numa-balancing"].where.path == "$.cpuManagerPolicy"


def test_findings_come_with_errors_first() -> None:
    noticed = (
        MachineNoteCpuless(value="1", severity=Severity.NOTE),
        input_error.Ignored("x"),
        input_error.Invalid("y"),
    )
    checked = rules.check(LintSubject(config=config(), machine=TWO), noticed)
    assert [finding.severity.value for finding in checked.own] == ["error", "warning", "note"]


def memory_state(policy: str) -> str:
    return memory_file.write(policy, builders.node(builders.rules(TWO)).snapshot.memory)


def test_a_state_file_of_another_policy_is_found_by_the_kubelet() -> None:
    files = {memory_file.FILE_NAME: memory_state("None")}
    started = starting.start(LintSubject(config=static_memory(), machine=TWO, state_files=files))
    assert started.refused is not None
    assert started.refused.stage is StartStage.MEMORY_MANAGER_START
    assert [f.code for f in started.findings] == ["memory-state/other-policy"]
    assert started.empty is not None


def test_a_state_file_of_another_policy_is_found_even_behind_other_errors() -> None:
    files = {memory_file.FILE_NAME: memory_state("None"), cpu_file.FILE_NAME: "{"}
    wrong = replace(static_memory(), kube_reserved={"memory": "1Gi"})
    started = starting.start(LintSubject(config=wrong, machine=TWO, state_files=files))
    assert [f.code for f in started.findings] == [
        "config/reserved-memory-sum",
        "cpu-state/not-json",
        "memory-state/other-policy",
    ]
    assert started.empty is None


def test_a_sound_state_file_behind_an_error_is_not_complained_about() -> None:
    files = {memory_file.FILE_NAME: memory_state("Static")}
    wrong = replace(static_memory(), kube_reserved={"memory": "1Gi"})
    started = starting.start(LintSubject(config=wrong, machine=TWO, state_files=files))
    assert [f.code for f in started.findings] == ["config/reserved-memory-sum"]


def test_a_reservation_above_the_capacity_is_found_behind_a_state_file() -> None:
    files = {cpu_file.FILE_NAME: "{"}
    too_much = config(kube_reserved={"memory": "1Ti"})
    started = starting.start(LintSubject(config=too_much, machine=TWO, state_files=files))
    assert [f.code for f in started.findings] == [
        "cpu-state/not-json",
        "config/reserved-more-than-capacity",
    ]
    alone = starting.start(LintSubject(config=too_much, machine=TWO))
    assert [f.code for f in alone.findings] == ["config/reserved-more-than-capacity"]
    fitting = starting.start(LintSubject(config=config(), machine=TWO, state_files=files))
    assert [f.code for f in fitting.findings] == ["cpu-state/not-json"]


def test_a_reservation_that_no_policy_can_keep_leaves_nothing_to_warn_of() -> None:
    cpu = CpuRules(policy=CpuPolicy.STATIC, reserved_count=10**6, strict_cpu_reservation=True)
    assert of_rules(on_options.strict_reservation, cpu) == []


@pytest.mark.parametrize("policy", ["best-effort", "restricted", "single-numa-node"])
def test_a_topology_policy_without_managers_aligns_nothing(policy: str) -> None:
    own = found(config(topology_manager_policy=policy))
    assert list(own) == ["alignment-without-hints"]
    # Whether devices give hints is not known where none were named.
    assert own["alignment-without-hints"].severity is Severity.NOTE
    assert own["alignment-without-hints"].fields == {"policy": policy}


@pytest.mark.parametrize(
    "changes",
    [
        {"topology_manager_policy": "none"},
        {"topology_manager_policy": "odd"},
        {
            "topology_manager_policy": "restricted",
            "cpu_manager_policy": "static",
            "kube_reserved": {"cpu": "2"},
        },
    ],
)
def test_a_topology_policy_with_a_manager_is_fine(changes: dict[str, Any]) -> None:
    assert "alignment-without-hints" not in found(config(**changes))
    assert found(static_memory(topology_manager_policy="restricted")) == {}


def test_a_topology_policy_for_devices_alone_is_fine() -> None:
    of = config(topology_manager_policy="restricted")
    assert found(of, devices={"example.com/gpu": (Device("gpu0", (0,)),)}) == {}


def test_an_amount_of_cpus_beside_a_list_of_cpus_is_not_what_is_reserved() -> None:
    reserved = {"kube_reserved": {"cpu": "500m"}, "system_reserved": {"cpu": "1"}}
    checked = rules.check(
        LintSubject(config=config(reserved_system_cpus="0-1", **reserved), machine=TWO)
    )
    assert [(f.code, f.severity, f.fields["field"], f.fields["cpus"]) for f in checked.own] == [
        ("lint/cpu-reservation-overridden", Severity.WARNING, "kubeReserved.cpu", 2),
        ("lint/cpu-reservation-overridden", Severity.WARNING, "systemReserved.cpu", 2),
    ]
    assert str(checked.own[0].fields["amount"]) == "500m"


@pytest.mark.parametrize(
    "changes",
    [
        {"reserved_system_cpus": "0-1", "kube_reserved": {"memory": "1Gi"}},
        {"reserved_system_cpus": "0-1", "kube_reserved": {"cpu": "2"}},
        {
            "reserved_system_cpus": "0-1",
            "kube_reserved": {"cpu": "1500m"},
            "system_reserved": {"cpu": "500m"},
        },
        {"kube_reserved": {"cpu": "1"}},
        {"reserved_system_cpus": "0-9", "kube_reserved": {"cpu": "1"}},
    ],
)
def test_an_amount_of_cpus_that_is_reserved_or_refused_is_not_overridden(
    changes: dict[str, Any],
) -> None:
    assert found(config(**changes)) == {}


def static_cpus(reserved: str, **options: bool) -> KubeletConfig:
    """Two CPUs of each node are one core."""
    texts = {name.replace("_", "-"): str(value).lower() for name, value in options.items()}
    return config(
        cpu_manager_policy="static",
        cpu_manager_policy_options=texts,
        reserved_system_cpus=reserved,
        kube_reserved={} if reserved else {"cpu": "1"},
        feature_gates={ALPHA_GATE: True},
    )


@pytest.mark.parametrize("full_pcpus_only", [False, True])
def test_a_reserved_thread_without_its_sibling_splits_a_core(full_pcpus_only: bool) -> None:
    of = static_cpus("0-2", full_pcpus_only=full_pcpus_only)
    own = found(of)
    assert list(own) == ["reserved-cpus-split-cores"]
    split = own["reserved-cpus-split-cores"]
    assert split.severity is Severity.WARNING
    assert split.fields == {"reserved": "2", "siblings": "3", "whole": "0-3"}
    assert split.where.path == "$.reservedSystemCPUs"


def test_the_policys_own_choice_splits_a_core_where_whole_cores_are_given() -> None:
    own = found(static_cpus("", full_pcpus_only=True))
    assert own["reserved-cpus-split-cores"].fields == {
        "reserved": "0",
        "siblings": "1",
        "whole": "0-1",
    }
    assert own["reserved-cpus-split-cores"].where.path == "$.kubeReserved.cpu"
    assert found(static_cpus("", full_pcpus_only=False)) == {}


def test_whole_cores_are_not_split() -> None:
    assert found(static_cpus("0-1", full_pcpus_only=True)) == {}
    assert found(replace(static_cpus("0"), cpu_manager_policy="none", kube_reserved={})) == {}


def test_a_reservation_that_no_policy_can_make_splits_nothing() -> None:
    cpu = CpuRules(policy=CpuPolicy.STATIC, full_pcpus_only=True, reserved_count=99)
    assert of_rules(on_options.split_cores, cpu) == []


def test_split_cores_are_said_once_where_they_can_hang_the_kubelet() -> None:
    options = {"full_pcpus_only": True, "distribute_cpus_across_numa": True}
    machine = replace(FOUR, memory_capacity_bytes=64 << 30)
    assert list(found(static_cpus("0,4", **options), machine)) == ["cpu-policy-may-hang"]
    assert list(found(static_cpus("0", **options), machine)) == ["reserved-cpus-split-cores"]
