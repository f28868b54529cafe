"""Nodes that publish what can not be theirs, and nodes that were only two seconds behind."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import pytest

from numalet.cluster.doctor import facts as doctor
from numalet.cluster.doctor.facts import Contradictions
from numalet.io.documents.cluster import numa_node, numa_node_class
from numalet.io.kube_api import client
from running import fake_api_server
from running.fake_api_server import FakeApiServer
from running.fake_api_store import Target
from values import gpu_dump, gpu_fleet

PODS = "/api/v1/namespaces/default/pods"
PATHS = {
    "Node": "/api/v1/nodes",
    "Pod": PODS,
    "NumaNode": numa_node.PATH,
    "NumaNodeClass": numa_node_class.PATH,
}


@pytest.fixture
async def server() -> AsyncIterator[FakeApiServer]:
    """Two nodes with two pods each."""
    nodes = [
        gpu_fleet.running(name, [gpu_fleet.pod(f"{name}-{at}", 2) for at in range(2)])
        for name in ("gpu-1", "gpu-2")
    ]
    async with fake_api_server.running() as running:
        for each in gpu_dump.objects(gpu_fleet.cluster(nodes)):
            running.put(f"{PATHS[each['kind']]}/{each['metadata']['name']}", each)
        yield running


def move(server: FakeApiServer, pod: str, node: str) -> None:
    """Bind a pod to another node than the one that publishes it."""
    value = server.store.one(Target.of(f"{PODS}/{pod}"))
    server.put(f"{PODS}/{pod}", {**value, "spec": {**value["spec"], "nodeName": node}})


async def examined(
    server: FakeApiServer, meanwhile: Callable[[], None] = lambda: None
) -> tuple[Contradictions | None, list[float]]:
    """What contradicts, and how long was waited before it was said."""
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        meanwhile()

    async with client.opened(server.access()) as api:
        return await doctor.contradictions(api, sleep), waits


async def test_nodes_that_say_the_truth_are_asked_once(server: FakeApiServer) -> None:
    assert await examined(server) == ({}, [])


async def test_a_node_whose_pod_is_elsewhere_is_named_after_a_second_list(
    server: FakeApiServer,
) -> None:
    move(server, "gpu-1-0", "gpu-2")
    known, waits = await examined(server)
    assert known is not None
    # The other node does not say that it has anything for the pod that runs there.
    assert {name: [each.code for each in why] for name, why in known.items()} == {
        "gpu-1": ["cluster/state-holder-elsewhere"],
        "gpu-2": ["cluster/state-holds-nothing"] * 3,
    }
    assert waits == [doctor.SETTLE_SECONDS]


async def test_a_node_that_was_behind_is_not_named(server: FakeApiServer) -> None:
    move(server, "gpu-1-0", "gpu-2")
    assert await examined(server, lambda: move(server, "gpu-1-0", "gpu-1")) == (
        {},
        [doctor.SETTLE_SECONDS],
    )


async def test_what_may_not_be_listed_is_not_known(server: FakeApiServer) -> None:
    server.refused["/api/v1/pods"] = 403
    assert await examined(server) == (None, [])
    server.refused["/api/v1/pods"] = 400
    with pytest.raises(client.ApiRefused):
        await examined(server)
