"""The bind gate beside an API server: what it binds, what it waits for, what it says otherwise."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

import pytest

from numalet.cluster.extender import binding
from numalet.cluster.extender.binding import BindGate
from numalet.cluster.extender.state import ExtenderRules, ExtenderState
from numalet.cluster.extender.wire import BindingArguments
from numalet.cluster.following import FollowedClasses
from numalet.core.cluster import published
from numalet.core.cluster.cluster import ClusterPod
from numalet.core.model.pod import Pod, QosClass
from numalet.insight.scheduling.filtering import LEFT_ALONE, NOT_KNOWN, FilterRules
from numalet.io.documents.cluster import numa_node
from numalet.io.documents.cluster.numa_node import NumaNodeSpec
from numalet.io.kube_api import client
from numalet.io.kube_api.client import RequestLimits
from numalet.io.kube_api.pace import Pace
from running import fake_api_server
from running.fake_api_server import Ending, FakeApiServer, Scripted
from running.fake_kubelets import CLASS, GROUP, Kubelets
from values import gpu_fleet, kube_lists

PATIENCE_SECONDS = 200.0
POD = "/api/v1/namespaces/default/pods"
LONG = ExtenderRules(timeout_seconds=PATIENCE_SECONDS)
SHORT = ExtenderRules(timeout_seconds=0.5)
PACE = Pace(first_seconds=0.02, longest_seconds=0.1)


@dataclass
class Gate:
    """A server, nodes that publish when they are told to, and a gate that follows it."""

    server: FakeApiServer
    kubelets: Kubelets
    state: ExtenderState
    gate: BindGate

    async def bind(self, uid: str, node: str = "a") -> str:
        asked = BindingArguments(pod_uid=uid, node=node, pod_name=uid, pod_namespace="default")
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await self.gate.bind(asked)

    def node_of(self, uid: str) -> str:
        pods = self.server.store.objects["/api/v1/pods"]
        return str(pods["default", uid]["spec"].get("nodeName", ""))

    async def until(self, is_so: bool | object) -> None:
        """Wait until a condition, called after each change of the view, holds."""
        assert callable(is_so)
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not is_so():
                await self.state.live.wait_for_change()
                self.state.refresh()


CPUS = {"ten": 10, "nine": 9, "rest": 23, "other-rest": 23}
"""14 and 32 are free. After 10 and 9 a NUMA node has 23 left, after 9 and 10 one has 22."""


def of_cpus(uid: str) -> Pod:
    return gpu_fleet.pod(uid, cpus=CPUS[uid], gib=1)


def write_pod(kubelets: Kubelets, pod: Pod) -> None:
    value = kube_lists.pod_object(ClusterPod(pod=pod, created_at_seconds=1.0))
    kubelets.put(f"{POD}/{pod.name}", value)


def publish(kubelets: Kubelets, name: str, *steps: Pod | str) -> None:
    """The node has admitted these pods, pods of these uids have ended, and it publishes that."""
    node = gpu_fleet.empty()
    for each in steps:
        if isinstance(each, str):
            node = node.remove(each)
            continue
        node, decision = node.admit(each)
        assert decision.admitted
    spec = NumaNodeSpec(
        class_name=CLASS,
        published="2026-01-31T12:00:00Z",
        state=numa_node.document(published.of_node(node)),
    )
    kubelets.put(f"{GROUP}/numanodes/{name}", numa_node.published_object(name, spec))


@contextlib.asynccontextmanager
async def gated(
    server: FakeApiServer, rules: ExtenderRules = LONG, patience_seconds: float = PATIENCE_SECONDS
) -> AsyncIterator[tuple[ExtenderState, BindGate]]:
    state = ExtenderState(rules, FollowedClasses(), PACE)
    limits = RequestLimits(patience_seconds=0)
    async with (
        client.opened(server.access(), limits=limits) as api,
        asyncio.TaskGroup() as group,
    ):
        gate = BindGate(state, api, patience_seconds)
        tasks = [group.create_task(gate.work()), group.create_task(state.live.follow(api))]
        async with asyncio.timeout(PATIENCE_SECONDS):
            await state.live.wait_until_ready()
        state.refresh()
        try:
            yield state, gate
        finally:
            for each in tasks:
                each.cancel()


@contextlib.asynccontextmanager
async def at_work(
    rules: ExtenderRules = LONG, patience_seconds: float = PATIENCE_SECONDS
) -> AsyncIterator[Gate]:
    """Node a has a pod of 4 GPUs, so that one more of them has room, and b publishes nothing."""
    async with fake_api_server.running() as server:
        kubelets = Kubelets(server)
        kubelets.node("a")
        kubelets.node("b")
        there = replace(gpu_fleet.pod("there", 4), node_name="a", phase="Running")
        write_pod(kubelets, there)
        publish(kubelets, "a", there)
        for uid, gpus in (("x", 4), ("y", 4), ("one", 1), ("two", 1)):
            write_pod(kubelets, gpu_fleet.pod(uid, gpus))
        for uid in CPUS:
            write_pod(kubelets, of_cpus(uid))
        async with gated(server, rules, patience_seconds) as (state, gate):
            yield Gate(server, kubelets, state, gate)


THERE = gpu_fleet.pod("there", 4)


async def test_of_two_pods_for_one_hole_the_first_is_bound() -> None:
    async with at_work() as at, asyncio.TaskGroup() as group:
        first = group.create_task(at.bind("x"))
        second = group.create_task(at.bind("y"))
        assert await first == ""
        assert at.node_of("x") == "a"
        publish(at.kubelets, "a", THERE, gpu_fleet.pod("x", 4))
        assert (await second).startswith("numalet: ")
        assert at.node_of("y") == ""
        assert {*at.state.nodes.promises} == set()


async def test_a_pod_that_fits_in_every_order_is_bound_at_once() -> None:
    async with at_work() as at:
        for uid in ("one", "two", "ten", "nine"):
            assert await at.bind(uid) == ""
            assert at.node_of(uid) == "a"


async def test_one_that_fits_in_some_order_waits_for_the_decisions_and_lets_others_pass() -> None:
    async with at_work() as at, asyncio.TaskGroup() as group:
        assert [await at.bind("ten"), await at.bind("nine")] == ["", ""]
        await at.until(lambda: at.state.live.pods["nine"].pod.node_name == "a")
        waits = group.create_task(at.bind("rest"))
        assert await at.bind("ten", "b") == "numalet: the pod is on node a"
        assert await at.bind("one") == ""
        assert not waits.done()
        publish(at.kubelets, "a", THERE, of_cpus("ten"), of_cpus("nine"))
        # The one that was sent meanwhile takes CPUs of the rest.
        assert not await at.bind("other-rest", "b")
        publish(at.kubelets, "a", THERE, of_cpus("ten"), of_cpus("nine"), gpu_fleet.pod("one", 1))
        assert "no NUMA node has 23 CPUs free" in await waits


async def test_it_is_bound_if_the_decisions_leave_room() -> None:
    async with at_work() as at, asyncio.TaskGroup() as group:
        assert [await at.bind("ten"), await at.bind("nine")] == ["", ""]
        waits = group.create_task(at.bind("rest"))
        also = group.create_task(at.bind("other-rest"))
        publish(at.kubelets, "a", THERE, of_cpus("ten"), of_cpus("nine"))
        assert await waits == ""
        assert not also.done()
        decided = (THERE, *map(of_cpus, ("ten", "nine", "rest")))
        publish(at.kubelets, "a", *decided)
        assert "no NUMA node has 23 CPUs free" in await also


LEFT, RIGHT, THIRD, FOURTH = (gpu_fleet.pod(uid, 2) for uid in ("left", "right", "third", "fourth"))
FIRST, SMALL = gpu_fleet.pod("first", 3), gpu_fleet.pod("small", cpus=1, gib=1)


async def bound(at: Gate, *pods: Pod) -> None:
    """Pods come and are bound at once, and the gate sees it."""
    for each in pods:
        write_pod(at.kubelets, each)
        await at.until(lambda each=each: each.uid in at.state.live.pods)
        assert await at.bind(each.uid) == ""
        await at.until(lambda each=each: at.state.live.pods[each.uid].pod.node_name == "a")


async def ended(at: Gate, uid: str) -> None:
    at.server.remove(f"{POD}/{uid}")
    await at.until(lambda: uid not in at.state.live.pods)


async def test_a_published_pod_that_ended_after_other_decisions_counts_until_these_are_known() -> (
    None
):
    async with at_work() as at, asyncio.TaskGroup() as group:
        await ended(at, "there")
        await bound(at, LEFT, RIGHT)
        publish(at.kubelets, "a", LEFT, RIGHT)
        # Both are on NUMA node 0, so the kubelet puts this one on NUMA node 1.
        await bound(at, THIRD)
        await ended(at, "left")
        # Without the one that ended, a kubelet would put the third one on NUMA node 0.
        waits = group.create_task(at.bind("x"))
        await bound(at, SMALL)
        assert not waits.done()
        publish(at.kubelets, "a", LEFT, RIGHT, THIRD, "left", SMALL)
        assert await waits != ""
        assert at.node_of("x") == ""


async def test_a_pod_that_came_and_ended_between_two_publications_counts_too() -> None:
    async with at_work() as at, asyncio.TaskGroup() as group:
        await ended(at, "there")
        publish(at.kubelets, "a")
        # One of them is on NUMA node 0 with its three GPUs, the other on NUMA node 1.
        await bound(at, FIRST, THIRD)
        await ended(at, "first")
        await bound(at, FOURTH)
        waits = group.create_task(at.bind("x"))
        await bound(at, SMALL)
        assert not waits.done()
        publish(at.kubelets, "a", FIRST, THIRD, "first", FOURTH, SMALL)
        assert await waits != ""
        assert at.node_of("x") == ""


async def test_an_end_before_the_bindings_on_a_node_changes_nothing_for_them() -> None:
    async with at_work() as at:
        await ended(at, "there")
        for uid in ("x", "y"):
            assert await at.bind(uid) == ""


@pytest.mark.slow
async def test_who_waits_for_too_long_is_told_so_and_counts_nowhere() -> None:
    async with at_work() as at:
        assert [await at.bind("ten"), await at.bind("nine")] == ["", ""]
        at.state.rules = SHORT  # Those that are bound may take their time.
        at.state.promise(at.state.live.pods["rest"], "a")  # As the filter's answer did.
        async with asyncio.TaskGroup() as group:
            late = [group.create_task(at.bind(uid)) for uid in ("rest", "other-rest")]
        assert [each.result() for each in late] == [binding.STILL_DECIDES] * 2
        assert at.node_of("rest") == ""
        assert "rest" not in at.state.nodes.promises


async def test_a_pod_that_holds_nothing_does_not_wait() -> None:
    async with at_work() as at:
        plain = replace(gpu_fleet.pod("plain", cpus=1, gib=1), qos_class=QosClass.BURSTABLE)
        value = kube_lists.pod_object(ClusterPod(pod=plain, created_at_seconds=1.0))
        del value["spec"]["containers"][0]["resources"]["limits"]
        value.get("status", {}).pop("qosClass", None)
        at.kubelets.put(f"{POD}/plain", value)
        assert await at.bind("one") == ""
        assert await at.bind("plain") == ""
        assert at.node_of("plain") == "a"


async def test_a_node_that_has_stopped_publishing_is_expected_to_decide_as_we_do() -> None:
    async with at_work(patience_seconds=0.05) as at:
        assert await at.bind("one") == ""
        assert await at.bind("two") == ""
        assert (await at.bind("y")).startswith("numalet: ")
        publish(at.kubelets, "a", THERE)
        assert (at.node_of("one"), at.node_of("two")) == ("a", "a")


async def test_a_state_that_contradicts_the_pods_is_waited_for_and_then_not_believed() -> None:
    async with at_work(SHORT) as at:
        publish(at.kubelets, "a", THERE, gpu_fleet.pod("two", 1))  # It waits for a node.
        await at.until(lambda: "rebuilt" in str(at.state.nodes.nodes["a"].origin).lower())
        assert await at.bind("one") == binding.STILL_DECIDES
    async with at_work(patience_seconds=0.0) as at:
        publish(at.kubelets, "a", THERE, gpu_fleet.pod("two", 1))
        await at.until(lambda: "rebuilt" in str(at.state.nodes.nodes["a"].origin).lower())
        assert await at.bind("one") == ""


async def test_a_node_that_is_left_alone_gets_no_pod() -> None:
    async with at_work() as at:
        shape = at.state.live.pods["one"]
        at.state.filter.was_refused(shape.pod, "a", at.state.now_seconds())
        assert await at.bind("two") == LEFT_ALONE
        assert at.node_of("two") == ""


async def test_an_extender_that_restarted_after_the_filter_binds_too() -> None:
    async with at_work() as at, gated(at.server) as (state, gate):
        assert at.state.filtered(at.state.live.pods["x"], ["a"]).passed == ["a"]
        asked = BindingArguments(pod_uid="x", node="a")
        assert await gate.bind(asked) == ""
        assert at.node_of("x") == "a"
        await at.until(lambda: "x" not in at.state.nodes.promises)
        assert state.nodes.promises.keys() <= {"x"}


async def test_another_pod_of_the_same_name_is_not_bound() -> None:
    async with at_work() as at:
        at.server.remove(f"{POD}/x")
        other = replace(gpu_fleet.pod("other", 4), name="x")
        write_pod(at.kubelets, other)
        await at.until(lambda: "other" in at.state.live.pods and "x" not in at.state.live.pods)
        assert await at.bind("x") == binding.NOT_SEEN
        assert at.node_of("x") == ""


async def test_a_pod_that_was_replaced_meanwhile_is_not_bound_by_the_api_server() -> None:
    async with at_work() as at:
        stored = at.server.store.objects["/api/v1/pods"]["default", "x"]
        stored["metadata"]["uid"] = "other"
        assert "409 Conflict" in await at.bind("x")
        assert at.node_of("x") == ""
        assert "x" not in at.state.nodes.promises
        assert await at.bind("one") == ""


async def test_a_pod_that_is_there_already_is_bound() -> None:
    async with at_work() as at:
        assert await at.bind("there") == ""


async def test_a_pod_that_comes_after_the_request_is_bound() -> None:
    async with at_work() as at, asyncio.TaskGroup() as group:
        early = group.create_task(at.bind("late"))
        await asyncio.sleep(0)
        write_pod(at.kubelets, gpu_fleet.pod("late", 1))
        assert await early == ""


async def test_a_node_without_a_state_is_bound_to_as_the_rules_say() -> None:
    async with at_work() as at:
        assert await at.bind("x", "b") == ""
    rules = replace(LONG, filtering=FilterRules(passes_unknown=False))
    async with at_work(rules) as at:
        assert await at.bind("x", "b") == NOT_KNOWN


async def test_what_the_api_server_says_is_passed_on() -> None:
    async with at_work() as at:
        at.server.scripted.append(Scripted(0, is_reset=True, for_watch=False))
        assert await at.bind("one", "b") != ""
        at.server.scripted.append(Scripted(500, {}, b"<html>oops</html>", for_watch=False))
        assert "500" in await at.bind("two", "b")
        assert {*at.state.nodes.promises} == {"one", "two"}


async def test_a_binding_whose_answer_is_lost_counts_until_its_pod_says_where_it_is() -> None:
    async with at_work(SHORT) as at:
        at.server.withheld.add(f"{POD}/x/binding")
        assert await at.bind("x") == binding.NO_ANSWER
        assert at.state.nodes.promises["x"].node_name == "a"
        # The scheduler asks anew; what may have been bound counts all the same.
        at.state.filtered(at.state.live.pods["x"], ["a", "b"])
        assert await at.bind("one") == binding.STILL_DECIDES
        at.server.remove(f"{POD}/x")
        await at.until(lambda: "x" not in at.state.live.pods)
        at.state.rules = LONG
        assert await at.bind("one") == ""


async def test_without_news_of_the_cluster_nothing_is_bound() -> None:
    async with at_work(SHORT) as at:
        at.server.refused["/api/v1/pods"] = 500
        await at.server.strike(Ending.GONE_EVENT)
        await at.until(lambda: not at.state.live.is_current)
        assert await at.bind("one") == binding.NO_NEWS


@pytest.mark.parametrize("seconds", [0.0])
async def test_a_promise_that_is_over_is_waited_for_no_longer(seconds: float) -> None:
    rules = replace(SHORT, promise_seconds=seconds)
    async with at_work(rules) as at:
        at.server.withheld.add(f"{POD}/x/binding")
        assert await at.bind("x") == binding.NO_ANSWER
        at.state.rules = replace(LONG, promise_seconds=seconds)
        assert await at.bind("y") == ""
