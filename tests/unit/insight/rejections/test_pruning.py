"""Which rejected pods are deleted."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from numalet.insight.rejections import recreating
from numalet.insight.rejections.actions import Prune
from numalet.insight.rejections.rejected_pod import OwnerLink, RejectedPod
from numalet.insight.rejections.rules import BreakerRules
from values.pod_storms import DEPLOYMENT, JOB, OWNER, REPLICA_SET, START, facts, plan, rejection

ROLLOUT = OwnerLink("argoproj.io/v1alpha1", "Rollout", "default", "web", "u")


def pruned(pods: Iterable[RejectedPod], kept: int = 3) -> list[str]:
    return [
        each.uid
        for each in recreating.replaced_pods([list(pods)], BreakerRules(kept_failed_pods=kept))
    ]


def test_all_but_the_newest_go_the_oldest_first() -> None:
    pods = [rejection(f"p{at}", at_seconds=START - at) for at in range(6)]
    assert pruned(pods) == ["p5", "p4", "p3"]
    assert pruned(pods, kept=0) == ["p5", "p4", "p3", "p2", "p1", "p0"]
    assert pruned(pods[:3]) == []


def test_of_pods_rejected_at_one_time_the_uid_decides_in_whatever_order_they_come() -> None:
    pods = [rejection(f"p{at}") for at in range(5)]
    assert pruned(reversed(pods)) == pruned(pods) == ["p0", "p1"]


@pytest.mark.parametrize(
    ("chain", "is_replaced"),
    [
        ((REPLICA_SET, DEPLOYMENT), True),
        ((REPLICA_SET,), True),
        ((REPLICA_SET, ROLLOUT), False),
        ((OwnerLink("example.com/v1", "ReplicaSet", "default", "own", "u"),), False),
        ((OwnerLink("apps/v1", "StatefulSet", "default", "db", "u"),), False),
        ((JOB,), False),
        ((DEPLOYMENT,), False),
        ((), False),
    ],
)
def test_only_a_pod_of_a_replica_set_is_replaced(
    chain: tuple[OwnerLink, ...], is_replaced: bool
) -> None:
    assert recreating.is_replaced(rejection("p", chain=chain)) is is_replaced


def test_a_pod_that_ran_or_whose_owners_are_not_all_known_stays() -> None:
    assert not recreating.is_replaced(rejection("p", never_started=False))
    assert not recreating.is_replaced(rejection("p", chain_is_whole=False))


def test_what_is_deleted_is_named_by_uid_and_resource_version() -> None:
    pods = [rejection(f"p{at}", at_seconds=START - 1 + at / 10) for at in range(5)]
    state, actions = plan(pods, facts(()))
    prunes = [each for each in actions if isinstance(each, Prune)]
    assert [(each.uid, each.resource_version) for each in prunes] == [("p0", "7"), ("p1", "7")]
    assert prunes[0].owner == OWNER
    assert prunes[0].target == "pod default/p0"
    # They are not planned again until it is time to try it again.
    state, actions = plan(pods, facts(()), START + 29, before=state)
    assert not any(isinstance(each, Prune) for each in actions)
    _, actions = plan(pods, facts(()), START + 31, before=state)
    assert sum(isinstance(each, Prune) for each in actions) == 2


def test_fewer_than_a_storm_are_left_alone_and_a_storm_of_long_ago_is_tidied_up() -> None:
    pods = [rejection(f"p{at}", at_seconds=START + at) for at in range(5)]
    _, actions = plan(pods[:4], facts(()), START + 10)
    assert actions == ()
    _, actions = plan(pods, facts(()), START + 10_000)
    assert [each.target for each in actions] == ["pod default/p0", "pod default/p1"]


def test_after_a_storm_single_rejections_do_not_pile_up() -> None:
    pods = [rejection(f"p{at}", at_seconds=START + at) for at in range(5)]
    state, _ = plan(pods, facts(()), START + 10)
    late = [*pods[2:], rejection("p9", at_seconds=START + 500)]
    state, actions = plan(late, facts(()), START + 501, before=state)
    assert [each.target for each in actions] == ["pod default/p2"]
    # Once all are gone for an hour nothing is remembered of it.
    state, _ = plan((), facts(()), START + 502, before=state)
    assert state.stormy
    state, _ = plan((), facts(()), START + 500 + 3601, before=state)
    assert not state.stormy
    assert state.again_at_seconds is None


def test_many_are_deleted_in_turns() -> None:
    pods = [rejection(f"p{at:03d}") for at in range(13)]
    rules = BreakerRules(most_actions=6)
    state, first = plan(pods, facts(()), rules=rules)
    assert (len(first), state.again_at_seconds) == (6, START)
    done = {each.uid for each in first if isinstance(each, Prune)}
    left = [each for each in pods if each.uid not in done]
    state, second = plan(left, facts(()), START + 1, rules, state)
    assert len(second) == 5
    assert state.again_at_seconds != START + 1
