"""The label of a node is really changed, once, when a pod waits that the node would have now."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from numalet.cluster import waker
from numalet.cluster.waker import LABEL, Waker, WakingLimits
from numalet.core.cluster.cluster import Cluster
from numalet.io.kube_api import client
from running import fake_api_server, hollow_fleets
from running.fake_api_store import Target
from values import hollow_pods

PODS = "/api/v1/namespaces/default/pods"
NODE = "/api/v1/nodes/hollow-0"
OWN = {"kubernetes.io/hostname": "hollow-0"}


async def test_a_node_is_touched_once_and_its_other_labels_stay() -> None:
    async with (
        fake_api_server.running() as server,
        client.opened(server.access()) as api,
    ):
        server.put(NODE, {"metadata": {"labels": OWN}})
        said: list[str] = []
        one = Waker(api, said.append, WakingLimits(patience_seconds=0.0))
        for held in (("4", "4"), ("4",), ("4",)):
            await one.wake(hollow_pods.with_waiting(*held))
        labels = server.store.one(Target.of(NODE))["metadata"]["labels"]
        assert {name: labels[name] for name in OWN} == OWN
        assert labels.keys() == {*OWN, LABEL}
        assert said == ["hollow-0: touched for default/job"]


async def test_a_node_that_is_gone_is_said_and_the_waker_goes_on() -> None:
    async with (
        fake_api_server.running() as server,
        client.opened(server.access()) as api,
    ):
        said: asyncio.Queue[str] = asyncio.Queue()
        limits = WakingLimits(
            patience_seconds=0.0, node_seconds=0.0, again_seconds=0.01, longest_seconds=0.01
        )
        one = Waker(api, said.put_nowait, limits, between_seconds=0.0)
        lines: list[str] = []

        async def states() -> AsyncIterator[Cluster]:
            yield hollow_pods.with_waiting("4")
            async with asyncio.timeout(hollow_fleets.PATIENCE_SECONDS):
                lines.append(await said.get())
                server.put(NODE, {"metadata": {"labels": OWN}})
                while "touched" not in lines[-1]:
                    lines.append(await said.get())

        await one.run(states())
        assert "404" in lines[0]
        assert lines[-1] == "hollow-0: touched for default/job"


@pytest.mark.slow
async def test_a_cluster_that_is_followed_wakes_a_pod_when_another_goes() -> None:
    """The whole way: hollow nodes publish, the waker reads, a label of the node is changed."""
    async with (
        fake_api_server.running() as server,
        hollow_fleets.running(server.access(), 1) as fleet,
    ):
        lines: asyncio.Queue[str] = asyncio.Queue()
        waking = asyncio.create_task(waker.live(server.access(), lines.put_nowait))
        try:
            for name in ("one", "two"):
                server.put(f"{PODS}/{name}", hollow_pods.document(name, gpu="4"))
            await fleet.until(lambda: fleet.phases() == dict.fromkeys(("one", "two"), "admitted"))
            await fleet.settled()
            refused = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
            job = hollow_pods.document("job", "", gpu="4")
            server.put(f"{PODS}/job", job | {"status": {"conditions": [refused]}})
            await server.watched("/api/v1/pods", 2)
            server.remove(f"{PODS}/one")
            async with asyncio.timeout(hollow_fleets.PATIENCE_SECONDS):
                assert await lines.get() == f"following the cluster at {server.url}"
                while "touched" not in (line := await lines.get()):
                    assert line == "connected, and up to date" or "the API server has no" in line
            assert line == "hollow-0: touched for default/job"
            assert LABEL in server.store.one(Target.of(NODE))["metadata"]["labels"]
        finally:
            waking.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await waking


@pytest.mark.slow
async def test_the_command_says_what_it_misses_and_ends_when_asked(tmp_path: Path) -> None:
    async with fake_api_server.running() as server:
        kubeconfig = server.write_kubeconfig(tmp_path / "kubeconfig")
        await server.stop()
        command = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "numalet", "fleet", "wake", "--kubeconfig", str(kubeconfig)),
            stderr=asyncio.subprocess.PIPE,
        )
        assert command.stderr is not None
        async with asyncio.timeout(120):
            first = await command.stderr.readline()
            second = await command.stderr.readline()
            command.send_signal(signal.SIGTERM)
            rest = await command.stderr.read()
            assert (await command.wait(), b"Traceback" in rest) == (0, False)
        assert first.decode() == f"following the cluster at {server.url}\n"
        assert b"cannot list " in second
