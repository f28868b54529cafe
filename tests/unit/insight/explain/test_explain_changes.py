"""What would have been decided otherwise: every kind of change, and who pays for it."""

from __future__ import annotations

from dataclasses import replace

from numalet.core.config.rules import StartRefused
from numalet.core.model.pod import Pod, QosClass
from numalet.core.model.quantity import Quantity
from numalet.core.node import node as nodes
from numalet.insight.explain import change, measures, search, story
from numalet.insight.explain import tally as tallies
from numalet.insight.explain.cases import Case, OtherNode
from numalet.insight.explain.change import (
    AdjustedRequest,
    Earlier,
    NoTopology,
    OtherMachine,
    OtherTopology,
    Reordered,
    SmallerRequest,
    WithoutContainer,
    WithoutPods,
)
from numalet.insight.explain.explanation_types import Category
from numalet.insight.explain.tally import MOST_TRIED, Tally
from numalet.insight.simulate.session import Session
from numalet.io import machines
from values.builders import container, init, pod, simple
from values.explain_bench import (
    GPU,
    GPUS,
    STATIC_CPUS,
    asking,
    by_category,
    case,
    config,
    forever,
    narrow,
    session,
    shape,
    wide,
)


def replaced(begun: Session, node: nodes.Node) -> Session:
    """The session with another node."""
    return replace(begun, node=node)


def searched(asked: Case) -> dict[str, Tally]:
    """Everything that would have admitted the pod."""
    told = story.trace(asked)
    return by_category(search.search(asked, told, forever))


def changes_in(asked: Case, category: str) -> list[change.Change]:
    """The changes that one category offers."""
    return [offer.change for offer in searched(asked)[category].offers]


def test_nothing_of_a_resource_is_not_offered() -> None:
    without_pages = case(asking(narrow(), hugepages_16Mi="32Mi"))
    taken = asking(simple("all", "1Gi"), gpu="4")
    begun = session(config("best-effort"), devices=GPUS)
    without_gpu = case(asking(narrow(), gpu="1"), taken, begun=begun)

    assert changes_in(without_pages, "smaller-request") == []
    assert changes_in(without_gpu, "smaller-request") == []


GROUPED = case(narrow(), wide())


def test_every_category_answers_and_they_have_an_order() -> None:
    told = story.trace(GROUPED)
    found = tallies.in_order(search.search(GROUPED, told, forever))
    assert [each.category for each in found] == list(Category)


def test_every_other_policy_and_scope_is_tried() -> None:
    tally = searched(GROUPED)["policy-or-scope"]

    assert tally.tried == 6
    offers = [(offer.change, offer.outcome.lost) for offer in tally.offers]
    assert offers == [
        (OtherTopology("best-effort", "container"), ()),
        (OtherTopology("best-effort", "pod"), ()),
        (NoTopology(), ()),
        (OtherTopology("single-numa-node", "container"), ("wide",)),
        (OtherTopology("single-numa-node", "pod"), ("wide",)),
    ]


def test_from_the_policy_none_the_six_others_are_tried() -> None:
    asked = case(simple("huge", "25Gi"), begun=session(config("none")))
    assert searched(asked)["policy-or-scope"].tried == 6


def test_a_configuration_with_which_nothing_starts_is_a_refusal() -> None:
    begun = session(config("none"), shape("9n2c1t"))
    asked = case(simple("huge", "95Gi"), begun=begun)
    tally = searched(asked)["policy-or-scope"]

    assert len(tally.refusals) == 6
    assert not tally.offers
    assert isinstance(tally.refusals[0].outcome.decision, StartRefused)
    assert not tally.refusals[0].outcome.admitted


def test_the_largest_request_that_fits_is_found_to_the_byte() -> None:
    asked = case(simple("u", "12Gi"), simple("one", "1Gi"), simple("two", "9Gi"))
    (found,) = changes_in(asked, "smaller-request")

    assert isinstance(found, SmallerRequest)
    assert found.amount == Quantity.parse("9Gi") - Quantity.parse("100Mi")
    assert found.one_more.value == found.amount.value + 1
    assert change.outcome(asked, found).admitted


