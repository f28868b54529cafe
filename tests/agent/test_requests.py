"""Which requests may have to wait for a device plugin."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from numalet.agent.controller.requests import (
    Create,
    FolderRead,
    PluginReported,
    SourcesReady,
    may_ask_a_plugin,
)
from numalet.core.managers.device.inventory import Device
from numalet.core.workload.records import EventKind
from numalet.core.workload.spec import Workload
from running import agents


def with_device(name: str) -> Workload:
    amounts = {"cpu": "1", "memory": "1Gi", "example.com/gpu": "1"}
    main = {"name": "main", "command": ["run"], "resources": {"limits": amounts}}
    return agents.pod(name, containers=[main])


async def test_only_pods_that_ask_for_devices_may_wait_for_a_plugin() -> None:
    answer = asyncio.get_running_loop().create_future()
    plain, device = agents.pod("plain"), with_device("device")
    assert may_ask_a_plugin(Create(device, answer))
    assert not may_ask_a_plugin(Create(plain, answer))
    assert may_ask_a_plugin(FolderRead((plain, device)))
    assert not may_ask_a_plugin(FolderRead((plain,)))
    assert not may_ask_a_plugin(SourcesReady())


@pytest.mark.parametrize("name", ["", " "])
async def test_a_device_without_an_id_is_refused_and_the_others_are_not(
    tmp_path: Path, name: str
) -> None:
    gpu = "example.com/gpu"

    async with agents.running(agents.settings(tmp_path)) as agent:
        agent.controller.enqueue(PluginReported(gpu, (Device(name, (0,)), Device("a", (1,)))))
        await agent.until(lambda: bool(agent.controller.view().events))
        (event,) = agent.controller.view().events
        assert (event.reason, event.kind) == ("DeviceWithoutId", EventKind.WARNING)
        assert gpu in event.message
        inventory = agent.controller.view().node.snapshot.device.inventory
        assert [*inventory.devices_of(gpu).by_id] == ["a"]
