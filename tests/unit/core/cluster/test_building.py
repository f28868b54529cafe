"""The cluster out of objects: what is decided on, where it comes from, and what is missing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from numalet.core.cluster import building, classes, published, scheduler_sums
from numalet.core.cluster.building import ClassRule
from numalet.core.cluster.classes import ClassSpec
from numalet.core.cluster.cluster import Cluster, ClusterPod, Origin, Taint, TaintEffect
from numalet.core.cluster.objects import (
    BudgetFacts,
    ClusterObjects,
    LabelSelector,
    ListedNode,
    ListedState,
    TopologyFacts,
)
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.config.releases import table
from numalet.core.model.quantity import Quantity
from numalet.core.node.node import Node
from values import gpu_fleet

SPEC = classes.spec_of(gpu_fleet.empty(), gpu_fleet.kubelet_config())
CLASS = classes.class_name(SPEC)
LABELS = {building.POOL_LABEL: "gpu-8x", "team": "red"}


def listed(name: str = "n", **more: Any) -> ListedNode:
    return ListedNode(name=name, labels=LABELS, kubelet_version="v1.34.1", **more)


def filled(*gpus: int) -> tuple[Node, dict[str, ClusterPod]]:
    """A node with pods of so many GPUs, and its pods."""
    node, pods = gpu_fleet.empty(), {}
    for at, count in enumerate(gpus):
        pod = replace(gpu_fleet.pod(f"p{at}", count), phase="Running", node_name="n")
        node, decision = node.admit(pod)
        assert decision.admitted
        pods[pod.uid] = ClusterPod(pod=pod, created_at_seconds=at, started_at_seconds=at)
    return node, pods


def objects(*gpus: int, **more: Any) -> ClusterObjects:
    node, pods = filled(*gpus)
    state = ListedState(CLASS, published.of_node(node))
    given: dict[str, Any] = {
        "nodes": {"n": listed()},
        "pods": pods,
        "states": {"n": state},
        "classes": {CLASS: SPEC},
    }
    return ClusterObjects(**given | more)


def codes(cluster: Cluster) -> list[str]:
    return [each.code for each in cluster.nodes["n"].notes]


def test_a_node_that_publishes_is_as_it_says() -> None:
    node, _ = filled(1, 2)
    cluster = building.build(objects(1, 2))
    made = cluster.nodes["n"]
    assert (made.origin, made.class_name, made.pool) == (Origin.PUBLISHED, CLASS, "gpu-8x")
    assert published.of_node(made.node) == published.of_node(node)
    assert made.node.rules.identity.name == "n"
    assert made.node.rules.identity.labels == LABELS
    assert made.notes == ()
    assert cluster.undecided == {}


def test_what_the_node_object_says_is_kept() -> None:
    taint = Taint("gpu", "", TaintEffect.NO_SCHEDULE)
    node = listed(taints=(taint,), is_cordoned=True, is_ready=False, uid="u")
    made = building.build(objects(nodes={"n": node}), pool_label="team").nodes["n"]
    assert (made.taints, made.is_cordoned, made.is_ready) == ((taint,), True, False)
    assert (made.pool, made.uid) == ("red", "u")


def test_nodes_of_one_class_share_their_managers() -> None:
    nodes = {name: listed(name) for name in "ab"}
    states = {name: ListedState(CLASS, published.of_node(gpu_fleet.empty())) for name in "ab"}
    cluster = building.build(objects(nodes=nodes, states=states, pods={}))
    first, second = cluster.nodes["a"].node.roster, cluster.nodes["b"].node.roster
    assert first.slots is second.slots


def test_a_node_without_an_object_is_rebuilt_by_a_rule_of_the_user() -> None:
    rule = ClassRule(spec=SPEC, names=("x", "n*"), labels={"team": "red"})
    other = ClassRule(spec=SPEC, names=("elsewhere",))
    given = objects(1, 2, states={}, classes={})
    waiting = ClusterPod(pod=gpu_fleet.pod("waiting", 8))
    cluster = building.build(replace(given, pods={**given.pods, "waiting": waiting}), [other, rule])
    made = cluster.nodes["n"]
    assert made.origin is Origin.REBUILT
    assert made.node.rules.behaviour.release.name == "1.34"
    assert set(made.node.snapshot.cpu.exclusive) == {"p0", "p1"}


@pytest.mark.parametrize(("release", "noted"), [("1.32", False), ("1.34", True)])
def test_amounts_that_the_status_lacks_are_derived(release: str, noted: bool) -> None:
    given = objects(1, 2, states={}, classes={})
    pods = {uid: replace(each, lacks_amounts=uid == "p1") for uid, each in given.pods.items()}
    named = next(each for each in table.RELEASES if each.name == release)
    rule = ClassRule(spec=SPEC, release=named)
    made = building.build(replace(given, pods=pods), [rule]).nodes["n"]
    assert [each.code for each in made.notes] == ["cluster/amounts-derived"] * noted


def test_a_rule_may_name_the_release() -> None:
    rule = ClassRule(spec=SPEC, release=table.NEWEST)
    made = building.build(objects(states={}), [rule]).nodes["n"]
    assert made.node.rules.behaviour.release is table.NEWEST


def test_nodes_of_one_rule_and_release_are_of_one_class() -> None:
    nodes = {name: listed(name) for name in "ab"}
    made = building.build(objects(nodes=nodes, states={}), [ClassRule(spec=SPEC)]).nodes
    assert made["a"].class_name == made["b"].class_name


@pytest.mark.parametrize(
    "rule",
    [
        ClassRule(spec=SPEC, names=("m*",)),
        ClassRule(spec=SPEC, labels={"team": "blue"}),
        ClassRule(spec=SPEC, names=("n",), labels={"other": ""}),
    ],
)
def test_a_rule_means_the_nodes_that_it_names(rule: ClassRule) -> None:
    assert not rule.matches(listed())


def undecided(given: ClusterObjects, *rules: ClassRule) -> str:
    cluster = building.build(given, rules)
    assert cluster.nodes == {}
    (only,) = cluster.undecided.values()
    assert (only.name, only.pool, only.labels) == ("n", "gpu-8x", LABELS)
    return str(only.why)


def test_of_a_node_without_anything_it_is_said_what_is_missing() -> None:
    assert undecided(objects(states={})).startswith("it has no readable NumaNode")


def test_of_sums_it_is_said_what_they_lack() -> None:
    facts = TopologyFacts(node_name="n", zones=2, attributes={"topologyManagerPolicy": "none"})
    said = undecided(objects(states={}, topologies={"n": facts}))
    assert "2 zones (topologyManagerPolicy none)" in said
    one = TopologyFacts(node_name="n", zones=1)
    assert "1 zone (no attributes)" in undecided(objects(states={}, topologies={"n": one}))


def test_a_class_that_is_missing_is_said() -> None:
    assert f"its class {CLASS} is not among" in undecided(objects(classes={}))


def test_the_class_of_a_rule_may_be_the_one_that_is_missing() -> None:
    release = SPEC.behaviour.release
    made = building.build(objects(1, classes={}), [ClassRule(spec=SPEC, release=release)])
    assert made.nodes["n"].origin is Origin.PUBLISHED


def test_a_class_that_does_not_start_is_said() -> None:
    bad = ClassSpec(machine=SPEC.machine, config=KubeletConfig(cpu_manager_policy="static"))
    said = undecided(objects(states={}), ClassRule(spec=bad))
    assert said.startswith("a kubelet of its class would not start:")


def test_a_release_that_is_not_known_is_said() -> None:
    node = replace(listed(), kubelet_version="v1.99.0")
    said = undecided(objects(states={}, nodes={"n": node}), ClassRule(spec=SPEC))
    assert "its kubelet's release 'v1.99.0' is unknown" in said
    node = replace(listed(), kubelet_version="")
    assert undecided(objects(states={}, nodes={"n": node}), ClassRule(spec=SPEC))


def test_a_state_that_contradicts_the_pods_is_not_used() -> None:
    given = objects(1, 2)
    thief = replace(given.pods["p0"], pod=replace(given.pods["p0"].pod, node_name="elsewhere"))
    cluster = building.build(replace(given, pods={**given.pods, "p0": thief}))
    assert cluster.nodes["n"].origin is Origin.REBUILT
    assert codes(cluster) == ["cluster/state-holder-elsewhere"]
    assert set(cluster.nodes["n"].node.snapshot.cpu.exclusive) == {"p1"}


def contradictions(given: ClusterObjects) -> list[str]:
    (inputs,) = building.inputs_of(given)
    known = building.Classes(given.classes)
    return [each.code for each in building.contradictions(inputs, known, given.pods)]


def test_what_contradicts_a_state_can_be_asked_alone() -> None:
    given = objects(1, 2)
    assert contradictions(given) == []
    thief = replace(given.pods["p0"], pod=replace(given.pods["p0"].pod, node_name="elsewhere"))
    stolen = replace(given, pods={**given.pods, "p0": thief})
    assert contradictions(stolen) == ["cluster/state-holder-elsewhere"]
    # Of what is not there, or does not start, nothing is said here.
    bad = ClassSpec(machine=SPEC.machine, config=KubeletConfig(cpu_manager_policy="static"))
    missing: list[dict[str, Any]] = [{"states": {}}, {"classes": {}}, {"classes": {CLASS: bad}}]
    for more in missing:
        assert contradictions(replace(stolen, **more)) == []


def test_holders_that_are_not_known_are_noted() -> None:
    given = objects(1, 2)
    pods = {"p1": given.pods["p1"]}
    cluster = building.build(replace(given, pods=pods))
    assert cluster.nodes["n"].origin is Origin.PUBLISHED
    assert codes(cluster) == ["cluster/holders-unknown"]


def test_pods_that_could_not_be_read_are_noted() -> None:
    assert codes(building.build(objects(unread_pods={"n": 2}))) == ["cluster/unread-pods"]


def test_another_machine_than_the_class_has_is_noted() -> None:
    sizes = {
        "cpu": Quantity.from_int(60),
        "memory": Quantity.from_bytes(511 * gpu_fleet.GIB - 4096),
        "nvidia.com/gpu": Quantity.from_int(8),
        "example.com/nic": Quantity.from_int(1),
        "ephemeral-storage": Quantity.from_int(1),
    }
    cluster = building.build(objects(nodes={"n": listed(allocatable=sizes)}))
    assert [str(each) for each in cluster.nodes["n"].notes] == [
        "its class offers 62 of cpu, the Node object 60: the smaller amount counts as allocatable",
        "its class offers 0 of example.com/nic, the Node object 1: the smaller amount counts as"
        " allocatable",
    ]
    less = {"memory": Quantity.from_bytes(500 * gpu_fleet.GIB)}
    assert codes(building.build(objects(nodes={"n": listed(allocatable=less)}))) == [
        "cluster/other-size"
    ]


def test_pods_get_at_most_what_the_node_object_has() -> None:
    sizes = {"cpu": Quantity.from_int(13), "nvidia.com/gpu": Quantity.from_int(3)}
    same = {"cpu": Quantity.from_int(62)}
    cluster = building.build(
        objects(
            3,
            nodes={
                "n": listed(allocatable=sizes),
                "o": listed("o", allocatable=sizes),
                "p": listed("p", allocatable=same),
            },
            states={name: ListedState(CLASS, published.of_node(filled(3)[0])) for name in "nop"},
        )
    )
    small, twin, whole = (cluster.nodes[name].node for name in "nop")
    free = scheduler_sums.free(small)
    assert (free["cpu"], free["nvidia.com/gpu"]) == (1000, 0)
    assert scheduler_sums.free_of(whole, "cpu") == 62_000
    assert scheduler_sums.free_of(whole, "nvidia.com/gpu") == 8
    # The kubelet of the small node has no room for a pod that the class has room for.
    asked = gpu_fleet.pod("next", 1)
    assert (small.fits(asked), whole.fits(asked)) == (False, True)
    # Both are one class for those who decide once for many nodes.
    assert small.roster.offered is twin.roster.offered
    assert whole.roster.offered is not small.roster.offered


def test_budgets_guard_pods_of_the_cluster() -> None:
    facts = BudgetFacts(namespace="default", name="b", allowed=1, selector=LabelSelector())
    cluster = building.build(objects(1, budgets={"default/b": facts}))
    assert [each.pod_uids for each in cluster.budgets] == [frozenset({"p0"})]
