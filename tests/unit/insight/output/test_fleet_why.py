"""One pod of a cluster: its rejection then, its node now, where it fits, and the ways out."""

from __future__ import annotations

from dataclasses import replace

from numalet.core.cluster.cluster import Cluster, ClusterPod, Controller, UndecidedNode
from numalet.core.model import input_error
from numalet.core.model.pod import QosClass
from numalet.insight.fleet.assessing import Assessor
from numalet.insight.output import fleet_why_document
from numalet.insight.output.fleet_why_document import (
    FleetWhyDocument,
    Standing,
    ThereDocument,
    ThereVerdict,
    Way,
)
from numalet.insight.rejections import other_shape
from values import gpu_fleet
from values.gpu_fleet import GPU, pod, running

PAIRS = [pod(uid, 2) for uid in "abcd"]
SPLIT = running("split", PAIRS, gone="ac")
HALF = running("half", PAIRS, gone="ab")


def refused(gpus: int, node: str = "split", **changes: object) -> ClusterPod:
    made = replace(pod("r", gpus), node_name=node, phase="Failed")
    given = ClusterPod(
        pod=made,
        controller=Controller("Job", "llm"),
        reason="TopologyAffinityError",
        message="Resources cannot be allocated with Topology locality",
        created_at_seconds=60.0,
    )
    return replace(given, **changes)  # type: ignore[arg-type]


def asked(cluster: Cluster, given: ClusterPod) -> FleetWhyDocument:
    pods = {**cluster.pods, given.pod.uid: given}
    return fleet_why_document.of(replace(cluster, pods=pods), given, Assessor())


def there(cluster: Cluster, given: ClusterPod) -> ThereDocument:
    found = asked(cluster, given).there
    assert found is not None
    return found


def test_a_rejected_pod_has_its_record_its_node_now_and_another_node() -> None:
    answer = asked(gpu_fleet.cluster([SPLIT, HALF]), refused(4))
    assert (answer.standing, answer.node, answer.at_seconds) == (Standing.REJECTED, "split", 60.0)
    assert (answer.owner, answer.reason) == ("Job/llm", "TopologyAffinityError")
    assert answer.there is not None
    assert (answer.there.verdict, answer.there.reason) == (
        ThereVerdict.REJECTED,
        "TopologyAffinityError",
    )
    assert "needs 4 nvidia.com/gpu on one NUMA node; the best nodes have 2 free" in (
        answer.there.text
    )
    assert answer.there.contradiction == ""
    assert answer.is_yes
    assert answer.fit is not None
    assert answer.fit.nodes_that_fit == ("half",)
    assert answer.refusing == ["split"]
    (way,) = answer.ways_out
    assert (way.way, way.node) == (Way.NODE, "half")
    assert way.text == "a new pod fits on half, on NUMA node 0"


def test_a_pod_without_numa_nodes_has_a_node_alone() -> None:
    bare = replace(pod("r").app_containers[0], requests={}, limits={})
    small = replace(pod("r"), app_containers=(bare,), qos_class=QosClass.BEST_EFFORT)
    answer = asked(gpu_fleet.cluster([SPLIT]), ClusterPod(pod=small))
    assert (answer.standing, answer.there) == (Standing.WAITING, None)
    assert [each.text for each in answer.ways_out] == ["a new pod fits on split"]


def test_if_no_node_fits_a_smaller_shape_comes_before_evictions() -> None:
    answer = asked(gpu_fleet.cluster([SPLIT]), refused(4))
    assert not answer.is_yes
    assert [each.way for each in answer.ways_out] == [Way.SHAPE, Way.EVICTIONS]
    shape, evictions = answer.ways_out
    assert shape.text == (
        f"main asks for 2 of {GPU} instead of 4 (one unit more is too much), on split"
    )
    assert evictions.text == "evict 1 pod from split: default/b"
    assert evictions.evicted == ["default/b"]


