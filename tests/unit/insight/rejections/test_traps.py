"""Which nodes get the taint, and when it is taken off."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import pytest

from numalet.core.cluster.cluster import (
    ClusterNode,
    ClusterPod,
    Controller,
    Taint,
    TaintEffect,
    Toleration,
    UndecidedNode,
)
from numalet.core.findings.cluster import ClusterNodeWithoutClass
from numalet.insight.fleet.keeping_away import TAINT_KEY
from numalet.insight.rejections.actions import Action, LiftCause, LiftTaint, TaintNode
from numalet.insight.rejections.planning import BreakerState
from numalet.insight.rejections.rejected_pod import RejectedPod, shape_digest
from numalet.insight.rejections.rules import BreakerRules, BreakerScope
from numalet.insight.rejections.shape_questions import BreakerFacts
from numalet.insight.rejections.trap_taints import TrapMemory
from values.pod_storms import (
    START,
    USUAL,
    big,
    facts,
    full,
    listed,
    marked,
    on,
    plan,
    rejection,
    roomy,
    split,
)

SHAPE = shape_digest(big())
WAITS = [big("w")]
OTHERS = [full(f"f{at:02d}") for at in range(20)]
SPLIT = [split("n0"), split("n1")]


def storm(*nodes: str, at_seconds: float = START, prefix: str = "p") -> list[RejectedPod]:
    return [rejection(f"{prefix}{at}", node, at_seconds) for at, node in enumerate(nodes)]


def tainted(actions: Iterable[Action]) -> list[str]:
    return [each.node for each in actions if isinstance(each, TaintNode)]


def lifted(actions: Iterable[Action]) -> dict[str, str]:
    return {each.node: each.why for each in actions if isinstance(each, LiftTaint)}


def given(*nodes: ClusterNode, waits: bool = True) -> BreakerFacts:
    return facts([*nodes, *OTHERS], WAITS if waits else ())


def with_taint(until_seconds: float = START + 300, node: ClusterNode = SPLIT[0]) -> ClusterNode:
    return marked(node, until_seconds, SHAPE)


def unknown(nodes: Sequence[str]) -> BreakerFacts:
    """Nodes about which nothing can be decided."""
    there = facts([*map(split, nodes), *OTHERS], WAITS)
    undecided = {
        name: UndecidedNode(name=name, why=ClusterNodeWithoutClass(node=name)) for name in nodes
    }
    kept = {name: each for name, each in there.cluster.nodes.items() if name not in undecided}
    return replace(there, cluster=replace(there.cluster, nodes=kept, undecided=undecided))


def test_in_a_storm_one_rejection_is_enough_where_the_engine_refuses_too() -> None:
    state, actions = plan(storm("n0", "n0", "n0", "n0", "n1"), given(*SPLIT))
    assert tainted(actions) == ["n0", "n1"]
    (first, _) = [each for each in actions if isinstance(each, TaintNode)]
    assert (first.shape, first.until_seconds) == (SHAPE, START + 300)
    assert first.owner == "Deployment default/web"
    assert first.why == "rejected 4 of the pods of Deployment default/web within 60 s"
    assert state.again_at_seconds == START + 5


def test_where_the_engine_knows_nothing_of_a_node_two_rejections_make_a_trap() -> None:
    _, actions = plan(storm("n0", "n0", "n0", "n0", "n1"), unknown(["n0", "n1"]))
    assert tainted(actions) == ["n0"]


def test_where_the_engine_would_admit_the_pod_two_rejections_make_a_trap() -> None:
    there = given(roomy("n0"), roomy("n1"))
    _, actions = plan(storm("n0", "n0", "n0", "n0", "n1"), there)
    assert tainted(actions) == ["n0"]


def test_fewer_rejections_than_a_storm_make_no_trap() -> None:
    _, actions = plan(storm("n0", "n0", "n0", "n0"), given(*SPLIT))
    assert actions == ()


def test_pods_that_are_gone_already_count_where_their_shape_is_not_known_any_more() -> None:
    state, _ = plan(storm("n0", "n0", "n1", "n1"), given(*SPLIT, waits=False))
    late = rejection("late", "n0", START + 1)
    other = [replace(late, pod=on(big("late"), "n0")), *storm("n0", prefix="q")]
    state, _ = plan(other, facts(OTHERS), START + 1, before=state)
    _, actions = plan((), given(*SPLIT, waits=False), START + 2, before=state)
    assert tainted(actions) == ["n0", "n1"]


@pytest.mark.parametrize(
    "changed",
    [
        replace(big(), tolerations=(Toleration(exists=True),)),
        replace(big(), controller=Controller("DaemonSet", "agent")),
    ],
)
def test_a_taint_that_would_keep_no_pod_away_or_leave_it_nowhere_else_is_not_set(
    changed: ClusterPod,
) -> None:
    pods = [rejection(f"p{at}", "n0", pod=_named(changed, f"p{at}")) for at in range(5)]
    _, actions = plan(pods, given(*SPLIT, waits=False))
    assert [each.verb for each in actions] == ["inform", "prune", "prune"]


def _named(pod: ClusterPod, uid: str) -> ClusterPod:
    return on(replace(pod, pod=replace(pod.pod, uid=uid)), "n0")


def test_pods_out_of_the_scope_do_not_count() -> None:
    rules = BreakerRules(scope=BreakerScope(without_namespaces=("default",)))
    _, actions = plan(storm(*["n0"] * 5), given(*SPLIT), rules=rules)
    assert actions == ()


def test_no_more_nodes_than_the_cap_those_first_that_rejected_most() -> None:
    nodes = [*[split(f"n{at}") for at in range(4)], roomy("r0")]
    pods = storm("n0", "n1", "n1", "n2", "n2", "n2", "n3")
    _, actions = plan(pods, given(*nodes))
    assert tainted(actions) == ["n2", "n1"]
    (event,) = [each.why for each in actions if each.verb == "inform"]
    assert "2 trap nodes had to be left without a taint: at most 10 % of a pool" in event


def test_a_taint_on_some_of_many_traps_is_in_vain() -> None:
    nodes = [split(f"n{at}") for at in range(4)]
    pods = storm("n0", "n0", "n0", "n0", "n0")
    _, actions = plan(pods, given(*nodes))
    assert tainted(actions) == []
    (event,) = [each.why for each in actions if each.verb == "inform"]
    assert "4 trap nodes had to be left without a taint" in event


@pytest.mark.parametrize(
    "changed",
    [
        replace(SPLIT[0], is_cordoned=True),
        replace(SPLIT[0], is_ready=False),
        replace(SPLIT[0], taints=(Taint(TAINT_KEY, "", TaintEffect.NO_SCHEDULE),)),
    ],
)
def test_a_node_that_is_sent_no_pods_any_more_needs_no_taint(changed: ClusterNode) -> None:
    _, actions = plan(storm(*["n0"] * 5), given(changed, roomy("r0")))
    assert tainted(actions) == []


def test_a_node_that_is_gone_gets_none() -> None:
    _, actions = plan(storm(*["gone"] * 5), given(roomy("r0")))
    assert tainted(actions) == []


def test_a_taint_that_is_not_seen_yet_counts_and_is_set_again_after_a_while() -> None:
    nodes = [*[split(f"n{at}") for at in range(3)], roomy("r0")]
    pods = storm("n0", "n0", "n0", "n1", "n1", "n1", "n2", "n2")
    state, actions = plan(pods, given(*nodes))
    assert tainted(actions) == ["n0", "n1"]
    state, actions = plan(pods, given(*nodes), START + 4, before=state)
    assert tainted(actions) == []
    # It failed, or another one has overwritten it; or it is there, and the view is late.
    state, actions = plan(pods, given(*nodes), START + 5, before=state)
    assert tainted(actions) == ["n0", "n1"]
    assert {each.until_seconds for each in actions if isinstance(each, TaintNode)} == {START + 305}
    _, actions = plan(pods, given(*nodes), START + 9, before=state)
    assert tainted(actions) == []


def test_a_taint_that_was_seen_and_is_gone_is_not_on_its_way() -> None:
    pods = storm("n0", "n0", "n0", "n1", "n1", "n1", "n2", "n2")
    without = [*[split(f"n{at}") for at in range(3)], roomy("r0")]
    state, actions = plan(pods, given(*without))
    assert tainted(actions) == ["n0", "n1"]
    both = [with_taint(node=each) for each in without[:2]]
    state, actions = plan(pods, given(*both, *without[2:]), START + 1, before=state)
    assert tainted(actions) == []
    # Another one has taken it off n0.
    state, actions = plan(pods, given(without[0], both[1], *without[2:]), START + 2, before=state)
    assert tainted(actions) == ["n0"]


def test_a_taint_that_was_taken_off_too_soon_is_set_again_at_the_next_rejection() -> None:
    pods = storm(*["n0"] * 5)
    state, _ = plan(pods, given(SPLIT[0], roomy("r0")))
    state, _ = plan(pods, given(with_taint(), roomy("r0")), START + 0.1, before=state)
    # A view whose parts are not equally late shows room where there is none.
    mistaken = given(with_taint(node=roomy("n0")), roomy("r0"))
    state, actions = plan(pods, mistaken, START + 0.2, before=state)
    assert lifted(actions) == {"n0": LiftCause.ROOM.value}
    state, actions = plan(pods, given(SPLIT[0], roomy("r0")), START + 0.3, before=state)
    assert tainted(actions) == []
    pods += storm("n0", at_seconds=START + 0.4, prefix="q")
    state, actions = plan(pods, given(SPLIT[0], roomy("r0")), START + 0.4, before=state)
    assert tainted(actions) == ["n0"]


def test_a_taint_is_taken_off_when_its_time_is_over() -> None:
    node = with_taint(START)
    state, actions = plan((), given(node, waits=False))
    assert lifted(actions) == {"n0": LiftCause.EXPIRED.value}
    # Until it is seen to be gone it is tried again, but not at once.
    state, actions = plan((), given(node, waits=False), START + 1, before=state)
    assert actions == ()
    _, actions = plan((), given(node, waits=False), START + 31, before=state)
    assert lifted(actions) == {"n0": LiftCause.EXPIRED.value}


def test_an_end_that_the_breaker_would_not_set_is_none() -> None:
    _, actions = plan((), given(with_taint(START + 3661)))
    assert lifted(actions) == {"n0": LiftCause.FAR.value}
    _, actions = plan((), given(with_taint(START + 3659)))
    assert lifted(actions) == {}


def test_a_taint_is_taken_off_as_soon_as_room_appears() -> None:
    state, actions = plan((), given(with_taint()))
    assert lifted(actions) == {}
    state, actions = plan((), given(with_taint(node=roomy("n0"))), START + 1, before=state)
    assert lifted(actions) == {"n0": LiftCause.ROOM.value}


def test_where_the_engine_never_refused_a_pause_has_to_pass() -> None:
    node = with_taint(START + 300, roomy("n0"))
    state, actions = plan((), given(node))
    assert lifted(actions) == {}
    assert state.again_at_seconds == START + 10
    _, actions = plan((), given(node), START + 9, before=state)
    assert lifted(actions) == {}
    _, actions = plan((), given(node), START + 10, before=state)
    assert lifted(actions) == {"n0": LiftCause.ROOM.value}


def test_the_pause_gets_longer_each_time_and_comes_before_every_lift_in_the_end() -> None:
    often = TrapMemory(times=4, tainted_at_seconds=START, until_seconds=START, was_refused=True)
    assert not often.may_be_lifted(START + 79)
    assert often.may_be_lifted(START + 80)
    rarely = replace(often, times=3)
    assert rarely.may_be_lifted(START)
    assert not replace(often, times=100).may_be_lifted(START + 599)
    assert replace(often, times=100).may_be_lifted(START + 600)


def test_a_taint_that_comes_again_lasts_longer_and_needs_one_rejection() -> None:
    state, _ = plan(storm(*["n0"] * 5), given(SPLIT[0], roomy("r0")))
    lasting = START + 300
    node = with_taint(lasting)
    state, actions = plan((), given(node, roomy("r0")), lasting, before=state)
    assert lifted(actions) == {"n0": LiftCause.EXPIRED.value}
    again = storm("n0", at_seconds=lasting + 1, prefix="q")
    state, actions = plan(again, given(SPLIT[0], roomy("r0")), lasting + 1, before=state)
    (action,) = [each for each in actions if isinstance(each, TaintNode)]
    assert action.until_seconds == lasting + 1 + 600
    far = replace(state.traps["n0", SHAPE], times=50)
    assert far.taint_seconds(USUAL) == 3600


def test_rejections_from_before_a_lift_do_not_bring_the_taint_back() -> None:
    pods = storm(*["n0"] * 5)
    state, _ = plan(pods, given(SPLIT[0], roomy("r0")))
    node = with_taint()
    state, _ = plan(pods, given(node, roomy("r0")), START + 1, before=state)
    state, actions = plan(
        pods, given(with_taint(node=roomy("n0")), roomy("r0")), START + 2, before=state
    )
    assert lifted(actions) == {"n0": LiftCause.ROOM.value}
    _, actions = plan(pods, given(roomy("n0"), roomy("r0")), START + 40, before=state)
    assert tainted(actions) == []


def test_of_several_shapes_the_last_lift_of_a_node_counts() -> None:
    lifted_at = {("n0", "a"): START - 1, ("n0", SHAPE): START - 5, ("n1", "a"): None}
    state = BreakerState(
        traps={
            key: TrapMemory(
                times=1,
                tainted_at_seconds=START - 50,
                until_seconds=START,
                lifted_at_seconds=at,
            )
            for key, at in lifted_at.items()
        }
    )
    pods = storm(*["n0"] * 5, at_seconds=START - 3)
    _, actions = plan(pods, given(*SPLIT), before=state)
    assert tainted(actions) == []


def test_a_taint_is_taken_off_when_no_pod_of_the_shape_waits_any_more() -> None:
    node = with_taint()
    _, actions = plan((), given(with_taint(START + 200), waits=False))
    assert lifted(actions) == {"n0": LiftCause.CALM.value}
    # One that was set a moment ago is given time: pods are still on their way to their queue.
    state, _ = plan(storm(*["n0"] * 5), given(SPLIT[0], roomy("r0"), waits=False))
    state, actions = plan((), given(node, waits=False), START + 59, before=state)
    assert lifted(actions) == {}
    _, actions = plan((), given(node, waits=False), START + 60, before=state)
    assert lifted(actions) == {"n0": LiftCause.CALM.value}
    _, actions = plan(storm("n1"), given(node, waits=False))
    assert lifted(actions) == {}


def test_a_taint_is_renewed_in_its_last_half_while_pods_wait_and_the_node_refuses() -> None:
    def renewed(until: float, waits: bool = True, node: ClusterNode = SPLIT[0]) -> list[float]:
        _, actions = plan((), given(with_taint(until, node), waits=waits))
        return [each.until_seconds for each in actions if isinstance(each, TaintNode)]

    assert renewed(START + 151) == []
    assert renewed(START + 150) == [START + 300]
    assert renewed(START + 150, waits=False) == []
    assert renewed(START + 150, node=roomy("n0")) == []
    # Who waits for a node to be known again waits for the end of the taint.
    unread = unknown(["n0"])
    nodes = {**unread.nodes, "n0": listed(with_taint(START + 150))}
    _, actions = plan((), replace(unread, nodes=nodes))
    assert actions == ()


def test_a_taint_is_renewed_once_and_not_when_it_is_on_its_way_off() -> None:
    state, actions = plan((), given(with_taint(START + 150)))
    (action,) = actions
    assert isinstance(action, TaintNode)
    assert action.is_renewal
    _, actions = plan((), given(with_taint(START + 150)), START + 1, before=state)
    assert actions == ()
    memory = TrapMemory(
        times=1,
        tainted_at_seconds=START - 150,
        until_seconds=START + 150,
        was_refused=True,
        lifted_at_seconds=START - 40,
    )
    before = BreakerState(traps={("n0", SHAPE): memory})
    _, actions = plan((), given(with_taint(START + 150)), before=before)
    assert actions == ()


def test_a_pool_that_got_smaller_has_fewer_taints() -> None:
    nodes = [with_taint(node=each) for each in SPLIT]
    few = facts([*nodes, *OTHERS[:10]], WAITS)
    _, actions = plan((), few)
    assert lifted(actions) == {"n0": LiftCause.CAP.value}
    _, actions = plan((), given(*nodes))
    assert lifted(actions) == {}


def test_one_node_is_given_back_when_others_keep_pods_away_from_all_the_rest() -> None:
    nodes = [with_taint(node=each) for each in SPLIT]
    cordoned = [replace(each, is_cordoned=True) for each in OTHERS]
    state, actions = plan((), facts([*nodes, *cordoned], WAITS))
    assert lifted(actions) == {"n0": LiftCause.CAP.value}
    # While that is on its way the other one stays.
    _, actions = plan((), facts([*nodes, *cordoned], WAITS), START + 1, before=state)
    assert lifted(actions) == {}


def test_the_trap_of_one_shape_is_none_for_another() -> None:
    small = replace(big("s"), pod=replace(big("s").pod, priority=7))
    pods = [rejection(f"s{at}", "n1", pod=on(small, "n1")) for at in range(4)]
    _, actions = plan([*storm(*["n0"] * 5), *pods], given(*SPLIT))
    assert tainted(actions) == ["n0"]


def test_memory_of_a_trap_is_lost_after_the_longest_taint() -> None:
    state, _ = plan(storm(*["n0"] * 5), given(SPLIT[0], roomy("r0")))
    state, _ = plan((), given(SPLIT[0], waits=False), START + 3899, before=state)
    assert list(state.traps) == [("n0", SHAPE)]
    state, _ = plan((), given(SPLIT[0], waits=False), START + 3900, before=state)
    assert not state.traps


def test_equal_moments_in_another_order_give_the_same_actions() -> None:
    pods = storm("n0", "n1", "n0", "n1", "n0", "n1")
    rules = BreakerRules()
    assert plan(pods, given(*SPLIT), rules=rules)[1] == plan(pods[::-1], given(*SPLIT))[1]
