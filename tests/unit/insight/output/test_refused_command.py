"""A refusal in the words of the command line of ``numalet run``."""

from __future__ import annotations

from msgspec.structs import replace

from numalet.insight.explain import search, story
from numalet.insight.explain.cases import Case
from numalet.insight.explain.explanation_types import Explanation
from numalet.insight.output import explanation_document, run_document
from values.builders import simple
from values.explain_bench import (
    GPU,
    GPUS,
    STATIC_CPUS,
    asking,
    case,
    config,
    forever,
    session,
    shape,
)


def explained(asked: Case) -> Explanation:
    told = story.trace(asked)
    return explanation_document.explanation(asked, told, search.search(asked, told, forever))


def test_the_cause_is_about_the_command() -> None:
    begun = session(config("single-numa-node", **STATIC_CPUS))
    found = explained(case(asking(simple("u", "1Gi"), cpu="9"), begun=begun))

    assert run_document.for_command(found).cause == (
        "the command needs 9 CPUs on one NUMA node; the best node has 8 free (node 1);"
        " {0} 2 CPUs short (7 free)"
    )


def test_a_refused_allocation_is_about_the_command_too() -> None:
    found = explained(case(simple("huge", "25Gi"), begun=session(config("none"))))
    assert run_document.for_command(found).cause == (
        "the command needs 25Gi memory; the best set of NUMA nodes has 19.90Gi allocatable ({0,1})"
    )


def test_what_is_reserved_is_named() -> None:
    begun = session(config(**STATIC_CPUS))
    found = explained(case(asking(simple("u", "1Gi"), cpu="16"), begun=begun))
    assert (
        run_document.kept_for_others(found) == "Reserved for the system: CPU 0 and 100Mi of memory."
    )

    nothing = replace(found, nodes_before=[])
    assert run_document.kept_for_others(nothing) == ""


def test_how_to_allocate_huge_pages_is_said_where_there_are_too_few() -> None:
    few = explained(case(asking(simple("u", "1Gi"), **{"hugepages-1Gi": "3Gi"})))

    assert list(run_document.missing_pages(few)) == [
        "The machine has no huge pages of 1Gi. Allocate some as root: echo 3 > "
        "/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages"
    ]
    enough = explained(case(simple("huge", "25Gi")))
    assert list(run_document.missing_pages(enough)) == []


def test_changes_are_options() -> None:
    begun = session(config(**STATIC_CPUS))
    held = asking(simple("held", "1Gi"), cpu="6"), asking(simple("b", "1Gi"), cpu="6")
    found = explained(case(asking(simple("u", "1Gi"), cpu="3"), *held, begun=begun))

    options = list(run_document.offers(found, by_agent=False))
    assert "wait until default/held ends (--wait)" in options
    assert not [each for each in run_document.offers(found, by_agent=True) if "--policy" in each]


def test_cpus_that_a_command_may_not_get_do_not_end() -> None:
    begun = session(config(**STATIC_CPUS))
    held = asking(simple("held", "1Gi"), cpu="6"), asking(simple("b", "1Gi"), cpu="6")
    found = explained(case(asking(simple("u", "1Gi"), cpu="3"), *held, begun=begun))
    offer, *_ = (
        each
        for tally in found.would_admit
        for each in tally.offers
        if each.code == "explain/without-pods"
    )
    tally = next(each for each in found.would_admit if offer in each.offers)

    def offered(holders: str) -> list[str]:
        named = replace(offer, figures={**offer.figures, "pods": holders})
        only = replace(found, would_admit=[replace(tally, offers=[named])])
        return [text.partition(",")[0] for text in run_document.offers(only, by_agent=False)]

    assert offered("./app") == ["wait until ./app ends (--wait)"]
    assert offered(run_document.OUTSIDE_AFFINITY) == ["--any-cpu"]
    assert offered(run_document.OTHER_NUMA_NODES) == []
    assert offered(f"./app, {run_document.OUTSIDE_AFFINITY}") == []


def test_a_smaller_request_and_another_policy_are_options() -> None:
    begun = session(config("single-numa-node", **STATIC_CPUS), shape(), GPUS)
    found = explained(case(asking(simple("u", "1Gi"), cpu="9", gpu="3"), begun=begun))
    assert set(run_document.offers(found, by_agent=False)) == {
        "--policy best-effort",
        "--policy none",
    }
    cpus = explained(case(asking(simple("u", "1Gi"), cpu="9"), begun=begun))
    assert "--cpus 8" in list(run_document.offers(cpus, by_agent=True))
    gpus = explained(case(asking(simple("u", "1Gi"), gpu="3"), begun=begun))
    assert f"--device {GPU}=2" in list(run_document.offers(gpus, by_agent=True))
    memory = explained(case(simple("u", "15Gi"), begun=begun))
    (only,) = run_document.offers(memory, by_agent=True)
    assert only.startswith("--memory ")
