"""No memory is promised on a NUMA node without any, though the kernel takes it: here node 1."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from numalet.agent.host.runtime.port import NotStarted
from numalet.agent.host.runtime.process import ProcessRuntime
from numalet.core.enforcement.cgroup_settings import CgroupSettings
from running.process_builders import launch


@pytest.mark.parametrize("nodes", [(1,), (0, 1)])
def test_nothing_starts_on_a_node_without_memory(tmp_path: Path, nodes: tuple[int, ...]) -> None:
    async def main() -> None:
        ours = ProcessRuntime(tmp_path)
        answer = await ours.start(launch("true", cgroup=CgroupSettings(memory_nodes=nodes)))
        assert isinstance(answer, NotStarted)
        assert answer.why.code == "cgroup/not-in-force"
        assert answer.why.fields["found"] == "0,2" or nodes == (0, 1)
        await ours.forget("u-1")
        await ours.close()

    asyncio.run(main())
