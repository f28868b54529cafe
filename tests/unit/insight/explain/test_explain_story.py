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
from numalet.core.model.pod import ContainerKey, Pod, QosClass
from numalet.core.node import node as nodes
from numalet.core.node.node import Node
from numalet.insight.explain import ranking, story
from numalet.insight.explain.considered_sets import AnswerKind, ProviderAnswer
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
    wide,
)


def told(pod: Pod, *queue: Pod, **options: object) -> Story:
    """The story of a pod after a queue."""
    asked = case(pod, *queue, begun=session(config(**options)))  # type: ignore[arg-type]
    return story.trace(asked.node, pod)


def answer_of(found: Story, provider: str) -> ProviderAnswer:
    """The one answer of a provider for the first subject."""
    (answer,) = (each for each in found.subjects[0].answers if each.provider == provider)
    return answer


def test_sets_that_are_not_offered_have_their_reason_and_who_holds_the_group() -> None:
    found = told(narrow(), wide())

    one, other, both = answer_of(found, "memory").sets
    holder = ContainerKey("wide", "c")
    assert (one.offered, one.reason, one.holders) == (False, NodeInGroup(0, 0b11), (holder,))
    assert (other.reason, other.preferred) == (NodeInGroup(1, 0b11), None)
    assert (both.offered, both.preferred, both.holders) == (True, False, ())
    assert found.decision.rejection is not None


def test_the_ranking_begins_with_what_the_policy_chose() -> None:
    (subject,) = told(narrow()).subjects

    assert subject.ranking == ranking.Ranking((Hint(0b01, True), Hint(0b10, True)), 1, False)
    assert subject.merged.affinity == Hint(0b01, True)


def test_without_a_common_preferred_set_all_sets_are_ranked() -> None:
    (subject,) = told(narrow(), wide()).subjects

    assert subject.ranking == ranking.Ranking((Hint(0b11, False),), 2, False)


def test_a_policy_that_can_use_no_hint_of_a_list_has_no_finalists() -> None:
    (subject,) = told(wide(), policy="single-numa-node").subjects

    assert subject.ranking is not None
    assert subject.ranking.finalists == ()
    assert subject.merged.affinity == Hint(None, False)


def test_distances_are_named_where_they_count() -> None:
    options = {"topologyManagerPolicyOptions": {"prefer-closest-numa-nodes": "true"}}
    (subject,) = told(narrow(), policy="best-effort", **options).subjects

    assert subject.ranking is not None
    assert subject.ranking.by_distance


def test_providers_without_a_preference_are_named() -> None:
    found = told(narrow())

    assert answer_of(found, "device") == ProviderAnswer("device", (), AnswerKind.NO_PREFERENCE)
    assert answer_of(found, "cpu").kind is AnswerKind.NO_PREFERENCE


def test_a_silent_memory_manager_is_asked_why() -> None:
    found = told(simple("huge", "25Gi"))

    answer = answer_of(found, "memory")
    assert (answer.kind, answer.resources) == (AnswerKind.NOTHING_FITS, ("memory",))
    assert all(isinstance(each.reason, TooLittleAllocatable) for each in answer.sets)
    assert found.refusal is not None
    assert found.refusal.considered is not None
    assert found.refusal.considered.kind is AnswerKind.NOTHING_FITS


def test_a_memory_manager_that_says_impossible_is_asked_why_too() -> None:
    node = nodes.start(config(), shape(), behaviour=NATIVE)
    assert isinstance(node, Node)

    answer = answer_of(story.trace(node, simple("huge", "25Gi")), "memory")

    assert (answer.kind, answer.resources) == (AnswerKind.IMPOSSIBLE, ("memory",))
    assert isinstance(answer.reason, NothingOffered)
    assert all(isinstance(each.reason, TooLittleAllocatable) for each in answer.sets)


def test_a_memory_manager_that_is_off_is_not_asked() -> None:
    found = told(simple("huge", "25Gi"), memoryManagerPolicy="None", reservedMemory=[])

    assert answer_of(found, "memory").kind is AnswerKind.NO_PREFERENCE
    assert found.allocated[0].considered is None


def test_a_pod_that_is_not_guaranteed_asks_for_no_place() -> None:
    found = told(replace(narrow(), qos_class=QosClass.BURSTABLE))

    assert answer_of(found, "memory").kind is AnswerKind.NO_PREFERENCE
    assert found.allocated[0].memory == ()


def test_a_request_that_is_no_integer_is_refused_without_sets() -> None:
    found = told(asking(narrow(), memory="1.5Gi"), policy="none")

    assert found.refusal is not None
    assert found.refusal.reason.code == "memory/not-an-integer"
    assert found.refusal.considered is None


def test_a_page_size_that_no_node_has_crashes_before_anything_is_reported() -> None:
    found = told(simple("u", "1Gi", hugepages_2Mi="2Mi"))

    assert found.subjects == ()
    assert found.decision.rejection is not None
    assert found.decision.rejection.code == "admission/kubelet-would-crash"
    unaligned = told(simple("u", "1Gi", hugepages_2Mi="2Mi"), policy="none")
    assert unaligned.refusal is not None
    assert unaligned.refusal.considered is None


