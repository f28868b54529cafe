"""Fields that a file leaves to a vendor: what holds whatever they are, and what cannot be told."""

from __future__ import annotations

from typing import Any

import pytest

from numalet.core.config import unknown
from numalet.core.config.kubelet_config import KubeletConfig, ReservedMemory, UnknownFields
from numalet.core.config.rules import StartRefused, StartStage
from numalet.core.model.findings import Location, Severity
from numalet.core.model.quantity import Quantity
from numalet.core.model.value import replace
from numalet.core.node import node as nodes
from numalet.core.node.node import Node
from numalet.insight.lint import rules
from numalet.insight.lint.subject import LintSubject
from numalet.wording import kubelet_start
from values import builders

MACHINE = builders.machine(10, 10)
FILE = Location("vendor.yaml")


def fields(**values: tuple[str, str]) -> UnknownFields:
    """Unknown fields; ``__`` in a name stands for a dot."""
    named = {name.replace("__", "."): each for name, each in values.items()}
    return UnknownFields(system="Vendor", fields=named, command="get it", where=FILE)


def config(unknown_fields: UnknownFields | None, **changes: Any) -> KubeletConfig:
    return KubeletConfig(unknown=unknown_fields, **changes)


def static(unknown_fields: UnknownFields | None, **changes: Any) -> KubeletConfig:
    return config(unknown_fields, cpu_manager_policy="static", **changes)


def memory(amount: str) -> tuple[ReservedMemory, ...]:
    return (ReservedMemory(0, {"memory": Quantity.parse(amount)}),)


def started(given: KubeletConfig) -> Node | StartRefused:
    return nodes.start(given, MACHINE)


def test_a_field_that_is_set_either_way_lets_the_node_start_with_its_first_value() -> None:
    node = started(static(fields(systemReserved__cpu=("500m", "2"))))

    assert isinstance(node, Node)
    assert node.rules.cpu.reserved_count == 1


def test_a_start_that_depends_on_a_field_is_undecided_and_names_this_field_alone() -> None:
    refused = started(
        static(fields(kubeReserved__cpu=("", "1"), maxPods=("110", "30"))),
    )

    assert isinstance(refused, StartRefused)
    assert refused.is_undecided
    (finding,) = refused.findings
    assert (finding.severity, finding.where) == (Severity.WARNING, FILE)
    assert str(finding) == (
        "cannot tell whether the kubelet starts without kubeReserved.cpu, which Vendor sets"
        " outside this file; give the output of 'get it', or the flags of these fields"
    )
    assert kubelet_start.text(refused) == str(finding)
    assert kubelet_start.complaint("It", refused) == f"It: {finding}"


@pytest.mark.parametrize("amount", ["1Gi", "3Gi", "5Gi"])
def test_a_sum_of_memory_that_depends_on_a_field_is_undecided_whatever_it_is(amount: str) -> None:
    refused = started(
        config(
            fields(kubeReserved__memory=("1Gi", "3Gi"), systemReserved__cpu=("", "1")),
            memory_manager_policy="Static",
            reserved_memory=memory(amount),
        )
    )

    assert isinstance(refused, StartRefused)
    assert refused.is_undecided
    assert refused.findings[0].fields["fields_unknown"] == "kubeReserved.memory"


def test_two_fields_that_decide_only_together_are_both_named() -> None:
    both = fields(systemReserved__cpu=("", "6"), kubeReserved__cpu=("1", "6"))
    refused = started(static(both, reserved_memory=()))
    assert isinstance(refused, Node | StartRefused)

    gib = fields(kubeReserved__memory=("8Gi", "11Gi"), systemReserved__memory=("8Gi", "11Gi"))
    refused = started(config(gib))
    assert isinstance(refused, StartRefused)
    assert refused.findings[0].fields["fields_unknown"] == (
        "kubeReserved.memory, systemReserved.memory"
    )


def test_what_is_wrong_whatever_the_fields_are_refuses_the_start() -> None:
    refused = started(
        static(fields(kubeReserved__cpu=("", "1")), topology_manager_policy="nothing")
    )

    assert isinstance(refused, StartRefused)
    assert refused.stage is StartStage.CONFIG_VALIDATION
    assert refused.further == ()
    assert "would not start" in kubelet_start.complaint("It", refused)


def test_values_are_put_into_maps_and_numbers_and_replace_the_default_threshold() -> None:
    given = config(
        fields(
            evictionHard__memory__available=("", "1Gi"),
            maxPods=("110", "30"),
            kubeReserved__cpu=("1", "2"),
            kubeReserved__memory=("1Gi", "2Gi"),
        ),
        eviction_hard={"memory.available": "100Mi"},
        uses_default_eviction=True,
    )
    first, second = unknown.variants(given)

    assert (first.uses_default_eviction, first.max_pods) == (True, 110)
    assert first.kube_reserved == {"cpu": "1", "memory": "1Gi"}
    assert (second.uses_default_eviction, second.max_pods) == (False, 30)
    assert second.eviction_hard == {"memory.available": "1Gi"}
    assert unknown.assumed(given) == first
    plain = KubeletConfig()
    assert unknown.assumed(plain) is plain


def test_fields_that_are_given_are_not_unknown_any_more() -> None:
    open_ = fields(kubeReserved__cpu=("", "1"), kubeReserved__memory=("", "1"), maxPods=("1", "2"))

    left = open_.without(["kubeReserved.cpu"])
    assert left is not None
    assert [*left.fields] == ["kubeReserved.memory", "maxPods"]
    assert open_.without(["kubeReserved", "maxPods"]) is None


def test_rules_report_what_holds_either_way_and_list_the_others_once() -> None:
    def found(given: KubeletConfig) -> dict[str, str]:
        given = replace(given, uses_default_eviction=True)
        checked = rules.check(LintSubject(config=given, machine=MACHINE))
        return {each.code: str(each) for each in (*checked.start, *checked.own)}

    part = found(static(fields(kubeReserved__cpu=("500m", "1"))))
    assert [*part] == ["config/depend-on-unknown"]
    assert part["config/depend-on-unknown"].endswith(": lint/part-of-a-cpu-reserved")

    certain = found(static(fields(maxPods=("1", "2")), kube_reserved={"cpu": "500m"}))
    assert [*certain] == ["lint/part-of-a-cpu-reserved"]

    undecided = found(static(fields(kubeReserved__cpu=("", "1"))))
    assert [*undecided] == ["config/undecided"]
