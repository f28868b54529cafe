"""The story of a decision: what was offered, why not more, how it was ranked, what was taken."""

from __future__ import annotations

from dataclasses import replace

import pytest

from numalet.core.config.behaviour import NATIVE
from numalet.core.hints.provider import Candidates, Hint
from numalet.core.managers.memory.reasons import (
    NodeInGroup,
    NodeInUse,
    NothingOffered,
    TooLittleAllocatable,
)
from numalet.core.model import cpu_set, numa_mask
from numalet.core.model.pod import Pod, QosClass
from numalet.core.node import node as nodes
from numalet.core.node.node import Node
from numalet.insight.explain import ranking, story
from numalet.insight.explain.explanation_types import (
    AnswerDocument,
    AnswerKind,
    ExplanationHolderDocument,
    SetDocument,
    hint_of,
    reason_of,
)
from numalet.insight.explain.story import Story
from values.builders import container, init, pod, simple
from values.explain_bench import (
    GPU,
    GPUS,
    STATIC_CPUS,
    asking,
    case,
    config,
    narrow,
    session,
    shape,
    traced,
    wide,
)


def told(pod: Pod, *queue: Pod, **options: object) -> Story:
    """The story of a pod after a queue."""
    asked = case(pod, *queue, begun=session(config(**options)))  # type: ignore[arg-type]
    return story.trace(asked)


def answer_of(found: Story, provider: str) -> AnswerDocument:
    """The one answer of a provider for the first subject."""
    (answer,) = (each for each in found.subjects[0].answers if each.provider == provider)
    return answer


def code(of: SetDocument) -> str | None:
    """The code of the reason why a set is not offered."""
    return None if of.why_not is None else of.why_not.code


def test_sets_that_are_not_offered_have_their_reason_and_who_holds_the_group() -> None:
    found = told(narrow(), wide())

    one, other, both = answer_of(found, "memory").sets
    holder = ExplanationHolderDocument("default/wide", "c")
    assert (one.offered, one.why_not, one.held_by) == (
        False,
        reason_of(NodeInGroup(0, 0b11)),
        [holder],
    )
    assert (other.why_not, other.preferred) == (reason_of(NodeInGroup(1, 0b11)), None)
    assert (both.offered, both.preferred, both.held_by) == (True, False, None)
    assert found.decision.rejection is not None


def test_the_ranking_begins_with_what_the_policy_chose() -> None:
    (subject,) = told(narrow()).subjects

    assert subject.finalists == [hint_of(Hint(0b01, True)), hint_of(Hint(0b10, True))]
    assert (subject.wanted_size, subject.by_distance) == (1, False)
    assert (subject.merged.nodes, subject.merged.preferred) == ([0], True)


def test_without_a_common_preferred_set_all_sets_are_ranked() -> None:
    (subject,) = told(narrow(), wide()).subjects

    assert subject.finalists == [hint_of(Hint(0b11, False))]
    assert (subject.wanted_size, subject.by_distance) == (2, False)


def test_a_policy_that_can_use_no_hint_of_a_list_has_no_finalists() -> None:
    (subject,) = told(wide(), policy="single-numa-node").subjects

    assert subject.finalists == []
    assert (subject.merged.nodes, subject.merged.preferred) == (None, False)


def test_distances_are_named_where_they_count() -> None:
    options = {"topologyManagerPolicyOptions": {"prefer-closest-numa-nodes": "true"}}
    (subject,) = told(narrow(), policy="best-effort", **options).subjects

    assert subject.by_distance


def test_providers_without_a_preference_are_named() -> None:
    found = told(narrow())

    assert answer_of(found, "device") == AnswerDocument(
        "device", [], AnswerKind.NO_PREFERENCE, None, [], True, None
    )
    assert answer_of(found, "cpu").answer is AnswerKind.NO_PREFERENCE


