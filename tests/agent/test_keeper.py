"""The keeper on the fake runtime: what it decides, starts, ends and keeps."""

from __future__ import annotations

import asyncio
from pathlib import Path

import agents
from numalet.enforcement.settings import CgroupSettings
from numalet.model.pod import ContainerKey
from numalet.reports.metric_definitions import DRIFT_MENDED
from numalet.reports.metrics import Labels
from numalet.servers.door import ChangeKind, Refusal, Refused
from numalet.snapshot import placement
from numalet.workload.record import PodRecord


def test_a_pod_is_admitted_started_and_pinned(tmp_path: Path) -> None:
    async def scene() -> None:
        async with agents.running(agents.settings(tmp_path)) as agent:
            record = await agent.keeper.create(agents.pod("one"))
            assert isinstance(record, PodRecord)
            assert record.run.verdict is not None
            assert record.run.verdict.admitted
            await agent.until(lambda: agent.phase("one") == "running")
            held = placement.of_container(agent.keeper.view().node.snapshot, "uid-one", "main")
            given = agent.runtime.settings_of(ContainerKey("uid-one", "main"))
            assert given is not None
            assert held.cpus == given.cpus
            assert held.memory_nodes == given.memory_nodes
            assert 2 == len(held.cpus)

    asyncio.run(scene())


def test_a_pod_that_is_refused_starts_nothing_and_is_kept(tmp_path: Path) -> None:
    async def scene() -> None:
        async with agents.running(agents.settings(tmp_path)) as agent:
            record = await agent.keeper.create(agents.pod("big", cpu="2", memory="40Gi"))
            assert isinstance(record, PodRecord)
            assert record.run.verdict is not None
            assert not record.run.verdict.admitted
            await agent.keeper.settled()
            assert [] == agent.runtime.starts
            assert ["big"] == agent.names()
            assert not placement.of_all(agent.keeper.view().node.snapshot)
            (event,) = agent.keeper.view().events
            assert record.run.verdict.reason == event.reason

    asyncio.run(scene())


def test_a_deleted_pod_ends_gives_back_and_goes(tmp_path: Path) -> None:
    async def scene() -> None:
        async with agents.running(agents.settings(tmp_path)) as agent:
            await agent.keeper.create(agents.pod("one"))
            await agent.until(lambda: agent.phase("one") == "running")
            answer = await agent.keeper.delete("default", "one", grace_seconds=None)
            assert isinstance(answer, PodRecord)
            assert answer.run.deletion is not None
            await agent.until(lambda: not agent.names())
            assert not placement.of_all(agent.keeper.view().node.snapshot)
            assert {} == agent.runtime.running()
            assert [] == list((tmp_path / "pods").iterdir())

    asyncio.run(scene())


def test_a_name_is_taken_until_its_pod_is_gone(tmp_path: Path) -> None:
    async def scene() -> None:
        async with agents.running(agents.settings(tmp_path)) as agent:
            await agent.keeper.create(agents.pod("one"))
            again = await agent.keeper.create(agents.workload(agents.manifest("one"), "other"))
            assert isinstance(again, Refused)
            assert Refusal.ALREADY_EXISTS is again.why
            unknown = await agent.keeper.delete("default", "two", grace_seconds=None)
            assert isinstance(unknown, Refused)
            assert Refusal.NOT_FOUND is unknown.why
            other = await agent.keeper.delete("default", "one", grace_seconds=0, uid="not-this")
            assert isinstance(other, Refused)
            assert Refusal.CONFLICT is other.why

    asyncio.run(scene())


def test_a_restart_adopts_what_runs(tmp_path: Path) -> None:
    async def scene() -> None:
        given = agents.settings(tmp_path)
        async with agents.running(given) as agent:
            await agent.keeper.create(agents.pod("one"))
            await agent.keeper.create(agents.pod("two"))
            await agent.until(lambda: agent.phase("two") == "running")
            before = placement.of_all(agent.keeper.view().node.snapshot)
        async with agents.running(given) as agent:
            assert before == placement.of_all(agent.keeper.view().node.snapshot)
            assert "running" == agent.phase("one") == agent.phase("two")
            assert [] == agent.runtime.starts

    asyncio.run(scene())


def test_whoever_watches_sees_every_step(tmp_path: Path) -> None:
    async def scene() -> None:
        async with agents.running(agents.settings(tmp_path)) as agent:
            changes = agent.keeper.pod_changes(agent.keeper.view().resource_version)
            assert not isinstance(changes, Refused)
            await agent.keeper.create(agents.pod("one"))
            await agent.until(lambda: agent.phase("one") == "running")
            await agent.keeper.delete("default", "one", grace_seconds=0)
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
            old = agent.keeper.pod_changes(0)
            assert isinstance(old, Refused)
            assert Refusal.TOO_OLD is old.why

    asyncio.run(scene())


def test_what_others_wrote_above_the_containers_is_drift_and_new_sums_are_none(
    tmp_path: Path,
) -> None:
    async def scene() -> None:
        async with agents.running(agents.settings(tmp_path)) as agent:
            for name in ("one", "two"):
                await agent.keeper.create(agents.pod(name))
                await agent.keeper.settled()
                agent.keeper.look()
                await agent.keeper.settled()
            agent.runtime.tree["burstable"] = CgroupSettings(cpu_weight=7)
            agent.keeper.look()
            await agent.until(lambda: bool(_mended(agent)))
            assert {(("setting", "cgroup"),): 1.0} == _mended(agent)

    asyncio.run(scene())


def _mended(agent: agents.Agent) -> dict[Labels, float]:
    """How often which setting was mended."""
    counted = agent.keeper.counts().values
    return {labels: times for (name, labels), times in counted.items() if name == DRIFT_MENDED}
