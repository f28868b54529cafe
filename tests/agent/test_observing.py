"""An agent next to a kubelet follows its state, compares it with the kernel, writes nothing."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from numalet.agent.controller import settings, store_files, wiring
from numalet.agent.controller.controller import Controller
from numalet.agent.controller.observing import KubeletPlaces
from numalet.agent.controller.wiring import Hooks
from numalet.agent.kubelet import document
from numalet.agent.kubelet.observed import MISSED_AFTER, SETTLED_WITHIN, KubeletObservation
from numalet.agent.servers import metrics
from numalet.agent.servers.api import projections
from numalet.agent.servers.door import OwnershipMode, RequestRefusal, RequestRefused
from numalet.core.checkpoint import cpu_file
from numalet.core.managers.cpu.ledger import CpuLedger
from numalet.core.model.findings import Finding, Severity
from numalet.core.model.pod import ContainerKey
from numalet.core.node import node as nodes
from numalet.core.node.node import Node
from numalet.core.snapshot import placement
from numalet.insight.state.verify import Soundness
from numalet.io import kubelets
from numalet.io.documents.kubelet import kubelet_config
from numalet.io.documents.kubelet.kubelet_config import ConfigSources
from running import agents, kubelet_node
from running.kubelet_node import KubeletNode

ONE = ContainerKey("uid-one", "main")
TWO = ContainerKey("uid-two", "main")


@dataclass
class Observer:
    """An agent that looks on, its clock, and what its log was given."""

    controller: Controller
    clock: list[datetime] = field(default_factory=lambda: [datetime(2026, 1, 1, tzinfo=UTC)])
    said: list[Finding] = field(default_factory=list)

    @property
    def look(self) -> KubeletObservation:
        found = self.controller.view().kubelet
        assert found is not None
        return found

    def later(self, seconds: float) -> None:
        self.clock[0] += timedelta(seconds=seconds)

    def codes(self) -> set[str]:
        return {each.finding.code for each in self.look.lasting_problems}

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(agents.PATIENCE_SECONDS):
            while not condition():
                await self.controller.changed()

    async def after_writing(self, file: Path, condition: Callable[[], bool]) -> None:
        """Wait for it; the file is written once more now and then, in case nobody watched yet."""
        async with asyncio.timeout(agents.PATIENCE_SECONDS):
            while not condition():
                with suppress(TimeoutError):
                    await asyncio.wait_for(self.controller.changed(), 1.0)
                    continue
                os.utime(file)


@asynccontextmanager
async def observing(
    kubelet: KubeletNode,
    tmp_path: Path,
    every_seconds: float = 0.05,
    *,
    proc: Path | None = None,
    real_time: bool = False,
    **given: Any,
) -> AsyncIterator[Observer]:
    clock = [datetime(2026, 1, 1, tzinfo=UTC)]
    processes = proc or tmp_path / "no-proc"
    said: list[Finding] = []
    asked = agents.settings(tmp_path / "root", kubelet_root=kubelet.root, **given)
    hooks = Hooks(
        clock=wiring.utc_now if real_time else lambda: clock[0],
        on_findings=said.extend,
        resync_seconds=every_seconds,
        kubelet=KubeletPlaces(cgroups=kubelet.cgroups, logs=kubelet.logs, proc=processes),
    )
    seeing = settings.observing(asked, processes)
    async with wiring.opened(seeing, hooks) as controller:
        found = Observer(controller, clock, said)
        await found.until(lambda: controller.view().ready)
        yield found


@pytest.fixture
def kubelet(tmp_path: Path) -> KubeletNode:
    """A kubelet with one pod, which is where it was promised."""
    node = kubelet_node.made(tmp_path / "kubelet")
    node.admit("one")
    node.container(ONE, "default", "one", node.promised(ONE))
    return node


def test_it_shows_the_kubelet_s_node_state_and_decides_nothing(
    kubelet: KubeletNode, tmp_path: Path
) -> None:
    async def scene() -> None:
        async with observing(kubelet, tmp_path) as observer:
            view = observer.controller.view()
            assert OwnershipMode.OBSERVING is view.standing
            assert kubelet.node.state_files() == view.node.state_files()
            assert {Soundness.SOUND} == {each.soundness for each in observer.look.files}
            assert list(observer.look.lasting_problems) == []
            assert view.audits[ONE].aligned
            answer = await observer.controller.create(agents.pod("two"))
            assert isinstance(answer, RequestRefused)
            assert RequestRefusal.OBSERVING is answer.why

    before = _bytes(kubelet.folder)
    asyncio.run(scene())
    assert before == _bytes(kubelet.folder)
    assert not (tmp_path / "root" / "cpu_manager_state").exists()
    assert not (tmp_path / "root" / store_files.RECORD_FILE).exists()


def _bytes(folder: Path) -> dict[Path, bytes]:
    return {each: each.read_bytes() for each in folder.rglob("*") if each.is_file()}


async def test_it_follows_every_change_of_the_state_files(
    kubelet: KubeletNode, tmp_path: Path
) -> None:
    # Nothing but the change itself makes it look again.
    async with observing(kubelet, tmp_path, every_seconds=3600.0) as observer:
        kubelet.admit("two", "3")
        await observer.after_writing(
            kubelet.root / "memory_manager_state", lambda: TWO in observer.look.held
        )
        assert kubelet.node.state_files() == observer.controller.view().node.state_files()
        assert "kubelet/state-changed" in {each.code for each in observer.said}
        page = metrics.text(observer.controller.view()).decode()
        changes = 'numalet_kubelet_state_changes_total{file="memory_manager_state"} 1.0'
        assert changes in page
        rows = {each["metadata"]["name"]: each for each in document.placements(observer.look)}
        assert tuple(
            rows["one"][each] if each != "name" else "one" for each in ("name", "ready", "aligned")
        ) == ("one", "1/1", True)
        # It is promised, and runs nowhere yet.
        assert (rows["uid-two"]["ready"], rows["uid-two"]["aligned"]) == ("0/1", None)


async def test_a_file_that_stays_broken_is_reported(kubelet: KubeletNode, tmp_path: Path) -> None:
    async with observing(kubelet, tmp_path, every_seconds=3600.0) as observer:
        file = kubelet.root / "memory_manager_state"
        sound = file.read_text()
        file.write_text(sound.replace('"checksum":', '"checksum":1'))
        await observer.after_writing(file, lambda: observer.look.is_unsettled)
        # The kubelet may be about to write it once more.
        assert set() == observer.codes()
        observer.later(SETTLED_WITHIN.total_seconds())
        await observer.until(lambda: "memory-state/corrupted" in observer.codes())
        # A kubelet would not start with it either; what was known before stays shown.
        assert "kubelet/would-not-start" in observer.codes()
        assert {"memory-state/corrupted", "kubelet/would-not-start"} <= {
            each.code for each in observer.said
        }
        view = observer.controller.view()
        assert {"StateInDoubt"} == {each.reason for each in view.events}
        assert {""} == {each.pod_uid for each in view.events}
        page = metrics.text(view).decode()
        assert 'numalet_kubelet_problems{code="memory-state/corrupted"} 1.0' in page
        broken = 'numalet_kubelet_state_soundness{file="memory_manager_state",soundness="broken"}'
        assert f"{broken} 1.0" in page
        shown = document.kubelet_document(observer.look)
        assert shown is not None
        assert shown["startsWithItsFiles"] is False
        file.write_text(sound)
        await observer.after_writing(file, lambda: not observer.codes())
        assert f"{broken} 0.0" in metrics.text(observer.controller.view()).decode()


async def test_what_the_kernel_has_otherwise_is_reported_when_it_lasts(
    kubelet: KubeletNode, tmp_path: Path
) -> None:
    everything = kubelet_node.EVERYTHING
    pages = {0: 10, 1: 5}
    kubelet.container(ONE, "default", "one", everything, pages)

    async with observing(kubelet, tmp_path) as observer:
        audit = observer.controller.view().audits[ONE]
        assert not audit.aligned
        assert audit.misplaced_bytes == 5 * 4096
        # The kubelet may be about to put it right.
        assert set() == observer.codes()
        observer.later(30)
        told = {
            "kubelet/cpus-differ",
            "kubelet/memory-nodes-differ",
            "kubelet/memory-misplaced",
        }
        await observer.until(lambda: told == observer.codes())
        assert told <= {each.code for each in observer.said}
        (event,) = {
            (each.reason, each.pod_name, each.container, each.pod_uid)
            for each in observer.controller.view().events
        }
        assert event == ("NotAsPromised", "one", "main", "uid-one")
        page = metrics.text(observer.controller.view()).decode()
        misplaced = (
            'numalet_container_misplaced_bytes{container="main",namespace="default",pod="one"}'
        )
        assert f"{misplaced} {5 * 4096.0}" in page
        assert 'numalet_kubelet_containers{aligned="false"} 1.0' in page
        kubelet.container(ONE, "default", "one", kubelet.promised(ONE))
        await observer.until(lambda: not observer.codes())
        assert observer.controller.view().audits[ONE].aligned


def test_a_kubelet_whose_configuration_is_not_known_is_checked_all_the_same(
    kubelet: KubeletNode, tmp_path: Path
) -> None:
    (kubelet.root / "config.yaml").unlink()

    async def scene() -> None:
        async with observing(kubelet, tmp_path) as observer:
            assert ONE in observer.look.held
            assert observer.controller.view().audits[ONE].aligned
            shown = document.kubelet_document(observer.look)
            assert shown is not None
            assert shown["startsWithItsFiles"] is None

    asyncio.run(scene())
    given = agents.settings(tmp_path / "other", kubelet_root=kubelet.root)
    notes = [each.code for each in settings.observing(given, tmp_path / "no-proc").notes]
    assert "input/assumed" in notes


async def test_the_configuration_that_is_named_wins(kubelet: KubeletNode, tmp_path: Path) -> None:
    named = tmp_path / "named.yaml"
    named.write_text(kubelet_node.CONFIG.replace("924Mi", "1948Mi").replace("1Gi}", "2Gi}"))

    async with observing(kubelet, tmp_path, config_file=named) as observer:
        observer.later(SETTLED_WITHIN.total_seconds())
        await observer.until(lambda: {"kubelet/would-not-start"} == observer.codes())
        # What the files promise is shown nevertheless.
        node = observer.controller.view().node
        assert placement.of_all(kubelet.node.snapshot) == placement.of_all(node.snapshot)
        # What the files promise is held against the kernel nevertheless.
        assert observer.controller.view().audits[ONE].aligned


def test_a_broken_configuration_of_the_kubelet_is_a_note(
    kubelet: KubeletNode, tmp_path: Path
) -> None:
    (kubelet.root / "config.yaml").write_text("kind: Pod\n")
    given = agents.settings(tmp_path / "root", kubelet_root=kubelet.root)
    seeing = settings.observing(given, tmp_path / "no-proc")
    assert [each.code for each in seeing.notes][-2:] == [
        "config-file/kind",
        "input/assumed",
    ]
    assert seeing.config_file is None


async def test_a_file_that_can_not_be_read_is_reported(
    kubelet: KubeletNode, tmp_path: Path
) -> None:
    path = kubelet.root / "memory_manager_state"
    path.unlink()
    path.mkdir()

    async with observing(kubelet, tmp_path) as observer:
        observer.later(SETTLED_WITHIN.total_seconds())
        await observer.until(lambda: {"input/invalid"} == observer.codes())


async def test_a_folder_that_comes_later_is_followed(tmp_path: Path) -> None:
    later = tmp_path / "later"

    hooks = Hooks(resync_seconds=0.05)
    given = agents.settings(tmp_path / "root", kubelet_root=later / "root")
    async with wiring.opened(replace(given, observe=True), hooks) as controller:
        observer = Observer(controller)
        await observer.until(lambda: controller.view().ready)
        # Another owner need not be a kubelet.
        assert (set(), ()) == (observer.codes(), observer.look.files)
        kubelet_node.made(later)
        await observer.until(lambda: len(observer.look.files) == 2)


STAND_IN = """
import sys
open("/proc/self/comm", "w").write("kubelet")
print(flush=True)
sys.stdin.read()
"""


@contextmanager
def process(*arguments: str) -> Iterator[int]:
    """A process that looks like a kubelet, with these arguments; its pid."""
    command = [sys.executable, "-c", STAND_IN, *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as started:
        assert started.stdout is not None
        started.stdout.readline()
        try:
            yield started.pid
        finally:
            started.kill()


async def _with_stack(scene: Callable[[AsyncExitStack], Awaitable[None]]) -> None:
    async with AsyncExitStack() as ended_later:
        await scene(ended_later)


def test_the_node_has_the_name_that_the_kubelet_gives_it(
    kubelet: KubeletNode, tmp_path: Path
) -> None:
    given = agents.settings(tmp_path / "root", kubelet_root=kubelet.root)
    with process(f"--root-dir={kubelet.root}", "--hostname-override=GPU-7"):
        unnamed = settings.observing(replace(given, is_node_named=False))
        assert (
            unnamed.node_name,
            unnamed.premises.identity.labels["kubernetes.io/hostname"],
        ) == ("gpu-7", "gpu-7")
        assert settings.observing(given).node_name == "node-a"


def test_the_configuration_is_that_of_the_kubelet_that_runs_now(
    kubelet: KubeletNode, tmp_path: Path
) -> None:
    first, second = tmp_path / "first.yaml", tmp_path / "second.yaml"
    (kubelet.root / "config.yaml").replace(first)
    second.write_text(kubelet_node.CONFIG.replace("924Mi", "1948Mi").replace("1Gi}", "2Gi}"))
    root = f"--root-dir={kubelet.root}"

    async def scene(ended_later: AsyncExitStack) -> None:
        with process(root, f"--config={first}"):
            observer = await ended_later.enter_async_context(
                observing(kubelet, tmp_path, proc=kubelets.PROC)
            )
            assert _metric(observer, "numalet_kubelet_up") == "1.0"
        # The kubelet is gone, and what it was started with still holds.
        await observer.until(lambda: observer.look.evidence.running == "")
        assert set() == observer.codes()
        assert str(first) == observer.look.evidence.config
        # Another one with another configuration wrote its files by that.
        config = kubelet_config.load(ConfigSources(config_file=second)).config
        started = nodes.start(config, agents.SHAPE.open().info)
        assert isinstance(started, Node)
        kubelet.node = started.sources_ready()
        with process(root, "--config", str(second), "--topology-manager-scope=pod", "--v=2"):
            shutil.rmtree(kubelet.logs)
            kubelet.write()
            await observer.until(lambda: str(second) == observer.look.evidence.config)
            await observer.until(lambda: observer.look.problems == ())
            observer.later(60)
            await observer.until(lambda: observer.look.at == observer.clock[0])
            assert set() == observer.codes()
            view = observer.controller.view()
            assert view.config.kube_reserved["memory"] == "1948Mi"
            assert "kubelet/started" in {each.code for each in observer.said}
            assert "KubeletStarted" in {each.reason for each in view.events}

    asyncio.run(_with_stack(scene))


async def test_what_a_running_kubelet_accepted_is_no_problem_though_it_is_not_understood(
    kubelet: KubeletNode, tmp_path: Path
) -> None:
    file = tmp_path / "later.yaml"
    file.write_text(kubelet_node.CONFIG + "featureGates: {OfALaterRelease: true}\n")

    with process(f"--root-dir={kubelet.root}", f"--config={file}"):
        async with observing(kubelet, tmp_path, proc=kubelets.PROC) as observer:
            observer.later(60)
            await observer.until(lambda: observer.look.at == observer.clock[0])
            assert set() == observer.codes()
            assert observer.look.evidence.config == ""
            # What is written now is what the next kubelet would not start with.
            file.write_text("cpuManagerPolicy: [")
            await observer.until(lambda: observer.look.is_unsettled)
            observer.later(SETTLED_WITHIN.total_seconds())
            await observer.until(lambda: observer.codes() != set())


def test_a_kubelet_that_died_is_noticed(kubelet: KubeletNode, tmp_path: Path) -> None:
    async def scene(ended_later: AsyncExitStack) -> None:
        with process(f"--root-dir={kubelet.root}") as pid:
            observer = await ended_later.enter_async_context(
                observing(kubelet, tmp_path, proc=kubelets.PROC)
            )
            shown = document.kubelet_document(observer.look)
            assert shown is not None
            assert (True, f"process {pid}, kubelet") == (shown["running"], shown["process"])
            assert _condition(observer)["status"] == "True"
        await observer.until(lambda: observer.look.evidence.running == "")
        assert _metric(observer, "numalet_kubelet_up") == "0.0"
        assert set() == observer.codes()
        observer.later(MISSED_AFTER.total_seconds())
        await observer.until(lambda: {"kubelet/not-running"} == observer.codes())
        assert (
            _condition(observer)["status"],
            _condition(observer)["reason"],
        ) == ("False", "KubeletNotRunning")
        assert "KubeletNotRunning" in {each.reason for each in observer.controller.view().events}
        assert "kubelet/not-running" in {each.code for each in observer.said}

    asyncio.run(_with_stack(scene))


def _metric(observer: Observer, name: str) -> str:
    page = metrics.text(observer.controller.view()).decode()
    (line,) = [each for each in page.splitlines() if each.startswith(f"{name} ")]
    return line.partition(" ")[2]


def _condition(observer: Observer) -> dict[str, Any]:
    node = projections.node(observer.controller.view())
    (found,) = [each for each in node["status"]["conditions"] if each["type"] == "KubeletRunning"]
    return dict(found)


async def test_what_a_kubelet_shows_itself_is_not_shown_a_second_time(
    kubelet: KubeletNode, tmp_path: Path
) -> None:
    async with observing(kubelet, tmp_path) as observer:
        page = metrics.text(observer.controller.view()).decode()
        assert [each for each in page.splitlines() if each.startswith("kubelet_")] == []
        assert _metric(observer, "numalet_kubelet_exclusive_cpus") == "2.0"
        assert _metric(observer, "numalet_kubelet_shared_pool_millicores") == "13000.0"


@pytest.mark.slow
async def test_a_thousand_double_writes_raise_no_alarm_and_a_lasting_one_does(
    kubelet: KubeletNode, tmp_path: Path
) -> None:
    file = kubelet.root / "cpu_manager_state"
    sound = file.read_text()
    # As between the two writes of a container's removal: its CPUs belong to nothing.
    half = cpu_file.write("static", CpuLedger(kubelet.node.snapshot.cpu.default))

    def write(text: str) -> None:
        beside = file.with_suffix(".new")
        beside.write_text(text)
        beside.replace(file)

    def write_twice() -> None:
        for _ in range(1000):
            write(half)
            write(sound)

    async with observing(kubelet, tmp_path, every_seconds=3600.0, real_time=True) as observer:
        await asyncio.to_thread(write_twice)
        await observer.until(lambda: observer.look.problems == ())
        assert [each for each in observer.said if each.severity is not Severity.NOTE] == []
        assert set() == observer.codes()
        write(half)
        async with asyncio.timeout(120):
            while "kubelet/would-not-start" not in observer.codes():
                await observer.controller.changed()
