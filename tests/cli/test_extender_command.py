"""``numalet extender`` as a process: how it starts, what stops it, and how it ends."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from running import fake_api_server
from running.certificates import Authority
from running.extenders import RunningExtender
from running.fake_kubelets import Kubelets
from running.server_programs import PATIENCE_SECONDS, free_port

READY = "ready: 1 node is known"


@dataclass
class StartedExtender:
    """A process that follows a fake API server of the test's own event loop."""

    process: RunningExtender
    kubelets: Kubelets

    def body(self, gpus: int) -> dict[str, Any]:
        self.kubelets.pod("asked", gpus)
        pod = self.kubelets.objects["/api/v1/namespaces/default/pods/asked"]
        return {"Pod": pod, "Nodes": None, "NodeNames": ["a"]}


@contextlib.asynccontextmanager
async def started(folder: Path, *words: str) -> AsyncIterator[StartedExtender]:
    async with fake_api_server.running() as server:
        kubelets = Kubelets(server)
        kubelets.node("a")
        kubelets.state("a", 4)
        process = RunningExtender(server.write_kubeconfig(folder / "kubeconfig"), *words)
        try:
            await asyncio.to_thread(process.until_said, READY)
            yield StartedExtender(process, kubelets)
        finally:
            await asyncio.to_thread(process.kill)


@contextlib.asynccontextmanager
async def asking(**given: Any) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE_SECONDS, **given) as http:
        yield http


@pytest.mark.slow
async def test_a_signal_lets_a_request_end_and_the_process_ends_well(tmp_path: Path) -> None:
    async with started(tmp_path, "--timeout", "100s") as extender, asking() as http:
        content = json.dumps(extender.body(4)).encode()
        may_end = asyncio.Event()

        async def in_two_parts() -> AsyncIterator[bytes]:
            yield content[:100]
            await may_end.wait()
            yield content[100:]

        url = f"{extender.process.url}/filter"
        headers = {"content-length": str(len(content))}
        async with asyncio.TaskGroup() as group:
            asked = group.create_task(http.post(url, content=in_two_parts(), headers=headers))
            # One request that came later is answered, so the first one is under way.
            assert (await http.get(f"{extender.process.url}/healthz")).status_code == 200
            extender.process.process.send_signal(signal.SIGTERM)
            await _refusing(extender.process.port)
            may_end.set()
        assert asked.result().json()["NodeNames"] == ["a"]
        assert await asyncio.to_thread(extender.process.process.wait, PATIENCE_SECONDS) == 0
        await asyncio.to_thread(extender.process.until_said, "ended by a signal")
        assert "Traceback" not in extender.process.said