def test_what_is_not_monotone_is_found_too() -> None:
    # Huge pages make a group with much memory left. It is for what needs two nodes: less memory
    # would have to go on one of them.
    machine = machines.open_machine(
        "2n4c2t", memory_per_node="10Gi", hugepages_per_node={"2Mi": "10"}
    ).info
    paged = simple("paged", "1Gi", hugepages_2Mi="30Mi")
    asked = case(simple("u", "19Gi"), paged, begun=session(on=machine))
    (found,) = changes_in(asked, "smaller-request")

    assert isinstance(found, SmallerRequest)
    assert found.amount.value == (2 * 10 * 1024 - 100 - 40 - 1024) << 20
    less = replace(found, amount=Quantity.parse("2Gi"))
    assert not change.outcome(asked, less).admitted


def test_cpus_pages_and_devices_are_searched_in_their_units() -> None:
    begun = session(config("single-numa-node", **STATIC_CPUS), devices=GPUS)
    cpus = changes_in(case(asking(narrow(), cpu="9"), begun=begun), "smaller-request")
    gpus = changes_in(case(asking(narrow(), gpu="3"), begun=begun), "smaller-request")

    assert [(each.resource, str(each.amount)) for each in cpus] == [("cpu", "8")]  # type: ignore[union-attr]
    assert [(each.resource, str(each.amount)) for each in gpus] == [(GPU, "2")]  # type: ignore[union-attr]


def test_pages_are_counted_whole() -> None:
    machine = machines.open_machine(
        "2n4c2t", memory_per_node="10Gi", hugepages_per_node={"2Mi": "10"}
    ).info
    asked = case(simple("u", "1Gi", hugepages_2Mi="60Mi"), begun=session(on=machine))
    (found,) = changes_in(asked, "smaller-request")

    assert isinstance(found, SmallerRequest)
    assert (found.resource, str(found.amount), str(found.one_more)) == (
        "hugepages-2Mi",
        "40Mi",
        "42Mi",
    )


def test_an_odd_number_of_cpus_is_adjusted_to_whole_cores() -> None:
    options = {**STATIC_CPUS, "cpuManagerPolicyOptions": {"full-pcpus-only": "true"}}
    asked = case(asking(narrow(), cpu="3"), begun=session(config(**options)))
    found = searched(asked)
    (offer,) = found["whole-units"].offers

    assert offer.change == AdjustedRequest("c", "cpu", Quantity.parse("3"), Quantity.parse("4"))
    # One unit more than two CPUs is four, which is fine.
    assert found["smaller-request"].offers == []


def test_for_a_pod_that_is_aligned_nothing_is_searched() -> None:
    assert searched(case(narrow())) == {}


def test_what_would_have_aligned_an_admitted_pod_is_found() -> None:
    begun = session(config("best-effort", **STATIC_CPUS))
    held = asking(simple("held", "1Gi"), cpu="6")
    other = asking(simple("other", "1Gi"), cpu="6")
    asked = case(asking(narrow(), cpu="3"), held, other, begun=begun)
    assert asked.node.admit(asked.pod)[1].admitted

    found = searched(asked)
    assert [each.change for each in found["freed-pods"].offers] == [
        WithoutPods(("held",), "default/held"),
        WithoutPods(("other",), "default/other"),
    ]
    assert [str(each.change.amount) for each in found["smaller-request"].offers] == ["2"]  # type: ignore[union-attr]
    assert found["policy-or-scope"].offers == []
    (earlier,) = found["queue-order"].offers
    assert earlier.change == Earlier(1, "default/other")


def test_a_policy_that_would_have_kept_a_pod_on_one_node_is_found() -> None:
    begun = session(config("none", **STATIC_CPUS, memoryManagerPolicy="None", reservedMemory=[]))
    held = asking(simple("held", "1Gi"), cpu="5")
    asked = case(asking(narrow(), cpu="3"), held, begun=begun)
    decision = asked.node.admit(asked.pod)[1]
    assert measures.span_of(asked.node.roster, decision.after, asked.pod) == 0b11

    offers = searched(asked)["policy-or-scope"].offers
    assert offers[0].change == OtherTopology("single-numa-node", "container")
    assert {offer.outcome.span for offer in offers} == {0b10}


