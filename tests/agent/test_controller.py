"""The controller on the fake runtime: what it decides, starts, ends and keeps."""

from __future__ import annotations

import asyncio
import errno
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from numalet.agent.controller import store_files
from numalet.agent.controller.wiring import Hooks
from numalet.agent.servers.door import ChangeKind, Foreseen, RequestRefusal, RequestRefused
from numalet.agent.telemetry.metrics import DRIFT_CORRECTED, Labels
from numalet.core.enforcement.cgroup_settings import CgroupSettings
from numalet.core.model.pod import ContainerKey
from numalet.core.snapshot import placement
from numalet.core.workload import changes
from numalet.core.workload.records import PodRecord
from numalet.wording.log_line import LogLine
from running import agents, faults
from running.faults import Moment


async def test_a_pod_is_admitted_started_and_pinned(tmp_path: Path) -> None:
    async with agents.running(agents.settings(tmp_path)) as agent:
        record = await agent.controller.create(agents.pod("one"))
        assert isinstance(record, PodRecord)
        assert record.run.verdict is not None
        assert record.run.verdict.admitted
        await agent.until(lambda: agent.phase("one") == "running")
        held = placement.of_container(agent.controller.view().node.snapshot, "uid-one", "main")
        given = agent.runtime.settings_of(ContainerKey("uid-one", "main"))
        assert given is not None
        assert held.cpus == given.cpus
        assert held.memory_nodes == given.memory_nodes
        assert len(held.cpus) == 2


async def test_a_pod_that_is_refused_starts_nothing_and_is_kept(tmp_path: Path) -> None:
    async with agents.running(agents.settings(tmp_path)) as agent:
        record = await agent.controller.create(agents.pod("big", cpu="2", memory="40Gi"))
        assert isinstance(record, PodRecord)
        assert record.run.verdict is not None
        assert not record.run.verdict.admitted
        await agent.controller.settled()
        assert agent.runtime.starts == []
        assert agent.names() == ["big"]
        assert not placement.of_all(agent.controller.view().node.snapshot)
        (event,) = agent.controller.view().events
        assert record.run.verdict.reason == event.reason


async def test_a_deleted_pod_ends_gives_back_and_goes(tmp_path: Path) -> None:
    async with agents.running(agents.settings(tmp_path)) as agent:
        await agent.controller.create(agents.pod("one"))
        await agent.until(lambda: agent.phase("one") == "running")
        answer = await agent.controller.delete("default", "one", grace_seconds=None)
        assert isinstance(answer, PodRecord)
        assert answer.run.deletion is not None
        await agent.until(lambda: not agent.names())
        assert not placement.of_all(agent.controller.view().node.snapshot)
        assert agent.runtime.running() == {}
        assert store_files.read_records(tmp_path).by_uid == {}


async def test_a_name_is_taken_until_its_pod_is_gone(tmp_path: Path) -> None:
    async with agents.running(agents.settings(tmp_path)) as agent:
        await agent.controller.create(agents.pod("one"))
        again = await agent.controller.create(agents.workload(agents.manifest("one"), "other"))
        assert isinstance(again, RequestRefused)
        assert RequestRefusal.ALREADY_EXISTS is again.why
        unknown = await agent.controller.delete("default", "two", grace_seconds=None)
        assert isinstance(unknown, RequestRefused)
        assert RequestRefusal.NOT_FOUND is unknown.why
        other = await agent.controller.delete("default", "one", grace_seconds=0, uid="not-this")
        assert isinstance(other, RequestRefused)
        assert RequestRefusal.CONFLICT is other.why


async def test_a_restart_adopts_what_runs(tmp_path: Path) -> None:
    given = agents.settings(tmp_path)
    async with agents.running(given) as agent:
        await agent.controller.create(agents.pod("one"))
        await agent.controller.create(agents.pod("two"))
        await agent.until(lambda: agent.phase("two") == "running")
        before = placement.of_all(agent.controller.view().node.snapshot)
    async with agents.running(given) as agent:
        assert before == placement.of_all(agent.controller.view().node.snapshot)
        assert "running" == agent.phase("one") == agent.phase("two")
        assert agent.runtime.starts == []


