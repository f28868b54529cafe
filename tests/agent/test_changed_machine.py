"""An agent that starts on a machine that has changed since its node state was written."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from harness.bad_inputs import refused_with
from numalet.agent.controller import journal
from numalet.agent.controller.recovery import OnInvalidState
from numalet.agent.controller.settings import AgentSettings
from numalet.agent.controller.wiring import RUNS
from numalet.agent.host.runtime.fake import FakeRuntime
from numalet.agent.servers import metrics as metrics_page
from numalet.agent.telemetry import metrics
from numalet.cli.ps_view import PodTable
from numalet.core.model.pod import ContainerKey
from numalet.core.snapshot import placement
from numalet.shared.findings import recorded
from numalet.shared.kubernetes import pod_object as kube_pod
from numalet.shared.kubernetes import pod_placement
from running import agent_laws, agents

_GI = 1 << 30


def _with_less(given: AgentSettings, **less_bytes: int) -> AgentSettings:
    """The same agent after a reboot with less memory on these NUMA nodes (``node0=…``)."""
    nodes = tuple(
        replace(node, memory_bytes=node.memory_bytes - less_bytes.get(f"node{node.node_id}", 0))
        for node in given.premises.machine.nodes
    )
    machine = replace(given.premises.machine, nodes=nodes)
    return replace(given, premises=replace(given.premises, machine=machine))


def _held(agent: agents.Agent, uid: str) -> placement.Placement | None:
    return placement.of_all(agent.controller.view().node.snapshot).get(ContainerKey(uid, "main"))


def _reasons(agent: agents.Agent, uid: str) -> list[str]:
    return [each.reason for each in agent.controller.view().events if each.pod_uid == uid]


async def _filled(given: AgentSettings, sizes: dict[str, str]) -> dict[str, Any]:
    """Run a pod of each size, and say where they are."""
    async with agents.running(given) as agent:
        for name, size in sizes.items():
            await agent.controller.create(agents.pod(name, memory=size))
        await agent.until(lambda: all(agent.phase(name) == "running" for name in sizes))
        await agent.controller.settled()
        return {name: _held(agent, f"uid-{name}") for name in sizes}


@pytest.mark.parametrize("pages", [1, -1, 3000])
async def test_a_few_pages_more_or_less_keep_no_native_agent_down(
    pages: int, tmp_path: Path
) -> None:
    given = agents.settings(tmp_path)
    before = await _filled(given, {"one": "2Gi", "two": "3Gi"})
    async with agents.running(_with_less(given, node0=4096 * pages)) as agent:
        await agent.controller.settled()
        for name, held in before.items():
            assert held == _held(agent, f"uid-{name}")
            assert agent.record(name).run.of("main").attempt == 1
            assert agent.record(name).run.causes == ()
        assert agent_laws.broken(tmp_path, agent.controller, agent.runtime) == []


async def test_empty_node_state_of_another_machine_keep_no_native_agent_down(
    tmp_path: Path,
) -> None:
    given = agents.settings(tmp_path)
    async with agents.running(given) as agent:
        await agent.controller.settled()
    async with agents.running(_with_less(given, node0=4096)) as agent:
        await agent.controller.settled()
        assert agent_laws.broken(tmp_path, agent.controller, agent.runtime) == []


@pytest.mark.parametrize("exact", [True, False])
async def test_an_exact_agent_stays_down_as_a_kubelet_and_so_does_one_that_is_to_stop(
    exact: bool, tmp_path: Path
) -> None:
    choice = OnInvalidState.BY_MODE if exact else OnInvalidState.STOP

    given = agents.settings(tmp_path, exact=exact, on_invalid_state=choice)
    async with agents.running(given) as agent:
        await agent.controller.settled()
    changed = _with_less(given, node0=4096)
    with refused_with("agent/state-invalid"):
        async with agents.running(changed):
            pass
    rebasing = replace(changed.premises, on_invalid_state=OnInvalidState.REBASE)
    async with agents.running(replace(changed, premises=rebasing)) as agent:
        await agent.controller.settled()
        assert agent_laws.broken(tmp_path, agent.controller, agent.runtime) == []


async def test_another_configuration_is_no_other_machine(tmp_path: Path) -> None:
    given = agents.settings(tmp_path)
    await _filled(given, {"one": "2Gi"})
    config = replace(given.premises.config, memory_manager_policy="None", reserved_memory=())
    changed = replace(given, premises=replace(given.premises, config=config))
    with refused_with("agent/state-invalid"):
        async with agents.running(changed):
            pass


async def test_a_running_pod_that_does_not_fit_any_more_goes_on_and_is_marked(
    tmp_path: Path,
) -> None:
    given = agents.settings(tmp_path)
    # Both NUMA nodes are full, so whoever loses a place finds no other one.
    before = await _filled(given, {"one": "15Gi", "two": "13Gi"})
    less = _with_less(given, node0=8 * _GI, node1=4096)
    runtime = FakeRuntime(tmp_path / RUNS)
    lost, stays = ("one", "two") if _node(before["one"]) == 0 else ("two", "one")
    async with agents.running(less, runtime) as agent:
        await agent.controller.settled()
        assert {name: agent.record(name).run.of("main").attempt for name in before} == {
            "one": 1,
            "two": 1,
        }
        assert agent.record(stays).run.causes == ()
        record = agent.record(lost)
        assert [each.code for each in record.run.causes] == ["admission/not-aligned"]
        assert _reasons(agent, record.uid)[-2:] == ["PromiseLost", "Unpromised"]
        # What fits is kept: its CPUs.
        held = _held(agent, record.uid)
        assert held is not None
        assert before[lost].cpus == held.cpus
        assert held.memory == ()
        assert agent_laws.broken(tmp_path, agent.controller, agent.runtime) == []
        view = agent.controller.view()
        page = metrics_page.text(view).decode()
        assert f"{metrics.UNPROMISED} 1.0" in page
        assert f'{metrics.RECORDS_LOST}{{file="memory_manager_state"}} 1.0' in page
        assert "agent/pods-unpromised" in view.notes
        shown = kube_pod.pod_object(record)
        (condition,) = (
            each for each in shown["status"]["conditions"] if each["type"] == "numalet.dev/Promised"
        )
        assert condition["status"] == "False"
        placed = pod_placement.pod_placement(record, view.node.snapshot, {})
        assert (
            recorded.loss_sentence(record.run.causes)
            == placed["unpromised"]
            == condition["message"]
        )
        (event,) = (each for each in agent.controller.view().events if each.reason == "Unpromised")
        assert placed["unpromised"] in event.message
        said = [(each.reason, each.message) for each in agent.controller.view().events]
        written = (tmp_path / journal.FILE_NAME).read_text()
        assert '"event/unpromised"' in written
        assert "The pod keeps running" not in written
    # A later start with the same machine tells nothing anew, and one with room fixes it.
    async with agents.running(less, FakeRuntime(tmp_path / RUNS)) as agent:
        await agent.controller.settled()
        assert record.run.causes == agent.record(lost).run.causes
        assert [(each.reason, each.message) for each in agent.controller.view().events] == said
        await agent.controller.delete("default", stays, grace_seconds=0)
        await agent.until(lambda: agent.names() == [lost])
    async with agents.running(given, FakeRuntime(tmp_path / RUNS)) as agent:
        await agent.controller.settled()
        assert agent.record(lost).run.causes == ()
        assert agent.record(lost).run.of("main").attempt == 1
        held = _held(agent, record.uid)
        assert held is not None
        assert held.memory
        assert agent_laws.broken(tmp_path, agent.controller, agent.runtime) == []
        await agent.controller.delete("default", lost, grace_seconds=0)
        await agent.until(lambda: not agent.names())
        await agent.controller.settled()
        assert placement.of_all(agent.controller.view().node.snapshot) == {}


def _node(held: placement.Placement) -> int:
    (node_id,) = held.memory_nodes
    return node_id


async def test_an_unpromised_pod_that_is_deleted_leaves_nothing(tmp_path: Path) -> None:
    given = agents.settings(tmp_path)
    await _filled(given, {"one": "13Gi", "two": "13Gi"})
    # Not even both nodes together hold one of them.
    less = _with_less(given, node0=10 * _GI, node1=10 * _GI)
    async with agents.running(less, FakeRuntime(tmp_path / RUNS)) as agent:
        for name in ("one", "two"):
            assert agent.record(name).run.causes
            await agent.controller.delete("default", name, grace_seconds=0)
        await agent.until(lambda: not agent.names())
        await agent.controller.settled()
        assert placement.of_all(agent.controller.view().node.snapshot) == {}
        assert agent_laws.broken(tmp_path, agent.controller, agent.runtime) == []


def test_the_list_of_pods_marks_who_has_no_promise() -> None:
    item: dict[str, Any] = {
        "metadata": {
            "namespace": "default",
            "name": "web",
            "uid": "u",
            "creationTimestamp": "2026-01-01T00:00:00Z",
        },
        "ready": "1/1",
        "status": "Running",
        "numaNodes": [],
        "cpus": "",
        "memory": {},
        "aligned": None,
        "misplacedBytes": 0,
        "containers": [],
    }
    now = datetime(2026, 1, 1, tzinfo=UTC)
    assert "Running " in PodTable([item], now, is_wide=False).text([item])
    marked = {**item, "unpromised": "too little memory"}
    assert "Running/Unpromised" in PodTable([marked], now, is_wide=False).text([marked])