def test_pods_that_leave_anyway_are_waited_for() -> None:
    cluster = gpu_fleet.cluster([SPLIT])
    pods = {uid: replace(each, is_being_deleted=True) for uid, each in cluster.pods.items()}
    evictions = asked(replace(cluster, pods=pods), refused(4)).ways_out[-1]
    assert evictions.text == "wait until pods that are being deleted have left split"


def test_a_pod_that_never_fits_has_a_smaller_shape_alone() -> None:
    given = refused(8, "empty")
    given = replace(given, pod=replace(pod("r", 8, 16, 64), node_name="empty", phase="Failed"))
    answer = asked(gpu_fleet.cluster([running("empty", [])]), given)
    assert [each.way for each in answer.ways_out] == [Way.SHAPE]


def test_the_node_may_admit_the_pod_now() -> None:
    found = there(gpu_fleet.cluster([HALF]), refused(4, "half"))
    assert (found.verdict, found.text) == (ThereVerdict.ADMITTED, "")


def test_the_node_may_get_no_pods_now() -> None:
    closed = replace(HALF, is_cordoned=True)
    found = there(gpu_fleet.cluster([closed]), refused(4, "half"))
    assert (found.verdict, found.text) == (ThereVerdict.NOT_SENT, "cordoned")


def test_the_node_may_be_gone_or_undecided() -> None:
    cluster = gpu_fleet.cluster([HALF])
    assert there(cluster, refused(4, "lost")).verdict is ThereVerdict.GONE
    why = input_error.NotFound("no class")
    dark = {"dark": UndecidedNode(name="dark", why=why)}
    found = there(replace(cluster, undecided=dark), refused(4, "dark"))
    assert (found.verdict, found.text) == (ThereVerdict.UNDECIDED, str(why))


def test_a_reason_that_the_assumed_configuration_never_gives_is_named() -> None:
    free = running("free", [], on=gpu_fleet.empty(policy="none"))
    found = there(gpu_fleet.cluster([free]), refused(4, "free"))
    assert found.contradiction.startswith("TopologyAffinityError needs ")
    assert "that is assumed for free has" in found.contradiction


def test_pods_that_were_not_rejected_say_so() -> None:
    cluster = gpu_fleet.cluster([HALF])
    runs = asked(cluster, cluster.pods["c"])
    assert (runs.standing, runs.fit, runs.there, runs.is_yes) == (
        Standing.ON_NODE,
        None,
        None,
        True,
    )
    done = replace(cluster.pods["c"], pod=replace(cluster.pods["c"].pod, phase="Succeeded"))
    assert asked(cluster, done).standing is Standing.SUCCEEDED
    assert asked(cluster, refused(4, reason="Evicted")).standing is Standing.FAILED


def test_a_dropped_container_is_less_than_a_smaller_request() -> None:
    main = pod("r", 2).app_containers[0]
    second = replace(main, name="second")
    whole = replace(pod("r", 2), app_containers=(main, second))
    found = asked(gpu_fleet.cluster([SPLIT]), ClusterPod(pod=whole))
    assert found.ways_out[0].text == "the pod does without the container main, on split"


def test_nothing_is_searched_where_nothing_is_left() -> None:
    full = running("full", [pod("x", 4), pod("y", 4)])
    assert (
        other_shape.other_shape(
            Assessor().assess(gpu_fleet.cluster([full]), gpu_fleet.asking(4)), gpu_fleet.asking(4)
        )
        is None
    )


def test_of_nodes_with_one_reason_the_one_with_the_most_left_stands_for_all() -> None:
    asking = replace(gpu_fleet.asking(4, 40, 8))
    tight = running("a", [pod("x", 0, 25, 8), pod("y", 0, 25, 8)])
    roomy = running("b", [pod("x", 0, 4, 8), pod("y", 0, 25, 8)])
    assessed = Assessor().assess(gpu_fleet.cluster([tight, roomy]), asking)
    found = other_shape.other_shape(assessed, asking)
    assert found is not None
    assert found.node == "b"