def test_a_silent_memory_manager_is_asked_why() -> None:
    found = told(simple("huge", "25Gi"))

    answer = answer_of(found, "memory")
    assert (answer.answer, answer.resources) == (AnswerKind.NOTHING_FITS, ["memory"])
    assert {code(each) for each in answer.sets} == {TooLittleAllocatable.code}
    assert found.refusal is not None
    assert found.refusal.chosen_among is not None
    assert found.refusal.chosen_among.answer is AnswerKind.NOTHING_FITS


def test_a_memory_manager_that_says_impossible_is_asked_why_too() -> None:
    node = nodes.start(config(), shape(), behaviour=NATIVE)
    assert isinstance(node, Node)

    answer = answer_of(traced(node, simple("huge", "25Gi")), "memory")

    assert (answer.answer, answer.resources) == (AnswerKind.IMPOSSIBLE, ["memory"])
    assert answer.reason is not None
    assert answer.reason.code == NothingOffered.code
    assert {code(each) for each in answer.sets} == {TooLittleAllocatable.code}


def test_a_memory_manager_that_is_off_is_not_asked() -> None:
    found = told(simple("huge", "25Gi"), memoryManagerPolicy="None", reservedMemory=[])

    assert answer_of(found, "memory").answer is AnswerKind.NO_PREFERENCE
    assert found.allocated[0].chosen_among is None


def test_a_pod_that_is_not_guaranteed_asks_for_no_place() -> None:
    found = told(replace(narrow(), qos_class=QosClass.BURSTABLE))

    assert answer_of(found, "memory").answer is AnswerKind.NO_PREFERENCE
    assert found.allocated[0].memory == []


def test_a_request_that_is_no_integer_is_refused_without_sets() -> None:
    found = told(asking(narrow(), memory="1.5Gi"), policy="none")

    assert found.refusal is not None
    assert found.refusal.reason.code == "memory/not-an-integer"
    assert found.refusal.chosen_among is None


def test_a_page_size_that_no_node_has_crashes_before_anything_is_reported() -> None:
    found = told(simple("u", "1Gi", hugepages_2Mi="2Mi"))

    assert found.subjects == []
    assert found.decision.rejection is not None
    assert found.decision.rejection.code == "admission/kubelet-would-crash"
    unaligned = told(simple("u", "1Gi", hugepages_2Mi="2Mi"), policy="none")
    assert unaligned.refusal is not None
    assert unaligned.refusal.chosen_among is None


def test_without_a_policy_the_memory_managers_own_search_is_reported() -> None:
    found = told(narrow(), policy="none")

    (taken,) = found.allocated
    assert taken.chosen_among is not None
    assert [each.offered for each in taken.chosen_among.sets] == [True, True, True]
    assert [each.preferred for each in taken.chosen_among.sets] == [True, True, False]
    assert found.subjects == []


def test_memory_that_a_container_has_already_needs_no_search() -> None:
    begun = case(narrow(), narrow(), begun=session(config("none")))
    found = traced(begun.node, narrow())

    assert found.allocated[0].chosen_among is None
    assert found.decision.admitted


def test_a_set_that_would_cut_through_an_assignment_says_so() -> None:
    found = told(wide(), narrow())

    sets = answer_of(found, "memory").sets
    assert sets[2].why_not == reason_of(NodeInUse(0b11, 0, 0b01))
    assert sets[2].held_by == [ExplanationHolderDocument("default/narrow", "c")]


def test_pod_scope_has_one_subject_and_every_container_takes() -> None:
    found = told(pod("u", init("i", "4Gi"), container("a", "3Gi")), scope="pod")

    assert [each.subject for each in found.subjects] == ["pod"]
    assert [(each.container, each.memory[0].size_bytes >> 30) for each in found.allocated] == [
        ("i", 4),
        ("a", 3),
    ]


