"""A container's pages of 1 GiB are on its node. The guest has one on node 1."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from lab.guest import toucher
from numalet.agent.host import procfs
from numalet.agent.host.procfs import AreaKind
from numalet.agent.host.runtime.port import Started
from numalet.agent.host.runtime.process import ProcessRuntime
from numalet.core.enforcement.cgroup_settings import CgroupSettings
from running.process_builders import KEY, launch, until

GI = 1 << 30


def test_a_page_of_a_gibibyte_is_on_the_promised_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("running.process_builders.PATIENCE_SECONDS", 900.0)
    code = (
        f"import sys, time; sys.path.append({str(Path(toucher.__file__).parent)!r});"
        f"import toucher; m = toucher.mapped({GI}, 30);"
        "toucher.touch(m, 30); toucher.say('touched'); time.sleep(100000)"
    )
    wanted = CgroupSettings(memory_nodes=(1,), hugetlb_max_bytes={2 << 20: 0, GI: GI})

    async def main() -> None:
        ours = ProcessRuntime(tmp_path, page_sizes=(2 << 20, GI), patience_seconds=900)
        command = (sys.executable, "-I", "-S", "-c", code)
        answer = await ours.start(launch(*command, cgroup=wanted))
        assert isinstance(answer, Started), answer
        await until(lambda: (path := ours.log_path(KEY, 1)) is not None and bool(path.read_text()))
        maps = procfs.read_numa_maps(answer.pid)
        assert maps is not None
        assert maps.bytes_by_node(AreaKind.HUGE) == {1: GI}
        found = await ours.reality(KEY)
        assert found is not None
        assert found.pages_bytes["hugepages-1Gi"] == {1: GI}
        await ours.forget("u-1")
        await ours.close()

    asyncio.run(main())