def test_requests_that_no_manager_cares_for_are_left_alone() -> None:
    asked = case(simple("huge", "25Gi"), begun=session(config("none")))
    assert [part for part in changes_in(asked, "smaller-request") if part.resource == "cpu"] == []  # type: ignore[union-attr]


def test_a_request_for_nothing_can_not_be_smaller() -> None:
    asked = case(asking(simple("huge", "25Gi"), gpu="0"), begun=session(devices=GPUS))
    found = changes_in(asked, "smaller-request")
    assert [each.resource for each in found] == ["memory"]  # type: ignore[union-attr]


def test_a_pod_that_is_not_guaranteed_is_not_helped_by_less_memory() -> None:
    begun = session(devices=GPUS)
    burstable = pod("u", container("c", "1Gi"), qos=QosClass.BURSTABLE)
    found = changes_in(case(asking(burstable, gpu="5"), begun=begun), "smaller-request")
    assert [each.resource for each in found] == [GPU]  # type: ignore[union-attr]


def test_one_container_fewer() -> None:
    two = pod("u", init("i", "1Gi"), container("a", "8Gi"), container("b", "8Gi"))
    asked = case(two, simple("one", "5Gi"))

    tally = searched(asked)["fewer-containers"]
    assert tally.tried == 3
    assert [offer.change for offer in tally.offers] == [
        WithoutContainer("a"),
        WithoutContainer("b"),
    ]


def test_a_pod_without_its_only_greedy_container_keeps_its_class() -> None:
    two = pod("u", container("a", "8Gi"), container("b", "1Gi"))
    left = change.changed_pod(two, WithoutContainer("a"))
    assert (left.qos_class, [each.name for each in left.containers()]) == (
        QosClass.GUARANTEED,
        ["b"],
    )


def test_single_pods_that_would_make_room_are_all_named() -> None:
    asked = case(simple("u", "9Gi"), simple("one", "8Gi"), simple("two", "8Gi"))
    assert changes_in(asked, "freed-pods") == [
        WithoutPods(("one",), "default/one"),
        WithoutPods(("two",), "default/two"),
    ]


def test_the_smallest_set_of_pods_is_found() -> None:
    # Three small pods would do, and are found first; two large ones are fewer.
    sizes = {"a": "7Gi", "b": "7Gi", "c": "4Gi", "d": "4Gi", "e": "4Gi"}
    asked = case(
        simple("u", "15500Mi"),
        *(simple(uid, size) for uid, size in sizes.items()),
        begun=session(on=shape("1n4c2t", "30Gi")),
    )
    assert changes_in(asked, "freed-pods") == [WithoutPods(("a", "b"), "default/a, default/b")]


def test_a_set_that_is_proven_to_be_the_smallest_may_hold_all_pods() -> None:
    asked = case(
        simple("u", "18Gi"),
        *(simple(f"p{at}", "6Gi") for at in range(3)),
        begun=session(on=shape("1n4c2t", "19Gi")),
    )
    assert changes_in(asked, "freed-pods") == [
        WithoutPods(("p0", "p1", "p2"), "default/p0, default/p1, default/p2")
    ]


def test_where_no_set_of_pods_helps_all_are_tried() -> None:
    asked = case(simple("u", "90Gi"), *(simple(f"p{at}", "1Gi") for at in range(3)))
    tally = searched(asked)["freed-pods"]
    assert (tally.tried, tally.offers, tally.ended_early) == (3 + 1 + 3, [], False)


def test_pods_that_hold_nothing_are_not_freed() -> None:
    asked = case(simple("u", "90Gi"), idle("idle"))
    assert searched(asked)["freed-pods"].tried == 0


def idle(uid: str) -> Pod:
    """A pod that holds nothing."""
    return pod(uid, container("c"), qos=QosClass.BURSTABLE)


def test_the_pod_asks_as_late_as_it_helps() -> None:
    asked = case(simple("u", "9Gi"), idle("early"), wide(), idle("late"))
    (offer,) = searched(asked)["queue-order"].offers

    assert offer.change == Earlier(1, "default/wide")
    assert offer.outcome.lost == ("wide",)