def test_without_a_policy_the_memory_managers_own_search_is_reported() -> None:
    found = told(narrow(), policy="none")

    (taken,) = found.allocated
    assert taken.considered is not None
    assert [each.offered for each in taken.considered.sets] == [True, True, True]
    assert [each.preferred for each in taken.considered.sets] == [True, True, False]
    assert found.subjects == ()


def test_memory_that_a_container_has_already_needs_no_search() -> None:
    begun = case(narrow(), narrow(), begun=session(config("none")))
    found = story.trace(begun.node, narrow())

    assert found.allocated[0].considered is None
    assert found.decision.admitted


def test_a_set_that_would_cut_through_an_assignment_says_so() -> None:
    found = told(wide(), narrow())

    sets = answer_of(found, "memory").sets
    assert sets[2].reason == NodeInUse(0b11, 0, 0b01)
    assert sets[2].holders == (ContainerKey("narrow", "c"),)


def test_pod_scope_has_one_subject_and_every_container_takes() -> None:
    found = told(pod("u", init("i", "4Gi"), container("a", "3Gi")), scope="pod")

    assert [each.name for each in found.subjects] == ["pod"]
    assert [(each.container, each.memory[0].size_bytes >> 30) for each in found.allocated] == [
        ("i", 4),
        ("a", 3),
    ]


def test_cpus_and_devices_are_reported_with_their_nodes() -> None:
    begun = session(config(**STATIC_CPUS), devices=GPUS)
    asked = case(asking(narrow(), cpu="2", gpu="2"), begun=begun)
    found = story.trace(asked.node, asked.pod)

    (taken,) = found.allocated
    assert list(taken.cpus) == [0]
    assert len(taken.cpus[0]) == 2
    assert taken.devices == {GPU: ("g0", "g1")}
    devices = answer_of(found, "device")
    assert (devices.resources, [each.preferred for each in devices.sets]) == (
        (GPU,),
        [True, True, False],
    )


def test_what_is_impossible_has_its_reason() -> None:
    begun = session(config(**STATIC_CPUS))
    asked = case(asking(narrow(), cpu="16"), begun=begun)
    found = story.trace(asked.node, asked.pod)

    answer = answer_of(found, "cpu")
    assert answer.kind is AnswerKind.IMPOSSIBLE
    assert answer.reason is not None
    assert answer.reason.code == "cpu/no-nodes-fit"


def test_a_device_without_a_place_has_no_preference() -> None:
    begun = session(devices={GPU: (replace(GPUS[GPU][0], numa_nodes=()),)})  # type: ignore[index]
    asked = case(asking(narrow(), gpu="1"), begun=begun)
    found = story.trace(asked.node, asked.pod)

    assert answer_of(found, "device") == ProviderAnswer("device", (GPU,), AnswerKind.NO_PREFERENCE)


def test_explicit_lists_tell_what_is_preferred_in_them() -> None:
    begun = case(narrow(), narrow())
    found = story.trace(begun.node, narrow())

    sets = answer_of(found, "memory").sets
    assert [(each.mask, each.offered, each.preferred) for each in sets] == [
        (0b01, True, True),
        (0b10, False, None),
        (0b11, False, None),
    ]


BIG = config("best-effort", topologyManagerPolicyOptions={"max-allowable-numa-nodes": "16"})


@pytest.mark.parametrize("pods", [(), (simple("wide", "15Gi"),)], ids=["empty", "grouped"])
def test_on_many_nodes_the_sets_that_matter_are_reported(pods: tuple[Pod, ...]) -> None:
    asked = case(simple("three", "25Gi"), *pods, begun=session(BIG, shape("12n2c1t")))
    found = story.trace(asked.node, asked.pod)

    answer = answer_of(found, "memory")
    (subject,) = found.subjects
    masks = [each.mask for each in answer.sets]
    assert not answer.is_complete
    assert subject.ranking is None
    assert subject.merged.affinity.mask in masks
    assert {1 << node for node in range(12)} < set(masks)
    assert len(masks) == len(set(masks)) < 60
    chosen = answer.sets[masks.index(subject.merged.affinity.mask or 0)]
    assert (chosen.offered, chosen.preferred) == (True, True)


def test_on_many_nodes_a_list_is_not_read_for_what_it_prefers() -> None:
    begun = case(narrow(), narrow(), begun=session(BIG, shape("12n2c1t")))
    found = story.trace(begun.node, narrow())

    offered = [each for each in answer_of(found, "memory").sets if each.offered]
    assert [(each.mask, each.preferred) for each in offered] == [(0b01, None)]


def test_where_no_set_was_chosen_no_neighbours_of_it_are_asked_about() -> None:
    huge = simple("huge", "500Gi")
    asked = case(
        huge, begun=session(replace(BIG, topology_manager_policy="none"), shape("12n2c1t"))
    )
    found = story.trace(asked.node, huge)

    assert found.refusal is not None
    assert found.refusal.considered is not None
    assert len(found.refusal.considered.sets) == 13


def test_the_ranking_of_explicit_lists_is_the_merge_s() -> None:
    roster = session().node.roster
    lists = Candidates((Hint(0b01, False), Hint(0b11, True)))
    any_node = Candidates((Hint(None, True), Hint(0b10, True)))

    found = ranking.rank(roster, ({"a": lists}, {"b": any_node}, {}))
    assert found == ranking.Ranking((Hint(0b11, True),), 1, False)
