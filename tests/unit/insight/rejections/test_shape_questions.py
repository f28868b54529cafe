"""What the engine is asked about the shapes of a storm."""

from __future__ import annotations

from dataclasses import replace

from numalet.core.cluster.cluster import ClusterNode, ClusterPod, Origin
from numalet.insight.fleet.assessing import Assessor
from numalet.insight.rejections import shape_questions
from numalet.insight.rejections.actions import Inform, TaintNode
from values import gpu_fleet
from values.pod_storms import big, facts, full, on, plan, rejection, roomy, split

PODS = [rejection(f"p{at}", f"t{at % 2}") for at in range(5)]


def coming(name: str, uid: str) -> tuple[ClusterNode, ClusterPod]:
    """A trap to which a pod of the storm is on its way: it counts in the sums."""
    there, pod = split(name), big(uid)
    there = replace(there, origin=Origin.PUBLISHED)
    snapshot = there.node.snapshot.with_pod(replace(pod.pod, node_name=name))
    return replace(there, node=replace(there.node, snapshot=snapshot)), on(pod, name, "Pending")


def test_pods_on_their_way_that_will_be_rejected_do_not_hide_what_a_node_has() -> None:
    nodes, pods = zip(*[coming(name, f"on-{name}") for name in ("t0", "t1")], strict=True)
    _, actions = plan(PODS, facts([*nodes, *[full(f"f{at:02d}") for at in range(18)]], pods))
    (event,) = [each for each in actions if isinstance(each, Inform)]
    assert "2 nodes: 4 of nvidia.com/gpu free, 2 on each NUMA node" in event.why
    assert "2 of nvidia.com/gpu instead of 4" in event.why
    assert [each.node for each in actions if isinstance(each, TaintNode)] == ["t0", "t1"]


def test_a_pod_on_its_way_that_will_be_admitted_has_what_it_will_get() -> None:
    there = replace(roomy("r0"), origin=Origin.PUBLISHED)
    pod = on(big("coming"), "r0", "Pending")
    snapshot = there.node.snapshot.with_pod(pod.pod)
    given = facts([replace(there, node=replace(there.node, snapshot=snapshot))], [pod]).cluster
    after = shape_questions.settled(given)
    assert len(after.nodes["r0"].node.snapshot.device.records) == 1
    questions = shape_questions.ShapeQuestions(after, Assessor(), {})
    assert questions.count(gpu_fleet.asking(4), 10) == 1


def test_where_nothing_is_on_its_way_the_cluster_is_the_same_object() -> None:
    running = on(big("runs"), "t0", "Running")
    elsewhere = on(big("lost"), "gone", "Pending")
    given = facts([split("t0")], [running, elsewhere, big("waits")]).cluster
    assert shape_questions.settled(given) is given
    described = facts([split("t0")], [on(big("comes"), "t0", "Pending")]).cluster
    assert shape_questions.settled(described) is described
