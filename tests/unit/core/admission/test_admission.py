"""From a snapshot and a pod to a decision."""

from __future__ import annotations

import sys
from dataclasses import replace
from types import FrameType

import pytest

from numalet.core.admission.decision import Alignment
from numalet.core.admission.reasons import AllocationRefused, KubeletWouldCrash, NotAligned
from numalet.core.config.behaviour import EXACT
from numalet.core.config.rules import MemoryPolicy, NodeRules, Scope, TopologyPolicy, TopologyRules
from numalet.core.hints.policies import Merged
from numalet.core.hints.provider import Hint
from numalet.core.managers.memory.reasons import CutsGroup, NoNodeFits, UnknownMemoryType
from numalet.core.model.machine_info import OperatingSystem
from numalet.core.model.pod import ContainerKey, QosClass
from numalet.core.node.node import Node
from numalet.wording import kubelet
from values import builders
from values.builders import GI, aligned, container, init, node, pod, rules, simple

TWO = builders.machine(10, 10)
RESTRICTED = rules(TWO, aligned(TopologyPolicy.RESTRICTED))


def reserved(of: Node) -> list[int]:
    return [n.tables["memory"].reserved // GI for n in of.snapshot.memory.nodes.values()]


def test_an_admitted_pod_is_active_and_holds_its_memory() -> None:
    before = node(RESTRICTED)
    after, decision = before.admit(simple("u", "4Gi"))

    assert decision.admitted
    assert kubelet.reason(decision.rejection) == kubelet.message(decision.rejection) == ""
    assert decision.alignments["c"].merged == Merged(Hint(0b01, True), True)
    assert decision.affinities == {"c": Hint(0b01, True)}
    assert list(after.snapshot.pods) == ["u"]
    assert reserved(after) == [4, 0]
    assert (decision.before, decision.after) == (before.snapshot, after.snapshot)
    assert after.snapshot.revision == 1


def test_admission_never_changes_the_snapshot_it_was_given() -> None:
    before = node(RESTRICTED)
    kept = before.state_files()
    before.admit(simple("u", "4Gi"))

    assert before.state_files() == kept


def test_the_policy_rejects_with_the_kubelets_words() -> None:
    grouped, _ = node(RESTRICTED).admit(simple("big", "15Gi"))
    after, decision = grouped.admit(simple("small", "5Gi"))

    assert decision.rejection == NotAligned("c", "restricted", Hint(0b11, False))
    assert kubelet.status(decision.rejection) == {
        "phase": "Failed",
        "reason": "TopologyAffinityError",
        "message": "Pod was rejected: Resources cannot be allocated with Topology locality",
    }
    assert kubelet.event(decision.rejection) == {
        "type": "Warning",
        "reason": "TopologyAffinityError",
        "message": "Resources cannot be allocated with Topology locality",
    }
    assert list(after.snapshot.pods) == ["big"]


def test_lack_of_memory_passes_the_merge_and_fails_in_allocation() -> None:
    crowded = node(RESTRICTED)
    for uid, memory in (("a", "8Gi"), ("b", "3Gi")):
        crowded, _ = crowded.admit(simple(uid, memory))
    _, decision = crowded.admit(simple("c", "8Gi"))

    assert decision.rejection == AllocationRefused("c", "memory", CutsGroup("c", 0b11, 0, 0b01))
    assert kubelet.reason(decision.rejection) == "UnexpectedAdmissionError"
    assert kubelet.message(decision.rejection) == (
        "Allocate failed due to [memorymanager] preferred hint violates NUMA node allocation,"
        " which is unexpected"
    )


def test_a_refusal_leaves_records_behind_until_the_next_admission() -> None:
    one = pod("u", container("a", "4Gi"), container("b", "25Gi"))
    refused, decision = node(rules(TWO)).admit(one)

    assert decision.rejection == AllocationRefused("b", "memory", NoNodeFits("b"))
    assert decision.left_behind == (ContainerKey("u", "a"),) == refused.leftovers()
    assert reserved(refused) == [4, 0]
    cleaned, _ = refused.admit(pod("v", qos=QosClass.BEST_EFFORT))
    assert reserved(cleaned) == [4, 0], "a pod without containers asks nobody"
    cleaned, _ = refused.admit(pod("w", container("x"), qos=QosClass.BEST_EFFORT))
    assert reserved(cleaned) == [0, 0]


def test_release_at_once_leaves_nothing_behind() -> None:
    at_once = replace(rules(TWO), behaviour=replace(EXACT, release_at_once=True))
    one = pod("u", container("a", "4Gi"), container("b", "25Gi"))
    refused, decision = node(at_once).admit(one)

    assert decision.left_behind == ()
    assert reserved(refused) == [0, 0]
    admitted, _ = node(at_once).admit(simple("v", "4Gi"))
    assert reserved(admitted.remove("v")) == [0, 0]


def test_a_removed_pod_keeps_its_memory_until_the_next_admission() -> None:
    admitted, _ = node(RESTRICTED).admit(simple("u", "4Gi"))
    removed = admitted.remove("u")

    assert (reserved(removed), removed.leftovers()) == ([4, 0], (ContainerKey("u", "c"),))
    assert removed.snapshot.affinities == {}
    after, _ = removed.admit(simple("v", "1Gi"))
    assert reserved(after) == [1, 0]


def test_nothing_stale_goes_before_all_sources_are_ready() -> None:
    admitted, _ = node(RESTRICTED).admit(simple("gone", "9Gi"))
    restarted = node(RESTRICTED, admitted.state_files())
    waiting = restarted.at(replace(restarted.snapshot, sources_ready=False))

    still, decision = waiting.admit(simple("v", "9Gi"))
    assert (decision.affinities, reserved(still)) == ({"c": Hint(0b10, True)}, [9, 9])
    ready, decision = waiting.sources_ready().admit(simple("v", "9Gi"))
    assert (decision.affinities, reserved(ready)) == ({"c": Hint(0b01, True)}, [9, 0])


def test_containers_found_in_state_files_can_be_assumed_running() -> None:
    admitted, _ = node(RESTRICTED).admit(simple("u", "9Gi"))
    restarted = node(RESTRICTED, admitted.state_files()).assume_running([ContainerKey("u", "c")])

    after, _ = restarted.admit(simple("v", "9Gi"))
    assert reserved(after) == [9, 9]
    known, _ = after.admit(simple("u", "9Gi"))
    assert known.snapshot.assumed == frozenset()
    forgotten = after.remove("u")
    assert forgotten.leftovers() == (ContainerKey("u", "c"),)


def test_pod_scope_stores_one_affinity_for_all_containers() -> None:
    scoped = rules(TWO, aligned(TopologyPolicy.RESTRICTED, Scope.POD))
    after, decision = node(scoped).admit(
        pod("u", container("a", "6Gi"), container("b", "6Gi"), init("i", "1Gi"))
    )

    assert list(decision.alignments) == ["pod"]
    assert decision.affinities == dict.fromkeys("iab", Hint(0b11, True))
    assert reserved(after) == [10, 2]


def test_pod_scope_rejects_the_pod_as_one() -> None:
    scoped = rules(TWO, aligned(TopologyPolicy.SINGLE_NUMA_NODE, Scope.POD))
    _, decision = node(scoped).admit(pod("u", container("a", "6Gi"), container("b", "6Gi")))

    assert decision.rejection == NotAligned("pod", "single-numa-node", Hint(None, False))


def test_pod_scope_fails_at_the_container_that_finds_no_room() -> None:
    scoped = rules(TWO, aligned(TopologyPolicy.BEST_EFFORT, Scope.POD))
    _, decision = node(scoped).admit(pod("u", container("a", "15Gi"), container("b", "15Gi")))

    assert isinstance(decision.rejection, AllocationRefused)
    assert decision.rejection.container == "b"


def test_container_scope_keeps_what_earlier_containers_got() -> None:
    _, decision = node(RESTRICTED).admit(
        pod("u", container("a", "4Gi"), container("b", "15Gi"), container("never", "1Gi"))
    )

    assert list(decision.alignments) == ["a", "b"]
    assert decision.left_behind == (ContainerKey("u", "a"),)


CRASH = pod("u", container("c", "1Gi", hugepages_2Mi="2Mi"))


@pytest.mark.parametrize(
    "topology", [TopologyRules(), aligned(TopologyPolicy.RESTRICTED)], ids=["allocate", "hints"]
)
def test_where_the_kubelet_would_crash_the_pod_is_refused(topology: TopologyRules) -> None:
    _, decision = node(rules(TWO, topology)).admit(CRASH)

    assert decision.rejection == KubeletWouldCrash(
        "c", "memory", UnknownMemoryType("hugepages-2Mi", 0)
    )
    assert kubelet.reason(decision.rejection) == "KubeletWouldCrash"
    assert "would crash" in kubelet.message(decision.rejection)
    if topology.policy is not TopologyPolicy.NONE:
        assert decision.alignments["c"] == Alignment({"device": {}, "cpu": {}}, None)


def test_the_policy_none_asks_nobody_and_stores_nothing() -> None:
    after, decision = node(rules(TWO)).admit(simple("u", "4Gi"))

    assert (decision.alignments, decision.affinities) == ({}, {})
    assert reserved(after) == [4, 0]


def test_memory_policy_none_holds_nothing() -> None:
    after, decision = node(rules(TWO, policy=MemoryPolicy.NONE)).admit(simple("u", "19Gi"))

    assert decision.admitted
    assert after.pod_started("u").leftovers() == ()


def test_prefer_closest_uses_the_distances_by_node_id() -> None:
    rows = ((10, 40, 20), (40, 10, 40), (20, 40, 10))
    far = builders.machine(10, 10, 10, distances=rows)
    close = TopologyRules(policy=TopologyPolicy.RESTRICTED, prefer_closest_numa_nodes=True)

    _, decision = node(rules(far, close)).admit(simple("u", "15Gi"))

    assert decision.affinities == {"c": Hint(0b101, True)}


def test_distances_by_position_do_not_mind_gaps_in_node_ids() -> None:
    rows = ((10, 40, 20), (40, 10, 40), (20, 40, 10))
    gaps = builders.machine(10, 10, 10, node_ids=(0, 4, 9), distances=rows)
    close = TopologyRules(policy=TopologyPolicy.BEST_EFFORT, prefer_closest_numa_nodes=True)
    corrected = replace(rules(gaps, close), behaviour=replace(EXACT, distances_by_node_id=False))

    _, decision = node(corrected).admit(simple("u", "15Gi"))

    assert decision.affinities == {"c": Hint(1 | 1 << 9, True)}


def test_windows_without_its_gate_admits_everything_and_stores_nothing() -> None:
    windows = replace(TWO, os=OperatingSystem.WINDOWS)
    stand_ins = replace(rules(windows), managers_are_stand_ins=True)
    after, decision = node(stand_ins).admit(simple("u", "19Gi"))

    assert decision.admitted
    assert after.state_files() == {}
    assert reserved(after) == []


def test_windows_asks_in_another_order() -> None:
    windows = replace(TWO, os=OperatingSystem.WINDOWS)
    best_effort: NodeRules = replace(
        rules(windows, aligned(TopologyPolicy.BEST_EFFORT), policy=MemoryPolicy.BEST_EFFORT)
    )
    _, decision = node(best_effort).admit(simple("u", "4Gi"))

    assert list(decision.alignments["c"].hints) == ["cpu", "memory", "device"]


def test_containers_start_in_their_order_and_end_the_ones_before() -> None:
    one = pod("u", init("i", "7Gi"), container("c", "2Gi"))
    admitted, _ = node(RESTRICTED).admit(one)

    first = admitted.container_started(ContainerKey("u", "i"))
    assert reserved(first) == [7, 0]
    assert reserved(admitted.pod_started("u")) == [2, 0]
    with pytest.raises(KeyError):
        admitted.container_started(ContainerKey("u", "unknown"))


def test_what_is_stale_is_looked_for_once_in_an_admission() -> None:
    """So the steps that a pod costs are as many as its containers, and not their square."""
    empty = node(RESTRICTED)
    left = empty.admit(simple("v", "1Gi"))[0].remove("v")
    unknown = left.at(replace(left.snapshot))
    looks: list[str] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_name in ("forget_stale", "forget_pods"):
            looks.append(type(frame.f_locals["self"]).__name__)

    counts = []
    for before, number in ((left, 1), (left, 20), (unknown, 1), (unknown, 20), (empty, 20)):
        containers = tuple(container(f"c{each}", memory="1Mi") for each in range(number))
        sys.setprofile(note)
        try:
            before.admit(pod("u", *containers))
        finally:
            sys.setprofile(None)
        counts.append(len(looks))
        looks.clear()
    assert counts[0] == counts[1] > 0
    assert counts[2] == counts[3] > 0
    # Nothing is looked for where nothing can be.
    assert counts[4] == 0


def test_the_affinities_of_a_rejected_pod_do_not_stay() -> None:
    """Or a node would keep those of every pod that it ever rejected."""
    one = node(rules(builders.machine(10, 10), aligned(TopologyPolicy.BEST_EFFORT)))
    after, decision = one.admit(pod("u", container("a", "4Gi"), container("b", "25Gi")))

    assert not decision.admitted
    assert decision.affinities.keys() == {"a", "b"}
    assert after.snapshot.affinities == {}


def test_a_pod_that_is_rejected_when_it_asks_again_leaves_the_others_as_they_are() -> None:
    one = node(rules(builders.machine(10, 10), aligned(TopologyPolicy.BEST_EFFORT)))
    before = one.admit(simple("v", "1Gi"))[0].admit(simple("u", "1Gi"))[0]
    after, decision = before.remove("u").admit(simple("u", "25Gi"))
    again, refused = before.admit(pod("u", container("d", "25Gi")))

    assert not decision.admitted
    assert not refused.admitted
    for each in (after, again):
        assert list(each.snapshot.pods) == ["v"]
        assert each.snapshot.requested == one.admit(simple("v", "1Gi"))[0].snapshot.requested
    assert after.snapshot.affinities.keys() == {"v"}
    assert again.snapshot.affinities["u"].keys() == {"c", "d"}
