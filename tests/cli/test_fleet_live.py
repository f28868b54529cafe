"""``numalet fleet`` asks an API server, and changes its Nodes with --yes alone."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from cli.commands import Ended, Runner
from running import fake_api_server
from running.fake_api_server import FakeApiServer, Scripted
from running.fake_api_store import Target
from values import gpu_dump, gpu_fleet

BIG = "nvidia.com/gpu=4,cpu=16,memory=128Gi"
COLLECTIONS = {
    "Node": "/api/v1/nodes",
    "Pod": "/api/v1/namespaces/default/pods",
    "NumaNode": "/apis/numalet.dev/v1alpha1/numanodes",
    "NumaNodeClass": "/apis/numalet.dev/v1alpha1/numanodeclasses",
}


@pytest.fixture
async def server() -> AsyncIterator[FakeApiServer]:
    """Two trap nodes for pods of 4 GPUs."""
    nodes = []
    for name in ("gpu-1", "gpu-2"):
        pods = [gpu_fleet.pod(f"{name}-{uid}", 2) for uid in "abcd"]
        nodes.append(gpu_fleet.running(name, pods, gone=(f"{name}-a", f"{name}-c")))
    async with fake_api_server.running() as running:
        for each in gpu_dump.objects(gpu_fleet.cluster(nodes)):
            running.put(f"{COLLECTIONS[each['kind']]}/{each['metadata']['name']}", each)
        yield running


class Live:
    """Runs commands beside the server."""

    def __init__(self, numalet: Runner, kubeconfig: Path) -> None:
        self._numalet = numalet
        self._kubeconfig = str(kubeconfig)

    async def __call__(self, *arguments: str) -> Ended:
        return await asyncio.to_thread(
            self._numalet, "fleet", *arguments, "--kubeconfig", self._kubeconfig
        )


@pytest.fixture
def fleet(numalet: Runner, server: FakeApiServer, tmp_path: Path) -> Live:
    return Live(numalet, server.write_kubeconfig(tmp_path / "kubeconfig"))


def _node(server: FakeApiServer, name: str) -> Any:
    return server.store.one(Target.of(f"/api/v1/nodes/{name}"))


async def test_a_cluster_is_listed_and_answered_about(fleet: Live) -> None:
    ended = await fleet("fit", BIG)
    assert ended.status == 1
    assert "2  4 of nvidia.com/gpu free, 2 on each NUMA node" in ended.out
    assert ended.out.splitlines()[-1] == "Nodes: 2 published; kubelet v1.32."


async def test_a_rejected_pod_is_explained_from_a_cluster_as_from_its_dump(
    fleet: Live, server: FakeApiServer, numalet: Runner, tmp_path: Path
) -> None:
    dump = tmp_path / "dump.json"
    gpu_dump.write_rejections(dump)
    for each in json.loads(dump.read_text())["items"]:
        server.put(f"{COLLECTIONS[each['kind']]}/{each['metadata']['name']}", each)
    for words in (["rejected"], ["why", "default/infer-0"]):
        live = await fleet(*words, "-o", "json")
        dumped = numalet("fleet", *words, "-o", "json", "--dump", str(dump))
        assert (live.status, json.loads(live.out)) == (dumped.status, json.loads(dumped.out))


async def test_a_cluster_without_nodes_has_no_answer(fleet: Live, server: FakeApiServer) -> None:
    for name in ("gpu-1", "gpu-2"):
        server.remove(f"/api/v1/nodes/{name}")
    ended = await fleet("fit", BIG)
    assert (ended.status, ended.out) == (2, "")
    assert f"error: the cluster at {server.url} has no nodes\n" in ended.err


@pytest.mark.slow
async def test_traps_are_cordoned_and_given_back(fleet: Live, server: FakeApiServer) -> None:
    asked = ("traps", "--shape", BIG, "--cordon")
    dry = await fleet(*asked)
    assert dry.status == 1
    assert not any(each.method == "PATCH" for each in server.requests)
    done = await fleet(*asked, "--at-most", "1", "--yes", "-o", "json")
    assert done.status == 0
    assert json.loads(done.out)["kept_away"]["changed"] == ["gpu-1"]
    assert _node(server, "gpu-1")["spec"]["unschedulable"] is True
    assert "unschedulable" not in _node(server, "gpu-2")["spec"]
    assert "gpu-1" in (await fleet("traps", "--undo")).out
    undone = await fleet("traps", "--undo", "--yes")
    assert undone.status == 0
    assert "unschedulable" not in _node(server, "gpu-1")["spec"]
    assert "nothing" in (await fleet("traps", "--undo", "--yes")).out


async def test_a_node_that_another_client_changed_is_patched_again(
    fleet: Live, server: FakeApiServer
) -> None:
    await fleet("traps", "--shape", BIG, "--taint", "--yes", "--at-most", "1")
    assert _node(server, "gpu-1")["spec"]["taints"][-1]["key"] == "numalet.dev/trap"


async def test_a_server_that_refuses_is_named(fleet: Live, server: FakeApiServer) -> None:
    status = {"kind": "Status", "code": 403, "reason": "Forbidden", "message": "no pods for you"}
    for _ in range(6):
        server.scripted.append(Scripted(403, body=json.dumps(status).encode()))
    ended = await fleet("fit", BIG)
    assert (ended.status, ended.out) == (2, "")
    assert "no pods for you" in ended.err
    await server.stop()
    assert (await fleet("fit", BIG)).status == 2
