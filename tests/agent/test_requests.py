"""Which requests may have to wait for a device plugin."""

from __future__ import annotations

import asyncio

import agents
from numalet.agent.requests import Create, FolderRead, SourcesReady, may_ask_a_plugin
from numalet.workload.spec import Workload


def with_device(name: str) -> Workload:
    amounts = {"cpu": "1", "memory": "1Gi", "example.com/gpu": "1"}
    main = {"name": "main", "command": ["run"], "resources": {"limits": amounts}}
    return agents.pod(name, containers=[main])


def test_only_pods_that_ask_for_devices_may_wait_for_a_plugin() -> None:
    async def scene() -> None:
        answer = asyncio.get_running_loop().create_future()
        plain, device = agents.pod("plain"), with_device("device")
        assert may_ask_a_plugin(Create(device, answer))
        assert not may_ask_a_plugin(Create(plain, answer))
        assert may_ask_a_plugin(FolderRead((plain, device)))
        assert not may_ask_a_plugin(FolderRead((plain,)))
        assert not may_ask_a_plugin(SourcesReady())

    asyncio.run(scene())
