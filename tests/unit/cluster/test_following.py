"""Views of a cluster that is followed: soon, whole, few, and honest about their age."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import sys
from collections.abc import AsyncIterator, Callable

import pytest

from numalet.cluster import following
from numalet.cluster.fleet_metrics import FleetMeter
from numalet.cluster.following import FollowedClasses, FollowedView
from numalet.core.cluster.cluster import Cluster, ClusterPod
from numalet.core.model.findings import BadInput
from numalet.io.kube_api.pace import Pace
from running import fake_api_server
from running.fake_api_server import Ending, FakeApiServer
from running.fake_kubelets import GROUP, PATHS, Kubelets
from values import gpu_fleet

PATIENCE_SECONDS = 60.0
PODS = "/api/v1/namespaces/default/pods"
PACE = Pace(first_seconds=0.05, longest_seconds=0.2)
ENDINGS = [Ending.FORGOTTEN, Ending.GONE_EVENT, Ending.RESET_IN_LINE, Ending.RESTART]


class Receiver:
    """Keeps what it is given, and measures it as ``fleet serve`` does."""

    def __init__(self) -> None:
        self.views: list[FollowedView] = []
        self.meter = FleetMeter([("four", ClusterPod(pod=gpu_fleet.pod("asks", 4)))])
        self._changed = asyncio.Condition()

    async def receive(self, view: FollowedView) -> None:
        async with self._changed:
            self.views.append(view)
            self._changed.notify_all()

    @property
    def last(self) -> FollowedView:
        return self.views[-1]

    @property
    def cluster(self) -> Cluster:
        assert self.last.opened is not None
        return self.last.opened.cluster

    async def until(self, is_so: Callable[[FollowedView], bool]) -> FollowedView:
        """The first view of which it is so, from the last one on."""
        async with asyncio.timeout(PATIENCE_SECONDS), self._changed:
            await self._changed.wait_for(lambda: bool(self.views) and is_so(self.last))
            return self.last

    async def until_running(self, node: str, count: int) -> FollowedView:
        """The first view in which so many pods run on a node."""
        return await self.until(lambda view: _running(view, node) == count)


def _running(view: FollowedView, node: str) -> int:
    if view.opened is None or node not in view.opened.cluster.nodes:
        return -1
    return len(view.opened.cluster.nodes[node].node.snapshot.pods)


def _is_cordoned(view: FollowedView, node: str) -> bool:
    return view.opened is not None and view.opened.cluster.nodes[node].is_cordoned


@contextlib.asynccontextmanager
async def at_work(server: FakeApiServer) -> AsyncIterator[Receiver]:
    receiver = Receiver()
    task = asyncio.create_task(
        following.follow(server.access(), FollowedClasses(), receiver.receive, PACE)
    )
    try:
        yield receiver
        assert not task.done(), task.exception()
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


@contextlib.asynccontextmanager
async def two_nodes() -> AsyncIterator[tuple[Kubelets, Receiver]]:
    """A server with two nodes that publish, and a receiver that has seen them."""
    async with fake_api_server.running() as server:
        kubelets = Kubelets(server)
        for name in ("a", "b"):
            kubelets.node(name)
            kubelets.state(name, 2)
        async with at_work(server) as receiver:
            await receiver.until_running("b", 1)
            yield kubelets, receiver


async def test_a_change_of_one_node_is_seen_and_decides_one_node() -> None:
    async with two_nodes() as (kubelets, receiver):
        assert receiver.meter.measured(receiver.cluster).fits == {"four": 2}
        asked = receiver.meter.finder.assessor.asked_nodes
        kubelets.state("a", 2, 2)
        await receiver.until_running("a", 2)
        assert receiver.meter.measured(receiver.cluster).fits == {"four": 2}
        kubelets.state("a", 2, 2, 2, 2)
        view = await receiver.until_running("a", 4)
        assert receiver.meter.measured(receiver.cluster).fits == {"four": 1}
        # One shape, asked about for traps and for copies, on one node at two moments.
        assert receiver.meter.finder.assessor.asked_nodes == asked + 2 * 2
        assert (view.age_seconds, view.problems) == (0.0, ())
        assert view.opened is not None
        assert set(view.opened.published_seconds) == {"a", "b"}
        assert len(view.opened.specs) == 1


async def test_what_changes_in_a_burst_is_one_view() -> None:
    async with two_nodes() as (kubelets, receiver):
        seen = len(receiver.views)
        for _ in range(100):
            kubelets.pod("waits", 8)
            kubelets.remove(f"{PODS}/waits")
        kubelets.state("b", 2, 2)
        await receiver.until_running("b", 2)
        assert len(receiver.views) - seen < 20


@pytest.mark.slow
@pytest.mark.parametrize("ending", ENDINGS)
async def test_views_go_on_however_watches_end(ending: Ending) -> None:
    async with two_nodes() as (kubelets, receiver):
        for count in (2, 3):
            for path in PATHS:
                await kubelets.server.watched(path)
            await kubelets.server.strike(ending)
            kubelets.state("a", *[1] * count)
            await receiver.until_running("a", count)
            await receiver.until(lambda view: not view.age_seconds and not view.problems)


@pytest.mark.slow
async def test_a_server_that_is_away_makes_the_view_old_and_is_found_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(following, "AGAIN_SECONDS", 0.05)
    async with two_nodes() as (kubelets, receiver):
        await kubelets.server.stop()
        old = await receiver.until(lambda view: view.age_seconds > 0)
        older = await receiver.until(lambda view: view.age_seconds > old.age_seconds)
        assert {each.code for each in older.problems} == {"cluster/disconnected"}
        assert _running(older, "a") == 1
        kubelets.server.store.forget()
        await kubelets.server.start()
        kubelets.state("a", 1, 1)
        await receiver.until_running("a", 2)
        await receiver.until(lambda view: not view.age_seconds and not view.problems)


async def test_a_cluster_that_can_not_be_listed_is_no_cluster() -> None:
    async with fake_api_server.running() as server:
        server.refused["/api/v1/nodes"] = 403
        async with at_work(server) as receiver:
            view = await receiver.until(lambda view: bool(view.problems))
            assert view.opened is None
            assert [each.code for each in view.problems] == ["cluster/unlisted"]
            assert "cannot list /api/v1/nodes" in str(view.problems[0])


async def test_what_a_receiver_raises_ends_all_of_it() -> None:
    async def refuse(view: FollowedView) -> None:
        raise BadInput(view.problems)

    async with fake_api_server.running() as server, asyncio.timeout(PATIENCE_SECONDS):
        server.refused["/api/v1/pods"] = 500
        with pytest.raises(BadInput):
            await following.follow(server.access(), FollowedClasses(), refuse, PACE)


@pytest.mark.slow
@pytest.mark.usefixtures("quick_collections")
async def test_ten_thousand_changes_leave_nothing_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Pods, nodes and their states come and go, some of them unreadable, each of its own name."""
    monkeypatch.setattr(following, "BETWEEN_SECONDS", 0.01)
    async with two_nodes() as (kubelets, receiver):
        server = kubelets.server
        node = kubelets.objects["/api/v1/nodes/a"]
        state = kubelets.objects[f"{GROUP}/numanodes/a"]
        pod = kubelets.objects[f"{PODS}/a-0"]
        bad = {"kind": "Pod", "spec": {"containers": 5, "nodeName": "a"}}

        async def seen(is_cordoned: bool) -> None:
            # The last change of both watches: what still waits in one is not kept.
            kubelets.node("b", is_cordoned=is_cordoned)
            if is_cordoned:
                kubelets.pod("b-1", 2, "b")
            else:
                kubelets.remove(f"{PODS}/b-1")
            await receiver.until_running("b", 1 + is_cordoned)
            await receiver.until(lambda view: _is_cordoned(view, "b") is is_cordoned)
            receiver.meter.measured(receiver.cluster)
            del receiver.views[:-1]
            server.store.events.clear()

        async def change(first: int, count: int) -> None:
            for at in range(first, first + count, 10):
                name = f"x{at}"
                put = {
                    f"/api/v1/nodes/{name}": node,
                    f"{GROUP}/numanodes/{name}": state,
                    f"{PODS}/{name}": {**pod, "spec": {**pod["spec"], "nodeName": name}},
                    f"{PODS}/waits-{at}": pod,
                    f"{PODS}/bad-{at}": bad,
                }
                for path, value in put.items():
                    named = {"name": path.rpartition("/")[2], "uid": path}
                    server.put(path, {**value, "metadata": {**value.get("metadata", {}), **named}})
                if at % 500 == 0:
                    await seen(is_cordoned=True)
                for path in put:
                    server.remove(path)
                if at % 500 == 0:
                    await seen(is_cordoned=False)
            await seen(is_cordoned=True)
            await seen(is_cordoned=False)

        await change(0, 4000)
        before = _blocks()
        await change(4000, 10_000)
        # Half a block of memory for each: what is kept of an object that is gone has several.
        assert _blocks() - before < 5_000


def _blocks() -> int:
    gc.collect()
    return sys.getallocatedblocks()
