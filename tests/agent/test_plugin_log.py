"""What device plugins do is in the log of an agent at its default level."""

from __future__ import annotations

import asyncio
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import grpc.aio
import pytest

from numalet.agent.controller.plugins import Relay
from numalet.agent.controller.requests import PluginExpired, PluginNews
from numalet.core.managers.device.inventory import Device, Health
from numalet.wording.log_line import LogLine
from running import agent_processes
from running.agent_processes import AgentProcess, Line
from servers.plugin_bench import GPU, Liar

MACHINE = ("--runtime", "fake", "-m", "2n8c1t", "--memory-per-node", "16Gi")


@pytest.fixture
def root() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="node") as folder:
        yield Path(folder) / "root"


def _until(agent: AgentProcess, message: str) -> list[Line]:
    lines = agent.heard(lambda line: bool(line["msg"] == message))
    assert not agent.is_over, agent.said
    return lines


@pytest.mark.slow
def test_a_running_agent_logs_what_plugins_do(root: Path) -> None:
    async def scene(agent: AgentProcess) -> None:
        liar = Liar(root)
        await liar.start()
        await liar.register()
        *_, registered = await asyncio.to_thread(_until, agent, "Device plugin registered")
        assert registered["resourceName"] == GPU
        *_, listed = await asyncio.to_thread(_until, agent, "Processed device updates for resource")
        assert (listed["totalCount"], listed["healthyCount"]) == (1, 1)
        with pytest.raises(grpc.aio.AioRpcError) as raised:
            await liar.register(version="v9")
        message = "Registration of a device plugin refused"
        *_, refused = await asyncio.to_thread(_until, agent, message)
        assert refused["err"] == raised.value.details()
        assert refused["level"] == "error"
        await liar.stop()
        message = "Device plugin stopped; its devices are not given out"
        *_, stopped = await asyncio.to_thread(_until, agent, message)
        assert stopped["resourceName"] == GPU

    words = ("agent", "--root", str(root), *MACHINE, "--log-format", "json")
    with agent_processes.forks() as starter:
        agent = AgentProcess(starter, words)
        try:
            _until(agent, "Agent is ready")
            asyncio.run(scene(agent))
        finally:
            assert agent.end(signal.SIGTERM) == 0


def test_a_list_that_says_the_same_again_is_logged_once() -> None:
    lines: list[LogLine] = []
    relay = Relay(log=lines.append)
    healthy, ill = Device("a"), Device("b", health=Health.UNHEALTHY)
    for devices in [(healthy,), (healthy,), (healthy, ill), (healthy, ill)]:
        relay.plugin_reported(GPU, devices)
    assert [(each.keys["totalCount"], each.keys["healthyCount"], each.level) for each in lines] == [
        (1, 1, 2),
        (2, 1, 2),
    ]


def test_a_resource_that_expires_is_logged_and_reported() -> None:
    lines: list[LogLine] = []
    news: list[PluginNews] = []
    Relay(news.append, lines.append).plugin_expired(GPU)
    assert news == [PluginExpired(GPU)]
    assert [(line.keys["resourceName"], line.is_error) for line in lines] == [(GPU, True)]