async def _refusing(port: int) -> None:
    """Wait until nothing listens any more."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                return
            writer.close()


@pytest.mark.slow
async def test_an_api_server_that_goes_and_comes_is_said_and_calls_are_answered_meanwhile(
    tmp_path: Path,
) -> None:
    async with started(tmp_path) as extender, asking() as http:
        body, server = extender.body(4), extender.kubelets.server
        await server.stop()
        await asyncio.to_thread(extender.process.until_said, "cluster/disconnected")
        answer = await http.post(f"{extender.process.url}/filter", json=body)
        assert answer.json()["NodeNames"] == ["a"]
        assert "numalet_extender_up 0.0" in await _metrics(http, extender)
        await server.start()
        async with asyncio.timeout(PATIENCE_SECONDS):
            while "numalet_extender_up 1.0" not in await _metrics(http, extender):
                pass
        assert "numalet_extender_view_age_seconds 0.0" in await _metrics(http, extender)


async def _metrics(http: httpx.AsyncClient, extender: StartedExtender) -> str:
    return (await http.get(f"{extender.process.url}/metrics")).text


@pytest.mark.slow
async def test_one_that_hangs_for_a_while_goes_on_where_it_was(tmp_path: Path) -> None:
    async with started(tmp_path) as extender, asking() as http:
        url = f"{extender.process.url}/filter"
        body = extender.body(4)
        assert (await http.post(url, json=body)).json()["NodeNames"] == ["a"]
        extender.process.process.send_signal(signal.SIGSTOP)
        try:
            for path in ("filter", "healthz"):
                with pytest.raises(httpx.ReadTimeout):
                    await http.post(f"{extender.process.url}/{path}", json=body, timeout=0.5)
        finally:
            extender.process.process.send_signal(signal.SIGCONT)
        assert (await http.post(url, json=body)).json()["NodeNames"] == ["a"]


@pytest.mark.slow
async def test_with_tls_only_clients_of_the_authority_ask_and_probes_have_a_port_of_their_own(
    tmp_path: Path,
) -> None:
    authority, metrics = Authority(), free_port()
    certificate, key = authority.sign("server")
    client = tmp_path / "client.pem"
    client.write_bytes(b"".join(authority.sign("scheduler")))
    files = {"--tls-cert": certificate, "--tls-key": key, "--client-ca": authority.pem}
    words: list[str] = []
    for option, content in files.items():
        (tmp_path / option[2:]).write_bytes(content)
        words += [option, str(tmp_path / option[2:])]
    async with started(tmp_path, *words, "--metrics", str(metrics)) as extender:
        url = f"https://127.0.0.1:{extender.process.port}"
        assert f"serving {url}" in extender.process.said
        trusted = ssl.create_default_context(cadata=authority.pem.decode())
        async with asking(verify=trusted) as http:
            with pytest.raises(httpx.TransportError):
                await http.get(f"{url}/readyz")
            for path in ("healthz", "readyz", "metrics"):
                answer = await http.get(f"http://127.0.0.1:{metrics}/{path}")
                assert answer.status_code == 200
        trusted = ssl.create_default_context(cadata=authority.pem.decode())
        trusted.load_cert_chain(client)
        async with asking(verify=trusted) as http:
            answer = await http.post(f"{url}/filter", json=extender.body(4))
            assert answer.json()["NodeNames"] == ["a"]


@pytest.mark.slow
async def test_of_two_replicas_with_a_lease_one_answers_and_the_other_when_that_one_ends(
    tmp_path: Path,
) -> None:
    words = ("--lease", "numalet-system/numalet-extender")
    async with started(tmp_path, *words) as first, asking() as http:
        await _ready(http, first.process)
        kubeconfig = first.kubelets.server.write_kubeconfig(tmp_path / "kubeconfig")
        second = RunningExtender(kubeconfig, *words)
        try:
            await asyncio.to_thread(second.until_said, READY)
            answer = await http.get(f"{second.url}/readyz")
            assert (answer.status_code, "another replica is active" in answer.text) == (503, True)
            body = first.body(4)
            refused = (await http.post(f"{second.url}/filter", json=body)).json()
            assert refused == {"Error": "numalet: another replica is active"}
            answered = (await http.post(f"{first.process.url}/filter", json=body)).json()
            assert answered["NodeNames"] == ["a"]
            assert await asyncio.to_thread(first.process.end) == 0
            await _ready(http, second)
            answered = (await http.post(f"{second.url}/filter", json=body)).json()
            assert answered["NodeNames"] == ["a"]
        finally:
            await asyncio.to_thread(second.kill)


async def _ready(http: httpx.AsyncClient, extender: RunningExtender) -> None:
    """Wait until the probe says yes."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while (await http.get(f"{extender.url}/readyz")).status_code != 200:
            pass


@pytest.mark.slow
async def test_the_log_is_json_where_that_is_asked_for(tmp_path: Path) -> None:
    async with started(tmp_path, "--log-format", "json", "--v", "4") as extender, asking() as http:
        await http.post(f"{extender.process.url}/filter", json=extender.body(8))
        await asyncio.to_thread(extender.process.until_said, '"request"')
        lines = [json.loads(line) for line in extender.process.said.splitlines()]
        by_message = {each["msg"]: each for each in lines}
        assert by_message[READY]["published"] == 1
        assert by_message["no node admits the pod"]["nodes"] == 1
        assert by_message["request"]["result"] == "answered"


def _run(*words: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "numalet", "extender", *words],
        capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def kubeconfig(tmp_path: Path) -> str:
    """Of a server at which nobody listens."""
    path = tmp_path / "kubeconfig"
    document = {
        "apiVersion": "v1", "kind": "Config", "current-context": "a",
        "contexts": [{"name": "a", "context": {"cluster": "a"}}],
        "clusters": [{"name": "a", "cluster": {"server": "http://127.0.0.1:1"}}],
    }  # fmt: skip
    path.write_text(json.dumps(document))
    return str(path)


@pytest.mark.slow
def test_what_can_not_be_used_is_said_at_the_start(kubeconfig: str, tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        busy = f"127.0.0.1:{other.getsockname()[1]}"
        absent = str(tmp_path / "absent.pem")
        tls = ("--tls-cert", absent, "--tls-key", absent)
        for words, expected in (
            (("--listen", busy), busy),
            (("--listen", "127.0.0.1:0", "--metrics", busy), busy),
            (("--listen", "127.0.0.1:0", *tls), "absent.pem"),
            (("--listen", "0.0.0.0:0"), "--insecure-listen"),
            (("--listen", "0.0.0.0:0", "--tls-cert", absent), "--tls-key"),
            (("--timeout", "5"), "--timeout"),
            (("--lease", "numalet-extender"), "--lease"),
        ):
            status, text = _run("--kubeconfig", kubeconfig, *words)
            assert (status, expected in text, "Traceback" in text) == (2, True, False), text
