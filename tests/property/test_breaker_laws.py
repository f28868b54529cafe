"""Laws of the breaker, whatever is rejected in whatever order, and whatever becomes of its actions.

Nodes come and go, are cordoned and get room; clocks jump; actions fail; the breaker begins anew.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numalet.core.cluster.cluster import ClusterNode, ClusterPod, Controller, Taint, TaintEffect
from numalet.insight.fleet.assessing import Assessor
from numalet.insight.fleet.keeping_away import TAINT_KEY
from numalet.insight.rejections import patches, planning, recreating, taint_cap
from numalet.insight.rejections.actions import (
    Action,
    LiftTaint,
    Prune,
    ResumeJob,
    SuspendJob,
    TaintNode,
)
from numalet.insight.rejections.planning import BreakerState
from numalet.insight.rejections.rejected_pod import OwnerLink, RejectedPod
from numalet.insight.rejections.rules import BreakerRules, BreakerScope
from numalet.insight.rejections.shape_questions import BreakerFacts, SuspendedJob
from values import gpu_fleet
from values.pod_storms import (
    DEPLOYMENT,
    JOB,
    REPLICA_SET,
    START,
    big,
    facts,
    full,
    marked,
    on,
    rejection,
    roomy,
    split,
)

RUNNER = OwnerLink("ci.example.com/v1", "Runner", "default", "r", "uid-of-r")
pytestmark = pytest.mark.property

CHAINS = ((REPLICA_SET, DEPLOYMENT), (REPLICA_SET,), (JOB,), (RUNNER,), (REPLICA_SET, RUNNER), ())
STATES = (split("x"), split("x"), full("x"), roomy("x"))
GPU_ONLY = Taint("nvidia.com/gpu", "", TaintEffect.NO_SCHEDULE)
OF_FLEET = Taint(TAINT_KEY, "", TaintEffect.NO_SCHEDULE)
NODES = 12
OUTSIDE = "kube-system"


@dataclass
class LawWorld:
    """What the API server has, and what the laws need to know of it."""

    rules: BreakerRules
    nodes: dict[str, ClusterNode]
    seed: int
    now_seconds: float = START
    rejected: dict[str, RejectedPod] = field(default_factory=dict)
    pods: dict[str, ClusterPod] = field(default_factory=dict)
    jobs: dict[str, SuspendedJob] = field(default_factory=dict)
    state: BreakerState = field(default_factory=BreakerState)
    assessor: Assessor = field(default_factory=Assessor)
    late: tuple[Action, ...] = ()
    """Actions that are on their way, and of which nothing is seen yet."""
    count: int = 0

    def facts(self) -> BreakerFacts:
        """As the breaker sees them."""
        return facts(self.nodes.values(), self.pods.values(), self.jobs.values())

    def plan(
        self, pods: list[RejectedPod] | None = None
    ) -> tuple[BreakerState, tuple[Action, ...]]:
        """One plan, of which nothing is done yet."""
        there = [*self.rejected.values()] if pods is None else pods
        return planning.planned(
            self.state, there, self.facts(), self.now_seconds, self.rules, self.assessor
        )

    def do_late(self) -> None:
        """Carry out what is on its way."""
        for each in self.late:
            if not isinstance(each, TaintNode | LiftTaint) or each.node in self.nodes:
                self.do(each)
        self.late = ()

    def do(self, action: Action) -> None:
        """Carry an action out."""
        match action:
            case Prune(uid=uid):
                self.rejected.pop(uid, None)
            case TaintNode(node=name):
                bare = _without_mark(self.nodes[name])
                self.nodes[name] = marked(bare, action.until_seconds, action.shape)
            case LiftTaint(node=name):
                self.nodes[name] = _without_mark(self.nodes[name])
            case SuspendJob(uid=uid):
                self.jobs[uid] = SuspendedJob(
                    namespace=action.namespace,
                    name=action.name,
                    uid=uid,
                    until_seconds=action.until_seconds,
                    shape=action.shape,
                )
            case ResumeJob(uid=uid):
                self.jobs.pop(uid, None)
            case _:
                pass


def _without_mark(node: ClusterNode) -> ClusterNode:
    kept = [each for each in node.taints if patches.on_node([each]) is None]
    return replace(node, taints=tuple(kept))


def _node(name: str, random_: random.Random) -> ClusterNode:
    taints = random_.choice([(), (), (), (GPU_ONLY,), (OF_FLEET,)])
    pool = {"node.kubernetes.io/instance-type": random_.choice("ab")}
    return replace(random_.choice(STATES), name=name, taints=taints, labels=pool)


def _happen(world: LawWorld, random_: random.Random) -> None:
    """Something happens: pods are rejected or wait, nodes change, time passes."""
    match random_.randrange(9):
        case 0 | 1 | 2 | 3:
            for _ in range(random_.randrange(1, 7)):
                _reject(world, random_)
        case 4:
            uid = f"w{world.count}"
            world.pods[uid] = replace(big(uid), created_at_seconds=world.now_seconds)
        case 5:
            name = random_.choice([*world.nodes, f"n{world.count}"])
            if name in world.nodes and random_.random() < 0.5:
                del world.nodes[name]
            else:
                world.nodes[name] = _node(name, random_)
        case 6:
            name = random_.choice([*world.nodes, ""])
            if name:
                there = world.nodes[name]
                world.nodes[name] = replace(
                    there,
                    is_cordoned=random_.random() < 0.3,
                    is_ready=random_.random() < 0.8,
                    node=random_.choice(STATES).node,
                )
        case 7:
            world.now_seconds += random_.choice([10.0, 100.0, 1000.0, 5000.0, -300.0])
        case _:
            world.state, world.assessor = BreakerState(), Assessor()
    world.now_seconds += random_.choice([0.0, 0.2, 1.0])
    world.count += 1


def _reject(world: LawWorld, random_: random.Random) -> None:
    world.count += 1
    uid, chain = f"p{world.count}", random_.choice(CHAINS)
    node = random_.choice([*sorted(world.nodes), "gone"])
    pod = on(big(uid) if random_.random() < 0.8 else gpu_fleet.asking(2), node)
    namespace = random_.choice(["default", "default", OUTSIDE])
    pod = replace(pod, pod=replace(pod.pod, uid=uid, name=uid, namespace=namespace))
    world.rejected[uid] = rejection(
        uid,
        node,
        world.now_seconds - random_.choice([0.0, 0.0, 1.0, 100.0]),
        chain,
        pod,
        never_started=random_.random() < 0.9,
        chain_is_whole=random_.random() < 0.9,
    )


@st.composite
def worlds(draw: st.DrawFn) -> LawWorld:
    seed = draw(st.integers(0, 2**32 - 1))
    random_ = random.Random(seed)
    rules = BreakerRules(
        taint_share=draw(st.sampled_from([0.1, 0.25, 0.5, 1.0])),
        kept_failed_pods=draw(st.sampled_from([0, 1, 3])),
        storm_budget=draw(st.sampled_from([2, 5])),
        waiting_seconds=draw(st.sampled_from([None, 5.0])),
        most_actions=draw(st.sampled_from([3, 200])),
        scope=BreakerScope(without_namespaces=(OUTSIDE,)),
    )
    nodes = {name: _node(name, random_) for name in [f"n{at:02d}" for at in range(NODES)]}
    return LawWorld(rules, nodes, seed)


def _check(world: LawWorld, actions: tuple[Action, ...]) -> None:
    """What holds of every plan, before any of it is carried out."""
    assert len(actions) <= world.rules.most_actions
    lifted = {each.target for each in actions if isinstance(each, LiftTaint)}
    for name, node in world.nodes.items():
        mark = patches.on_node(node.taints)
        is_over = mark is not None and mark.until_seconds <= world.now_seconds
        is_cut = len(actions) == world.rules.most_actions
        target = f"node {name}"
        assert not is_over or is_cut or target in lifted or ("lift", target) in world.state.issued
    _check_taints(world, [each for each in actions if isinstance(each, TaintNode)])
    kept = Counter((each.owner, each.shape) for each in world.rejected.values())
    for each in actions:
        match each:
            case Prune(uid=uid):
                pod = world.rejected[uid]
                assert pod.never_started
                assert pod.chain_is_whole
                assert pod.chain in CHAINS[:2]
                assert (pod.namespace, pod.resource_version) == ("default", each.resource_version)
                kept[pod.owner, pod.shape] -= 1
                assert kept[pod.owner, pod.shape] >= world.rules.kept_failed_pods
                newer = [p for p in world.rejected.values() if _is_newer(p, pod)]
                assert len(newer) >= world.rules.kept_failed_pods
            case SuspendJob(uid=uid):
                assert uid == JOB.uid
                assert not any(
                    pod.controller is not None and pod.controller.uid == uid
                    for pod in world.pods.values()
                    if pod.pod.node_name and not pod.is_over
                )
                assert world.now_seconds < each.until_seconds
            case _:
                assert OUTSIDE not in each.target


def _is_newer(one: RejectedPod, other: RejectedPod) -> bool:
    if (one.owner, one.shape) != (other.owner, other.shape):
        return False
    return (one.rejected_at_seconds, one.uid) > (other.rejected_at_seconds, other.uid)


def _check_taints(world: LawWorld, taints: list[TaintNode]) -> None:
    """Neither too many nor the last one, with those that were planned and are not there."""
    nodes = world.facts().nodes
    new = [each.node for each in taints if not each.is_renewal]
    late = [each.node for each in world.late if isinstance(each, TaintNode)]
    for each in taints:
        until = each.until_seconds - world.now_seconds
        assert 0 < until <= world.rules.longest_taint_seconds
        is_marked = patches.on_node(nodes[each.node].taints) is not None
        assert is_marked is each.is_renewal
    kinds = {name: taint_cap.kind_of(each, world.rules) for name, each in nodes.items()}
    for name in new:
        in_pool = [n for n, kind in kinds.items() if kind[0] == kinds[name][0]]
        there = [n for n in in_pool if taint_cap.is_kept_away(nodes[n]) or n in new + late]
        assert len(there) <= world.rules.taint_share * len(in_pool) + 1e-6
        assert any(
            taint_cap.is_open_to_pods(nodes[n]) and n not in there
            for n in in_pool
            if kinds[n] == kinds[name]
        )


@given(worlds(), st.integers(5, 25))
def test_every_plan_keeps_to_its_limits(world: LawWorld, steps: int) -> None:
    random_ = random.Random(world.seed)
    for _ in range(steps):
        before, known = world.now_seconds, world.state
        _happen(world, random_)
        if world.state is not known or not 0 <= world.now_seconds - before < 5:
            # Who has no memory, or one that is too old, begins with what is there.
            world.do_late()
        shuffled = [*world.rejected.values()]
        random_.shuffle(shuffled)
        state, actions = world.plan()
        assert world.plan(shuffled) == (state, actions)
        _check(world, actions)
        world.state = state
        world.do_late()
        # A part of the actions fails, another one is late.
        made = [each for each in actions if random_.random() < 0.8]
        world.late = tuple(each for each in made if random_.random() < 0.5)
        for each in made:
            if each not in world.late:
                world.do(each)


@given(worlds(), st.integers(5, 25))
def test_all_comes_to_an_end_once_nothing_is_rejected_and_nothing_waits(
    world: LawWorld, steps: int
) -> None:
    random_ = random.Random(world.seed)
    for _ in range(steps):
        _happen(world, random_)
        world.state, actions = world.plan()
        for each in actions:
            world.do(each)
    world.pods.clear()
    for _ in range(400):
        world.state, actions = world.plan()
        for each in actions:
            world.do(each)
        if world.state.again_at_seconds is None:
            break
        world.now_seconds = max(world.now_seconds + 0.1, world.state.again_at_seconds)
    else:
        pytest.fail(f"it goes on: {actions}")
    assert actions == ()
    assert not world.jobs
    assert [each for each in world.nodes.values() if patches.on_node(each.taints)] == []
    for pods in _by_storm(world).values():
        moments = sorted(each.rejected_at_seconds for each in pods)
        replaced = [each for each in pods if recreating.is_replaced(each)]
        budget = world.rules.storm_budget
        if any(b - a < 60 for a, b in zip(moments, moments[budget - 1 :], strict=False)):
            assert len(replaced) <= world.rules.kept_failed_pods


def _by_storm(world: LawWorld) -> dict[object, list[RejectedPod]]:
    storms: dict[object, list[RejectedPod]] = {}
    for each in world.rejected.values():
        if each.namespace != OUTSIDE:
            storms.setdefault((each.owner, each.shape), []).append(each)
    return storms


def test_a_job_with_a_pod_at_work_is_never_suspended() -> None:
    pod = replace(on(big("at-work"), "n0", "Running"), controller=Controller("Job", "t", JOB.uid))
    world = LawWorld(BreakerRules(), {"n0": replace(split("n0"))}, 0, pods={"at-work": pod})
    for at in range(9):
        world.rejected[f"p{at}"] = rejection(f"p{at}", chain=(JOB,))
    _, actions = world.plan()
    assert [each.verb for each in actions] == ["inform"]
    _check(world, actions)
