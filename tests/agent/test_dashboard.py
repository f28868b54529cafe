"""The dashboard of an agent: below ``/ui`` of its TLS port, by a link that its socket gives."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import resource
import ssl
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from harness.bad_inputs import refusal
from numalet.agent.controller import wiring
from numalet.agent.controller.controller import Controller
from numalet.agent.servers.dashboard import AgentNode, DashboardLinks
from numalet.dashboard import live
from numalet.io.agent_client.client import AgentClient, AgentRefused
from numalet.io.tasks import together
from running.agents import manifest, pod, running, settings, workload

_PATH = "/apis/numalet.dev/v1alpha1/dashboardlinks"
_WITHIN_SECONDS = 60


@dataclass(frozen=True)
class _Shown:
    root: Path
    controller: Controller
    base_url: str
    trusted: ssl.SSLContext

    def post(self) -> Any:
        with AgentClient(self.root / "agent.sock") as client:
            return client.post(_PATH, {})

    def browser(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(verify=self.trusted, base_url=self.base_url, timeout=100)

    @asynccontextmanager
    async def entered(self) -> AsyncIterator[httpx.AsyncClient]:
        link = await asyncio.to_thread(self.post)
        async with self.browser() as browser:
            assert (await browser.get(link["url"])).status_code == 303
            yield browser


@asynccontextmanager
async def _shown(root: Path) -> AsyncIterator[_Shown]:
    wanted = settings(root, kube_api="0")
    links = DashboardLinks()
    async with (
        running(wanted) as agent,
        wiring.served(agent.controller, wanted, links=links),
        wiring.reached(agent.controller, wanted, links=links) as serving,
    ):
        assert serving is not None
        trusted = ssl.create_default_context(cafile=root / "kube-api" / "ca.crt")
        yield _Shown(root, agent.controller, serving.url, trusted)


async def test_a_link_of_the_socket_opens_the_pages(tmp_path: Path) -> None:
    async with _shown(tmp_path) as shown:
        link = await asyncio.to_thread(shown.post)
        served = ssl.PEM_cert_to_DER_cert((tmp_path / "kube-api" / "tls.crt").read_text())
        assert link["fingerprint"].replace(":", "").lower() == hashlib.sha256(served).hexdigest()
        async with shown.browser() as browser:
            for path in ("/ui", "/ui/", "/ui/node", "/ui/events"):
                assert (await browser.get(path)).status_code == 401, path
            opened = await browser.get(link["url"])
            assert (opened.status_code, opened.headers["location"]) == (303, "/ui/")
            assert "; Secure" in opened.headers["set-cookie"]
            assert (await browser.get("/ui")).status_code == 200
            assert "<svg" in (await browser.get("/ui/node")).text
            assert (await browser.get("/ui/static/numalet.css")).status_code == 200
            assert (await browser.get(link["url"])).status_code == 403
            # A session opens the pages, and not the API beside them.
            for path in ("/api/v1/pods", "/uix", "/", "/ui/../api/v1/pods"):
                assert (await browser.get(path)).status_code in (401, 404), path


async def test_a_pod_that_crashes_has_the_status_of_kubectl_and_its_exit_code(
    tmp_path: Path,
) -> None:
    async with running(settings(tmp_path)) as agent:
        value = manifest("one")
        value["spec"]["containers"][0]["command"] = ["exit", "3"]
        await agent.controller.create(workload(value))
        source = AgentNode(agent.controller, wiring.utc_now)
        await agent.until(lambda: source.view().rows[0].status == "CrashLoopBackOff")
        (row,) = source.view().rows
        (container,) = row.containers
    assert (container.state, container.last_end) == ("CrashLoopBackOff", "exit code 3, Error")


async def test_the_token_of_the_api_is_no_session(tmp_path: Path) -> None:
    async with _shown(tmp_path) as shown, shown.browser() as browser:
        token = (tmp_path / "kube-api" / "token").read_text().strip()
        bearer = {"Authorization": f"Bearer {token}"}
        assert (await browser.get("/ui/", headers=bearer)).status_code == 401


@pytest.mark.slow
async def test_a_change_is_sent_and_the_stream_ends_with_the_agent(
    tmp_path: Path,
) -> None:
    async with contextlib.AsyncExitStack() as stack:
        async with _shown(tmp_path) as shown:
            browser = await stack.enter_async_context(shown.entered())
            answer = await stack.enter_async_context(browser.stream("GET", "/ui/events"))
            lines = answer.aiter_lines()
            first = await _revision(lines)
            await shown.controller.create(pod("seen"))
            async with asyncio.timeout(_WITHIN_SECONDS):
                while "seen" not in (await browser.get("/ui/node")).text:
                    assert await _revision(lines) > first
            began = time.monotonic()
        # Its server waits for no reader of a stream.
        assert time.monotonic() - began < _WITHIN_SECONDS
        with contextlib.suppress(httpx.HTTPError):
            async for line in lines:
                assert line == "" or line.startswith(("data:", ":"))


async def _revision(lines: AsyncIterator[str]) -> int:
    async for line in lines:
        if line.startswith("data:"):
            return int(line.rpartition(":")[2].strip(" }"))
    raise AssertionError("the stream ended")


@pytest.mark.slow
def test_a_thousand_clients_of_the_stream(tmp_path: Path) -> None:
    """A few are served, the rest gets a 503. Both ends are in this process, with their files."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    count = 1000

    async def scene() -> None:
        async with _shown(tmp_path) as shown, shown.entered() as browser:
            cookie = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
            host, _, port = shown.base_url.removeprefix("https://").partition(":")
            statuses: list[int] = []

            async def ask(stack: contextlib.AsyncExitStack) -> None:
                reader, writer = await asyncio.open_connection(host, int(port), ssl=shown.trusted)
                stack.callback(writer.close)
                writer.write(
                    f"GET /ui/events HTTP/1.1\r\nhost: x\r\ncookie: {cookie}\r\n\r\n".encode()
                )
                statuses.append(int((await reader.readline()).split()[1]))

            async with contextlib.AsyncExitStack() as stack:
                for start in range(0, count, 100):
                    async with together() as group:
                        for _ in range(min(100, count - start)):
                            group.create_task(ask(stack))
                assert statuses.count(200) == live.MOST_OF_A_SESSION
                assert statuses.count(503) == count - live.MOST_OF_A_SESSION
                assert (await browser.get("/ui/node")).status_code == 200

    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        asyncio.run(scene())
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def test_an_agent_without_a_port_says_which_option_it_needs(tmp_path: Path) -> None:
    wanted = settings(tmp_path)
    async with running(wanted) as agent, wiring.served(agent.controller, wanted):

        def ask() -> None:
            with AgentClient(tmp_path / "agent.sock") as client:
                client.post(_PATH, {})

        with pytest.raises(AgentRefused, match="--kube-api") as refused:
            await asyncio.to_thread(ask)
        assert refused.value.code == 404


