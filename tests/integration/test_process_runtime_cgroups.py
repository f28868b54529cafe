"""The process runtime with cgroups: real programs and shims over a tree that enforces nothing.

What the kernel does with the settings is shown in the lab's guests. Here is that they are made,
refused, corrected and removed as they should.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from numalet.agent.host.cgroup_v2.root import Usable
from numalet.agent.host.runtime.enforcement import ground
from numalet.agent.host.runtime.port import Arranged, NotHeld, NotStarted, Started
from numalet.agent.host.runtime.process import ProcessRuntime
from numalet.core.enforcement.cgroup_settings import CgroupSettings, ContainerSettings
from numalet.core.enforcement.comparison import GuaranteeLevel
from numalet.core.workload.run import Cause, ExitReason
from running.fake_cgroups import FakeCgroups
from running.process_builders import KEY, launch, next_end, until

PATH = "podu-1/c"
WANTED = CgroupSettings(cpus=frozenset({1}), memory_nodes=(1,), memory_max_bytes=1 << 30)


class Stage:
    """A tree, a runtime on it, and where it keeps its things."""

    def __init__(self, folder: Path) -> None:
        self.tree = FakeCgroups(folder / "fs")
        self.folder = folder / "root"
        self.runtime = self.another()

    def another(self, patience_seconds: float = 20) -> ProcessRuntime:
        on = ground(Usable(self.tree, ("cgroup/no-pids-controller",)))
        return ProcessRuntime(
            self.folder, on=on, page_sizes=(2 << 20,), patience_seconds=patience_seconds
        )

    def read(self, file: str) -> str | None:
        return self.tree.read(PATH, file)


def run(folder: Path, body: Any) -> None:
    async def main() -> None:
        stage = Stage(folder)
        try:
            await body(stage)
        finally:
            await stage.runtime.close()
            last = stage.another()
            await last.open()
            for uid in await last.pods():
                await last.forget(uid)
            await last.close()

    asyncio.run(main())


def test_a_program_begins_in_its_own_cgroup(tmp_path: Path) -> None:
    async def body(stage: Stage) -> None:
        answer = await stage.runtime.start(launch("sleep", "1000", cgroup=WANTED))
        assert isinstance(answer, Started)
        assert GuaranteeLevel.KERNEL is answer.level
        assert answer.shortfalls == ("cgroup/no-pids-controller",)
        assert (stage.read("cpuset.cpus"), stage.read("cpuset.mems.effective")) == ("1", "1")
        # The child wrote "0", itself, before it became the program.
        assert stage.read("cgroup.procs") == "0"
        await stage.runtime.stop(KEY, 0)
        await next_end(stage.runtime)
        assert PATH in stage.tree.killed

    run(tmp_path, body)


def test_nothing_starts_where_the_promise_is_not_in_force(tmp_path: Path) -> None:
    async def body(stage: Stage) -> None:
        stage.tree.with_memory = frozenset({0, 2})
        answer = await stage.runtime.start(launch("true", cgroup=WANTED))
        assert isinstance(answer, NotStarted)
        assert answer.why.code == "cgroup/not-in-force"
        assert tuple(answer.why.fields[name] for name in ("file", "value", "found")) == (
            "cpuset.mems",
            "1",
            "0,2",
        )
        assert stage.runtime.log_path(KEY, 1) is None

    run(tmp_path, body)


def test_levels_above_are_made_and_corrected(tmp_path: Path) -> None:
    levels = {
        "": CgroupSettings(memory_max_bytes=1 << 33),
        "burstable": CgroupSettings(cpu_weight=39, cpus=frozenset(), memory_nodes=()),
    }

    async def body(stage: Stage) -> None:
        burstable = {"burstable": levels["burstable"]}
        assert Arranged(("burstable",)) == await stage.runtime.arrange(burstable)
        assert Arranged() == await stage.runtime.arrange(burstable)
        stage.tree.write("burstable", "cpuset.mems", "1")
        assert Arranged(("burstable",)) == await stage.runtime.arrange(burstable)
        assert stage.tree.read("burstable", "cpuset.mems") == ""
        refused = await stage.runtime.arrange({"burstable": CgroupSettings(cpu_weight=10_001)})
        assert refused.written == ()
        assert refused.not_held["burstable"].why.code == "cgroup/refused"

    run(tmp_path, body)


def test_a_running_container_is_mended_and_inspected(tmp_path: Path) -> None:
    async def body(stage: Stage) -> None:
        await stage.runtime.start(launch("sleep", "1000", cgroup=WANTED))
        settings = ContainerSettings(path=PATH, cgroup=WANTED)
        assert await stage.runtime.settle(settings, KEY) == ()
        stage.tree.write(PATH, "cpuset.mems", "0-3")
        assert await stage.runtime.settle(settings, KEY) == ("cpuset.mems",)
        stage.tree.with_memory = frozenset({0})
        stage.tree.write(PATH, "cpuset.mems", "1")
        refused = await stage.runtime.settle(settings, KEY)
        assert isinstance(refused, NotHeld)
        assert (
            refused.why.code,
            refused.why.fields["file"],
        ) == ("cgroup/not-in-force", "cpuset.mems")
        (stage.tree.folder(PATH) / "memory.numa_stat").write_text("anon N0=0 N1=4096\n")
        found = await stage.runtime.reality(KEY)
        assert found is not None
        assert found.pages_bytes == {"memory": {1: 4096}}
        assert found.cgroup is not None
        assert found.cgroup.memory_max_bytes == 1 << 30

    run(tmp_path, body)


@pytest.mark.parametrize(
    ("events", "cause"),
    [
        ("oom 1\noom_kill 1\n", None),
        ("oom 0\noom_kill 1\n", Cause("runtime/nodes-exhausted", {})),
    ],
)
def test_a_kill_for_memory_is_reported(tmp_path: Path, events: str, cause: Cause | None) -> None:
    async def body(stage: Stage) -> None:
        await stage.runtime.start(launch("sh", "-c", "read x < fifo", working_dir=str(tmp_path)))
        for path in (PATH, "podu-1"):
            (stage.tree.folder(path) / "memory.events").write_text(events)
        await stage.runtime.stop(KEY, 0)
        # As the kernel would: the whole container at once.
        end = await next_end(stage.runtime)
        if end.exit.code == 137:
            assert ExitReason.OOM_KILLED is end.exit.reason
            assert cause == end.exit.cause

    import os

    os.mkfifo(tmp_path / "fifo")
    run(tmp_path, body)


def test_a_pod_whose_cgroup_can_not_be_removed_is_not_forgotten(tmp_path: Path) -> None:
    async def body(stage: Stage) -> None:
        await stage.runtime.start(launch("true", cgroup=WANTED))
        await next_end(stage.runtime)
        events = stage.tree.folder(PATH) / "cgroup.events"
        events.write_text("populated 1\nfrozen 0\n")
        hasty = stage.another(patience_seconds=0.05)
        with pytest.raises(OSError, match="busy"):
            await hasty.forget("u-1")
        assert await hasty.pods() == ["u-1"]
        assert (stage.folder / "runs" / "u-1").is_dir()
        events.write_text("populated 0\nfrozen 0\n")
        await hasty.forget("u-1")
        assert await hasty.pods() == []

    run(tmp_path, body)


def test_forget_removes_the_cgroups_of_a_pod(tmp_path: Path) -> None:
    async def body(stage: Stage) -> None:
        await stage.runtime.start(launch("sleep", "1000", cgroup=WANTED))
        stage.tree.make("burstable/podlost/x")
        assert list(await stage.runtime.pods()) == ["lost", "u-1"]
        await stage.runtime.forget("u-1")
        await stage.runtime.forget("lost")
        assert list(await stage.runtime.pods()) == []
        assert not stage.tree.exists("podu-1")

    run(tmp_path, body)


def test_a_cgroup_left_by_an_earlier_attempt_is_recreated(tmp_path: Path) -> None:
    async def body(stage: Stage) -> None:
        stage.tree.make(PATH)
        stage.tree.write(PATH, "memory.max", "4096")
        await stage.runtime.start(launch("true"))
        await next_end(stage.runtime)
        assert stage.read("memory.max") == "max"

    run(tmp_path, body)


def test_a_cgroup_that_can_not_be_made_is_a_clear_answer(tmp_path: Path) -> None:
    async def body(stage: Stage) -> None:
        from running import faults

        before = faults.install(faults.planned("cgroup.make:before:1:EACCES"))
        answer = await stage.runtime.start(launch("true"))
        faults.install(before)
        assert isinstance(answer, NotStarted)
        assert (
            answer.why.code,
            answer.why.fields["error"],
        ) == ("cgroup/refused", "Permission denied")

    run(tmp_path, body)


def test_a_program_of_an_earlier_agent_is_adopted_with_its_cgroup(tmp_path: Path) -> None:
    async def body(stage: Stage) -> None:
        await stage.runtime.start(launch("sleep", "1000", cgroup=WANTED))
        await stage.runtime.close()
        later = stage.another()
        (seen,) = await later.open()
        assert seen.exit is None
        assert await later.reality(KEY) is not None
        await later.forget("u-1")
        await until(lambda: not stage.tree.exists(PATH))
        await later.close()

    run(tmp_path, body)
