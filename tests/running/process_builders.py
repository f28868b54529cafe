"""Short ways to run programs through the process runtime in tests."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path

from numalet.agent.host.cgroup_v2.root import Unusable
from numalet.agent.host.runtime.enforcement import HostCapabilities, ground
from numalet.agent.host.runtime.port import Ended, Launch
from numalet.agent.host.runtime.process import ProcessRuntime
from numalet.core.enforcement.cgroup_settings import CgroupSettings, ContainerSettings
from numalet.core.model.pod import ContainerKey
from numalet.core.workload.spec import ContainerSpec
from numalet.shared.findings.runtime import CgroupNoCgroupV2

PATIENCE_SECONDS = 200.0
KEY = ContainerKey("u-1", "c")
NO_GROUPS: HostCapabilities = ground(Unusable(CgroupNoCgroupV2()))


def python(code: str, *arguments: str) -> tuple[str, ...]:
    """The command that runs a little program."""
    return (sys.executable, "-I", "-S", "-c", code, *arguments)


def launch(
    *command: str,
    key: ContainerKey = KEY,
    attempt: int = 1,
    cgroup: CgroupSettings | None = None,
    path: str = "podu-1/c",
    score: int | None = None,
    **spec: object,
) -> Launch:
    """An order to start this command."""
    return Launch(
        key=key,
        attempt=attempt,
        spec=ContainerSpec(name=key.container, command=command, **spec),  # type: ignore[arg-type]
        settings=ContainerSettings(
            path=path,
            cgroup=cgroup or CgroupSettings(),
            oom_score_adj=own_score() if score is None else score,
        ),
    )


def own_score() -> int:
    """The score of this process, which every child may keep."""
    return int(Path("/proc/self/oom_score_adj").read_text(encoding="ascii"))


async def next_end(runtime: ProcessRuntime) -> Ended:
    """The next end, awaited with a deadline."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        news = await anext(aiter(runtime.news()))
    assert isinstance(news, Ended)
    return news


async def until(condition: Callable[[], bool]) -> None:
    """Wait for a condition, with a deadline."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not condition():  # noqa: ASYNC110 - the kernel tells nobody
            await asyncio.sleep(0.01)


def is_there(pid: int) -> bool:
    """Whether a process is there and not only waiting to be waited for."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return False
    return stat[stat.rindex(")") + 2] not in "ZX"


def a_cpu() -> int:
    """One of the CPUs that this process may use."""
    return min(os.sched_getaffinity(0))
