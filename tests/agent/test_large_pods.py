"""Pods of very many containers: how much work they are, and how many is too many."""

from __future__ import annotations

import asyncio
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from numalet.agent.controller import decisions, steps, transitions
from numalet.agent.controller.desired_settings import DesiredSettings
from numalet.agent.controller.manifests import ManifestFolder
from numalet.agent.controller.node_state import NodeState
from numalet.agent.controller.requests import Began
from numalet.agent.host.runtime.fake import FakeProgram, FakeRuntime
from numalet.agent.host.runtime.port import Ended, Launch, Started
from numalet.core.enforcement import limits
from numalet.core.enforcement.comparison import GuaranteeLevel
from numalet.core.model.findings import Findings
from numalet.core.model.pod import ContainerKey
from numalet.core.node import node as nodes
from numalet.core.node.node import Node
from numalet.core.workload.run import Exit, ExitReason
from numalet.io import tasks
from numalet.io.documents.pods import pod_document, pod_record
from numalet.io.documents.pods import workload as workloads
from numalet.io.documents.pods.workload import WorkloadOptions
from numalet.io.documents.text.typed import Place
from numalet.shared.kubernetes import pod_object as kube_pod
from numalet.shared.kubernetes import pod_placement
from running import agents

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def _manifest(count: int) -> dict[str, Any]:
    amounts = {"cpu": "10m", "memory": "1Mi"}
    found = agents.manifest("big")
    found["spec"]["containers"] = [
        {
            "name": f"c{number}",
            "command": ["serve"],
            "resources": {"limits": amounts, "requests": amounts},
        }
        for number in range(count)
    ]
    return found


async def test_other_work_has_a_turn_after_each_container(tmp_path: Path) -> None:
    """The runtime without processes waits for nothing by itself."""
    turns = 0

    async def work() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    seen: list[int] = []

    def fate(_launch: Launch) -> FakeProgram:
        seen.append(turns)
        return FakeProgram()

    runtime = FakeRuntime(fate=fate)
    async with agents.running(agents.settings(tmp_path), runtime) as agent, tasks.beside(work()):
        await agent.controller.create(agents.workload(_manifest(60)))
        await agent.until(lambda: len(runtime.running()) == 60)
        await agent.controller.delete("default", "big", grace_seconds=0)
        await agent.until(lambda: not agent.names())
    assert len(set(seen)) == 60


def _life(root: Path, count: int) -> None:
    """A pod of so many containers is read, decided on, started, shown, kept, ended and gone."""
    premises = agents.settings(root).premises
    node = nodes.start(premises.config, premises.machine, behaviour=premises.behaviour)
    assert isinstance(node, Node)
    wanted = DesiredSettings(limits.resolve(premises.config, premises.machine, premises.behaviour))
    workload = agents.workload(_manifest(count))
    state = decisions.create(NodeState(node=node), workload, NOW, lambda: 0.0).state
    taken = steps.advance(state, workload.uid, NOW)
    state = taken.state
    for number in range(count):
        key = ContainerKey(workload.uid, f"c{number}")
        wanted.branch(state, workload.uid)
        wanted.container(state, key)
        started = Started(NOW, 1, GuaranteeLevel.NONE)
        state = transitions.after_fact(state, Began(key, 1, started), NOW)
    record = state.records[workload.uid]
    assert record == pod_record.decode(pod_record.encode(record), "record")
    kube_pod.pod_object(record)
    pod_placement.pod_placement(record, state.node.snapshot, {})
    state = decisions.with_deletion(state, workload.uid, 0.0, NOW)
    state = steps.advance(state, workload.uid, NOW + timedelta(seconds=1)).state
    exit_ = Exit(code=0, reason=ExitReason.COMPLETED, finished_at=NOW)
    for number in range(count):
        ended = Ended(ContainerKey(workload.uid, f"c{number}"), 1, exit_)
        state = transitions.after_fact(state, ended, NOW)
    assert steps.advance(state, workload.uid, NOW).tasks


def _calls(root: Path, count: int) -> int:
    """How many functions are called for it: the same on a busy machine as on a quiet one."""
    calls = 0

    def counted(frame: FrameType, event: str, arg: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(counted)
    try:
        _life(root, count)
    finally:
        sys.setprofile(None)
    return calls


def test_the_work_grows_with_the_containers_and_not_with_their_square(tmp_path: Path) -> None:
    small, large = _calls(tmp_path, 60), _calls(tmp_path, 200)
    assert large < 4 * small


@pytest.mark.parametrize("kind", ["containers", "initContainers"])
def test_more_containers_than_the_limit_are_refused_when_they_are_read(kind: str) -> None:
    value = _manifest(pod_document.MOST_CONTAINERS)
    assert agents.workload(value).containers
    more = [{"name": "more", "command": ["serve"]}]
    value["spec"][kind] = [*more, *value["spec"].get(kind, [])]
    findings = Findings()
    assert None is workloads.decode_workload(value, Place("pod"), WorkloadOptions(), findings)
    (finding,) = findings.all
    assert finding.code == "input/too-large"
    assert str(finding) == "the pod has 1001 containers; expected at most 1000"


def test_a_file_of_a_pod_that_is_too_large_is_named(tmp_path: Path) -> None:
    value = _manifest(pod_document.MOST_CONTAINERS + 1)
    (tmp_path / "big.json").write_text(str(value).replace("'", '"'))
    read = ManifestFolder(tmp_path, "node-a", lambda: NOW).read()
    ((finding,),) = read.broken.values()
    assert finding.code == "input/too-large"


async def test_every_container_of_a_large_pod_is_told_to_end_once(tmp_path: Path) -> None:
    async with agents.running(agents.settings(tmp_path)) as agent:
        await agent.controller.create(agents.workload(_manifest(60)))
        await agent.controller.settled()
        await agent.controller.delete("default", "big", grace_seconds=30)
        await agent.until(lambda: not agent.names())
        killing = [
            each.container for each in agent.controller.view().events if each.reason == "Killing"
        ]
        assert 60 == len(killing) == len(set(killing))
