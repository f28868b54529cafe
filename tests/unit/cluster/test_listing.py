"""A cluster that is listed once is the one that a dump of it would be, or a finding."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from numalet.cluster import keeping
from numalet.core.cluster.objects import ListedNode
from numalet.core.model.findings import BadInput
from numalet.insight.fleet.keeping_away import KeepAway
from numalet.io.documents.cluster import cluster_dump, numa_node, numa_node_class
from numalet.io.kube_api import api_objects
from numalet.io.kube_api.listing import PAGE_ITEMS
from running import fake_api_server
from running.fake_api_server import FakeApiServer
from values import gpu_dump, gpu_fleet, kube_lists

BUDGETS = "/apis/policy/v1/poddisruptionbudgets"
TOPOLOGIES = "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies"
COLLECTIONS = {
    "Node": "/api/v1/nodes",
    "Pod": "/api/v1/namespaces/default/pods",
    "NumaNode": numa_node.PATH,
    "NumaNodeClass": numa_node_class.PATH,
}
BUDGET = {
    "kind": "PodDisruptionBudget",
    "metadata": {"name": "b", "namespace": "default"},
    "spec": {"selector": {}},
}
WITHHELD = ("/api/v1/pods", BUDGETS, numa_node.PATH)
BAD = {"kind": "Pod", "metadata": {"name": "bad", "uid": "bad"}, "spec": {"containers": 5}}


@pytest.fixture
async def server() -> AsyncIterator[FakeApiServer]:
    async with fake_api_server.running() as running:
        yield running


def fill(server: FakeApiServer, *more: tuple[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Put a cluster into the server; its objects as the server has them."""
    node = gpu_fleet.running("gpu-1", [gpu_fleet.pod(uid, 2) for uid in "ab"])
    given = [
        (f"{COLLECTIONS[each['kind']]}/{each['metadata']['name']}", each)
        for each in gpu_dump.objects(gpu_fleet.cluster([node]))
    ]
    return [dict(server.put(path, value)) for path, value in (*given, *more)]


def many_nodes(server: FakeApiServer) -> None:
    for at in range(PAGE_ITEMS + 1):
        name = f"more-{at}"
        server.put(f"/api/v1/nodes/{name}", kube_lists.node_object(ListedNode(name=name, uid=name)))


async def test_a_list_is_what_a_dump_would_be(server: FakeApiServer, tmp_path: Path) -> None:
    budget = ("/apis/policy/v1/namespaces/default/poddisruptionbudgets/b", BUDGET)
    dump = tmp_path / "dump.json"
    dump.write_text(kube_lists.kubectl_json(fill(server, budget)))
    assert await api_objects.listed(server.access()) == cluster_dump.load([str(dump)])


async def test_what_the_server_does_not_have_counts_as_none(server: FakeApiServer) -> None:
    fill(server)
    absent = (BUDGETS, TOPOLOGIES, numa_node.PATH, numa_node_class.PATH)
    server.refused |= dict.fromkeys(absent, 404)
    listed = await api_objects.listed(server.access())
    assert (list(listed.nodes), len(listed.pods)) == (["gpu-1"], 2)
    left_out = (listed.budgets, listed.topologies, listed.states, listed.classes)
    assert left_out == ({}, {}, {}, {})


@pytest.mark.parametrize(
    ("path", "code"), [("/api/v1/nodes", 404), ("/api/v1/pods", 403), (numa_node.PATH, 403)]
)
async def test_what_it_can_not_do_without_is_a_finding(
    server: FakeApiServer, path: str, code: int
) -> None:
    server.refused[path] = code
    with pytest.raises(BadInput) as refused:
        await api_objects.listed(server.access())
    (finding,) = refused.value.findings
    assert finding.code == "kube-api/refused"
    assert f"GET {path} ({code} " in str(finding)


async def test_pages_that_are_forgotten_are_listed_again_and_said_once(
    server: FakeApiServer,
) -> None:
    fill(server, ("/api/v1/namespaces/default/pods/bad", BAD))
    many_nodes(server)
    server.put("/api/v1/nodes/bad", {"kind": "Node", "metadata": {"name": "bad"}, "spec": 7})
    forgotten: list[None] = []

    def forget() -> None:
        forgotten.append(None)
        # Versions go on, or nothing would be forgotten.
        server.put("/api/v1/nodes/late", kube_lists.node_object(ListedNode(name="late", uid="l")))
        server.store.forget()

    server.page_hook.append(forget)
    listed = await api_objects.listed(server.access())
    assert forgotten
    assert len(listed.nodes) == PAGE_ITEMS + 3
    assert [(each.code, str(each).split()[2]) for each in listed.notes] == [
        ("input/ignored", "Node"),
        ("input/ignored", "Pod"),
    ]


async def test_nodes_are_given_back_on_every_page(server: FakeApiServer) -> None:
    fill(server)
    many_nodes(server)
    await keeping.keep_away(server.access(), ["more-500"], KeepAway.CORDON)
    assert await keeping.kept_away(server.access()) == ["more-500"]
    limits = [
        each.query.get("limit")
        for each in server.requests
        if (each.method, each.path) == ("GET", "/api/v1/nodes")
    ]
    assert limits == [str(PAGE_ITEMS)] * 2


async def test_no_list_is_under_way_after_one_was_refused(server: FakeApiServer) -> None:
    server.withheld.update(WITHHELD)
    server.refused["/api/v1/nodes"] = 403
    access = server.access()

    async def left() -> set[str]:
        with pytest.raises(BadInput) as refused:
            await api_objects.listed(access)
        assert "403" in str(refused.value)
        own = asyncio.current_task()
        return {str(each) for each in asyncio.all_tasks() if each is not own}

    assert await asyncio.to_thread(asyncio.run, left()) == set()
