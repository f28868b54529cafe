"""A kubelet without an agent as a source of the dashboard: by what it leaves on its machine."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from numalet.agent.controller import observed_node
from numalet.agent.controller.observing import KubeletPlaces
from numalet.agent.controller.settings import AgentOptions
from numalet.agent.servers.dashboard import AgentNode
from numalet.core.model.findings import BadInput, Finding
from numalet.core.model.pod import ContainerKey, QosClass
from numalet.dashboard.sources import SourceKind
from numalet.io.machines import MachineChoice
from running import agents, kubelet_node
from running.kubelet_node import KubeletNode
from running.kubelet_process import kubelet_process

ONE = ContainerKey("uid-one", "main")


@pytest.fixture
def kubelet(tmp_path: Path) -> KubeletNode:
    """A kubelet with one pod that runs where it was promised, and one that was not seen to run."""
    node = kubelet_node.made(tmp_path / "kubelet")
    node.admit("one")
    node.admit("two", "3")
    node.container(ONE, "shop", "web", node.promised(ONE), {0: 5})
    return node


def no_bug(bug: Exception) -> None:
    raise bug


@contextlib.asynccontextmanager
async def observed(kubelet: KubeletNode, said: list[Finding]) -> AsyncIterator[AgentNode]:
    """Its node on the machine that is described."""
    options = AgentOptions(kubelet_root=kubelet.root, machine=agents.SHAPE, node_name="node-a")
    places = KubeletPlaces(
        cgroups=kubelet.cgroups, logs=kubelet.logs, proc=kubelet.folder / "no-proc"
    )
    async with observed_node.observed_node(options, said.extend, no_bug, places, 0.05) as node:
        yield node


async def until(node: AgentNode, is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(agents.PATIENCE_SECONDS):
        while not is_so():
            await node.changed()


async def test_pods_are_those_of_the_state_files_with_what_was_seen_of_them(
    kubelet: KubeletNode,
) -> None:
    async with observed(kubelet, []) as node:
        view = node.view()
        one, two = sorted(view.rows, key=lambda row: row.pod.uid)
        assert view.kind is SourceKind.OBSERVING
        assert view.title == "node-a"
        assert (one.pod.namespace, one.pod.name, one.status) == ("shop", "web", "Running")
        assert (two.title, two.status) == ("unknown pod uid-two", "Observed")
        assert {one.pod.qos_class, two.pod.qos_class} == {QosClass.GUARANTEED}
        (seen,), (unseen,) = one.containers, two.containers
        assert (seen.state, seen.restarts, unseen.state) == ("running", None, "not seen")
        assert seen.actual_bytes == {0: 5 * 4096 + 4096}
        assert unseen.actual_bytes is None
        assert view.chart.pods[0].cpus


async def test_what_is_written_is_another_view_and_what_is_not_is_none(
    kubelet: KubeletNode,
) -> None:
    async with observed(kubelet, []) as node:
        before = node.view()
        for _ in range(3):
            await node.changed()
            assert node.view() is before
        kubelet.admit("three")
        await until(node, lambda: "uid-three" in node.view().by_uid)
        assert node.view().revision > before.revision


async def test_nothing_is_written_where_the_kubelet_writes(kubelet: KubeletNode) -> None:
    def files() -> dict[Path, bytes]:
        return {each: each.read_bytes() for each in kubelet.folder.rglob("*") if each.is_file()}

    before = files()
    async with observed(kubelet, []) as node:
        await node.changed()
    assert files() == before


@pytest.mark.slow
async def test_files_that_go_and_come_back_are_said_and_forgotten(kubelet: KubeletNode) -> None:
    memory = kubelet.root / "memory_manager_state"
    content = memory.read_bytes()
    async with observed(kubelet, []) as node:
        assert node.view().notes == ()
        memory.write_bytes(b"{")
        await until(node, lambda: bool(node.view().notes))
        memory.write_bytes(content)
        await until(node, lambda: node.view().notes == ())
        assert len(node.view().rows) == 2


async def test_a_machine_that_can_not_be_used_is_a_finding(kubelet: KubeletNode) -> None:
    options = AgentOptions(kubelet_root=kubelet.root, machine=MachineChoice("nonsense"))
    with pytest.raises(BadInput):
        async with observed_node.observed_node(options, no_findings, no_bug):
            pass


def no_findings(findings: object) -> None:
    raise AssertionError(findings)


def test_a_kubelet_is_there_by_its_state_files_or_its_process(
    kubelet: KubeletNode, tmp_path: Path
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    assert observed_node.is_there(kubelet.root, tmp_path)
    assert not observed_node.is_there(empty, tmp_path)
    assert not observed_node.is_there(tmp_path / "nowhere")
    with kubelet_process(tmp_path / "bin", "v1.34.2", f"--root-dir={empty}"):
        assert observed_node.is_there(empty)
