"""A writer sends what was offered last, when it is due, under a clock that a test moves."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.model.findings import Finding
from numalet.io.documents.cluster import numa_node, numa_node_class
from numalet.io.kube_api.answers import ApiRefused, ApiStatus, ApiUnreachable
from numalet.io.tasks import beside
from numalet.shared.publish import node_view
from numalet.shared.publish.pacing import WriteInterval
from numalet.shared.publish.writer import (
    ClassWriter,
    PacedWriter,
    numa_node_writer,
    topology_writer,
)
from values import profile_bench

INTERVAL = WriteInterval(at_most_every_seconds=2.0, refresh_seconds=100.0)


@dataclass
class HandClock:
    """Time that passes when a test says so."""

    now: float = 0.0
    sleepers: list[tuple[float, int, asyncio.Event]] = field(default_factory=list)

    def now_seconds(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        woken = asyncio.Event()
        heapq.heappush(self.sleepers, (self.now + seconds, len(self.sleepers), woken))
        await woken.wait()

    async def to(self, until: float) -> None:
        """Let time pass, waking who sleeps on the way."""
        await settled()
        while self.sleepers and self.sleepers[0][0] <= until:
            self.now, _, woken = heapq.heappop(self.sleepers)
            woken.set()
            await settled()
        self.now = until


async def settled() -> None:
    """Let every task go on as far as it can."""
    for _ in range(10):
        await asyncio.sleep(0)


@dataclass
class Server:
    """Keeps what it is sent; answers as the test wants."""

    clock: HandClock
    answers: list[Exception] = field(default_factory=list)
    sent: list[tuple[float, str]] = field(default_factory=list)

    async def send(self, content: str) -> None:
        self.sent.append((self.clock.now, content))
        if self.answers:
            raise self.answers.pop(0)


def refusal(code: int, retry_after_seconds: float | None = None) -> ApiRefused:
    return ApiRefused(ApiStatus(code, "Refused", "no", retry_after_seconds))


def run(
    scenario: Callable[[PacedWriter[str], HandClock, Server], Awaitable[None]],
) -> list[Finding | None]:
    """Run the scenario with a writer at work; what it reported."""
    reported: list[Finding | None] = []

    async def whole() -> None:
        clock = HandClock()
        server = Server(clock)
        writer = PacedWriter(
            server.send, INTERVAL, clock=clock, fraction=lambda: 0.0, report=reported.append
        )
        async with beside(writer.run()):
            await scenario(writer, clock, server)

    asyncio.run(whole())
    return reported


def test_changes_are_written_at_once_and_then_at_most_once_an_interval() -> None:
    async def scenario(writer: PacedWriter[str], clock: HandClock, server: Server) -> None:
        writer.offer("a")
        assert not writer.is_current
        await clock.to(0.5)
        assert writer.is_current
        for at, content in ((0.6, "b"), (0.7, "c"), (1.9, "d")):
            await clock.to(at)
            writer.offer(content)
        await clock.to(50)
        assert server.sent == [(0.0, "a"), (2.0, "d")]
        assert writer.counts.written == 2

    assert run(scenario) == []


def test_nothing_is_written_when_nothing_changed_but_the_refresh() -> None:
    async def scenario(writer: PacedWriter[str], clock: HandClock, server: Server) -> None:
        writer.offer("a")
        await clock.to(1)
        writer.offer("a")
        writer.offer("b")
        writer.offer("a")
        await clock.to(99)
        assert server.sent == [(0.0, "a")]
        await clock.to(101)
        assert server.sent == [(0.0, "a"), (100.0, "a")]

    run(scenario)


def test_a_refusal_is_reported_once_and_repeated_as_the_server_asks() -> None:
    async def scenario(writer: PacedWriter[str], clock: HandClock, server: Server) -> None:
        server.answers = [refusal(429, 30.0), ApiUnreachable("no route"), refusal(500)]
        writer.offer("a")
        await clock.to(10)
        writer.offer("b")
        await clock.to(60)
        assert server.sent == [(0.0, "a"), (30.0, "b"), (32.0, "b"), (33.0, "b")]
        counts = writer.counts
        assert (counts.written, counts.failed, counts.put_off) == (1, 3, 1)
        assert writer.is_current

    finding, again = run(scenario)
    assert finding is not None
    assert finding.code == "publish/refused"
    assert again is None


def test_what_changes_while_it_is_written_is_written_too() -> None:
    async def scenario(writer: PacedWriter[str], clock: HandClock, server: Server) -> None:
        async def slow(content: str) -> None:
            await server.send(content)
            await clock.sleep(5)

        writer.send = slow
        writer.offer("a")
        await clock.to(1)
        writer.offer("b")
        await clock.to(20)
        assert server.sent == [(0.0, "a"), (5.0, "b")]

    run(scenario)


def test_a_writer_without_content_writes_nothing() -> None:
    async def scenario(writer: PacedWriter[str], clock: HandClock, server: Server) -> None:
        await writer.write()
        await clock.to(1000)
        assert server.sent == []
        assert not writer.is_current

    run(scenario)


@dataclass
class Api:
    """Stores objects by path, and refuses what the test wants refused."""

    refusals: dict[str, list[ApiRefused]] = field(default_factory=dict)
    asked: list[tuple[str, str, bool]] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)

    async def create(self, path: str, body: dict[str, Any]) -> bytes:
        return self._answer("create", f"{path}/{body['metadata']['name']}", body, force=False)

    async def apply(
        self, path: str, body: dict[str, Any], manager: str, force: bool = False
    ) -> bytes:
        assert manager == "numalet"
        return self._answer("apply", path, body, force=force)

    def _answer(self, verb: str, path: str, body: dict[str, Any], *, force: bool) -> bytes:
        self.asked.append((verb, path, force))
        self.bodies.append(body)
        if self.refusals.get(verb):
            raise self.refusals[verb].pop(0)
        return b"{}"


NODE_OBJECTS = node_view.objects_of_node(profile_bench.started("single"), KubeletConfig())
CLASS_PATH = f"{numa_node_class.PATH}/{NODE_OBJECTS.class_name}"


def test_the_class_is_there_before_the_node_that_refers_to_it() -> None:
    api = Api({"create": [refusal(409)]})
    classes = ClassWriter(api)
    now = datetime(2026, 1, 31, tzinfo=UTC)

    async def twice() -> None:
        for name in ("one", "two"):
            writer = numa_node_writer(api, name, classes, lambda: now)
            writer.offer(NODE_OBJECTS)
            await writer.write()
            if name == "two":
                await writer.write()

    asyncio.run(twice())
    assert api.asked == [
        ("create", CLASS_PATH, False),
        ("apply", f"{numa_node.PATH}/one", True),
        ("apply", f"{numa_node.PATH}/two", True),
        # The refresh sees to the class again, which may have been deleted.
        ("create", CLASS_PATH, False),
        ("apply", f"{numa_node.PATH}/two", True),
    ]
    assert api.bodies[1]["spec"]["published"] == "2026-01-31T00:00:00Z"


def test_a_class_that_may_not_be_created_is_a_refusal_and_no_node_is_written() -> None:
    api = Api({"create": [refusal(403)]})
    reported: list[Finding | None] = []

    async def once() -> None:
        writer = numa_node_writer(
            api,
            "one",
            ClassWriter(api),
            lambda: datetime(2026, 1, 31, tzinfo=UTC),
            report=reported.append,
        )
        writer.offer(NODE_OBJECTS)
        await writer.write()

    asyncio.run(once())
    assert [verb for verb, _, _ in api.asked] == ["create"]
    assert [each and each.code for each in reported] == ["publish/refused"]


def topology_after(refused: ApiRefused | None, *, force: bool) -> tuple[Api, list[str]]:
    api = Api({"apply": [] if refused is None else [refused]})
    reported: list[Finding | None] = []

    async def once() -> None:
        writer = topology_writer(api, "one", force=force, report=reported.append)
        writer.offer({"zones": []})
        await writer.write()

    asyncio.run(once())
    return api, [each.code for each in reported if each is not None]


def test_zones_of_another_manager_are_left_to_it_unless_forced() -> None:
    path = "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies/one"

    api, codes = topology_after(refusal(409), force=False)
    assert (api.asked, codes) == ([("apply", path, False)], ["publish/foreign-zones"])
    api, codes = topology_after(None, force=True)
    assert (api.asked, codes) == ([("apply", path, True)], [])
    assert topology_after(refusal(403), force=False)[1] == ["publish/refused"]
