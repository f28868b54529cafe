"""Of failed pods those are known that kubelets rejected, and of each what rules need."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest

from numalet.cluster.breaker.failed_pods import FailedPods, OwnerChain
from numalet.insight.rejections.rejected_pod import OwnerLink
from numalet.io.kube_api import client
from numalet.io.kube_api.pace import Pace
from numalet.io.tasks import ended
from running import fake_api_server
from running.fake_api_server import Ending, FakeApiServer
from running.fake_api_store import Target
from values import failed_pods
from values.failed_pods import NAMESPACE, PODS

PATIENCE_SECONDS = 200.0
OF_SET = failed_pods.reference("StatefulSet", "db")
OF_WEB = failed_pods.reference("ReplicaSet", "web-1")
CHAIN = OwnerChain((OwnerLink("apps/v1", "StatefulSet", NAMESPACE, "db", "uid-of-db"),))


@pytest.fixture
async def server() -> AsyncIterator[FakeApiServer]:
    async with fake_api_server.running() as running:
        yield running


@dataclass
class Followed:
    """Failed pods that are followed, and what was said of new ones."""

    changed: asyncio.Event = field(default_factory=asyncio.Event)
    reasons: list[str] = field(default_factory=list)
    now_seconds: float = 5000.0

    def __post_init__(self) -> None:
        pace = Pace(first_seconds=0.02, longest_seconds=0.1)
        self.pods = FailedPods(
            self.changed, "", self.reasons.append, pace, lambda: self.now_seconds
        )

    def names(self) -> list[str]:
        """Of those that there are."""
        return sorted(each.metadata["name"] for each in self.pods.pods)

    def to_plan(self) -> list[str]:
        return sorted(each.metadata["name"] for each in self.pods.to_plan())

    async def until(self, *names: str) -> None:
        """Wait until these are there, and no others."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not self.pods.is_listed or self.names() != [*names]:
                await self.changed.wait()
                self.changed.clear()


@contextlib.asynccontextmanager
async def following(server: FakeApiServer) -> AsyncIterator[Followed]:
    followed = Followed()
    async with client.opened(server.access()) as api:
        task = asyncio.create_task(followed.pods.follow(api))
        try:
            yield followed
        finally:
            await ended(task)


async def test_pods_that_failed_otherwise_or_run_are_left_out(server: FakeApiServer) -> None:
    server.put(f"{PODS}/a", failed_pods.pod("a"))
    for name, status in [
        ("evicted", {"phase": "Failed", "reason": "Evicted"}),
        ("failed", {"phase": "Failed"}),
        ("runs", {"phase": "Running", "reason": failed_pods.REASON}),
    ]:
        server.put(f"{PODS}/{name}", {**failed_pods.pod(name), "status": status})
    server.put(f"{PODS}/bad", {**failed_pods.pod("bad"), "spec": {"containers": 5}})
    async with following(server) as followed:
        await followed.until("a")


async def test_only_what_came_later_is_counted_and_has_the_moment_when_it_was_seen(
    server: FakeApiServer,
) -> None:
    server.put(f"{PODS}/a", failed_pods.pod("a"))
    async with following(server) as followed:
        await followed.until("a")
        assert followed.reasons == []
        server.put(f"{PODS}/b", failed_pods.pod("b"))
        await followed.until("a", "b")
        assert followed.reasons == [failed_pods.REASON]
        moments = [followed.pods.rejected(each, OwnerChain()) for each in followed.pods.to_plan()]
        seen = {each.name: each.rejected_at_seconds for each in moments if each is not None}
        assert seen == {"a": 1893456000.0, "b": 5000.0}


async def test_the_same_value_is_given_until_the_pod_or_its_owners_are_others(
    server: FakeApiServer,
) -> None:
    server.put(f"{PODS}/a", failed_pods.pod("a", OF_SET))
    async with following(server) as followed:
        await followed.until("a")
        (pod,) = followed.pods.to_plan()
        first = followed.pods.rejected(pod, OwnerChain())
        assert followed.pods.rejected(pod, OwnerChain()) is first
        other = followed.pods.rejected(pod, CHAIN)
        assert other is not None
        assert other.owner.kind == "StatefulSet"


async def test_a_pod_that_its_controller_deleted_is_planned_for_once(
    server: FakeApiServer,
) -> None:
    server.put(f"{PODS}/db-0", failed_pods.pod("db-0", OF_SET))
    server.put(f"{PODS}/web", failed_pods.pod("web", OF_WEB))
    server.put(f"{PODS}/bare", failed_pods.pod("bare"))
    async with following(server) as followed:
        await followed.until("bare", "db-0", "web")
        for each in ("db-0", "web", "bare"):
            server.remove(f"{PODS}/{each}")
        await followed.until()
        (gone,) = followed.pods.to_plan()
        rejected = followed.pods.rejected(gone, CHAIN)
        assert rejected is not None
        assert rejected.name == "db-0"
        assert followed.to_plan() == []
        assert followed.pods.rejected(gone, CHAIN) is None


async def test_what_went_while_the_server_was_away_is_gone_too(server: FakeApiServer) -> None:
    server.put(f"{PODS}/db-0", failed_pods.pod("db-0", OF_SET))
    async with following(server) as followed:
        await followed.until("db-0")
        server.store.remove(Target.of(f"{PODS}/db-0"))
        await server.strike(Ending.RESTART)
        await followed.until()
        assert followed.to_plan() == ["db-0"]


async def test_only_a_part_of_a_pod_is_kept_unless_it_requests_recreation(
    server: FakeApiServer,
) -> None:
    wanted = {"numalet.dev/recreate": "true"}
    server.put(f"{PODS}/a", failed_pods.pod("a"))
    server.put(f"{PODS}/bare", failed_pods.pod("bare", annotations=wanted))
    server.put(f"{PODS}/owned", failed_pods.pod("owned", OF_WEB, annotations=wanted))
    async with following(server) as followed:
        await followed.until("a", "bare", "owned")
        kept = {each.metadata["name"]: "spec" in each.document for each in followed.pods.pods}
        assert kept == {"a": False, "bare": True, "owned": False}
