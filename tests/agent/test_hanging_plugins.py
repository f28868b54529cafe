"""A device plugin that takes its time to answer: who waits for it, and who does not."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from numalet.agent.controller import wiring
from numalet.agent.controller.plugins import make_plugin_servers
from numalet.agent.controller.settings import AgentSettings
from numalet.agent.controller.wiring import RUNS, Hooks
from numalet.agent.host.runtime.fake import FakeRuntime
from numalet.agent.servers.door import RequestRefusal, RequestRefused
from numalet.agent.servers.endpoints import PodResourcesSettings
from numalet.core.model.pod import ContainerKey
from numalet.core.snapshot import placement
from numalet.core.workload.records import PodRecord
from numalet.core.workload.spec import Workload
from numalet.io.rpc import device_plugin_v1beta1_pb2 as messages
from numalet.io.tasks import together
from running import agents
from servers.plugin_bench import GPU, Liar


@dataclass
class Slow:
    """What a plugin says to Allocate, once it is let."""

    asked: asyncio.Event = field(default_factory=asyncio.Event)
    may_answer: asyncio.Event = field(default_factory=asyncio.Event)
    veto: bool = False
    may_start: asyncio.Event = field(default_factory=asyncio.Event)

    async def start(self) -> messages.PreStartContainerResponse:
        await self.may_start.wait()
        return messages.PreStartContainerResponse()

    async def answer(self) -> messages.AllocateResponse:
        self.asked.set()
        await self.may_answer.wait()
        if self.veto:
            raise RuntimeError("the device is on fire")
        return messages.AllocateResponse(container_responses=[{}])


@asynccontextmanager
async def _scene(given: AgentSettings) -> AsyncIterator[tuple[agents.Agent, Slow]]:
    """An agent with a plugin of two devices that waits before it allocates."""
    near = make_plugin_servers((), PodResourcesSettings())
    runtime = FakeRuntime(given.root / RUNS)
    slow = Slow()
    async with (
        wiring.opened(given, Hooks(runtime=runtime), near) as controller,
        near.served(controller, given.root),
    ):
        agent = agents.Agent(controller, runtime)
        await agent.until(lambda: controller.view().ready)
        plugin = Liar(given.root, "gpu0", allocation=slow.answer, starting=slow.start, more_lists=1)
        await plugin.start()
        try:
            await plugin.register()
            await agent.until(lambda: _devices(agent) == 2)
            yield agent, slow
        finally:
            slow.may_answer.set()
            slow.may_start.set()
            await plugin.stop()


def _devices(agent: agents.Agent) -> int:
    inventory = agent.controller.view().node.snapshot.device.inventory
    return len(inventory.healthy(GPU))


def _with_gpu(name: str, **changes: Any) -> Workload:
    value = agents.manifest(name, **changes)
    (container,) = value["spec"]["containers"]
    for amounts in container["resources"].values():
        amounts[GPU] = "1"
    return agents.workload(value)


def _is_admitted(answer: PodRecord | RequestRefused) -> bool:
    assert isinstance(answer, PodRecord)
    assert answer.run.verdict is not None
    return answer.run.verdict.admitted


def _devices_of(agent: agents.Agent, name: str) -> frozenset[str]:
    held = placement.of_all(agent.controller.view().node.snapshot)[
        ContainerKey(f"uid-{name}", "main")
    ]
    return frozenset(each for ids in held.devices.values() for each in ids)


async def _gone(agent: agents.Agent, name: str) -> None:
    await agent.controller.delete("default", name, grace_seconds=0)
    await agent.until(lambda: name not in agent.names())


async def test_natively_others_are_decided_while_a_plugin_is_asked(tmp_path: Path) -> None:
    async with _scene(agents.settings(tmp_path)) as (agent, slow):
        await agent.controller.create(agents.pod("before"))
        first = asyncio.create_task(agent.controller.create(_with_gpu("first")))
        await slow.asked.wait()
        second = asyncio.create_task(agent.controller.create(_with_gpu("second")))
        assert _is_admitted(await agent.controller.create(agents.pod("other")))
        await agent.until(lambda: agent.phase("other") == "running")
        await _gone(agent, "before")
        assert not first.done()
        # Its devices are held back: nobody else gets one before the plugin has answered.
        assert not second.done()
        assert agent.names() == ["other"]
        slow.may_answer.set()
        slow.may_start.set()
        assert _is_admitted(await first)
        assert _is_admitted(await second)
        await agent.controller.settled()
        assert {"gpu0", "0"} == _devices_of(agent, "first") | _devices_of(agent, "second")


async def test_in_exact_mode_pods_wait_in_the_kubelets_order_and_all_else_goes_on(
    tmp_path: Path,
) -> None:
    decided: list[str] = []
    async with _scene(agents.settings(tmp_path, exact=True)) as (agent, slow):
        await agent.controller.create(agents.pod("before"))
        await agent.until(lambda: agent.phase("before") == "running")

        async def create(workload: Workload) -> None:
            assert _is_admitted(await agent.controller.create(workload))
            decided.append(workload.pod.name)

        async with together() as group:
            group.create_task(create(_with_gpu("first")))
            await slow.asked.wait()
            group.create_task(create(agents.pod("other")))
            await _gone(agent, "before")
            assert (decided, agent.names()) == ([], [])
            slow.may_answer.set()
            slow.may_start.set()
        assert ["first", "other"] == decided == agent.names()


@pytest.mark.parametrize("exact", [True, False])
async def test_a_veto_that_comes_late_refuses_the_pod(exact: bool, tmp_path: Path) -> None:
    async with _scene(agents.settings(tmp_path, exact=exact)) as (agent, slow):
        slow.veto = True
        first = asyncio.create_task(agent.controller.create(_with_gpu("first")))
        await slow.asked.wait()
        slow.may_answer.set()
        slow.may_start.set()
        assert not _is_admitted(await first)


async def test_an_agent_that_stops_tells_those_who_wait_for_a_plugin(tmp_path: Path) -> None:
    async with _scene(agents.settings(tmp_path)) as (agent, slow):
        first = asyncio.create_task(agent.controller.create(_with_gpu("first")))
        await slow.asked.wait()
        second = asyncio.create_task(agent.controller.create(_with_gpu("second")))
        assert _is_admitted(await agent.controller.create(agents.pod("other")))
        await agent.controller.stop()
    for each in (first, second):
        answer = await each
        assert isinstance(answer, RequestRefused)
        assert RequestRefusal.STOPPING is answer.why


async def test_a_pod_of_the_folder_that_waits_for_a_plugin_holds_up_no_other_file(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "manifests"
    folder.mkdir()
    given = replace(agents.settings(tmp_path / "root"), manifests=folder)

    async with _scene(given) as (agent, slow):
        value = _with_gpu("first").manifest
        _put(folder / "a.json", {**value, "metadata": {"name": "first"}})
        await slow.asked.wait()
        _put(folder / "b.json", agents.manifest("other"))
        await agent.until(lambda: agent.names() == ["other-node-a"])
        slow.may_answer.set()
        slow.may_start.set()
        await agent.until(lambda: len(agent.names()) == 2)
        await agent.controller.settled()
        assert agent.names() == ["other-node-a", "first-node-a"]


def _put(path: Path, value: Any) -> None:
    fresh = path.with_name(f".{path.name}")
    fresh.write_text(json.dumps(value))
    fresh.rename(path)


@pytest.mark.parametrize("exact", [True, False])
async def test_a_plugin_that_hangs_before_a_start_holds_up_no_other_container(
    exact: bool, tmp_path: Path
) -> None:
    async with _scene(agents.settings(tmp_path, exact=exact)) as (agent, slow):
        slow.may_answer.set()
        assert _is_admitted(await agent.controller.create(_with_gpu("first")))
        await agent.until(lambda: agent.phase("first") == "starting")
        assert _is_admitted(await agent.controller.create(agents.pod("other")))
        await agent.until(lambda: agent.phase("other") == "running")
        await _gone(agent, "other")
        assert agent.phase("first") == "starting"
        slow.may_start.set()
        await agent.until(lambda: agent.phase("first") == "running")
        await agent.controller.settled()
        assert agent.runtime.starts.count((ContainerKey("uid-first", "main"), 1)) == 1
