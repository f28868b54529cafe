"""The extender in the event loop of a test: it follows a fake API server, and is really asked."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import httpx
from starlette.types import ASGIApp

from numalet.cluster.extender.app import BodyReader, application
from numalet.cluster.extender.log import ExtenderLog
from numalet.cluster.extender.state import ExtenderRules, ExtenderState
from numalet.cluster.following import FollowedClasses
from numalet.io.kube_api import client
from numalet.io.kube_api.client import RequestLimits
from numalet.io.kube_api.pace import PACE, Pace
from numalet.io.tasks import beside
from numalet.shared.web import addresses
from numalet.shared.web.addresses import ListenAddress
from numalet.shared.web.http_service import IDLE_SECONDS, serving
from numalet.wording.log_line import LogLine
from running import fake_api_server
from running.fake_kubelets import Kubelets

PATIENCE_SECONDS: Final = 200.0
LOOPBACK: Final = "127.0.0.1"


@dataclass(eq=False)
class AskedExtender:
    """An extender at work, whose node ``full`` has no room for a GPU and ``empty`` for eight."""

    kubelets: Kubelets
    state: ExtenderState
    url: str
    http: httpx.AsyncClient
    lines: list[LogLine] = field(default_factory=list)

    async def call(self, verb: str, body: Any) -> httpx.Response:
        """The answer to a call; ``body`` is bytes, or what is sent as JSON."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return await self.http.post(f"{self.url}/{verb}", content=content)

    async def asked(self, gpus: int, *names: str, **more: Any) -> dict[str, Any]:
        """What filter says about a pod of so many GPUs."""
        body = {"Pod": self.pod(gpus, **more), "Nodes": None, "NodeNames": names}
        answer: dict[str, Any] = (await self.call("filter", body)).json()
        return answer

    def pod(self, gpus: int, uid: str = "asked") -> Mapping[str, Any]:
        """A pod as the API server has it, that waits."""
        path = f"/api/v1/namespaces/default/pods/{uid}"
        if path not in self.kubelets.objects:
            self.kubelets.pod(uid, gpus)
        return self.kubelets.objects[path]

    async def metric(self, name: str, **labels: str) -> float | None:
        """A sample of the page of metrics, without the prefix; None if it is not there."""
        page = await self.http.get(f"{self.url}/metrics")
        assert page.status_code == 200
        return self.state.metrics.registry.get_sample_value(f"numalet_extender_{name}", labels)

    def said(self, text: str) -> list[LogLine]:
        """The lines of the log with this in their message or values."""
        return [each for each in self.lines if text in f"{each.message} {dict(each.keys)}"]

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until something is so; what changed in the cluster is taken in meanwhile."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                self.state.refresh()
                if condition():
                    return
                await self.state.live.wait_for_change()


@contextlib.asynccontextmanager
async def served(app: ASGIApp, idle_seconds: float = IDLE_SECONDS) -> AsyncIterator[str]:
    """The URL of an application on a free port of loopback."""
    listener = addresses.bound(ListenAddress(LOOPBACK, 0))
    port = listener.getsockname()[1]
    async with serving(app, listener, idle_seconds=idle_seconds):
        yield f"http://{LOOPBACK}:{port}"


@contextlib.asynccontextmanager
async def at_work(
    rules: ExtenderRules | None = None,
    pace: Pace = PACE,
    bodies: BodyReader | None = None,
    is_ready: bool = True,
) -> AsyncIterator[AskedExtender]:
    """An extender that follows a fake API server until the end of the block."""
    lines: list[LogLine] = []

    def write(more: Iterable[LogLine]) -> None:
        lines.extend(more)

    async with fake_api_server.running() as server:
        kubelets = Kubelets(server)
        for name in ("full", "empty"):
            kubelets.node(name)
        kubelets.state("full", 4, 4)
        kubelets.state("empty")
        state = ExtenderState(rules or ExtenderRules(), FollowedClasses(), pace, ExtenderLog(write))
        async with (
            client.opened(server.access(), limits=RequestLimits(patience_seconds=0)) as api,
            served(application(state, bodies)) as url,
            # Without TLS; to read the system's authorities would take longer than most tests.
            httpx.AsyncClient(verify=False, trust_env=False, timeout=PATIENCE_SECONDS) as http,
        ):
            extender = AskedExtender(kubelets, state, url, http, lines)
            if not is_ready:
                yield extender
                return
            async with beside(state.live.follow(api)):
                async with asyncio.timeout(PATIENCE_SECONDS):
                    await state.live.wait_until_ready()
                yield extender