def test_an_order_in_which_nobody_loses_is_preferred() -> None:
    # At once before the last one it would take the room of that; as the first it takes the
    # smaller node, and the others fill the larger one to the byte.
    asked = case(simple("u", "9830Mi"), simple("large", "9728Mi"), simple("small", "512Mi"))
    (offer,) = searched(asked)["queue-order"].offers

    assert (offer.change, offer.outcome.lost) == (Earlier(0, "default/large"), ())
    assert change.outcome(asked, Earlier(1, "default/small")).lost == ("small",)


def test_the_whole_queue_may_be_sorted() -> None:
    uids = ("a", "b")
    asked = case(simple("b", "9Gi"), simple("a", "1Gi"))
    assert change.outcome(asked, Reordered(uids, search.SMALLEST_FIRST)).admitted
    loser = case(simple("b", "9Gi"), simple("a", "10Gi"), begun=session(on=shape("1n4c2t")))
    turned = change.outcome(loser, Reordered(("b", "a"), search.LARGEST_FIRST))
    assert (turned.admitted, turned.lost) == (True, ())


def test_an_earlier_place_that_does_not_help_is_reported() -> None:
    asked = case(simple("u", "90Gi"), narrow())
    assert not change.outcome(asked, Earlier(0, "default/narrow")).admitted


def test_other_machines_are_tried_empty() -> None:
    fleet = [
        OtherNode("small", shape("1n4c2t", "1Gi")),
        OtherNode("large", shape("2n4c2t", "64Gi")),
        OtherNode("nine", shape("9n2c1t", "64Gi")),
    ]
    tally = searched(case(simple("u", "50Gi"), fleet=fleet))["other-machine"]

    assert [offer.change for offer in tally.offers] == [OtherMachine(1, "large")]
    assert tally.offers[0].outcome.span == 0b1
    assert [offer.change for offer in tally.refusals] == [OtherMachine(2, "nine")]


def test_a_search_whose_time_is_over_says_so() -> None:
    told = story.trace(GROUPED)
    tallies = list(search.search(GROUPED, told, lambda: False))

    assert [(each.tried, each.offers, each.ended_early) for each in tallies[:1]] == [(0, [], True)]
    assert all(not each.offers for each in tallies)


def test_time_may_be_over_in_the_middle() -> None:
    asked = case(simple("u", "9Gi"), *(simple(f"p{at}", "3Gi") for at in range(6)))
    told = story.trace(asked)
    for allowed in range(0, 120, 3):
        left = iter(range(allowed))
        for tally in search.search(asked, told, lambda left=left: next(left, None) is not None):  # type: ignore[misc]
            for offer in tally.offers:
                assert change.outcome(asked, offer.change).admitted


def test_a_category_has_an_end() -> None:
    asked = case(simple("u", "90Gi"), *(simple(f"p{at}", "100Mi") for at in range(30)))
    tally = searched(asked)["freed-pods"]
    assert (tally.tried, tally.ended_early) == (MOST_TRIED, True)


def test_state_files_are_read_again_for_another_policy() -> None:
    held = case(narrow(), wide()).node.state_files()
    begun = session(files=held)
    running = begun.node.assume_running(begun.node.leftovers())
    kept = case(narrow(), begun=replaced(begun, running))
    asked = Case(
        kept.beginning, held, kept.queue, kept.pod, kept.nodes_before, kept.admitted, kept.fleet
    )

    assert not asked.node.admit(asked.pod)[1].admitted
    lax = asked.begun_with(config("best-effort"))
    assert isinstance(lax, nodes.Node)
    assert lax.snapshot.memory == running.snapshot.memory
    assert changes_in(asked, "freed-pods") == [WithoutPods(("wide",), "wide")]


def test_what_was_forgotten_of_state_files_stays_forgotten() -> None:
    held = case(narrow(), wide()).node.state_files()
    begun = session(files=held)
    forgotten = replaced(begun, begun.node.release_stale())
    asked = Case(forgotten, held, (), narrow(), (forgotten.node,), frozenset())

    lax = asked.begun_with(config("best-effort"))
    assert isinstance(lax, nodes.Node)
    assert lax.leftovers() == ()
