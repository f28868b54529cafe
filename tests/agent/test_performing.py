"""What the worker could not do is told, and done when it can be."""

from __future__ import annotations

import asyncio
import errno
import os
from pathlib import Path

import pytest

from numalet.agent.controller.requests import Delayed
from numalet.agent.controller.wiring import Hooks
from numalet.agent.host.runtime.port import NotHeld, NotStarted
from numalet.agent.telemetry.metrics import STARTS_DELAYED
from numalet.core.enforcement.cgroup_settings import CgroupSettings
from numalet.core.model.pod import ContainerKey
from numalet.shared.findings.runtime import CgroupRefused, RuntimeFailed
from running import agents, faults
from running.agents import Agent
from running.faults import Moment

KEY = ContainerKey("uid-one", "main")
NOTE = "agent/drift-not-corrected"
REFUSED = NotHeld(
    CgroupRefused(cgroup="poduid-one/main", file="cpuset.mems", value="0", error="Device busy")
)


def _told(agent: Agent, reason: str) -> list[tuple[str, str, int]]:
    events = agent.controller.view().events
    return [(each.container, each.message, each.count) for each in events if each.reason == reason]


async def _look(agent: Agent) -> None:
    agent.controller.resync()
    await agent.controller.settled()


async def test_drift_that_the_kernel_keeps_is_reported_once_and_noted_until_it_is_gone(
    tmp_path: Path,
) -> None:
    async with agents.running(agents.settings(tmp_path)) as agent:
        await agent.controller.create(agents.pod("one"))
        await agent.until(lambda: agent.phase("one") == "running")
        await agent.controller.settled()
        agent.runtime.drift(KEY, CgroupSettings(memory_nodes=(0, 1)))
        agent.runtime.refusals = {"poduid-one/main": REFUSED}
        await _look(agent)
        await _look(agent)
        ((container, message, count),) = _told(agent, "DriftNotCorrected")
        assert (container, count) == ("main", 1)
        assert "cpuset.mems" in message
        assert "Device busy" in message
        assert NOTE in agent.controller.view().notes
        assert _told(agent, "DriftCorrected") == []
        agent.runtime.refusals = {}
        await _look(agent)
        assert NOTE not in agent.controller.view().notes
        assert len(_told(agent, "DriftCorrected")) == 1


async def test_a_pods_own_cgroup_that_is_not_held_is_reported_of_the_pod(tmp_path: Path) -> None:
    async with agents.running(agents.settings(tmp_path)) as agent:
        await agent.controller.create(agents.pod("one"))
        await agent.until(lambda: agent.phase("one") == "running")
        agent.runtime.refusals = {"poduid-one": REFUSED, "burstable": REFUSED}
        await _look(agent)
        assert [container for container, _, _ in _told(agent, "DriftNotCorrected")] == [""]
        assert NOTE in agent.controller.view().notes


async def test_what_shares_cpus_and_can_not_be_moved_is_reported(tmp_path: Path) -> None:
    """The settings follow the node state when the kernel takes them, without being called drift."""

    async with agents.running(agents.settings(tmp_path)) as agent:
        await agent.controller.create(agents.pod("one", cpu="500m"))
        await agent.until(lambda: agent.phase("one") == "running")
        agent.runtime.refusals = {"poduid-one/main": REFUSED}
        await agent.controller.create(agents.pod("two", cpu="2"))
        await agent.until(lambda: agent.phase("two") == "running")
        await _look(agent)
        assert len(_told(agent, "DriftNotCorrected")) == 1
        agent.runtime.refusals = {}
        await _look(agent)
        given = agent.runtime.settings_of(KEY)
        assert given is not None
        assert agent.controller.view().node.snapshot.cpu.default == given.cpus
        assert _told(agent, "DriftCorrected") == []


def test_what_could_not_be_removed_is_removed_at_the_next_look(tmp_path: Path) -> None:
    broken = True

    def hook(name: str, moment: Moment) -> None:
        if broken and name == "process.forget" and moment is Moment.BEFORE:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    async def scene() -> None:
        nonlocal broken
        async with agents.running(agents.settings(tmp_path)) as agent:
            await agent.controller.create(agents.pod("one"))
            await agent.until(lambda: agent.phase("one") == "running")
            await agent.controller.delete("default", "one", grace_seconds=0)
            await agent.until(lambda: agent.phase("one") == "terminated")
            await _look(agent)
            assert agent.names() == ["one"]
            assert "agent/runtime-failed" in agent.controller.view().notes
            broken = False
            await _look(agent)
            assert agent.names() == []
            await _look(agent)
            assert "agent/runtime-failed" not in agent.controller.view().notes

    before = faults.install(hook)
    try:
        asyncio.run(scene())
    finally:
        faults.install(before)


def _starting(tmp_path: Path, plan: str, hooks: Hooks) -> tuple[str, int, list[str], float]:
    """What becomes of a pod that is never restarted: phase, attempt, events, starts delayed."""

    async def scene() -> tuple[str, int, list[str], float]:
        async with agents.running(agents.settings(tmp_path), hooks=hooks) as agent:
            before = faults.install(faults.planned(plan))
            try:
                await agent.controller.create(agents.pod("one", restartPolicy="Never"))
                await agent.until(lambda: agent.phase("one") in ("running", "terminated"))
            finally:
                faults.install(before)
            run = agent.record("one").run.of("main")
            events = [message for _, message, _ in _told(agent, "StartDelayed")]
            delayed = agent.controller.counts().of(STARTS_DELAYED)
            return run.phase.value, run.attempt, events, delayed

    return asyncio.run(scene())


@pytest.mark.parametrize("error", ["EAGAIN", "ENOMEM", "EMFILE"])
def test_a_start_for_which_the_host_lacks_something_is_tried_again(
    error: str, tmp_path: Path
) -> None:
    phase, attempt, events, delayed = _starting(
        tmp_path, f"process.start:before:1:{error}", Hooks()
    )
    text = os.strerror(getattr(errno, error))
    assert (phase, attempt, delayed) == ("running", 1, 1)
    assert events == [f"Retrying the start: the runtime failed: {text}"]


def test_a_start_is_not_tried_again_for_ever(tmp_path: Path) -> None:
    hooks = Hooks(start_patience_seconds=0.0)
    phase, _, events, delayed = _starting(tmp_path, "process.start:before:1+:EAGAIN", hooks)
    assert (phase, events, delayed) == ("terminated", [], 0)


def test_another_failure_of_a_start_is_an_end(tmp_path: Path) -> None:
    phase, _, events, delayed = _starting(tmp_path, "process.start:before:1+:EIO", Hooks())
    assert (phase, events, delayed) == ("terminated", [], 0)


async def test_a_delay_of_a_pod_that_went_is_counted(tmp_path: Path) -> None:
    async with agents.running(agents.settings(tmp_path)) as agent:
        why = NotStarted(RuntimeFailed(error="x"), is_transient=True)
        agent.controller.enqueue(Delayed(ContainerKey("gone", "main"), why))
        await agent.controller.settled()
        assert agent.controller.counts().of(STARTS_DELAYED) == 1
        assert _told(agent, "StartDelayed") == []