async def test_a_revised_pod_stays_so_and_goes_on_running(tmp_path: Path) -> None:
    given = agents.settings(tmp_path)
    async with agents.running(given) as agent:
        await agent.controller.create(agents.pod("one"))
        await agent.until(lambda: agent.phase("one") == "running")
        before = agent.record("one")
        manifest = agents.manifest("one")
        manifest["metadata"]["labels"] = {"app": "web"}
        after = changes.changed(before.workload, agents.workload(manifest))
        version = before.resource_version
        watched = agent.controller.pod_changes(version)
        assert not isinstance(watched, RequestRefused)
        revised = await agent.controller.revise(before.workload, after, version=version)
        assert revised == agent.record("one")
        change = await anext(watched)
        assert (change.kind, change.record) == (ChangeKind.MODIFIED, revised)
        # It is of another content, and of another version.
        for expected in (None, version):
            again = await agent.controller.revise(before.workload, after, version=expected)
            assert again == RequestRefused(
                RequestRefusal.CONFLICT, {"namespace": "default", "name": "one"}
            )
        other = agents.pod("two")
        missing = await agent.controller.revise(other, other)
        assert isinstance(missing, RequestRefused)
        assert missing.why is RequestRefusal.NOT_FOUND
        assert len(agent.runtime.starts) == 1
    async with agents.running(given) as agent:
        assert agent.record("one").workload.pod.labels == {"app": "web"}
        assert agent.record("one").workload.manifest["metadata"]["labels"] == {"app": "web"}
        assert agent.phase("one") == "running"


async def test_what_is_foreseen_is_what_is_decided_and_leaves_nothing(tmp_path: Path) -> None:
    async with agents.running(agents.settings(tmp_path)) as agent:
        controller, pod, view = agent.controller, agents.pod("one"), agent.controller.view()
        foreseen = controller.foresee_create(pod)
        assert isinstance(foreseen, Foreseen)
        assert controller.view() is view
        created = await controller.create(pod)
        assert isinstance(created, PodRecord)
        assert foreseen.record.run.verdict == created.run.verdict
        after = controller.view().node.snapshot
        assert placement.of_all(foreseen.node.snapshot) == placement.of_all(after)
        assert controller.foresee_create(pod) == await controller.create(pod)
        gone = controller.foresee_delete("default", "one", grace_seconds=0)
        assert isinstance(gone, Foreseen)
        assert gone.record.run.deletion is not None
        assert agent.record("one").run.deletion is None

    assert controller.foresee_create(pod) == RequestRefused(RequestRefusal.STOPPING)


async def test_a_shim_sees_every_step(tmp_path: Path) -> None:
    async with agents.running(agents.settings(tmp_path)) as agent:
        changes = agent.controller.pod_changes(agent.controller.view().resource_version)
        assert not isinstance(changes, RequestRefused)
        await agent.controller.create(agents.pod("one"))
        await agent.until(lambda: agent.phase("one") == "running")
        await agent.controller.delete("default", "one", grace_seconds=0)
        kinds = []
        versions = []
        async for change in changes:
            kinds.append(change.kind)
            versions.append(change.resource_version)
            if change.kind is ChangeKind.DELETED:
                break
        assert ChangeKind.ADDED is kinds[0]
        assert {ChangeKind.MODIFIED} == set(kinds[1:-1])
        assert sorted(versions) == versions
        old = agent.controller.pod_changes(0)
        assert isinstance(old, RequestRefused)
        assert RequestRefusal.TOO_OLD is old.why


async def test_what_others_wrote_above_the_containers_is_drift_and_new_sums_are_none(
    tmp_path: Path,
) -> None:
    async with agents.running(agents.settings(tmp_path)) as agent:
        for name in ("one", "two"):
            await agent.controller.create(agents.pod(name))
            await agent.controller.settled()
            agent.controller.resync()
            await agent.controller.settled()
        agent.runtime.tree["burstable"] = CgroupSettings(cpu_weight=7)
        agent.controller.resync()
        await agent.until(lambda: bool(_corrected(agent)))
        assert _corrected(agent) == {(("setting", "cgroup"),): 1.0}


