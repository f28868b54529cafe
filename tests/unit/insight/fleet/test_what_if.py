"""The same pods on nodes that are otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from numalet.core.cluster import classes, scheduler_sums
from numalet.core.cluster.classes import ClassSpec
from numalet.core.cluster.cluster import Cluster
from numalet.core.cluster.facts import FactReader
from numalet.core.config.releases.table import RELEASES
from numalet.core.model.pod import Pod
from numalet.core.node.node import Node
from numalet.insight.fleet import variants
from numalet.insight.fleet.kube_scheduler import Scoring, Strategy
from numalet.insight.fleet.variants import Change, MachineShare, NodeVariants, Side, WhatIf, what_if
from values import gpu_fleet

SPEC = classes.spec_of(gpu_fleet.empty(), gpu_fleet.kubelet_config())
SPECS: Mapping[str, ClassSpec] = {"gpu": SPEC}


def _fleet(*waiting: Pod) -> Cluster:
    """A node in two halves of 2 free GPUs each, and one that is full but for one GPU."""
    pods = [gpu_fleet.pod(uid, 2) for uid in "abcd"]
    half = gpu_fleet.running("half", pods, gone=("a", "c"))
    full = gpu_fleet.running("full", [gpu_fleet.pod("e", 4), gpu_fleet.pod("f", 3)])
    return gpu_fleet.cluster([half, full], waiting)


def _asked(cluster: Cluster, change: Change) -> WhatIf:
    others, unknown = variants.nodes_of(cluster, SPECS, change)
    assert unknown == ()
    return what_if(cluster, others)


def _uids(pods: tuple[str, ...]) -> list[str]:
    return [each.rpartition("/")[2] for each in pods]


def _counts(side: Side) -> tuple[int, int]:
    return side.running, len(side.waiting)


def test_another_policy_admits_a_pod_that_waits() -> None:
    answer = _asked(_fleet(gpu_fleet.pod("big", 4)), Change(policy="best-effort"))
    assert _counts(answer.before) == (4, 1)
    assert _counts(answer.after) == (5, 0)
    assert _uids(answer.after.admitted) == ["big"]
    assert answer.after.displaced == ()


def test_a_pod_that_waits_for_nothing_but_room_runs_on_both_sides() -> None:
    answer = _asked(_fleet(gpu_fleet.pod("small", 1), gpu_fleet.pod("whole", 8)), Change())
    for side in (answer.before, answer.after):
        assert _uids(side.admitted) == ["small"]
        assert _uids(side.waiting) == ["whole"]


def test_pods_that_their_node_rejects_move_or_wait() -> None:
    wide = gpu_fleet.running("wide", [gpu_fleet.pod("w", 6)], on=gpu_fleet.empty("best-effort"))
    spec = replace(SPEC, config=gpu_fleet.kubelet_config("best-effort"))
    cluster = gpu_fleet.cluster([wide], [gpu_fleet.pod("big", 4)])
    others, _ = variants.nodes_of(cluster, {"gpu": spec}, Change(policy="single-numa-node"))
    answer = what_if(cluster, others)
    assert _uids(answer.after.displaced) == ["w"]
    assert _uids(answer.after.waiting) == ["w"]
    assert _uids(answer.after.admitted) == ["big"]
    assert answer.after.moved == ()
    spare = gpu_fleet.running("spare", [], on=gpu_fleet.empty("best-effort"))
    two = gpu_fleet.cluster([wide, replace(spare, pool="others")])
    only = Change(policy="single-numa-node", pools=frozenset({"gpus"}))
    others, _ = variants.nodes_of(two, {"gpu": spec}, only)
    assert _uids(what_if(two, others).after.moved) == ["w"]


def test_pods_of_a_node_whose_kubelet_would_not_start_are_displaced() -> None:
    change = Change(policy_options={"max-allowable-numa-nodes": "nonsense"})
    answer = _asked(_fleet(), change)
    assert sorted(answer.after.refused) == ["full", "half"]
    assert (answer.after.running, len(answer.after.waiting)) == (0, 4)


def test_machine_release_scope_and_options_can_change() -> None:
    more = gpu_fleet.machine(4)
    change = Change(
        scope="container",
        memory_policy="None",
        release=RELEASES[-1],
        cpu_options={"full-pcpus-only": "true"},
        policy_options={"prefer-closest-numa-nodes": "false"},
    )
    sixteen = {gpu_fleet.GPU: tuple((at // 4,) for at in range(16))}
    share = MachineShare(machine=more, devices=sixteen)
    spec = change.of(SPEC, share)
    assert (spec.machine, spec.devices) == (more, sixteen)
    assert spec.behaviour.release is RELEASES[-1]
    assert spec.config.topology_manager_scope == "container"
    assert spec.config.cpu_manager_policy_options == {"full-pcpus-only": "true"}
    emptied = Change(cpu_options={"full-pcpus-only": ""}).of(spec)
    assert emptied.config.cpu_manager_policy_options == {}
    cluster = _fleet(gpu_fleet.pod("big", 4))
    others, _ = variants.nodes_of(cluster, SPECS, Change(machines=(share,), memory_policy="None"))
    answer = what_if(cluster, others)
    assert _counts(answer.after) == (5, 0)


def test_a_node_of_an_unknown_class_stays_as_it_is() -> None:
    others, unknown = variants.nodes_of(_fleet(), {}, Change(policy="none"))
    assert others == {}
    assert [each.name for each in unknown] == ["full", "half"]


def test_pods_come_again_in_the_order_in_which_they_started() -> None:
    cluster = _fleet()
    starts = {"b": 30.0, "d": 20.0, "e": None, "f": 1.0}
    pods = {
        uid: replace(each, started_at_seconds=starts[uid]) for uid, each in cluster.pods.items()
    }
    over = replace(pods["b"], pod=replace(pods["b"].pod, uid="over", phase="Succeeded"))
    done: list[int] = []
    others, _ = variants.nodes_of(cluster, SPECS, Change())
    started = replace(cluster, pods={**pods, "over": over})
    _, _, after = variants.compare(started, others, done=lambda: done.append(1))
    assert list(after.nodes["half"].node.snapshot.pods) == ["d", "b"]
    assert list(after.nodes["full"].node.snapshot.pods) == ["f", "e"]
    assert len(done) == 2


def test_nodes_of_one_class_stay_of_one_class_on_both_sides() -> None:
    first = gpu_fleet.empty()
    every = [gpu_fleet.running(f"n{at}", [gpu_fleet.pod(f"p{at}", 2)], on=first) for at in range(9)]
    waiting = [gpu_fleet.pod(f"w{at}", 2) for at in range(3)]
    cluster = gpu_fleet.cluster(every, waiting)
    others, _ = variants.nodes_of(cluster, SPECS, Change(policy="restricted"))
    answer, before, after = variants.compare(cluster, others)
    for side, then in ((answer.before, before), (answer.after, after)):
        reader = FactReader()
        assert len(side.admitted) == 3
        assert len({reader.class_of(each.node.roster) for each in then.nodes.values()}) == 1


def _large(pool: str | None, nodes: int | None) -> MachineShare:
    sixteen = {gpu_fleet.GPU: tuple((at // 4,) for at in range(16))}
    return MachineShare(machine=gpu_fleet.machine(4), devices=sixteen, pool=pool, nodes=nodes)


def _gpus(others: NodeVariants) -> dict[str, int]:
    """How many GPUs the nodes have that are otherwise."""
    nodes = {name: each for name, each in others.items() if isinstance(each, Node)}
    return {name: scheduler_sums.free(each)[gpu_fleet.GPU] for name, each in nodes.items()}


def test_machines_are_mixed_the_first_nodes_by_name_first() -> None:
    names = [f"n{at}" for at in range(5)]
    first = gpu_fleet.empty()
    every = [gpu_fleet.running(name, [], on=first) for name in names]
    cluster = gpu_fleet.cluster([*every[:4], replace(every[4], pool="others")])

    def mixed(*shares: MachineShare, policy: str | None = None) -> dict[str, int]:
        change = Change(machines=shares, policy=policy)
        return _gpus(variants.nodes_of(cluster, SPECS, change)[0])

    assert mixed(_large(None, None)) == dict.fromkeys(names, 16)
    assert mixed(_large("others", None)) == {"n4": 16}
    assert mixed(_large("gpus", 1)) == {"n0": 16}
    small = replace(_large("gpus", 2), machine=gpu_fleet.machine(), devices={gpu_fleet.GPU: ()})
    assert mixed(_large("gpus", 1), small, _large("others", 9)) == {
        "n0": 16,
        "n1": 0,
        "n2": 0,
        "n4": 16,
    }
    assert mixed(_large("gpus", 1), policy="none") == {**dict.fromkeys(names, 8), "n0": 16}


def test_another_strategy_places_pods_that_wait_on_other_nodes() -> None:
    pods = [gpu_fleet.pod("a", 2), gpu_fleet.pod("b", 2)]
    used = gpu_fleet.running("used", pods)
    cluster = gpu_fleet.cluster([used, gpu_fleet.running("vacant", [])], [gpu_fleet.pod("w", 1)])
    scoring = Scoring(Strategy.MOST_ALLOCATED)
    _, before, after = variants.compare(cluster, {}, other_scoring=scoring)
    assert "w" in before.nodes["vacant"].node.snapshot.pods
    assert "w" in after.nodes["used"].node.snapshot.pods
