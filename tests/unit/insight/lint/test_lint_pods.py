"""Pods that a node can never admit: which request, and how much too much."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from numalet.core.config.kubelet_config import KubeletConfig, ReservedMemory
from numalet.core.config.rules import CpuPolicy, CpuRules, NodeRules
from numalet.core.model import value
from numalet.core.model.findings import Finding, Location, Severity
from numalet.core.model.machine_info import HugePages, MachineInfo
from numalet.core.model.pod import Pod, QosClass
from numalet.core.model.quantity import Quantity
from numalet.core.node import largest_request
from numalet.core.node.largest_request import LargestRequestSearch
from numalet.core.node.node import Node
from numalet.insight.lint import rules, starting
from numalet.insight.lint.subject import LintSubject
from values import builders
from values.builders import container, init, pod, simple

TWO = builders.machine(10, 10)
PAGES = builders.machine(10, 10, hugepages={2048: 512})


def subject(*pods: Pod, machine: MachineInfo = TWO, **changes: Any) -> LintSubject:
    entries = tuple(
        ReservedMemory(node, {"memory": Quantity.parse("1Gi")}) for node in machine.node_ids
    )
    config = KubeletConfig(
        memory_manager_policy="Static",
        kube_reserved={"memory": f"{1024 * len(entries) - 100}Mi"},
        reserved_memory=entries,
        uses_default_eviction=True,
        **changes,
    )
    return LintSubject(config=config, machine=machine, pods=pods)


def found(*pods: Pod, **changes: Any) -> list[Finding]:
    return list(rules.check(subject(*pods, **changes)).own)


def told(findings: list[Finding]) -> list[tuple[str, ...]]:
    keys = ("container", "resource", "asked", "most", "excess")
    return [tuple(str(f.fields.get(key, "")) for key in keys) for f in findings]


def empty(of: LintSubject) -> Node:
    node = starting.start(of).empty
    assert node is not None
    return node


_LINES = {".metadata.name": 3, ".spec.initContainers[0]": 5, ".spec.containers[1]": 9}


@pytest.mark.parametrize(("name", "line"), [("second", 9), ("first", 5), ("", 3)])
def test_the_place_of_a_container_is_its_line_in_the_manifest(name: str, line: int) -> None:
    two = pod("a", container("main"), container("second"), init("first", "1Gi"))
    where = f"pod {two}, container {name}" if name else f"pod {two}"
    assert subject(two).place_of(two, name) == Location(path=where)
    placed = value.replace(
        subject(two),
        pod_places={two.uid: lambda field: Location("pods.yaml", field, _LINES[field])},
    )
    assert placed.place_of(two, name) == Location("pods.yaml", where, line)


def test_pods_that_fit_are_not_reported() -> None:
    assert found(simple("a", "9Gi"), simple("b", "18Gi")) == []


def test_a_request_above_the_machine_is_reported_with_the_excess() -> None:
    (finding,) = found(simple("vast", "20Gi"))
    assert finding.code == "lint/pod-never-admitted"
    assert finding.severity is Severity.ERROR
    assert finding.fields["reason"] == "UnexpectedAdmissionError"
    assert told([finding]) == [("c", "memory", "20Gi", "18Gi", "2Gi")]


def test_one_node_is_the_limit_where_one_node_is_asked_for() -> None:
    findings = found(simple("wide", "10Gi"), topology_manager_policy="single-numa-node")
    assert told(findings) == [("c", "memory", "10Gi", "9Gi", "1Gi")]


def test_what_is_named_is_admitted_and_one_byte_more_is_not() -> None:
    of = subject(topology_manager_policy="restricted")
    node, vast = empty(of), simple("vast", "500Gi")
    most = LargestRequestSearch(node).alone(vast, vast.app_containers[0], "memory")
    assert most is not None
    assert largest_request.admits(node, simple("p", str(most.value)))
    assert not largest_request.admits(node, simple("p", str(most.value + 1)))


def test_huge_pages_are_counted_in_pages() -> None:
    findings = found(simple("p", "1Gi", hugepages_2Mi="4Gi"), machine=PAGES)
    assert told(findings) == [("c", "hugepages-2Mi", "4Gi", "2Gi", "2Gi")]


def test_zero_units_are_never_suggested() -> None:
    machine = builders.machine(10, 10, hugepages={2048: 0})
    (finding,) = found(simple("p", "1Gi", hugepages_2Mi="4Mi"), machine=machine)
    assert told([finding]) == [("c", "hugepages-2Mi", "4Mi", "0", "4Mi")]
    assert (
        finding.fix.format(**finding.fields)
        == "give this node some hugepages-2Mi, or choose another policy"
    )


def test_every_container_and_resource_that_is_too_large_is_reported() -> None:
    both = pod("p", container("a", "30Gi"), init("i", "40Gi"))
    assert told(found(both)) == [
        ("i", "memory", "40Gi", "18Gi", "22Gi"),
        ("a", "memory", "30Gi", "18Gi", "12Gi"),
    ]


def test_the_place_of_a_pod_is_reported_as_far_as_it_is_known() -> None:
    vast = simple("vast", "20Gi")
    of = value.replace(subject(vast), pod_places={"vast": lambda _: Location("pods.yaml")})
    (finding,) = rules.check(of).own
    assert finding.where == Location("pods.yaml", "pod default/vast, container c")


def test_pods_that_ask_alike_are_reported_once() -> None:
    (finding,) = found(*(simple(name, "20Gi") for name in "xyz"))
    assert finding.fields["pod"] == "default/x (and 2 more pods like it)"


def test_requests_that_fit_alone_but_not_together_are_reported_with_ways_out() -> None:
    both = pod("p", container("a", "12Gi"), container("b", "12Gi"))
    (finding,) = found(both)
    assert finding.code == "lint/pod-never-admitted-together"
    assert finding.fields["ways"] == "b with 6Gi of memory instead of 12Gi"
    node = empty(subject())
    assert largest_request.admits(node, pod("p", container("a", "12Gi"), container("b", "6Gi")))
    # Less for the first container does not help: it is alone on its node then.
    assert not largest_request.admits(node, pod("p", container("a", "6Gi"), container("b", "12Gi")))


def test_where_no_smaller_request_helps_this_is_said() -> None:
    five = pod("p", *(container(name, "18Gi") for name in "abcde"))
    (finding,) = found(five)
    assert finding.code == "lint/pod-never-admitted-at-all"
    assert finding.fields["ways"] == ""
    assert "memory manager refused b" in finding.fields["cause"]


def test_a_request_of_nothing_is_not_made_smaller() -> None:
    asked = pod("p", container("a", "12Gi", hugepages_2Mi="0"), container("b", "12Gi"))
    (finding,) = found(asked, machine=PAGES)
    assert "hugepages" not in finding.fields["ways"]


def test_a_page_size_that_a_node_lacks_crashes_the_kubelet() -> None:
    pages = (HugePages(1 << 20, 2),)
    machine = replace(TWO, nodes=(replace(TWO.nodes[0], hugepages=pages), TWO.nodes[1]))
    findings = found(simple("p", "1Gi", hugepages_1Gi="1Gi"), machine=machine)
    assert [f.code for f in findings] == [
        "lint/pod-crashes-kubelet",
        "lint/page-size-not-everywhere",
    ]


@pytest.mark.parametrize(
    ("memory", "cpu", "expected"),
    [
        ("19Gi", "1", [("", "memory", "19Gi", "18Gi", "1Gi")]),
        ("1Gi", "5", [("", "cpu", "5", "4", "1")]),
        ("19Gi", "5", [("", "cpu", "5", "4", "1"), ("", "memory", "19Gi", "18Gi", "1Gi")]),
        ("18Gi", "4", []),
    ],
)
def test_a_burstable_pod_above_the_nodes_allocatable_is_reported(
    memory: str, cpu: str, expected: list[tuple[str, ...]]
) -> None:
    requests = {"cpu": Quantity.parse(cpu), "memory": Quantity.parse(memory)}
    asking = replace(container("c"), requests=requests, limits={})
    findings = found(pod("p", asking, qos=QosClass.BURSTABLE))
    assert told(findings) == expected
    assert {f.code for f in findings} <= {"lint/pod-larger-than-node"}


def test_all_huge_pages_are_taken_off_the_memory_that_a_node_offers() -> None:
    asking = replace(container("c", "18Gi"), limits={})
    (finding,) = found(pod("p", asking, qos=QosClass.BURSTABLE), machine=PAGES)
    assert told([finding]) == [("", "memory", "18Gi", "16Gi", "2Gi")]


def test_resources_that_the_kubelet_does_not_count_are_passed_over() -> None:
    asked = {"example.com/odd": Quantity.parse("1")}
    (note,) = found(pod("p", replace(container("c"), requests=asked), qos=QosClass.BURSTABLE))
    assert (
        note.code,
        note.fields["resource"],
    ) == ("decision/resource-not-offered", "example.com/odd")


def test_pods_of_a_node_that_does_not_start_are_counted_only() -> None:
    of = subject(simple("p", "1Gi"), simple("q", "900Gi"))
    broken = replace(of, config=replace(of.config, topology_manager_policy="odd"))
    (finding,) = rules.check(broken).own
    assert (finding.code, finding.fields) == ("lint/pods-not-checked", {"count": 2})


def units(resource: str, machine: MachineInfo = TWO, **cpu: Any) -> int:
    return largest_request.unit_of(NodeRules(machine=machine, cpu=CpuRules(**cpu)), resource)


def test_units_are_pages_cores_or_one() -> None:
    assert units("memory") == 1
    assert units("hugepages-2Mi") == 2 << 20
    assert units("hugepages-odd") == 1
    assert units("hugepages-0") == 1
    assert units("cpu") == 1
    assert units("cpu", policy=CpuPolicy.STATIC, full_pcpus_only=True) == 2
    assert units("cpu", policy=CpuPolicy.STATIC) == 1
    assert units("cpu", builders.machine(), policy=CpuPolicy.STATIC, full_pcpus_only=True) == 1


def test_a_request_is_changed_in_one_container_alone() -> None:
    before = pod("p", container("a", "1Gi"), init("b", "2Gi"))
    after = largest_request.asking(before, "b", "memory", None)
    assert "memory" not in after.init_containers[0].requests
    assert "memory" not in after.init_containers[0].limits
    assert after.app_containers == before.app_containers
    two = Quantity.parse("2")
    changed = largest_request.asking(before, "a", "cpu", two)
    assert changed.app_containers[0].requests["cpu"] == two


def test_alone_a_container_keeps_its_kind_and_a_byte_of_memory() -> None:
    before = pod("p", container("a", "1Gi"), init("b", "2Gi"))
    after = largest_request.alone(before, before.init_containers[0], "cpu", Quantity.parse("3"))
    assert after.app_containers == ()
    assert {name: str(q) for name, q in after.init_containers[0].requests.items()} == {
        "memory": "1",
        "cpu": "3",
    }


def test_a_search_is_not_made_twice() -> None:
    node = empty(subject())
    search = LargestRequestSearch(node)
    vast, vaster = simple("v", "20Gi"), simple("w", "30Gi")
    first = search.alone(vast, vast.app_containers[0], "memory")
    again = search.alone(vaster, vaster.app_containers[0], "memory")
    assert first is again


def test_part_of_a_core_is_reported_with_the_next_whole_number() -> None:
    asked = {"cpu": Quantity.parse("3"), "memory": Quantity.parse("1Gi")}
    odd = pod("p", replace(container("c"), requests=asked, limits=asked))
    machine = builders.machine(10, 10, 10, 10)
    (finding,) = found(
        odd,
        machine=machine,
        cpu_manager_policy="static",
        cpu_manager_policy_options={"full-pcpus-only": "true"},
        reserved_system_cpus="0-1",
    )
    assert finding.code == "lint/pod-not-whole-units"
    assert (finding.fields["reason"], finding.fields["most"]) == ("SMTAlignmentError", "4")


def exclusive(name: str, cpus: str) -> Pod:
    asked = {"cpu": Quantity.parse(cpus), "memory": Quantity.parse("1Gi")}
    return pod(name, replace(container("c"), requests=asked, limits=asked))


STRICT = {
    "cpu_manager_policy": "static",
    "cpu_manager_policy_options": {"strict-cpu-reservation": "true"},
    "reserved_system_cpus": "0",
    "feature_gates": {"CPUManagerPolicyAlphaOptions": True},
}
STRICT_ALONE = ["lint/reserved-cpus-split-cores", "lint/strict-reservation"]


def test_pods_that_leave_no_cpu_in_the_pool_are_reported() -> None:
    findings = found(exclusive("a", "1"), exclusive("b", "2"), exclusive("c", "1"), **STRICT)
    assert [f.code for f in findings] == ["lint/pods-empty-the-pool", *STRICT_ALONE]
    assert findings[0].fields == {"pod": "default/b"}


def test_pods_that_leave_a_cpu_in_the_pool_are_fine() -> None:
    findings = found(exclusive("a", "1"), exclusive("b", "1"), **STRICT)
    assert [f.code for f in findings] == STRICT_ALONE
    assert [f.code for f in found(**STRICT)] == STRICT_ALONE


HANGING = {
    "cpu_manager_policy": "static",
    "cpu_manager_policy_options": {
        "full-pcpus-only": "true",
        "distribute-cpus-across-numa": "true",
    },
    "feature_gates": {"CPUManagerPolicyAlphaOptions": True},
}


def wide(cores: int) -> MachineInfo:
    """Four NUMA nodes of so many cores with two threads."""
    machine = builders.machine(10, 10, 10, 10)
    nodes = tuple(
        replace(
            node,
            cores=tuple(
                replace(node.cores[0], core_id=core, threads=(first, first + 1))
                for core in range(cores)
                for first in [2 * (node.node_id * cores + core)]
            ),
        )
        for node in machine.nodes
    )
    return replace(machine, nodes=nodes, cpu_count=8 * cores)


def test_a_pod_that_hangs_the_kubelet_is_reported_once() -> None:
    findings = found(
        exclusive("h", "22"), machine=wide(4), reserved_system_cpus="0,8,16,24", **HANGING
    )
    assert [f.code for f in findings] == ["lint/pod-crashes-kubelet", "lint/cpu-policy-may-hang"]
    assert findings[0].fields["pod"] == "default/h"


def test_a_pod_that_hangs_the_kubelet_only_after_others_is_reported() -> None:
    findings = found(
        exclusive("first", "2"),
        exclusive("then", "22"),
        machine=wide(4),
        reserved_system_cpus="21,31",
        **HANGING,
    )
    assert [f.code for f in findings] == ["lint/pod-crashes-kubelet", "lint/cpu-policy-may-hang"]
    assert findings[0].fields["pod"] == "default/then (after the pods before it)"


def test_the_next_whole_number_of_one_request_is_not_the_most_of_a_larger_one() -> None:
    four_cpus: dict[str, Any] = {
        "cpu_manager_policy": "static",
        "cpu_manager_policy_options": {"full-pcpus-only": "true"},
        "reserved_system_cpus": "0-1",
        "machine": builders.machine(10, 10, 10),
    }
    search = LargestRequestSearch(empty(subject(**four_cpus)))

    def most(cpus: str) -> str:
        asked = {"cpu": Quantity.parse(cpus), "memory": Quantity.parse("1Gi")}
        odd = pod("p", replace(container("c"), requests=asked, limits=asked))
        return str(search.alone(odd, odd.app_containers[0], "cpu"))

    assert (most("1"), most("3"), most("8")) == ("2", "4", "4")
