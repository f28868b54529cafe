"""The process runtime on a kernel that enforces: every promise, confirmed by the kernel.

The guest has two NUMA nodes with CPUs 0-1 and 2-3, 2 MiB pages 0:8,1:16, and node 1 is small.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from lab.guest import touching
from numalet.agent.host import procfs
from numalet.agent.host.procfs import AreaKind
from numalet.agent.host.runtime.port import NotStarted, Started
from numalet.agent.host.runtime.process import ProcessRuntime
from numalet.core.enforcement.cgroup_settings import CgroupSettings, ContainerSettings
from numalet.core.enforcement.comparison import GuaranteeLevel, audit
from numalet.core.model.pod import ContainerKey
from numalet.core.workload.run import Cause, ExitReason
from running.process_builders import KEY, launch, next_end, until

MIB = 1 << 20
ROOT = Path("/sys/fs/cgroup/numalet")
GROUP = ROOT / "podu-1" / "c"
SIZES = (2 * MIB, 1 << 30)
PATIENCE_SECONDS = 900.0

Body = Callable[[ProcessRuntime], Awaitable[None]]


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("running.process_builders.PATIENCE_SECONDS", PATIENCE_SECONDS)


def run(folder: Path, body: Body) -> None:
    async def main() -> None:
        ours = ProcessRuntime(folder, page_sizes=SIZES, patience_seconds=PATIENCE_SECONDS)
        assert GuaranteeLevel.KERNEL is ours.capabilities().level
        assert ours.capabilities().shortfalls == ()
        try:
            await body(ours)
        finally:
            for uid in await ours.pods():
                await ours.forget(uid)
            await ours.close()

    asyncio.run(main())
    # Nothing is left of any pod.
    assert [each for each in ROOT.iterdir() if each.name.startswith("pod")] == []


async def started(
    ours: ProcessRuntime,
    *command: str,
    cgroup: CgroupSettings,
    key: ContainerKey = KEY,
    score: int | None = None,
) -> Started:
    path = f"pod{key.pod_uid}/{key.container}"
    answer = await ours.start(launch(*command, cgroup=cgroup, key=key, path=path, score=score))
    assert isinstance(answer, Started), answer
    return answer


async def said(ours: ProcessRuntime, word: str = "touched", key: ContainerKey = KEY) -> None:
    def is_said() -> bool:
        path = ours.log_path(key, 1)
        return path is not None and word in path.read_text(encoding="utf-8")

    await until(is_said)


@pytest.mark.parametrize("nodes", [(1,), (0, 1)])
def test_memory_and_cpus_are_where_they_were_promised(
    tmp_path: Path, nodes: tuple[int, ...]
) -> None:
    cpus = frozenset({2 * nodes[0] + 1})
    wanted = CgroupSettings(cpus=cpus, memory_nodes=nodes, memory_max_bytes=128 * MIB)

    async def body(ours: ProcessRuntime) -> None:
        answer = await started(ours, *touching.command(32 * MIB), cgroup=wanted)
        assert GuaranteeLevel.KERNEL is answer.level
        await said(ours)
        maps, allowed = procfs.read_numa_maps(answer.pid), procfs.read_status(answer.pid)
        assert maps is not None
        assert allowed is not None
        assert set(maps.bytes_by_node(AreaKind.ANONYMOUS)) <= set(nodes)
        assert sum(maps.bytes_by_node(AreaKind.ANONYMOUS).values()) >= 32 * MIB
        assert (cpus, frozenset(nodes)) == (allowed.cpus, allowed.nodes)
        found = await ours.reality(KEY)
        assert found is not None
        assert audit(wanted, found, datetime.now(UTC)).aligned

    run(tmp_path, body)


def test_who_uses_too_much_dies_alone(tmp_path: Path) -> None:
    other = ContainerKey("u-2", "c")
    limit = CgroupSettings(memory_max_bytes=32 * MIB, swap_max_bytes=0, oom_group=True)

    async def body(ours: ProcessRuntime) -> None:
        neighbour = await started(ours, *touching.command(4 * MIB), cgroup=limit, key=other)
        await said(ours, key=other)
        await started(ours, *touching.command(64 * MIB), cgroup=limit)
        end = await next_end(ours)
        assert (
            end.key,
            end.exit.reason,
            end.exit.code,
            end.exit.cause,
        ) == (KEY, ExitReason.OOM_KILLED, 137, None)
        assert procfs.read_status(neighbour.pid) is not None

    run(tmp_path, body)


def test_who_exhausts_its_nodes_dies_although_others_are_free_and_spares_the_guaranteed_one(
    tmp_path: Path,
) -> None:
    guaranteed = ContainerKey("u-2", "c")
    bound = CgroupSettings(memory_nodes=(1,), oom_group=True)

    async def body(ours: ProcessRuntime) -> None:
        spared = await started(
            ours, *touching.command(100 * MIB), cgroup=bound, key=guaranteed, score=-997
        )
        await said(ours, key=guaranteed)
        await started(ours, *touching.command(500 * MIB), cgroup=bound, score=900)
        end = await next_end(ours)
        assert (end.key, end.exit.reason) == (KEY, ExitReason.OOM_KILLED)
        assert Cause("runtime/nodes-exhausted", {}) == end.exit.cause
        assert procfs.read_status(spared.pid) is not None

    run(tmp_path, body)


@pytest.fixture
def offline() -> Iterator[int]:
    switch = Path("/sys/devices/system/cpu/cpu3/online")
    switch.write_text("0", encoding="ascii")
    yield 3
    switch.write_text("1", encoding="ascii")


@pytest.mark.parametrize("cpus", [{3}, {2, 3}])
def test_an_offline_cpu_is_not_taken_for_a_promise(
    tmp_path: Path, offline: int, cpus: set[int]
) -> None:
    async def body(ours: ProcessRuntime) -> None:
        answer = await ours.start(launch("true", cgroup=CgroupSettings(cpus=frozenset(cpus))))
        assert isinstance(answer, NotStarted)
        assert answer.why.code == "cgroup/not-in-force"
        assert answer.why.fields["file"] == "cpuset.cpus"

    run(tmp_path, body)


def test_what_another_user_wrote_is_corrected(tmp_path: Path) -> None:
    wanted = CgroupSettings(cpus=frozenset({2}), memory_nodes=(1,), memory_max_bytes=64 * MIB)
    settings = ContainerSettings(path="podu-1/c", cgroup=wanted)

    async def body(ours: ProcessRuntime) -> None:
        answer = await started(ours, *touching.command(8 * MIB), cgroup=wanted)
        await said(ours)
        (GROUP / "cpuset.mems").write_text("0-1")
        (GROUP / "memory.max").write_text("max")
        assert await ours.settle(settings, KEY) == ("cpuset.mems", "memory.max")
        allowed = procfs.read_status(answer.pid)
        assert allowed is not None
        assert {1} == allowed.nodes
        assert await ours.settle(settings, KEY) == ()

    run(tmp_path, body)


def test_pages_move_with_the_promise(tmp_path: Path) -> None:
    before = CgroupSettings(memory_nodes=(1,))
    after = CgroupSettings(memory_nodes=(0,))

    async def body(ours: ProcessRuntime) -> None:
        answer = await started(ours, *touching.command(16 * MIB), cgroup=before)
        await said(ours)
        await ours.settle(ContainerSettings(path="podu-1/c", cgroup=after), KEY)

        def is_moved() -> bool:
            maps = procfs.read_numa_maps(answer.pid)
            assert maps is not None
            return set(maps.bytes_by_node(AreaKind.ANONYMOUS)) == {0}

        await until(is_moved)

    run(tmp_path, body)


@pytest.mark.parametrize(("node", "pages"), [(0, 4), (1, 8)])
def test_huge_pages_are_on_the_promised_node(tmp_path: Path, node: int, pages: int) -> None:
    wanted = CgroupSettings(
        memory_nodes=(node,), hugetlb_max_bytes={2 * MIB: pages * 2 * MIB, 1 << 30: 0}
    )

    async def body(ours: ProcessRuntime) -> None:
        answer = await started(ours, *touching.command(pages * 2 * MIB, 21), cgroup=wanted)
        await said(ours)
        maps = procfs.read_numa_maps(answer.pid)
        assert maps is not None
        assert {node: pages * 2 * MIB} == maps.bytes_by_node(AreaKind.HUGE)
        found = await ours.reality(KEY)
        assert found is not None
        assert {node: pages * 2 * MIB} == found.pages_bytes["hugepages-2Mi"]

    run(tmp_path, body)


def test_huge_pages_that_were_not_asked_for_are_refused(tmp_path: Path) -> None:
    async def body(ours: ProcessRuntime) -> None:
        nothing = CgroupSettings(hugetlb_max_bytes={2 * MIB: 0, 1 << 30: 0})
        await started(ours, *touching.command(2 * MIB, 21), cgroup=nothing)
        assert (await next_end(ours)).exit.code != 0

    run(tmp_path, body)


def test_a_program_of_an_earlier_agent_is_killed_with_all_it_started(tmp_path: Path) -> None:
    async def body(ours: ProcessRuntime) -> None:
        command = ("sh", "-c", "setsid sleep 100000 & setsid sleep 100000 & echo touched; wait")
        await started(ours, *command, cgroup=CgroupSettings())
        await said(ours)
        await ours.close()
        assert len((GROUP / "cgroup.procs").read_text().split()) == 3
        later = ProcessRuntime(tmp_path, patience_seconds=PATIENCE_SECONDS)
        (seen,) = await later.open()
        assert seen.exit is None
        await later.stop(KEY, 0)
        await next_end(later)
        assert (GROUP / "cgroup.procs").read_text() == ""
        await later.close()

    run(tmp_path, body)
