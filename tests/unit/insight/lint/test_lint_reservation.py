"""Rules about reservedMemory: the sum, the eviction threshold, and where it lies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from numalet.core.config.behaviour import NATIVE
from numalet.core.config.kubelet_config import KubeletConfig, ReservedMemory
from numalet.core.model.findings import Finding, Location, Severity
from numalet.core.model.machine_info import MachineInfo
from numalet.core.model.machine_queries import NodeClass
from numalet.core.model.pod import Pod, QosClass
from numalet.core.model.quantity import Quantity
from numalet.insight.lint import rules
from numalet.insight.lint.subject import LintSubject
from values import builders
from values.builders import container, pod, simple

TWO = builders.machine(10, 10)
STATIC = KubeletConfig(memory_manager_policy="Static", uses_default_eviction=True)


def entry(node: int, **limits: str) -> ReservedMemory:
    return ReservedMemory(
        node, {name.replace("_", "-"): Quantity.parse(text) for name, text in limits.items()}
    )


def config(*entries: ReservedMemory, **changes: Any) -> KubeletConfig:
    return replace(STATIC, reserved_memory=entries, **changes)


def found(
    of: KubeletConfig, machine: MachineInfo = TWO, pods: tuple[Pod, ...] = ()
) -> dict[str, Finding]:
    """What our own rules find, by code without ``lint/``."""
    checked = rules.check(LintSubject(config=of, machine=machine, pods=pods))
    own = {finding.code.removeprefix("lint/"): finding for finding in checked.own}
    assert len(own) == len(checked.own), checked.own
    return own


def shown(finding: Finding) -> Mapping[str, str]:
    return {name: str(value) for name, value in finding.fields.items()}


def test_a_configuration_that_adds_up_is_clean() -> None:
    checked = rules.check(LintSubject(config=config(entry(0, memory="100Mi")), machine=TWO))
    assert (checked.refused, checked.findings) == (None, ())


def test_huge_pages_can_never_be_reserved() -> None:
    pages = builders.machine(10, 10, hugepages={1 << 20: 2})
    of = config(entry(0, memory="100Mi", hugepages_1Gi="2Gi"))
    own = found(of, pages)

    assert list(own) == ["reserved-hugepages"]
    assert own["reserved-hugepages"].severity is Severity.ERROR
    assert shown(own["reserved-hugepages"]) == {
        "type": "hugepages-1Gi",
        "amount": "2Gi",
        "numa_node": "0",
    }
    path = "$.reservedMemory[0].limits.hugepages-1Gi"
    assert own["reserved-hugepages"].where == Location("", path)


def test_huge_pages_reserved_but_absent_are_reported_besides() -> None:
    own = found(config(entry(0, memory="100Mi"), entry(1, hugepages_2Mi="4Mi")))
    assert list(own) == ["reserved-hugepages", "reserved-hugepages-absent"]
    assert shown(own["reserved-hugepages-absent"]) == {"type": "hugepages-2Mi", "numa_node": "1"}


def test_a_size_with_no_pages_counts_as_absent() -> None:
    none = builders.machine(10, hugepages={2048: 0})
    assert "reserved-hugepages-absent" in found(config(entry(0, hugepages_2Mi="4Mi")), none)


def test_the_forgotten_default_threshold_is_recognised() -> None:
    of = config(entry(0, memory="2Gi"), entry(1, memory="2Gi"), kube_reserved={"memory": "4Gi"})
    own = found(of)

    assert list(own) == ["default-eviction-forgotten"]
    assert shown(own["default-eviction-forgotten"]) == {
        "given": "4Gi",
        "threshold": "100Mi",
        "expected": "4196Mi",
    }


def test_another_wrong_sum_is_not_taken_for_it() -> None:
    of = config(entry(0, memory="3Gi"), entry(1, memory="3Gi"), kube_reserved={"memory": "4Gi"})
    assert found(of) == {}
    assert found(config(kube_reserved={"memory": "4Gi"})) == {}


def test_an_ignored_default_threshold_is_not_forgotten() -> None:
    of = config(entry(0, memory="4Gi"), kube_reserved={"memory": "4Gi"}, ignore_hard_eviction=True)
    assert "default-eviction-forgotten" not in found(of)


def test_an_amount_that_can_not_be_read_stops_the_arithmetic() -> None:
    of = config(entry(0, memory="100Mi"), kube_reserved={"memory": "much"})
    assert found(of) == {}


def test_a_given_threshold_replaces_the_default_as_a_whole() -> None:
    of = config(
        entry(0, memory="4196Mi"),
        kube_reserved={"memory": "4Gi"},
        eviction_hard={"nodefs.available": "10%"},
        uses_default_eviction=False,
    )
    own = found(of)
    assert list(own) == ["default-eviction-not-merged", "no-memory-threshold", *list(own)[2:]]
    assert shown(own["default-eviction-not-merged"]) == {
        "given": "4196Mi",
        "threshold": "100Mi",
        "expected": "4Gi",
        "or_merge": "",
    }
    assert own["no-memory-threshold"].severity is Severity.WARNING


def test_without_a_memory_threshold_a_right_sum_is_warned_about_only() -> None:
    of = config(
        entry(0, memory="200Mi"),
        entry(1, memory="200Mi"),
        kube_reserved={"memory": "400Mi"},
        uses_default_eviction=False,
    )
    assert list(found(of)) == ["no-memory-threshold"]


def test_a_percentage_is_reported_in_bytes() -> None:
    percent = {"memory.available": "5%"}
    of = config(
        entry(0, memory="536870920"),
        entry(1, memory="536870920"),
        eviction_hard=percent,
        uses_default_eviction=False,
    )
    own = found(of)
    assert own["eviction-percentage"].severity is Severity.WARNING
    assert own["eviction-percentage"].fields["exactly"] == 1073741840
    lenient = found(replace(of, memory_manager_policy="None", reserved_memory=()))
    assert lenient["eviction-percentage"].severity is Severity.NOTE


def test_a_percentage_that_reserves_nothing_is_no_matter() -> None:
    of = config(
        entry(0, memory="1Gi"),
        kube_reserved={"memory": "1Gi"},
        eviction_hard={"memory.available": "0%"},
        uses_default_eviction=False,
    )
    assert "eviction-percentage" not in found(of)


def test_reserved_memory_without_a_policy_is_not_read() -> None:
    of = replace(config(entry(0, hugepages_1Gi="1Gi", memory="9Gi")), memory_manager_policy="None")
    own = found(of)
    assert list(own) == [
        "reserved-hugepages",
        "reserved-memory-not-read",
        "reserved-hugepages-absent",
    ]
    assert {finding.severity for finding in own.values()} == {Severity.WARNING}


def test_more_than_a_node_has_wraps_around() -> None:
    of = config(entry(0, memory="11Gi"), kube_reserved={"memory": "11164Mi"})
    own = found(of)
    assert list(own) == ["reserved-more-than-node"]
    assert own["reserved-more-than-node"].severity is Severity.ERROR
    assert own["reserved-more-than-node"].fields == {
        "numa_node": 0,
        "reserved_bytes": 11 << 30,
        "memory_bytes": 10 << 30,
        "hugepages_bytes": 0,
    }


def test_huge_pages_count_against_what_a_node_has() -> None:
    pages = builders.machine(10, 10, hugepages={1 << 20: 8})
    own = found(config(entry(0, memory="3Gi"), kube_reserved={"memory": "2972Mi"}), pages)
    assert list(own) == ["reserved-more-than-node"]
    assert own["reserved-more-than-node"].fields["hugepages_bytes"] == 8 << 30


def test_a_node_without_memory_has_words_of_its_own() -> None:
    own = found(config(entry(1, memory="100Mi")), builders.machine(10, 0))
    assert list(own) == ["reserved-on-memoryless-node"]
    unread = replace(config(entry(1, memory="100Mi")), memory_manager_policy="None")
    severities = [f.severity for f in found(unread, builders.machine(10, 0)).values()]
    assert severities == [Severity.WARNING, Severity.WARNING]


def test_a_node_without_cpus_is_warned_about() -> None:
    nodes = (TWO.nodes[0], replace(TWO.nodes[1], cores=()))
    own = found(config(entry(1, memory="100Mi")), replace(TWO, nodes=nodes))
    assert list(own) == ["reserved-on-cpuless-node", "memory-on-cpuless-nodes"]
    assert own["reserved-on-cpuless-node"].where.path == "$.reservedMemory[0]"


def test_memory_without_cpus_that_pods_may_get_is_reported() -> None:
    nodes = (TWO.nodes[0], replace(TWO.nodes[1], cores=()))
    far = replace(TWO, nodes=nodes)
    own = found(config(entry(0, memory="100Mi")), far)
    assert list(own) == ["memory-on-cpuless-nodes"]
    assert own["memory-on-cpuless-nodes"].fields == {"numa_nodes": "1", "left_bytes": 10 << 30}
    assert own["memory-on-cpuless-nodes"].severity is Severity.WARNING
    assert own["memory-on-cpuless-nodes"].where.path == "$.memoryManagerPolicy"
    unpinned = replace(config(), memory_manager_policy="None")
    assert "memory-on-cpuless-nodes" not in found(unpinned, far)


def test_memory_without_cpus_is_not_for_pods_in_native_mode() -> None:
    nodes = (TWO.nodes[0], replace(TWO.nodes[1], cores=()))
    far = LintSubject(config=config(entry(0, memory="100Mi")), machine=replace(TWO, nodes=nodes))
    for classes, codes in (
        ((NodeClass.CPU,), []),
        ((NodeClass.CPU, NodeClass.MEMORY), ["lint/memory-on-cpuless-nodes"]),
    ):
        behaviour = replace(NATIVE, memory_node_classes=classes)
        checked = rules.check(replace(far, behaviour=behaviour))
        assert [finding.code for finding in checked.own] == codes


def test_memory_without_cpus_that_is_kept_back_whole_is_fine() -> None:
    nodes = (TWO.nodes[0], replace(TWO.nodes[1], cores=()))
    of = config(entry(0, memory="100Mi"), entry(1, memory="10Gi"), kube_reserved={"memory": "10Gi"})
    assert found(of, replace(TWO, nodes=nodes)) == {}


def test_an_uneven_split_is_reported_where_it_costs_room() -> None:
    own = found(config(entry(0, memory="4Gi"), kube_reserved={"memory": "3996Mi"}))
    assert list(own) == ["unbalanced-reservation"]
    assert own["unbalanced-reservation"].fields == {
        "numa_node": 0,
        "left_bytes": 6 << 30,
        "better_bytes": 8 << 30,
    }


@pytest.mark.parametrize("amounts", [("2Gi", "2Gi"), ("2248Mi", "1848Mi")])
def test_an_even_or_nearly_even_split_is_fine(amounts: tuple[str, str]) -> None:
    entries = [entry(node, memory=amount) for node, amount in enumerate(amounts)]
    assert found(config(*entries, kube_reserved={"memory": "3996Mi"})) == {}


def test_a_proportional_split_of_unequal_nodes_is_fine() -> None:
    of = config(entry(0, memory="1Gi"), entry(1, memory="3Gi"), kube_reserved={"memory": "3996Mi"})
    assert found(of, builders.machine(10, 30)) == {}


def test_a_sum_that_fits_nowhere_is_not_compared() -> None:
    of = config(entry(0, memory="5Gi"), entry(1, memory="19Gi"), kube_reserved={"memory": "1Gi"})
    assert list(found(of)) == ["reserved-more-than-node"]


def test_a_machine_whose_nodes_have_no_cpus_is_not_compared() -> None:
    nodes = tuple(replace(node, cores=()) for node in TWO.nodes)
    of = config(entry(0, memory="4Gi"), kube_reserved={"memory": "3996Mi"})
    own = found(of, replace(TWO, nodes=nodes))
    assert list(own) == ["reserved-on-cpuless-node"]


def test_a_zero_entry_leaves_nothing_to_compare() -> None:
    assert found(config(entry(0, memory="0"))) == {}


def test_a_pod_that_the_split_widens_is_reported() -> None:
    # 1Gi and 10Gi of room: with an even split it is 5.5Gi twice.
    machine = builders.machine(2, 12)
    of = config(entry(1, memory="3Gi"), kube_reserved={"memory": "2972Mi"})
    own = found(of, machine, (simple("wide", "10Gi"),))
    assert own["reservation-widens-pod"].fields == {
        "pod": "default/wide",
        "subject": "container c",
        "asked_bytes": 10 << 30,
        "nodes": 2,
        "fewer": 1,
        "strategy": "even",
    }


def test_pod_scope_counts_the_pod_as_one() -> None:
    machine = builders.machine(2, 12)
    of = config(
        entry(1, memory="3Gi"),
        kube_reserved={"memory": "2972Mi"},
        topology_manager_policy="restricted",
        topology_manager_scope="pod",
    )
    both = pod("both", container("a", "5Gi"), container("b", "5Gi"))
    widened = found(of, machine, (both,))["reservation-widens-pod"]
    assert widened.fields["subject"] == "the pod as one"
    assert widened.where.path == "pod default/both"


def test_pods_that_do_not_count_or_can_not_be_counted_are_passed_over() -> None:
    machine = builders.machine(2, 12)
    of = config(entry(1, memory="3Gi"), kube_reserved={"memory": "2972Mi"})
    burstable = pod("b", container("c", "10Gi"), qos=QosClass.BURSTABLE)
    fraction = simple("f", "100m")
    small, again = simple("s", "1Gi"), simple("t", "1Gi")
    assert "reservation-widens-pod" not in found(of, machine, (burstable, small, again))
    assert "reservation-widens-pod" not in found(of, machine, (fraction,))


def test_a_pod_that_fits_no_split_is_not_called_widened() -> None:
    of = config(entry(0, memory="100Mi"))
    assert list(found(of, pods=(simple("vast", "1Ti"),))) == ["pod-never-admitted"]


def test_without_another_split_nothing_is_widened() -> None:
    of = config(entry(0, memory="30Gi"), kube_reserved={"memory": "10Gi"})
    assert list(found(of, pods=(simple("s", "1Gi"),))) == [
        "reserved-more-than-node",
        "pods-not-checked",
    ]
