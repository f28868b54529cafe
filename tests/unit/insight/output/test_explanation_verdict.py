"""The first line of an explanation: a reason for every set of NUMA nodes, and a suggestion."""

from __future__ import annotations

import re
from typing import Any

import pytest

from numalet.core.managers.device.inventory import Device
from numalet.insight.explain import search, story
from numalet.insight.explain.cases import Case, OtherNode
from numalet.insight.explain.explanation_types import Explanation
from numalet.insight.output import explanation_document, explanation_verdict
from numalet.insight.simulate.session import RestartStep, decisions
from numalet.wording import explanations
from numalet.wording.explanations import Gap
from values.builders import container, init, pod, simple
from values.explain_bench import GPU, STATIC_CPUS, asking, case, config, forever, session, shape

NO_MEMORY: dict[str, Any] = {"memoryManagerPolicy": "None", "reservedMemory": []}


def explained(asked: Case) -> Explanation:
    """The document, with everything that would have admitted or aligned the pod."""
    told = story.trace(asked)
    return explanation_document.explanation(asked, told, search.search(asked, told, forever))


def holding(uid: str, cpus: int) -> Any:
    """A pod with this many CPUs."""
    return asking(simple(uid, "1Gi"), cpu=str(cpus))


def test_each_node_has_its_reason_from_whichever_manager_refuses_it() -> None:
    begun = session(
        config("single-numa-node", **STATIC_CPUS, **NO_MEMORY), devices={GPU: (Device("g", (1,)),)}
    )
    asked = case(asking(simple("u", "1Gi"), cpu="4", gpu="1"), holding("hog", 8), begun=begun)

    assert explained(asked).first_line == (
        f"default/u (Guaranteed) is rejected: TopologyAffinityError: c ({GPU} 1, cpu 4) fits no"
        f" single NUMA node: {{0}} 1 of {GPU} short (0 available); {{1}} 4 CPUs short (0 free)."
        " Suggestion: delete default/hog first."
    )


def test_two_managers_may_refuse_one_set() -> None:
    begun = session(
        config("single-numa-node", **STATIC_CPUS, **NO_MEMORY),
        shape("3n8c1t"),
        devices={GPU: (Device("g", (1,)),)},
    )
    asked = case(asking(simple("u", "1Gi"), cpu="8", gpu="1"), holding("hog", 8), begun=begun)

    first = f"{{0}} 1 of {GPU} short (0 available) and 1 CPU short (7 free)"
    assert first in explained(asked).cause


def test_equal_reasons_stand_together_and_reserved_cpus_say_why_not_preferred() -> None:
    begun = session(
        config(cpuManagerPolicy="static", reservedSystemCPUs="0,8,16,24", **NO_MEMORY),
        shape("4n8c1t"),
    )

    assert explained(case(holding("u", 8), begun=begun)).cause == (
        "c needs 8 CPUs on one NUMA node; the best nodes have 7 free each (nodes 0-3); {0,1},"
        " {0,2}, {0,3} and 8 more sets not preferred (a NUMA node has 8 CPUs, 1 of them reserved,"
        " so 8 CPUs count as fitting one node)"
    )


@pytest.mark.parametrize("policy", ["restricted", "single-numa-node"])
def test_no_set_is_left_out(policy: str) -> None:
    begun = session(
        config(policy, cpuManagerPolicy="static", reservedSystemCPUs="0", **NO_MEMORY),
        shape("4n16c1t"),
    )
    held = [holding(f"p{cpus}", cpus) for cpus in (13, 11, 9, 8)]
    cause = explained(case(holding("u", 12), *held, begun=begun)).cause

    named = re.findall(r"\{[0-9,]+\}", cause)
    ranges = re.findall(r"\{([0-9])\}-\{([0-9])\}", cause)
    between = sum(int(last) - int(first) - 1 for first, last in ranges)
    counted = sum(int(count) for count in re.findall(r"([0-9]+) more sets?\b", cause))
    assert cause.startswith("c needs 12 CPUs on one NUMA node; the best node has 8 free (node 3)")
    named.append("the best")
    assert len(named) + between + counted == (15 if policy == "restricted" else 4)


def test_on_many_nodes_the_line_says_that_there_are_more_sets() -> None:
    options = {"max-allowable-numa-nodes": "16"}
    begun = session(
        config(topologyManagerPolicyOptions=options, **STATIC_CPUS, **NO_MEMORY), shape("12n4c1t")
    )
    held = [holding(f"p{at}", 3) for at in range(12)]
    cause = explained(case(holding("u", 4), *held, begun=begun)).cause

    assert cause.endswith("; other sets: too many to be listed on this machine")


def test_a_pod_that_is_not_aligned_says_why_and_what_would_align_it() -> None:
    begun = session(config("best-effort", **STATIC_CPUS, **NO_MEMORY))
    held = holding("held", 6), holding("other", 6)
    found = explained(case(holding("u", 3), *held, begun=begun))

    assert found.admitted
    assert found.first_line.startswith(
        "default/u (Guaranteed) is admitted on NUMA nodes {0,1}, not aligned: c needs 3 CPUs on"
        " one NUMA node; the best node has 2 free (node 1); "
    )
    assert found.first_line.endswith(" Suggestion: delete default/held first.")
    assert found.would_admit == []


