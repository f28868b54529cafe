"""A cluster that is kept current from an API server is the one that a dump of it would be."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from numalet.cluster.live import LiveCluster
from numalet.core.cluster import published
from numalet.core.cluster.cluster import Cluster, Origin
from numalet.io.documents.cluster import numa_node_class
from numalet.io.kube_api import client
from numalet.io.kube_api.client import RequestLimits
from numalet.io.kube_api.pace import Pace
from running import fake_api_server
from running.fake_api_server import Ending, Scripted
from running.fake_kubelets import BUDGETS, CLASS, GROUP, PATHS, SPEC, Kubelets
from values import gpu_fleet

BUDGET = {"metadata": {"name": "b"}, "spec": {"selector": {}}, "kind": "PodDisruptionBudget"}
PATIENCE_SECONDS = 200.0


class QuickClock:
    """Real time, but sleeping is over at once."""

    def now_seconds(self) -> float:
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(0)


@contextlib.asynccontextmanager
async def at_work(
    refused: dict[str, int] | None = None,
) -> AsyncIterator[tuple[Kubelets, LiveCluster]]:
    """A server with two nodes, of which one publishes, and a cluster that follows it."""
    async with fake_api_server.running() as server:
        server.refused |= refused or {}
        kubelets = Kubelets(server)
        kubelets.node("a")
        kubelets.node("b")
        kubelets.state("a", 2, 1)
        kubelets.pod("waiting", 8)
        live = LiveCluster(pace=Pace(clock=QuickClock(), fraction=lambda: 0.0))
        limits = RequestLimits(patience_seconds=0)
        async with client.opened(server.access(), limits=limits) as api:
            assert live.cluster() is None
            task = asyncio.create_task(live.follow(api))
            try:
                async with asyncio.timeout(PATIENCE_SECONDS):
                    await live.wait_until_ready()
                yield kubelets, live
            finally:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task


def content(cluster: Cluster | None) -> Any:
    """What can be compared of a cluster."""
    assert cluster is not None
    return (
        {
            name: (
                published.of_node(each.node),
                tuple(each.node.snapshot.pods),
                replace(each, node=gpu_fleet.empty()).__repr__().partition("node=")[0],
                each.origin,
                each.class_name,
                each.labels,
                each.is_cordoned,
                [str(note) for note in each.notes],
            )
            for name, each in sorted(cluster.nodes.items())
        },
        {name: str(each.why) for name, each in sorted(cluster.undecided.items())},
        dict(sorted(cluster.pods.items())),
        cluster.budgets,
    )


async def until_equal(live: LiveCluster, kubelets: Kubelets, folder: Path) -> None:
    expected = content(kubelets.dumped(folder))
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while content(live.cluster()) != expected:
                await live.wait_for_change()
    except TimeoutError:
        assert content(live.cluster()) == expected


async def test_it_is_what_a_dump_would_be(tmp_path: Path) -> None:
    async with at_work() as (kubelets, live):
        await until_equal(live, kubelets, tmp_path)
        cluster = live.cluster()
        assert cluster is not None
        assert cluster.nodes["a"].origin is Origin.PUBLISHED
        assert set(cluster.undecided) == {"b"}
        assert [each.pod.uid for each in cluster.waiting()] == ["waiting"]
        assert live.is_current
        assert live.cluster() is cluster


async def test_only_changed_objects_are_built_again(tmp_path: Path) -> None:
    async with at_work() as (kubelets, live):
        kubelets.state("b", 3)
        await until_equal(live, kubelets, tmp_path)
        before = live.cluster()
        kubelets.node("b", is_cordoned=True)
        await until_equal(live, kubelets, tmp_path)
        after = live.cluster()
        assert before is not None
        assert after is not None
        assert after.nodes["a"] is before.nodes["a"]
        assert after.nodes["b"] is not before.nodes["b"]
        assert (before.nodes["b"].is_cordoned, after.nodes["b"].is_cordoned) == (False, True)


async def test_a_topology_changes_only_a_node_that_is_undecided(tmp_path: Path) -> None:
    async with at_work() as (kubelets, live):
        await until_equal(live, kubelets, tmp_path)
        before = live.cluster()
        # One watch brings both, in this order.
        for name in "ab":
            topology = {"kind": "NodeResourceTopology", "metadata": {"name": name}, "zones": []}
            kubelets.put(f"{PATHS[3]}/{name}", topology)
        await until_equal(live, kubelets, tmp_path)
        after = live.cluster()
        assert before is not None
        assert after is not None
        assert after.undecided["b"] != before.undecided["b"]
        assert after.nodes["a"] is before.nodes["a"]


@pytest.mark.slow
async def test_every_kind_of_change_is_taken_in(tmp_path: Path) -> None:
    async with at_work() as (kubelets, live):
        topology = {"kind": "NodeResourceTopology", "metadata": {"name": "b"}, "zones": []}
        steps: list[Callable[[], None]] = [
            lambda: kubelets.put(f"{PATHS[3]}/b", topology),
            lambda: kubelets.put(
                "/apis/policy/v1/namespaces/default/poddisruptionbudgets/b", BUDGET
            ),
            lambda: kubelets.state("b", 1, 1),
            lambda: kubelets.pod("waiting", 8, "elsewhere"),
            lambda: kubelets.remove("/api/v1/namespaces/default/pods/b-1"),
            lambda: kubelets.pod("b-0", 1, "a"),
            lambda: kubelets.remove(f"{GROUP}/numanodeclasses/{CLASS}"),
            lambda: kubelets.put(
                f"{GROUP}/numanodeclasses/{CLASS}", numa_node_class.class_object(SPEC)
            ),
            lambda: kubelets.remove(f"{GROUP}/numanodes/b"),
            lambda: kubelets.remove("/api/v1/nodes/b"),
        ]
        for step in steps:
            step()
            await until_equal(live, kubelets, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    "ending", [Ending.FORGOTTEN, Ending.RESET_IN_LINE, Ending.GONE_EVENT, Ending.RESTART]
)
async def test_it_is_equal_again_however_watches_end(tmp_path: Path, ending: Ending) -> None:
    rng = random.Random(ending.name)
    async with at_work() as (kubelets, live):
        for round_ in range(2):
            for path in PATHS:
                await kubelets.server.watched(path)
            kubelets.state(rng.choice("ab"), 1 + round_)
            await kubelets.server.strike(ending)
            kubelets.remove("/api/v1/namespaces/default/pods/waiting")
            kubelets.pod("waiting", round_)
            await until_equal(live, kubelets, tmp_path)


async def test_what_the_server_does_not_have_counts_as_none() -> None:
    absent = dict.fromkeys(PATHS[3:], 404)
    async with at_work({**absent, BUDGETS: 403}) as (kubelets, live):
        cluster = live.cluster()
        assert cluster is not None
        assert set(cluster.undecided) == {"a", "b"}
        assert sorted(each.code for each in cluster.notes) == [
            *["cluster/collection-absent"] * 3,
            "cluster/collection-forbidden",
        ]
        assert live.is_current
        # The definitions come later.
        kubelets.server.refused.clear()
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not (value := live.cluster()) or "a" not in value.nodes:
                await live.wait_for_change()


async def test_a_pod_that_can_not_be_read_is_noted_at_its_node(tmp_path: Path) -> None:
    async with at_work() as (kubelets, live):
        bad = {
            "kind": "Pod",
            "metadata": {"name": "bad", "uid": "bad"},
            "spec": {"containers": 5, "nodeName": "a"},
        }
        kubelets.put("/api/v1/namespaces/default/pods/bad", bad)
        kubelets.pod("a-0", 2, "a")
        kubelets.node("a", is_cordoned=True)
        await until_equal(live, kubelets, tmp_path)
        cluster = live.cluster()
        assert cluster is not None
        assert [each.code for each in cluster.nodes["a"].notes] == ["cluster/unread-pods"]
        assert [each.code for each in cluster.notes] == ["input/ignored"]


async def until_noted(live: LiveCluster, *codes: str) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while [each.code for each in live.notes] != [*codes]:
            await live.wait_for_change()


async def test_an_object_that_can_not_be_read_is_noted_while_it_is_there() -> None:
    async with at_work() as (kubelets, live):
        path = f"{GROUP}/numanodes/b"
        bad = {"kind": "NumaNode", "metadata": {"name": "b"}, "spec": {"state": 5}}
        kubelets.put(path, bad)
        await until_noted(live, "input/ignored")
        kubelets.remove(path)
        await until_noted(live)
        kubelets.put(path, bad)
        await until_noted(live, "input/ignored")
        kubelets.server.refused[f"{GROUP}/numanodes"] = 403
        await kubelets.server.strike(Ending.RESET)
        await until_noted(live, "cluster/collection-forbidden")


async def test_without_nodes_it_is_not_ready() -> None:
    refused = {"/api/v1/nodes": 403}
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(at_work(refused).__aenter__(), 0.5)


async def test_it_says_when_it_may_be_out_of_date() -> None:
    async with at_work() as (kubelets, live):
        kubelets.server.refused |= dict.fromkeys(PATHS, 500)
        await kubelets.server.strike(Ending.RESET)
        async with asyncio.timeout(PATIENCE_SECONDS):
            while live.is_current:
                await live.wait_for_change()
        assert live.is_ready
        assert "cluster/disconnected" in {each.code for each in live.notes}
        kubelets.server.refused.clear()
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not live.is_current:
                await live.wait_for_change()


async def test_who_may_list_and_not_watch_keeps_what_was_listed() -> None:
    async with at_work() as (kubelets, live):
        refusal = Scripted(403, body=b'{"message":"cannot watch"}', for_watch=True)
        kubelets.server.scripted.extend([refusal] * len(PATHS))
        await kubelets.server.strike(Ending.RESET)
        codes: set[str] = set()
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not (live.is_current and codes):
                await live.wait_for_change()
                codes |= {each.code for each in live.notes}
                cluster = live.cluster()
                assert cluster is not None
                assert set(cluster.nodes) == {"a"}
        assert codes == {"cluster/disconnected"}