def test_starts_and_writes_of_cpusets_are_in_the_log(tmp_path: Path) -> None:
    lines: list[LogLine] = []

    async def scene() -> None:
        async with agents.running(
            agents.settings(tmp_path), hooks=Hooks(log=lines.extend)
        ) as agent:
            for name, cpu in (("shared", "1500m"), ("own", "2")):
                await agent.controller.create(agents.pod(name, cpu=cpu))
                await agent.controller.settled()

    asyncio.run(scene())
    about = [
        (line.message, line.keys["pod"].removeprefix("default/"), line.level) for line in lines
    ]
    assert about == [
        ("Memory affinity", "shared", 0),
        ("Updated cpuset.cpus", "shared", 2),
        ("Updated cpuset.mems", "shared", 2),
        # Its CPUs are those that are left, before the other pod starts.
        ("Updated cpuset.cpus", "shared", 2),
        ("Memory affinity", "own", 0),
        ("Updated cpuset.cpus", "own", 2),
        ("Updated cpuset.mems", "own", 2),
    ]


def _corrected(agent: agents.Agent) -> dict[Labels, float]:
    """How often which setting was corrected."""
    counted = agent.controller.counts().values
    return {labels: times for (name, labels), times in counted.items() if name == DRIFT_CORRECTED}


def test_settled_means_that_nothing_is_being_written(tmp_path: Path) -> None:
    """Node state that could not be written is tried again without anybody asking for it."""
    disk = _Disk()

    async def scene() -> None:
        async with agents.running(agents.settings(tmp_path)) as agent:
            disk.is_full = True
            refused = await agent.controller.create(agents.pod("one"))
            assert isinstance(refused, RequestRefused)
            assert RequestRefusal.STORAGE is refused.why
            disk.is_full = False
            await asyncio.to_thread(disk.entered.wait, agents.PATIENCE_SECONDS)
            waiting = asyncio.create_task(agent.controller.settled())
            await asyncio.wait([waiting], timeout=0.05)
            assert not waiting.done()
            disk.may_go_on.set()
            await asyncio.wait_for(waiting, agents.PATIENCE_SECONDS)
            assert agent.controller.view().ready

    with _installed(disk):
        asyncio.run(scene())


def test_settled_waits_for_what_happened_until_it_can_be_written(tmp_path: Path) -> None:
    disk = _Disk()
    disk.may_go_on.set()

    async def scene() -> None:
        async with agents.running(agents.settings(tmp_path)) as agent:
            await agent.controller.create(agents.pod("one", restartPolicy="Never"))
            await agent.until(lambda: agent.phase("one") == "running")
            disk.is_full = True
            agent.runtime.end(ContainerKey("uid-one", "main"), 3)
            await agent.until(
                lambda: "agent/node-state-unwritable" in agent.controller.view().notes
            )
            waiting = asyncio.create_task(agent.controller.settled())
            await asyncio.wait([waiting], timeout=0.05)
            assert not waiting.done()
            disk.is_full = False
            await asyncio.wait_for(waiting, agents.PATIENCE_SECONDS)
            assert agent.phase("one") == "terminated"

    with _installed(disk):
        asyncio.run(scene())


class _Disk:
    """A disk that is full when it is told so, and slow to write after that."""

    def __init__(self) -> None:
        self.is_full = False
        self.was_full = False
        self.entered = threading.Event()
        self.may_go_on = threading.Event()

    def __call__(self, name: str, moment: Moment) -> None:
        if name not in ("file.create", "records.append") or moment is not Moment.BEFORE:
            return
        if self.is_full:
            self.was_full = True
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if self.was_full:
            self.entered.set()
            self.may_go_on.wait(agents.PATIENCE_SECONDS)


@contextmanager
def _installed(hook: faults.Hook) -> Iterator[None]:
    before = faults.install(hook)
    try:
        yield
    finally:
        faults.install(before)
