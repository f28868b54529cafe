"""A kubelet's start: which stage refuses, with which text, and what else is found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from numalet.core.config import cpu_policy, feature_gates, node_allocatable, start
from numalet.core.config.behaviour import EXACT
from numalet.core.config.kubelet_config import KubeletConfig, ReservedMemory
from numalet.core.config.releases import table
from numalet.core.config.rules import (
    CpuPolicy,
    CpuRules,
    MemoryPolicy,
    NodeRules,
    Scope,
    StartRefused,
    StartStage,
    TopologyPolicy,
    TopologyRules,
)
from numalet.core.model.findings import Findings, Location
from numalet.core.model.machine_info import (
    CoreInfo,
    HugePages,
    MachineInfo,
    NumaNodeInfo,
    OperatingSystem,
)
from numalet.core.model.quantity import Quantity
from numalet.wording import kubelet_start as wording
from values import builders

GIB = 2**30


def machine(*node_ids: int, cpus: int = 4, distances: int | None = -1) -> MachineInfo:
    """A machine with 8 GiB and some CPUs on each node; distances of the given length."""
    ids = node_ids or (0, 1)
    row = tuple(range(len(ids) if distances == -1 else distances or 0))
    nodes = tuple(
        NumaNodeInfo(
            node_id=node_id,
            memory_bytes=8 * GIB,
            hugepages=(HugePages(2048, 4),),
            cores=tuple(CoreInfo(place, cpu, (place * cpus + cpu,)) for cpu in range(cpus)),
            distances=None if distances is None else row,
        )
        for place, node_id in enumerate(ids)
    )
    return MachineInfo(
        nodes=nodes,
        memory_capacity_bytes=8 * GIB * len(ids),
        cpu_count=cpus * len(ids),
        socket_count=len(ids),
        hugepages=(HugePages(2048, 4 * len(ids)),),
    )


def reserved(**by_node: str) -> tuple[ReservedMemory, ...]:
    return tuple(
        ReservedMemory(int(node[1:]), {"memory": Quantity.parse(text)})
        for node, text in by_node.items()
    )


def refused(of: MachineInfo | None = None, **fields: Any) -> StartRefused:
    found = start.resolve(KubeletConfig(**fields), of or machine())
    assert isinstance(found, StartRefused)
    for finding in (*found.findings, *found.further):
        assert str(finding), "every finding has a sentence for people"
    return found


def accepted(of: MachineInfo | None = None, **fields: Any) -> NodeRules:
    found = start.resolve(KubeletConfig(**fields), of or machine())
    assert isinstance(found, NodeRules), found
    return found


def outcome(of: MachineInfo | None = None, **fields: Any) -> tuple[StartStage, str]:
    found = refused(of, **fields)
    return found.stage, wording.text(found)


def codes(of: MachineInfo | None = None, **fields: Any) -> list[str]:
    found = refused(of, **fields)
    return [finding.code for finding in (*found.findings, *found.further)]


STATIC = {"cpu_manager_policy": "static", "kube_reserved": {"cpu": "1"}}
ALPHA = {"CPUManagerPolicyAlphaOptions": True}


def test_the_empty_configuration_starts_with_every_policy_off() -> None:
    rules = accepted()

    assert (rules.topology, rules.cpu) == (TopologyRules(), CpuRules())
    assert rules.memory.policy is MemoryPolicy.NONE
    assert dict(rules.reservation) == {}


# Feature gates


@pytest.mark.parametrize(
    ("gates", "expected"),
    [
        (
            {"CPUManager": False},
            "cannot set feature gate CPUManager to false, feature is locked to true",
        ),
        ({"NoSuchGate": True}, "unrecognized feature gate: NoSuchGate"),
        (
            {"MemoryManager": False, "CPUManager": False},
            "[cannot set feature gate CPUManager to false, feature is locked to true, "
            "cannot set feature gate MemoryManager to false, feature is locked to true]",
        ),
    ],
)
def test_gates_of_the_file_fail_while_defaults_are_filled_in(
    gates: Mapping[str, bool], expected: str
) -> None:
    prefix = "failed to merge global and in-flight KubeletConfiguration while setting defaults"

    assert outcome(feature_gates=gates) == (
        StartStage.CONFIG_DECODE,
        f"{prefix}, error: {expected}",
    )


def test_gates_of_the_command_line_fail_first_and_in_other_words() -> None:
    found = refused(
        feature_gates={"A": True, "B": True, "CPUManager": False},
        origins={
            "featureGates.B": Location("--feature-gates"),
            "featureGates.CPUManager": Location("--feature-gates"),
        },
    )

    assert wording.text(found) == (
        "failed to set feature gates from initial flags-based config: unrecognized feature gate: B"
    )
    assert [finding.fields["gate"] for finding in found.further] == ["A"]


# Reservations


@pytest.mark.parametrize(
    ("fields", "stage", "text"),
    [
        (
            {"reserved_system_cpus": "1,9"},
            StartStage.RESERVED_CPUS,
            "reserved-cpus: 1,9 is not a subset of online-cpus: 0-7",
        ),
        (
            {"kube_reserved": {"hugepages-1Gi": "1Gi"}},
            StartStage.KUBE_RESERVED,
            '--kube-reserved value failed to parse: cannot reserve "hugepages-1Gi" resource',
        ),
        (
            {"system_reserved": {"cpu": "two"}},
            StartStage.SYSTEM_RESERVED,
            '--system-reserved value failed to parse: failed to parse quantity "two" for "cpu" '
            "resource: quantities must match the regular expression "
            "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
        (
            {"system_reserved": {"pid": "-5"}},
            StartStage.SYSTEM_RESERVED,
            '--system-reserved value failed to parse: resource quantity for "pid" cannot be '
            "negative: -5",
        ),
        (
            {"kube_reserved": {"memory": "-1.5Gi"}},
            StartStage.KUBE_RESERVED,
            '--kube-reserved value failed to parse: resource quantity for "memory" cannot be '
            "negative: -1.5Gi",
        ),
        (
            {"eviction_hard": {"no.such": "0%"}},
            StartStage.EVICTION_HARD,
            "unsupported eviction signal no.such",
        ),
        (
            {"eviction_hard": {"memory.available": "-5%"}},
            StartStage.EVICTION_HARD,
            "eviction percentage threshold memory.available must be >= 0%: -5%",
        ),
        (
            {"eviction_hard": {"memory.available": "101%"}},
            StartStage.EVICTION_HARD,
            "eviction percentage threshold memory.available must be <= 100%: 101%",
        ),
        (
            {"eviction_hard": {"memory.available": "x%"}},
            StartStage.EVICTION_HARD,
            'strconv.ParseFloat: parsing "x": invalid syntax',
        ),
        (
            {"eviction_hard": {"memory.available": "-100Mi"}},
            StartStage.EVICTION_HARD,
            "eviction threshold memory.available must be positive: -100Mi",
        ),
        (
            {"eviction_hard": {"memory.available": "00"}},
            StartStage.EVICTION_HARD,
            "eviction threshold memory.available must be positive: 0",
        ),
        (
            {"eviction_hard": {"pid.available": "1K"}},
            StartStage.EVICTION_HARD,
            "unable to parse quantity's suffix",
        ),
    ],
)
def test_a_bad_reservation_stops_the_start(fields: Any, stage: StartStage, text: str) -> None:
    assert (stage, text) == outcome(**fields)


def test_the_reservation_adds_system_kube_and_eviction() -> None:
    rules = accepted(
        kube_reserved={"memory": "4Gi", "cpu": "500m"},
        system_reserved={"memory": "1Gi", "ephemeral-storage": "1Gi"},
        eviction_hard={"memory.available": "100Mi", "nodefs.available": "10%"},
    )

    assert {k: str(v) for k, v in rules.reservation.items()} == {"cpu": "500m", "memory": "5220Mi"}


@pytest.mark.parametrize(
    ("threshold", "expected"), [("5%", {"memory": 858993472}), ("0%", {}), ("100%", {})]
)
def test_a_threshold_in_percent_is_a_share_of_the_machines_memory(
    threshold: str, expected: dict[str, int]
) -> None:
    rules = accepted(eviction_hard={"memory.available": threshold})

    assert expected == {name: amount.value for name, amount in rules.reservation.items()}


def test_hard_eviction_can_be_left_out_of_the_reservation() -> None:
    rules = accepted(eviction_hard={"memory.available": "1Gi"}, ignore_hard_eviction=True)

    assert dict(rules.reservation) == {}


def test_default_thresholds_are_those_of_the_operating_system() -> None:
    linux = accepted(uses_default_eviction=True)
    windows = accepted(replace(machine(), os=OperatingSystem.WINDOWS), uses_default_eviction=True)

    assert [str(rules.reservation["memory"]) for rules in (linux, windows)] == ["100Mi", "500Mi"]


def test_a_list_of_cpus_wins_over_amounts() -> None:
    rules = accepted(
        reserved_system_cpus="0-2",
        kube_reserved={"cpu": "7"},
        system_reserved={"cpu": "nonsense"},
    )

    assert {k: str(v) for k, v in rules.reservation.items()} == {"cpu": "3"}


def test_capacity_counts_cpu_memory_and_huge_pages() -> None:
    found = node_allocatable.capacity(machine())

    assert {k: str(v) for k, v in found.items()} == {
        "cpu": "8",
        "memory": "16Gi",
        "hugepages-2Mi": "16Mi",
    }


def test_more_kept_back_than_there_is_refuses_the_start_at_its_end() -> None:
    rules = accepted(kube_reserved={"cpu": "9", "memory": "17Gi"})
    found = start.check_node_allocatable(rules)

    assert found is not None
    assert found.stage is StartStage.NODE_ALLOCATABLE
    assert wording.text(found) == (
        'invalid Node Allocatable configuration. Resource "cpu" has a reservation of '
        "{{9 0} {<nil>}  DecimalSI} but capacity of {{8000 -3} {<nil>}  DecimalSI}. "
        'Expected capacity >= reservation. Resource "memory" has a reservation of '
        "{{18253611008 0} {<nil>}  BinarySI} but capacity of "
        "{{17179869184 0} {<nil>}  BinarySI}. Expected capacity >= reservation."
    )


def test_as_much_kept_back_as_there_is_is_allowed() -> None:
    assert start.check_node_allocatable(accepted(kube_reserved={"memory": "16Gi"})) is None


# Topology Manager


OFF = {"TopologyManagerPolicyOptions": False}


def aligned(**options: str) -> dict[str, Any]:
    names = {name.replace("_", "-"): value for name, value in options.items()}
    return {
        "topology_manager_policy": "best-effort",
        "topology_manager_policy_options": names,
    }


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        (
            aligned(no_such="1"),
            'unknown Topology Manager Policy option: "no-such"',
        ),
        (
            {
                **aligned(max_allowable_numa_nodes="9"),
                "feature_gates": {"TopologyManagerPolicyBetaOptions": False},
            },
            "Topology Manager Policy Beta-level Options not enabled, "
            'but option "max-allowable-numa-nodes" provided',
        ),
        (
            aligned(prefer_closest_numa_nodes="yes"),
            'bad value for option "prefer-closest-numa-nodes": '
            'strconv.ParseBool: parsing "yes": invalid syntax',
        ),
        (
            aligned(max_allowable_numa_nodes="true"),
            'unable to convert policy option to integer "max-allowable-numa-nodes": '
            'strconv.Atoi: parsing "true": invalid syntax',
        ),
        (
            aligned(max_allowable_numa_nodes="7"),
            'the minimum value of "max-allowable-numa-nodes" should not be less than 8',
        ),
    ],
)
def test_a_bad_topology_option_stops_the_start(fields: Any, text: str) -> None:
    assert outcome(**fields) == (StartStage.TOPOLOGY_MANAGER, text)


def test_topology_options_without_their_gate_are_refused_even_under_policy_none() -> None:
    fields: dict[str, Any] = {"topology_manager_policy_options": {}, "feature_gates": OFF}

    assert outcome(**fields) == (
        StartStage.POLICY_OPTIONS,
        "topology manager policy options map[] require feature gates "
        '"TopologyManagerPolicyOptions" enabled',
    )
    assert isinstance(accepted(feature_gates=OFF), NodeRules)


def test_policy_none_reads_no_options() -> None:
    assert accepted(topology_manager_policy_options={"x": "y"}).topology == TopologyRules()


def test_topology_rules_hold_policy_scope_and_options() -> None:
    rules = accepted(
        **aligned(prefer_closest_numa_nodes="T", max_allowable_numa_nodes="+9"),
        topology_manager_scope="pod",
    )

    assert rules.topology == TopologyRules(
        policy=TopologyPolicy.BEST_EFFORT,
        scope=Scope.POD,
        prefer_closest_numa_nodes=True,
        node_limit=9,
    )


def test_the_closest_nodes_need_distances() -> None:
    fields = aligned(prefer_closest_numa_nodes="true")

    assert outcome(machine(distances=None), **fields) == (
        StartStage.TOPOLOGY_MANAGER,
        "cannot discover NUMA topology: error getting NUMA distances from cadvisor",
    )


def test_nine_nodes_are_too_many_unless_the_option_allows_them() -> None:
    nine = machine(*range(9))

    assert outcome(nine, topology_manager_policy="restricted") == (
        StartStage.TOPOLOGY_MANAGER,
        "unsupported on machines with more than 8 NUMA Nodes",
    )
    assert accepted(nine, **aligned(max_allowable_numa_nodes="010")).topology.node_limit == 10


# CPU Manager


def cpu(**options: str) -> dict[str, Any]:
    names = {name.replace("_", "-"): value for name, value in options.items()}
    return {**STATIC, "cpu_manager_policy_options": names, "feature_gates": ALPHA}


STATIC_ERROR = "new static policy error: "


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"cpu_manager_policy": "Static"}, 'unknown policy: "Static"'),
        # Between quotes, but not quoted: what is special in it stays as it is.
        ({"cpu_manager_policy": 'a"b'}, 'unknown policy: "a"b"'),
        (
            {"cpu_manager_policy_options": {"b": "1", "a": "2"}},
            "new none policy error: None policy: received unsupported options=map[a:2 b:1]",
        ),
        (
            {"cpu_manager_policy": "static", "kube_reserved": {"cpu": "0"}},
            "[cpumanager] unable to determine reserved CPU resources for static policy",
        ),
        (
            cpu(no_such="1"),
            STATIC_ERROR + 'unknown CPU Manager Policy option: "no-such"',
        ),
        (
            {**cpu(align_by_socket="false"), "feature_gates": {}},
            STATIC_ERROR + "CPU Manager Policy Alpha-level Options not enabled, "
            'but option "align-by-socket" provided',
        ),
        (
            cpu(strict_cpu_reservation="TrUe"),
            STATIC_ERROR + 'bad value for option "strict-cpu-reservation": '
            'strconv.ParseBool: parsing "TrUe": invalid syntax',
        ),
        *(
            (
                cpu(**{first.replace("-", "_"): "true", second.replace("-", "_"): "1"}),
                f"{STATIC_ERROR}static policy options {first} and {second} "
                "can not be used at the same time",
            )
            for first, second in (
                ("full-pcpus-only", "distribute-cpus-across-cores"),
                ("distribute-cpus-across-numa", "distribute-cpus-across-cores"),
                ("prefer-align-cpus-by-uncorecache", "distribute-cpus-across-cores"),
                ("prefer-align-cpus-by-uncorecache", "distribute-cpus-across-numa"),
            )
        ),
        (
            {**cpu(align_by_socket="1"), "topology_manager_policy": "single-numa-node"},
            STATIC_ERROR + "Topolgy manager single-numa-node policy is incompatible with "
            "CPUManager align-by-socket policy option",
        ),
        (
            {**STATIC, "kube_reserved": {"cpu": "8001m"}},
            STATIC_ERROR + "[cpumanager] unable to reserve the required amount of CPUs "
            "(size of  did not equal 9)",
        ),
    ],
)
def test_what_the_cpu_manager_refuses_stops_the_start(fields: Any, text: str) -> None:
    assert outcome(**fields) == (StartStage.CPU_MANAGER, text)


def test_more_sockets_than_numa_nodes_do_not_fit_align_by_socket() -> None:
    sockets = replace(machine(), socket_count=3)

    assert outcome(sockets, **cpu(align_by_socket="1")) == (
        StartStage.CPU_MANAGER,
        STATIC_ERROR + "Align by socket is not compatible with hardware where number of sockets "
        "are more than number of NUMA",
    )


def test_cpu_options_without_their_gate_are_refused() -> None:
    fields: dict[str, Any] = {
        "cpu_manager_policy_options": {"full-pcpus-only": "true"},
        "feature_gates": {"CPUManagerPolicyOptions": False},
    }

    stage, text = outcome(**fields)

    assert stage is StartStage.POLICY_OPTIONS
    assert text == (
        "CPU Manager policy options map[full-pcpus-only:true] require feature gates "
        '"CPUManager", "CPUManagerPolicyOptions" enabled'
    )


@pytest.mark.parametrize(
    ("threads", "cpu_count", "problem"),
    [
        ((), 1, "no cpus provided"),
        ((1, 1), 2, "cpus provided are not unique"),
        ((0,), 0, "could not detect number of cpus"),
    ],
)
def test_a_machine_without_a_cpu_topology_stops_every_policy(
    threads: tuple[int, ...], cpu_count: int, problem: str
) -> None:
    node = NumaNodeInfo(0, GIB, cores=(CoreInfo(0, 0, threads),))
    odd = MachineInfo((node,), GIB, cpu_count, 1)

    assert outcome(odd) == (StartStage.CPU_MANAGER, problem)
    assert outcome(odd, reserved_system_cpus="0") == (
        StartStage.RESERVED_CPUS,
        f"unable to discover CPU topology info: {problem}",
    )


def test_cpu_rules_hold_options_and_reservation() -> None:
    counted = accepted(**cpu(full_pcpus_only="1", strict_cpu_reservation="t")).cpu
    listed = accepted(cpu_manager_policy="static", reserved_system_cpus="1,0").cpu

    assert counted == CpuRules(
        policy=CpuPolicy.STATIC,
        full_pcpus_only=True,
        strict_cpu_reservation=True,
        reserved_count=1,
    )
    assert listed == CpuRules(
        policy=CpuPolicy.STATIC, reserved_count=2, reserved_cpus=frozenset({0, 1})
    )


# Memory Manager


def memory(**by_node: str) -> dict[str, Any]:
    return {
        "memory_manager_policy": "Static",
        "reserved_memory": reserved(**by_node),
        "kube_reserved": {"memory": "1Gi"},
        "eviction_hard": {"memory.available": "100Mi"},
    }


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"memory_manager_policy": "static"}, 'unknown policy: "static"'),
        (
            {"memory_manager_policy": "BestEffort"},
            'policy "BestEffort" is not available for platform "linux"',
        ),
        (
            memory(n7="1124Mi"),
            "the reserved memory configuration references a NUMA node 7 that does not exist "
            "on this machine",
        ),
        (
            memory(n0="1Gi"),
            'the total amount "1Gi" of type "memory" is not equal to the value "1124Mi" '
            "determined by Node Allocatable feature",
        ),
        (
            memory(n0="1Gi", n1="99000000"),
            'the total amount "1172741824" of type "memory" is not equal to the value "1124Mi" '
            "determined by Node Allocatable feature",
        ),
        (
            {
                **memory(n0="1124Mi"),
                "reserved_memory": (
                    ReservedMemory(
                        0,
                        {
                            "hugepages-2Mi": Quantity.parse("2Gi"),
                            "memory": Quantity.parse("1124Mi"),
                        },
                    ),
                ),
            },
            'the total amount "2Gi" of type "hugepages-2Mi" is not equal to the value "0" '
            "determined by Node Allocatable feature",
        ),
        (
            memory(n0="1124.0Mi"),
            "could not covert a variable of type Quantity to int64",
        ),
        (
            {"memory_manager_policy": "Static"},
            "[memorymanager] you should specify the system reserved memory",
        ),
    ],
)
def test_what_the_memory_manager_refuses_stops_the_start(fields: Any, text: str) -> None:
    assert outcome(**fields) == (StartStage.MEMORY_MANAGER, text)


def test_memory_rules_hold_what_is_kept_back_per_node() -> None:
    rules = accepted(**memory(n0="1Gi", n1="100Mi")).memory

    assert rules.policy is MemoryPolicy.STATIC
    assert {node: dict(kept) for node, kept in rules.system_reserved.items()} == {
        0: {"memory": GIB},
        1: {"memory": 100 * 2**20},
    }


def test_a_negative_amount_wraps_around_as_in_the_kubelet() -> None:
    rules = accepted(**memory(n0="1125Mi", n1="-1Mi")).memory

    assert rules.system_reserved[1] == {"memory": 2**64 - 2**20}


def test_the_documented_example_starts() -> None:
    rules = accepted(
        memory_manager_policy="Static",
        kube_reserved={"cpu": "4", "memory": "4Gi"},
        system_reserved={"cpu": "1", "memory": "1Gi"},
        eviction_hard={"memory.available": "100Mi"},
        reserved_memory=reserved(n0="3Gi", n1="2148Mi"),
    )

    assert str(rules.reservation["memory"]) == "5220Mi"


# Windows


WINDOWS = replace(machine(), os=OperatingSystem.WINDOWS)
AFFINITY = {"WindowsCPUAndMemoryAffinity": True}


def test_windows_without_its_gate_has_stand_ins_that_check_nothing() -> None:
    rules = accepted(WINDOWS, memory_manager_policy="nonsense", cpu_manager_policy="x")

    assert rules.managers_are_stand_ins
    assert rules.memory.policy is MemoryPolicy.NONE


def test_windows_with_stand_ins_still_validates() -> None:
    assert refused(WINDOWS, topology_manager_policy="x").stage is StartStage.CONFIG_VALIDATION


def test_windows_has_best_effort_in_the_place_of_static() -> None:
    fields = {**memory(n0="1124Mi"), "feature_gates": AFFINITY}
    rules = accepted(WINDOWS, **{**fields, "memory_manager_policy": "BestEffort"})

    assert rules.memory.policy is MemoryPolicy.BEST_EFFORT
    assert rules.memory.system_reserved[0] == {"memory": 1124 * 2**20}
    assert outcome(WINDOWS, **fields) == (
        StartStage.MEMORY_MANAGER,
        'policy "Static" is not available on Windows',
    )


# What this program refuses itself


@pytest.mark.parametrize(
    ("nodes", "fields", "code", "shown"),
    [
        ((0, 64), {"topology_manager_policy": "restricted"}, "node-id-too-high", "64"),
        ((0, 64), memory(n0="1124Mi"), "node-id-too-high", "64"),
    ],
)
def test_what_the_kubelet_would_crash_on_is_refused(
    nodes: tuple[int, ...], fields: Any, code: str, shown: str
) -> None:
    found = refused(machine(*nodes), **fields)

    assert found.stage is StartStage.NUMALET
    assert [finding.code for finding in found.findings] == [f"numalet/{code}"]
    assert shown in wording.text(found)
    assert "kubelet would" in wording.text(found) or "it would" in wording.text(found)


@pytest.mark.parametrize(
    ("nodes", "fields"),
    [
        ((0, 64), {}),
        (tuple(range(21)), {}),
        ((0, 63), {"topology_manager_policy": "restricted"}),
        ((0, 2), aligned(prefer_closest_numa_nodes="1")),
    ],
)
def test_what_is_not_checked_is_not_refused(nodes: tuple[int, ...], fields: Any) -> None:
    assert isinstance(accepted(machine(*nodes), **fields), NodeRules)


def with_a_small_node(nodes: int) -> MachineInfo:
    """Node 0 has 1Gi, of which 8Mi are huge pages."""
    whole = machine(*range(nodes))
    small = replace(whole.nodes[0], memory_bytes=GIB)
    return replace(whole, nodes=(small, *whole.nodes[1:]))


def test_less_than_no_memory_on_a_node_is_refused_on_machines_of_more_than_twelve_nodes() -> None:
    found = refused(with_a_small_node(13), **memory(n0="1124Mi"))

    assert [finding.code for finding in found.findings] == ["numalet/reservation-wraps"]
    assert f"NUMA node 0 has {GIB - 8 * 2**20} allocatable bytes of memory" in wording.text(found)


@pytest.mark.parametrize(
    ("nodes", "fields"),
    [
        (12, memory(n0="1124Mi")),
        (13, memory(n0="1016Mi", n1="108Mi")),
        (13, {"topology_manager_policy": "none"}),
    ],
)
def test_what_can_be_followed_may_be_reserved(nodes: int, fields: Any) -> None:
    assert isinstance(accepted(with_a_small_node(nodes), **fields), NodeRules)


def test_sixty_four_nodes_are_not_too_many() -> None:
    many = machine(*range(64))
    options = {"max-allowable-numa-nodes": "64"}
    fields = {"topology_manager_policy": "restricted", "topology_manager_policy_options": options}

    assert isinstance(accepted(many, **{**memory(n0="1124Mi"), **fields}), NodeRules)


def test_other_behaviour_has_other_limits() -> None:
    config = KubeletConfig(**aligned(prefer_closest_numa_nodes="true"))
    native = replace(EXACT, highest_node_id=None)

    assert isinstance(start.resolve(config, machine(0, 99), behaviour=native), NodeRules)


def test_a_machine_without_nodes_has_no_distance_rows() -> None:
    bare = MachineInfo((), GIB, 1, 1)

    assert isinstance(accepted(bare, **aligned(prefer_closest_numa_nodes="true")), NodeRules)


# Everything at once


def test_everything_wrong_is_found_in_one_go_and_the_first_stage_gives_the_text() -> None:
    found = codes(
        machine(*range(9)),
        feature_gates={"NoSuchGate": True},
        max_pods=-1,
        topology_manager_policy="restricted",
        topology_manager_policy_options={"a": "1", "b": "1"},
        cpu_manager_policy="x",
        memory_manager_policy="y",
    )

    assert found == [
        "config/gate-unknown-in-file",
        "config/field-value",
        "config/topology-option-unknown",
        "config/topology-option-unknown",
        "config/topology-too-many-nodes",
        "config/cpu-policy",
        "config/memory-policy",
    ]


def test_a_stage_that_stops_at_its_first_error_puts_the_others_behind() -> None:
    found = refused(kube_reserved={"b": "1", "a": "1"}, eviction_hard={"x": "1"})

    assert [finding.fields["resource"] for finding in found.findings] == ["a"]
    assert [finding.code for finding in found.further] == [
        "config/reserved-resource",
        "config/eviction-signal",
    ]


def test_what_follows_from_an_earlier_error_is_not_reported() -> None:
    found = codes(
        **{
            **memory(n0="1Gi"),
            "cpu_manager_policy": "static",
            "kube_reserved": {"memory": "x"},
            "reserved_system_cpus": "x",
            "topology_manager_policy": "y",
            "topology_manager_scope": "z",
        }
    )

    assert found == [
        "config/field-value",
        "config/field-value",
        "config/reserved-cpus",
        "config/reserved-quantity",
    ]


@pytest.mark.parametrize(
    ("given", "code"), [("0-", "config/reserved-cpus"), ("99", "config/reserved-cpus-offline")]
)
def test_a_wrong_list_of_cpus_is_not_called_missing_too(given: str, code: str) -> None:
    assert [code] == codes(cpu_manager_policy="static", reserved_system_cpus=given)


def test_a_wrong_scope_does_not_hide_what_is_wrong_with_the_policy() -> None:
    found = codes(
        machine(*range(9)), topology_manager_policy="restricted", topology_manager_scope="z"
    )

    assert found == ["config/field-value", "config/topology-too-many-nodes"]


def test_a_finding_says_where_its_field_came_from() -> None:
    origin = Location("kubelet.yaml", "$.reservedMemory[0]", 7)
    found = refused(**memory(n7="1124Mi"), origins={"reservedMemory[0]": origin})

    assert found.findings[0].where == origin


@pytest.mark.parametrize(("per_core", "pods"), [(0, 20), (2, 8), (100, 20)])
def test_pods_are_limited_as_a_whole_and_by_core(per_core: int, pods: int) -> None:
    config = KubeletConfig(max_pods=20, pods_per_core=per_core)
    resolved = start.resolve(config, builders.machine(8, 8))
    assert isinstance(resolved, NodeRules)
    assert pods == resolved.max_pods


@pytest.mark.parametrize(("release", "drops"), [("1.32", False), ("1.33", True)])
def test_the_cpu_manager_s_rules_have_those_of_the_release(release: str, drops: bool) -> None:
    asked = KubeletConfig(cpu_manager_policy="static", reserved_system_cpus="0")
    of_release = table.of_name(release)
    gates = feature_gates.with_settings({}, of_release)
    found = Findings()
    reservation = {"cpu": Quantity.parse("1")}
    one = frozenset({0})
    rules = cpu_policy.resolve(asked, machine(), of_release, gates, reservation, one, found)
    assert (found.all, rules.policy) == ((), CpuPolicy.STATIC)
    assert rules.odd_requests_drop_one_cpu is drops