def test_no_agent(tmp_path: Path) -> None:
    with AgentClient(tmp_path / "agent.sock") as client:
        refusal("client/no-agent", lambda: client.post(_PATH, {}))


async def test_the_rows_of_a_view(tmp_path: Path) -> None:
    async with running(settings(tmp_path)) as agent:
        source = AgentNode(agent.controller, lambda: datetime(2026, 1, 1, tzinfo=UTC))
        before = source.view()
        assert source.view() is before
        await agent.controller.create(pod("good"))
        await agent.controller.create(pod("large", memory="900Gi"))
        await agent.until(lambda: agent.phase("good") == "running")
        view = source.view()
        assert view.revision > before.revision
        good, large = view.rows
        assert (good.pod.name, good.status) == ("good", "Running")
        (container,) = good.containers
        assert (container.state, container.restarts) == ("running", 0)
        assert container.promised_bytes == {"memory": 2 << 30}
        assert (large.status, large.is_rejected) == ("Rejected", True)
        assert large.reason
        assert large.message
        assert view.by_uid[large.pod.uid] is large
        assert any(each.is_warning and each.pod == "default/large" for each in view.events)
        assert source.history() == ()


async def test_the_history_is_kept_in_a_file_of_the_root_folder(tmp_path: Path) -> None:
    async with _shown(tmp_path) as shown, shown.entered() as browser:
        await shown.controller.create(pod("seen"))
        async with asyncio.timeout(_WITHIN_SECONDS):
            while "<svg" not in (await browser.get("/ui/history")).text:
                pass  # Each answer takes its time.
    kept = tmp_path / "history.sqlite"
    assert kept.stat().st_mode & 0o777 == 0o600
    async with _shown(tmp_path) as shown, shown.entered() as browser:
        assert "<svg" in (await browser.get("/ui/history")).text