def test_cpus_and_devices_are_reported_with_their_nodes() -> None:
    begun = session(config(**STATIC_CPUS), devices=GPUS)
    asked = case(asking(narrow(), cpu="2", gpu="2"), begun=begun)
    found = story.trace(asked)

    (taken,) = found.allocated
    assert list(taken.cpus_by_node) == ["0"]
    assert len(cpu_set.parse(taken.cpus_by_node["0"])) == 2
    assert taken.devices == {GPU: ["g0", "g1"]}
    devices = answer_of(found, "device")
    assert (devices.resources, [each.preferred for each in devices.sets]) == (
        [GPU],
        [True, True, False],
    )


def test_what_is_impossible_has_its_reason() -> None:
    begun = session(config(**STATIC_CPUS))
    asked = case(asking(narrow(), cpu="16"), begun=begun)
    found = story.trace(asked)

    answer = answer_of(found, "cpu")
    assert answer.answer is AnswerKind.IMPOSSIBLE
    assert answer.reason is not None
    assert answer.reason.code == "cpu/no-nodes-fit"


def test_a_device_without_a_place_has_no_preference() -> None:
    begun = session(devices={GPU: (replace(GPUS[GPU][0], numa_nodes=()),)})  # type: ignore[index]
    asked = case(asking(narrow(), gpu="1"), begun=begun)
    found = story.trace(asked)

    assert answer_of(found, "device") == AnswerDocument(
        "device", [GPU], AnswerKind.NO_PREFERENCE, None, [], True, None
    )


def test_explicit_lists_tell_what_is_preferred_in_them() -> None:
    begun = case(narrow(), narrow())
    found = traced(begun.node, narrow())

    sets = answer_of(found, "memory").sets
    assert [(each.nodes, each.offered, each.preferred) for each in sets] == [
        ([0], True, True),
        ([1], False, None),
        ([0, 1], False, None),
    ]


BIG = config("best-effort", topologyManagerPolicyOptions={"max-allowable-numa-nodes": "16"})


@pytest.mark.parametrize("pods", [(), (simple("wide", "15Gi"),)], ids=["empty", "grouped"])
def test_on_many_nodes_the_sets_that_matter_are_reported(pods: tuple[Pod, ...]) -> None:
    asked = case(simple("three", "25Gi"), *pods, begun=session(BIG, shape("12n2c1t")))
    found = story.trace(asked)

    answer = answer_of(found, "memory")
    (subject,) = found.subjects
    masks = [numa_mask.of(each.nodes) for each in answer.sets]
    assert not answer.all_sets
    assert subject.finalists is None
    assert {1 << node for node in range(12)} < set(masks)
    assert len(masks) == len(set(masks)) < 60
    chosen = answer.sets[masks.index(numa_mask.of(subject.merged.nodes or ()))]
    assert (chosen.offered, chosen.preferred) == (True, True)


def test_on_many_nodes_a_list_is_not_read_for_what_it_prefers() -> None:
    begun = case(narrow(), narrow(), begun=session(BIG, shape("12n2c1t")))
    found = traced(begun.node, narrow())

    offered = [each for each in answer_of(found, "memory").sets if each.offered]
    assert [(each.nodes, each.preferred) for each in offered] == [([0], None)]


def test_where_no_set_was_chosen_no_neighbours_of_it_are_asked_about() -> None:
    huge = simple("huge", "500Gi")
    asked = case(
        huge, begun=session(replace(BIG, topology_manager_policy="none"), shape("12n2c1t"))
    )
    found = story.trace(asked)

    assert found.refusal is not None
    assert found.refusal.chosen_among is not None
    assert len(found.refusal.chosen_among.sets) == 13


def test_the_ranking_of_explicit_lists_is_the_merge_s() -> None:
    roster = session().node.roster
    lists = Candidates((Hint(0b01, False), Hint(0b11, True)))
    any_node = Candidates((Hint(None, True), Hint(0b10, True)))

    found = ranking.rank(roster, ({"a": lists}, {"b": any_node}, {}))
    assert found == ranking.Ranking((Hint(0b11, True),), 1, False)
