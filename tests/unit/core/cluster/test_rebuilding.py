"""A node that is rebuilt from its pods."""

from __future__ import annotations

from dataclasses import replace

from numalet.core.cluster import rebuilding
from numalet.core.cluster.cluster import ClusterPod
from numalet.core.model.pod import Pod, QosClass
from values import gpu_fleet


def came(pod: Pod, created: float | None = None, started: float | None = None) -> ClusterPod:
    running = replace(pod, phase="Running", node_name="n")
    return ClusterPod(pod=running, created_at_seconds=created, started_at_seconds=started)


def names(*pods: ClusterPod) -> list[str]:
    return [each.pod.name for each in rebuilding.in_order(pods)]


def test_pods_come_in_the_order_of_their_starts() -> None:
    a, b, c, d = (gpu_fleet.pod(uid) for uid in "abcd")
    assert names(came(a, 5, 9), came(b, 9, 8), came(c, 4, 9)) == ["b", "c", "a"]
    assert names(came(d), came(c, 7), came(b, 1), came(a, 9, 9)) == ["a", "d", "b", "c"]
    assert names(came(b, None, 5), came(a, None, 5)) == ["a", "b"]


def test_what_is_over_holds_nothing() -> None:
    done = replace(gpu_fleet.pod("a"), phase="Succeeded")
    assert names(ClusterPod(pod=done), came(gpu_fleet.pod("b"))) == ["b"]


def test_a_node_that_no_pod_ever_left_is_as_it_was() -> None:
    node, pods = gpu_fleet.empty(), []
    for at, gpus in enumerate((1, 2, 3, 1)):
        pod = replace(gpu_fleet.pod(f"p{at}", gpus), phase="Running", node_name="n")
        node, decision = node.admit(pod)
        assert decision.admitted
        node = node.pod_started(pod.uid)
        pods.append(came(pod, 100 + at, 200 + at))
    rebuilt = rebuilding.rebuilt(gpu_fleet.empty(), reversed(pods))
    assert rebuilt.notes == ()
    assert rebuilt.node.snapshot == node.snapshot


def test_each_node_has_its_pods_as_they_came() -> None:
    def on(uid: str, node: str, at: float, phase: str = "Running") -> ClusterPod:
        pod = replace(gpu_fleet.pod(uid, 1), node_name=node, phase=phase)
        return ClusterPod(pod=pod, created_at_seconds=at, started_at_seconds=at)

    pods = [on("b", "n", 2), on("a", "n", 1), on("over", "n", 0, "Failed"), on("w", "", 0)]
    by_node = rebuilding.by_node([*pods, on("c", "m", 3)])
    uids = {name: [each.pod.uid for each in there] for name, there in by_node.items()}
    assert uids == {"n": ["a", "b"], "m": ["c"]}


def test_a_pod_that_would_be_refused_now_is_kept_and_noted() -> None:
    """Three pods of 3 GPUs: the third has its GPUs from a time of which nothing is known."""
    pods = [came(gpu_fleet.pod(f"p{at}", 3), at, at) for at in range(3)]
    rebuilt = rebuilding.rebuilt(gpu_fleet.empty(), pods)
    assert [str(each) for each in rebuilt.notes] == [
        "default/p2 runs, but would be rejected now (admission/not-aligned); treated as having no"
        " allocation"
    ]
    assert set(rebuilt.node.snapshot.pods) == {"p0", "p1", "p2"}
    assert set(rebuilt.node.snapshot.cpu.exclusive) == {"p0", "p1"}


def test_no_pod_is_evicted_on_the_way() -> None:
    def burstable(uid: str, cpus: int, priority: int) -> Pod:
        pod = gpu_fleet.pod(uid, cpus=cpus, gib=1, priority=priority)
        return replace(pod, qos_class=QosClass.BURSTABLE)

    large = came(burstable("large", 60, 0), 1, 1)
    critical = came(burstable("critical", 20, 2_000_000_000), 2, 2)
    rebuilt = rebuilding.rebuilt(gpu_fleet.empty(), [large, critical])
    assert set(rebuilt.node.snapshot.pods) == {"large", "critical"}
    assert [str(each.fields["reason"]) for each in rebuilt.notes] == ["others are evicted for it"]
