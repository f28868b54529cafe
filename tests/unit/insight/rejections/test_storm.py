"""A ReplicaSet that replaces each rejected pod at once, and the breaker alone against it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from numalet.insight.rejections.actions import (
    HoldController,
    Inform,
    LiftCause,
    LiftTaint,
    Prune,
    ReleaseController,
    TaintNode,
)
from numalet.insight.rejections.rules import EVERY_MEASURE, BreakerRules, Measure
from values.pod_storms import (
    JOB,
    START,
    StormWorld,
    facts,
    full,
    node_map,
    plan,
    rejection,
    roomy,
    split,
    without,
)

TRAPS = [f"t{at}" for at in range(4)]
TRAPS_OF = [f"t{at}" for at in range(9)]


def world(full_nodes: int = 36, rules: BreakerRules | None = None) -> StormWorld:
    """Four traps for a pod of which ten are wanted, in a pool with nodes that are full."""
    nodes = [*map(split, TRAPS), *[full(f"f{at:02d}") for at in range(full_nodes)]]
    return StormWorld(node_map(nodes), replicas=10, rules=rules or BreakerRules())


def per_minute(of: StormWorld, since_seconds: float = 10.0) -> int:
    """The most that a node rejected in a minute after the first ten seconds."""
    counts = Counter(
        (int((at - START - since_seconds) // 60), node)
        for at, node in of.log
        if at >= START + since_seconds
    )
    return max(counts.values(), default=0)


def test_without_the_breaker_a_storm_goes_on_for_ever() -> None:
    storm = world()
    storm.is_acting = False
    storm.run(5)
    assert len(storm.log) > 150
    assert len(storm.failed) == len(storm.log)


def test_a_storm_ends_in_seconds_and_three_rejected_pods_stay() -> None:
    storm = world()
    storm.run(20, then_seconds=110)
    assert storm.tainted() == TRAPS
    assert per_minute(storm) == 0
    assert len(storm.failed) == 3
    assert len(storm.waiting) == 10
    (event,) = [each for _, each in storm.done if isinstance(each, Inform)]
    assert "0 of 40 nodes would admit such a pod now" in event.why
    assert "It would be admitted if main asked for 2 of nvidia.com/gpu instead of 4" in event.why


@pytest.mark.slow
def test_a_storm_ends_in_seconds_where_a_taint_is_lost_too() -> None:
    storm = world()
    storm.loses_a_taint = True
    storm.run(20, then_seconds=110)
    assert storm.tainted() == TRAPS
    assert per_minute(storm) == 0
    lasting = {each.until_seconds for _, each in storm.done if isinstance(each, TaintNode)}
    assert max(lasting) < START + 310


@pytest.mark.slow
def test_taints_stay_while_pods_wait_and_end_one_after_the_other_when_none_does() -> None:
    storm = world()
    storm.run(10, then_seconds=400)
    renewed = [each for _, each in storm.done if isinstance(each, TaintNode) and each.is_renewal]
    assert {each.node for each in renewed} == set(TRAPS)
    assert per_minute(storm) == 0
    storm.replicas = 0
    storm.waiting.clear()
    storm.run(1, then_seconds=70)
    assert storm.tainted() == []
    assert storm.state.again_at_seconds is None
    lifts = [each.why for _, each in storm.done if isinstance(each, LiftTaint)]
    assert lifts == [LiftCause.CALM.value] * 4


def test_once_there_is_room_a_pod_runs_and_the_node_is_closed_again() -> None:
    storm = world()
    storm.run(10)
    before = len(storm.log)
    storm.nodes["t1"] = without(storm.nodes["t1"], ["t1-1"])
    storm.run(5)
    assert [each.pod.node_name for each in storm.running.values()] == ["t1"]
    storm.run(5, then_seconds=110)
    assert len(storm.log) - before <= 3


@pytest.mark.slow
def test_a_restarted_breaker_keeps_the_taints_of_the_nodes() -> None:
    storm = world()
    for _ in range(5):
        storm.run(5)
        storm.restart_breaker()
    storm.run(5, then_seconds=200)
    assert per_minute(storm) == 0
    assert storm.tainted() == TRAPS


def test_in_a_small_pool_no_taint_is_set_in_vain_and_the_owner_learns_why() -> None:
    without_hold = EVERY_MEASURE - {Measure.HOLD}
    storm = world(full_nodes=0, rules=BreakerRules(allowed=without_hold, taint_share=0.75))
    storm.run(5)
    assert storm.tainted() == []
    assert not any(isinstance(each, TaintNode) for _, each in storm.done)
    (event,) = [each for _, each in storm.done if isinstance(each, Inform)]
    assert (
        "4 trap nodes had to be left without a taint: at most 75 % of a pool may have it, and "
        "never its last node."
    ) in event.why
    assert len(storm.failed) < 20


@pytest.mark.parametrize("size", range(1, 10))
def test_in_a_pool_too_small_for_a_taint_the_controller_is_held(size: int) -> None:
    storm = StormWorld(node_map(map(split, TRAPS_OF[:size])), replicas=10, rules=BreakerRules())
    storm.run(20, then_seconds=1200)
    assert storm.tainted() == []
    assert per_minute(storm) == 0
    assert len(storm.failed) == 3
    (event,) = [each for _, each in storm.done if isinstance(each, Inform)]
    assert event.why.endswith("New pods of ReplicaSet default/web-7d4b are refused until one fits.")
    holds = [at for at, each in storm.done if isinstance(each, HoldController)]
    # The hold is renewed at half of its time, so that it never lapses.
    assert len(holds) == 9
    assert not any(isinstance(each, ReleaseController) for _, each in storm.done)


def test_a_held_controller_is_released_and_woken_when_there_is_room() -> None:
    storm = world(full_nodes=0)
    storm.run(20)
    before, at = len(storm.log), storm.now_seconds
    storm.nodes["t1"] = without(storm.nodes["t1"], ["t1-1"])
    storm.run(10)
    assert [each.pod.node_name for each in storm.running.values()] == ["t1"]
    since = [each for when, each in storm.done if when > at]
    assert [type(each) for each in since[:2]] == [ReleaseController, Prune]
    # The pods that are made again with the first one are rejected until the next hold.
    assert len(storm.log) - before < 20
    before = len(storm.log)
    storm.run(60)
    assert len(storm.log) == before


def test_without_rejected_pods_a_hold_ends_by_its_time() -> None:
    storm = world(full_nodes=0)
    storm.run(20)
    storm.replicas = 0
    storm.waiting.clear()
    storm.failed.clear()
    storm.run(1, then_seconds=400)
    assert storm.state.holds == {}
    assert storm.state.again_at_seconds is None


def test_without_prune_or_rejected_pods_a_released_controller_is_not_woken() -> None:
    for allowed, failed in ((frozenset({Measure.HOLD}), True), (EVERY_MEASURE, False)):
        pods = [rejection(f"p{at}") for at in range(6)]
        rules = BreakerRules(allowed=allowed)
        state, actions = plan(pods, facts([split("n0")]), rules=rules)
        assert "hold" in {each.verb for each in actions}
        left, room = (pods if failed else []), facts([roomy("n0")])
        state, actions = plan(left, room, START + 1, rules, state)
        assert "release" in {each.verb for each in actions}
        state, _ = plan(left, room, START + 2, rules, state)
        assert state.holds.keys() == {"uid-of-web-7d4b"}
        state, actions = plan(left, room, START + 9, rules, state)
        assert (state.holds, [each for each in actions if each.verb == "prune"]) == ({}, [])


def test_a_hold_that_ends_while_there_is_room_wakes_its_controller() -> None:
    pods = [rejection(f"p{at}") for at in range(3)]
    rules = BreakerRules(storm_budget=2)
    state, _ = plan(pods, facts([split("n0")]), rules=rules)
    state, actions = plan(pods, facts([roomy("n0")]), START + 400, rules, state)
    assert state.holds == {}
    assert [each.why for each in actions if isinstance(each, Prune)] == [
        "its ReplicaSet retries when one of its pods is deleted"
    ]


def test_a_job_is_suspended_instead_of_held_if_both_are_allowed() -> None:
    pods = [rejection(f"p{at}", chain=(JOB,)) for at in range(6)]
    given = facts([split("n0")])
    _, actions = plan(pods, given)
    assert {each.verb for each in actions} == {"suspend", "inform"}
    only_hold = BreakerRules(allowed=frozenset({Measure.HOLD}))
    _, actions = plan(pods, given, rules=only_hold)
    assert [each.target for each in actions] == ["controller Job default/train"]


def test_nothing_is_held_while_a_node_would_admit_the_pod() -> None:
    pods = [rejection(f"p{at}") for at in range(6)]
    given = facts([roomy("n0")])
    _, actions = plan(pods, given, rules=BreakerRules(allowed=frozenset({Measure.HOLD})))
    assert actions == ()


def test_only_what_is_allowed_is_done() -> None:
    storm = world(rules=BreakerRules(allowed=frozenset({Measure.INFORM})))
    storm.run(5)
    assert {each.measure for _, each in storm.done} == {Measure.INFORM}
    quiet = replace(BreakerRules(), allowed=frozenset())
    storm = world(rules=quiet)
    storm.run(5)
    assert storm.done == []