def test_where_nothing_would_align_the_pod_the_line_says_so() -> None:
    begun = session(
        config("best-effort", **NO_MEMORY), devices={GPU: (Device("g", (0,)), Device("h", (1,)))}
    )
    taken = asking(simple("taken", "1Gi"), gpu="1")
    found = explained(case(asking(simple("u", "1Gi"), gpu="1"), taken, begun=begun))
    assert (found.cause, found.would_align) == ("", [])
    assert found.first_line == "default/u (Guaranteed) is admitted on NUMA nodes {1}"


def test_an_init_container_that_holds_cpus_is_named() -> None:
    begun = session(
        config("single-numa-node", cpuManagerPolicy="static", reservedSystemCPUs="0-1", **NO_MEMORY)
    )
    two = pod("u", init("first", "1Gi"), container("app", "1Gi"))
    found = explained(case(asking(two, cpu="8"), begun=begun))

    assert "{1} container first of the pod holds CPUs on {0}" in found.cause
    assert found.first_line.endswith("Suggestion: topology policy single-numa-node, scope pod.")


def test_cpus_that_an_init_container_keeps_are_named() -> None:
    begun = session(config("none", **STATIC_CPUS, **NO_MEMORY), shape("1n4c2t"))
    two = pod("leaks", init("first", "1Gi"), container("app", "1Gi"))
    found = explained(case(holding("u", 5), asking(two, cpu="2"), begun=begun))

    (left,) = found.stranded
    assert (left.pod, left.container) == ("default/leaks", "first")
    text = f"; CPU {left.cpus} stays allocated to init container first of default/leaks, and"
    assert text in found.first_line


def test_other_machines_come_before_deleted_pods_and_a_smaller_request_last() -> None:
    fleet = [OtherNode("large", shape("2n4c2t", "64Gi"))]
    found = explained(
        case(simple("u", "9Gi"), simple("one", "8Gi"), simple("b", "8Gi"), fleet=fleet)
    )

    offer = explanation_verdict.suggestion(found.would_admit)
    assert offer is not None
    assert offer.code == "explain/other-machine"
    assert found.would_admit[-1].offers[0].code == "explain/smaller-request"


def test_a_simulation_has_the_causes_of_its_first_rejections() -> None:
    begun = session(config("single-numa-node", **STATIC_CPUS, **NO_MEMORY))
    held = [holding("other", 6), holding("held", 5)]
    refused = [holding(f"r{at}", 4) for at in range(102)]
    after, records = begun.through([*held, *refused])
    made = decisions(records)

    found = explanation_document.causes(after, made)

    assert list(found) == [id(each) for each in made[2:102]]
    assert set(found.values()) == {
        "c needs 4 CPUs on one NUMA node; the best node has 3 free (node 1); {0} 3 CPUs short"
        " (1 free)"
    }


def test_a_rejection_before_another_configuration_has_no_cause() -> None:
    begun = session(config("single-numa-node", **STATIC_CPUS, **NO_MEMORY))
    restart = RestartStep((), config("none", **STATIC_CPUS, **NO_MEMORY))
    after, records = begun.through([holding("held", 6), holding("u", 10), restart])
    refused = decisions(records)[1]

    assert not refused.admitted
    assert explanation_document.causes(after, [refused]) == {}


@pytest.mark.parametrize(
    ("gap", "text"),
    [
        (Gap("free", "cpu", 1, 0, 1, 2, "0,1"), "1 CPU on one NUMA node; no node has any free"),
        (
            Gap("allocatable", "memory", 3 << 30, 1 << 30, 2, 1, "{0,1}"),
            "3Gi memory on 2 NUMA nodes; the best set has 1Gi allocatable ({0,1})",
        ),
        (
            Gap("free", GPU, 2, 1, 2, 2, "{0,1}, {2,3}"),
            f"2 {GPU} on 2 NUMA nodes; the best sets have 1 free each ({{0,1}}, {{2,3}})",
        ),
        (
            Gap("free", "memory", 2 << 30, 1 << 30, sets=1, where="node 0"),
            "2Gi memory; the best node has 1Gi free (node 0)",
        ),
        (Gap("free", GPU, 2, 1), f"2 {GPU}; the whole machine has 1 free"),
    ],
)
def test_a_gap_has_the_need_and_the_best_there_is(gap: Gap, text: str) -> None:
    assert explanations.gap(gap) == f"needs {text}"


@pytest.mark.parametrize(("scope", "name"), [("pod", "the pod"), ("container", "pod")])
def test_a_container_may_be_called_pod(scope: str, name: str) -> None:
    rules = config("restricted", topologyManagerScope=scope, **STATIC_CPUS, **NO_MEMORY)
    asked = asking(pod("u", container("pod", "1Gi")), cpu="16")
    found = explained(case(asked, begun=session(rules)))
    assert found.cause.startswith(f"{name} needs 16 CPUs; ")
