"""``numalet breaker`` as a process, beside an API server that ends connections when asked to."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from numalet.core.cluster.objects import ListedNode
from running import breakers, fake_api_server
from running.fake_api_server import FakeApiServer
from running.fake_api_store import Target
from values import failed_pods, kube_lists
from values.failed_pods import NAMESPACE, PODS

PATIENCE_SECONDS = 200.0
LEASE = "/apis/coordination.k8s.io/v1/namespaces/system/leases/numalet-breaker"


@contextlib.asynccontextmanager
async def a_storm() -> AsyncIterator[FakeApiServer]:
    """A server with ten rejected pods of a ReplicaSet."""
    async with fake_api_server.running() as server:
        apps = failed_pods.api_resources("apps/v1", ReplicaSet="replicasets")
        server.documents["/apis/apps/v1"] = apps
        sets = f"/apis/apps/v1/namespaces/{NAMESPACE}/replicasets"
        server.put(f"{sets}/web-1", failed_pods.owner("web-1"))
        node = ListedNode(name="node-1", uid="node-1")
        server.put("/api/v1/nodes/node-1", kube_lists.node_object(node))
        reference = failed_pods.reference("ReplicaSet", "web-1")
        for at in range(10):
            server.put(f"{PODS}/p{at}", failed_pods.pod(f"p{at}", reference))
        yield server


def left(server: FakeApiServer) -> int:
    return len(server.store.objects["/api/v1/pods"])


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not is_so():  # noqa: ASYNC110 - the server has no event for it
            await asyncio.sleep(0.02)


@pytest.mark.slow
async def test_a_breaker_leads_acts_shows_and_releases(tmp_path: Path) -> None:
    async with a_storm() as server:
        kubeconfig = server.write_kubeconfig(tmp_path / "config")
        words = ["--act", "prune", "--lease", "system/numalet-breaker", "--metrics", "127.0.0.1:0"]
        with breakers.running(kubeconfig, tmp_path / "audit", *words, is_ready=False) as breaker:
            await until(lambda: left(server) == 3)
            await until(lambda: len(breaker.actions("prune")) == 7)
            page = (await asyncio.to_thread(breaker.get, "/metrics")).text
            assert 'numalet_breaker_actions_total{action="prune",outcome="done"} 7.0' in page
            assert "numalet_breaker_leader 1.0" in page
            assert "numalet_breaker_up 1.0" in page
            for path in ("/healthz", "/readyz"):
                assert (await asyncio.to_thread(breaker.get, path)).text == "ok\n"
            lease = server.store.one(Target.of(LEASE))["spec"]
            assert lease["holderIdentity"]
            assert await asyncio.to_thread(breaker.end, signal.SIGTERM) == 0
            assert server.store.one(Target.of(LEASE))["spec"]["holderIdentity"] == ""
            assert "Traceback" not in breaker.said


@pytest.mark.slow
async def test_who_waits_for_the_lease_is_ready_and_does_nothing(tmp_path: Path) -> None:
    async with a_storm() as server:
        spec = {"holderIdentity": "another", "leaseDurationSeconds": 3600}
        server.put(LEASE, {"spec": spec})
        kubeconfig = server.write_kubeconfig(tmp_path / "config")
        words = ["--act", "prune", "--lease", "system/numalet-breaker", "--metrics", "127.0.0.1:0"]
        with breakers.running(kubeconfig, tmp_path / "audit", *words, is_ready=False) as breaker:
            await asyncio.to_thread(breaker.until_said, "waits: another leads")
            await server.watched("/api/v1/pods", 2)

            async def text(path: str) -> str:
                return (await asyncio.to_thread(breaker.get, path)).text

            async with asyncio.timeout(PATIENCE_SECONDS):
                while await text("/readyz") != "ok\n":  # noqa: ASYNC110 - it is asked for
                    await asyncio.sleep(0.05)
            assert "numalet_breaker_leader 0.0" in await text("/metrics")
            assert left(server) == 10
            assert await asyncio.to_thread(breaker.end, signal.SIGTERM) == 0
            assert server.store.one(Target.of(LEASE))["spec"] == spec


@pytest.mark.slow
async def test_without_act_the_audit_is_printed_and_nothing_is_changed(tmp_path: Path) -> None:
    async with a_storm() as server:
        kubeconfig = server.write_kubeconfig(tmp_path / "config")
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "numalet", "breaker", "--kubeconfig", str(kubeconfig),
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        assert process.stdout is not None
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                lines = [json.loads(await process.stdout.readline()) for _ in range(7)]
        finally:
            process.send_signal(signal.SIGTERM)
            _, said = await process.communicate()
        assert process.returncode == 0
        assert {each["outcome"] for each in lines} == {"dry-run"}
        assert left(server) == 10
        assert b"nothing is changed: allow what may be done with --act" in said
        assert {each.method for each in server.requests} == {"GET"}
