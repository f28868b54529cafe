"""How often hollow nodes write that are always full of jobs of 90 s, in time that is simulated.

The nodes, their leases and their publisher are those of ``numalet hollow``; what is left out is
the network. The rates are those that docs/how-to/hollow-nodes.md states for 5,000 nodes.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import re
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from numalet.cluster.hollow.fleet import HollowFleet
from numalet.cluster.hollow.fleet_members import FleetOptions, members_of
from numalet.cluster.hollow.node_document import LEASES
from numalet.cluster.hollow.publishing import BETWEEN_SECONDS, HollowPublisher
from numalet.core.model.findings import Location
from numalet.io.documents.cluster import numa_node
from numalet.io.kube_api import paths
from numalet.io.kube_api.client import ApiClient
from numalet.io.kube_api.values import Access
from running import hollow_fleets, simulated_time
from running.job_stream import job_pod

PAGE = Path(__file__).resolve().parents[4] / "docs" / "how-to" / "hollow-nodes.md"
NODES_OF_THE_PAGE = 5000
NODES = 100
JOBS_OF_A_NODE = 2
JOB_SECONDS = 90.0
NEXT_JOB_SECONDS = (0.5, 1.5)
OVER_SECONDS = 200.0
LONG_SECONDS = 1e6


class CountingApi:
    """An API server that answers at once: no objects but the pods that a test makes."""

    access = Access(server="http://127.0.0.1", origin=Location("none"))

    def __init__(self) -> None:
        self.requests: Counter[str] = Counter()
        self._version = 1
        self._events: asyncio.Queue[bytes] = asyncio.Queue()

    def happened(self, type_: str, pod: dict[str, Any]) -> None:
        """A pod is so from now on."""
        self._version += 1
        pod["metadata"]["resourceVersion"] = str(self._version)
        self._events.put_nowait(msgspec.json.encode({"type": type_, "object": pod}) + b"\n")

    async def get(self, path: str, query: object = None) -> bytes:
        return b'{"metadata":{"resourceVersion":"1"},"items":[]}'

    async def create(self, path: str, body: Any, query: object = None) -> bytes:
        return b'{"metadata":{"name":"one","uid":"one"}}'

    async def patch(self, path: str, body: Any, *more: object) -> bytes:
        self.requests[path.rpartition("/")[0] if "/nodes/" not in path else paths.NODES] += 1
        return b'{"metadata":{"name":"one","uid":"one"}}'

    async def apply(self, path: str, body: Any, manager: str, force: bool = False) -> bytes:
        self.requests[path.rpartition("/")[0]] += 1
        return b"{}"

    @contextlib.asynccontextmanager
    async def stream(self, path: str, *more: object) -> AsyncIterator[AsyncIterator[bytes]]:
        yield self._pieces(path)

    async def _pieces(self, path: str) -> AsyncIterator[bytes]:
        if path != paths.PODS:
            await asyncio.sleep(LONG_SECONDS)
        while True:
            yield await self._events.get()


async def jobs_of(api: CountingApi, node_name: str, number: int, rng: random.Random) -> None:
    """One job after the other on this node, without end."""
    await asyncio.sleep(rng.uniform(0, JOB_SECONDS))
    at = 0
    while True:
        at += 1
        pod = job_pod(f"{node_name}-{number}-{at}", 4)
        pod["metadata"] |= {
            "namespace": "jobs",
            "uid": pod["metadata"]["name"],
            "creationTimestamp": "2026-01-31T12:00:00Z",
        }
        pod["spec"]["nodeName"] = node_name
        api.happened("ADDED", pod)
        await asyncio.sleep(JOB_SECONDS)
        api.happened("DELETED", pod)
        await asyncio.sleep(rng.uniform(*NEXT_JOB_SECONDS))


async def live(api: CountingApi, rates: dict[str, float]) -> None:
    """The writes of each kind in a second, of nodes that are full."""
    kind = hollow_fleets.gpu_kind()
    members = members_of(hollow_fleets.namings(NODES, [kind], "hollow"), [kind])
    fleet = HollowFleet(
        cast("ApiClient", api), members, FleetOptions(), lambda text: None, HollowPublisher
    )
    rng = random.Random(NODES)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(fleet.run()), group.create_task(fleet.register())]
        tasks += [
            group.create_task(jobs_of(api, name, number, rng))
            for name in members
            for number in range(JOBS_OF_A_NODE)
        ]
        await asyncio.sleep(JOB_SECONDS * 1.5)
        api.requests.clear()
        await asyncio.sleep(OVER_SECONDS)
        rates.update({path: count / OVER_SECONDS for path, count in api.requests.items()})
        admitted = sum(len(each.life.node.snapshot.pods) for each in members.values())
        assert admitted > 0.95 * NODES * JOBS_OF_A_NODE
        for task in tasks:
            task.cancel()


@pytest.mark.slow
def test_writes_are_bounded_by_intervals_and_those_of_the_page() -> None:
    rates: dict[str, float] = {}
    simulated_time.run(live(CountingApi(), rates))
    stated = re.search(
        r"5,000 nodes .*?(\d+) leases, (\d+) Nodes and (\d+) NumaNodes a second",
        PAGE.read_text("utf-8").replace("\n", " "),
    )
    scaled = [
        rates[path] * NODES_OF_THE_PAGE / NODES for path in (LEASES, paths.NODES, numa_node.PATH)
    ]

    assert stated is not None, scaled
    assert scaled == pytest.approx([int(each) for each in stated.groups()], rel=0.03)
    assert rates[numa_node.PATH] <= NODES / BETWEEN_SECONDS
