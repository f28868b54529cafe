"""A failing disk: nothing half-written, nothing ahead of the disk, and the agent lives."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from harness.bad_inputs import refused_with
from numalet.agent.controller import journal, store_files
from numalet.agent.controller import store as store_module
from numalet.agent.controller.journal import Journal
from numalet.agent.controller.shared_state import SharedState
from numalet.agent.controller.store import Store
from numalet.agent.servers.door import RequestRefusal, RequestRefused
from numalet.core.model.findings import BadInput
from numalet.core.workload.records import PodRecord
from numalet.io.documents.pods import pod_record
from numalet.io.files import atomic
from numalet.shared.kubernetes.node_object import Unready
from running import agent_laws, agents, faults
from running.faults import Moment


class Failing:
    """The disk fails at every point of these names, as long as it is told to."""

    def __init__(self, number: int, *names: str) -> None:
        self.fails = False
        self._number = number
        self._names = names

    def __call__(self, name: str, moment: Moment) -> None:
        if self.fails and moment is Moment.BEFORE and name in self._names:
            raise OSError(self._number, os.strerror(self._number), name)


@pytest.fixture(autouse=True)
def _no_faults() -> Iterator[None]:
    yield
    faults.install(None)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EIO])
@pytest.mark.parametrize("point", ["file.create", "file.write", "file.replace", "records.append"])
async def test_a_pod_is_refused_while_the_node_state_can_not_be_written(
    tmp_path: Path, number: int, point: str
) -> None:
    disk = Failing(number, point)

    async with agents.running(agents.settings(tmp_path)) as agent:
        await agent.controller.create(agents.pod("one"))
        await agent.until(lambda: agent.phase("one") == "running")
        await agent.controller.settled()
        before = agent.controller.view()
        faults.install(disk)
        disk.fails = True
        answer = await agent.controller.create(agents.pod("two"))
        assert isinstance(answer, RequestRefused)
        assert RequestRefusal.STORAGE is answer.why
        assert os.strerror(number) in answer.fields["problem"]
        view = agent.controller.view()
        assert (before.node, before.records) == (view.node, view.records)
        assert Unready.STATE_UNWRITABLE is view.unready
        assert "agent/node-state-unwritable" in view.notes
        disk.fails = False
        again = await agent.controller.create(agents.pod("two"))
        assert isinstance(again, PodRecord)
        await agent.until(lambda: agent.controller.view().ready)
        await agent.until(lambda: agent.phase("two") == "running")
        await agent.controller.settled()
        assert agent_laws.broken(tmp_path, agent.controller, agent.runtime) == []


async def test_an_end_that_could_not_be_written_is_written_later(tmp_path: Path) -> None:
    disk = Failing(errno.ENOSPC, "records.append", "file.write")

    async with agents.running(agents.settings(tmp_path)) as agent:
        await agent.controller.create(agents.pod("one", restartPolicy="Never"))
        await agent.until(lambda: agent.phase("one") == "running")
        (key,) = agent.runtime.running()
        faults.install(disk)
        disk.fails = True
        agent.runtime.end(key, 3)
        await agent.until(lambda: not agent.controller.view().ready)
        assert agent.phase("one") == "running"
        disk.fails = False
        await agent.until(lambda: agent.phase("one") == "terminated")
        ended = agent.record("one").run.of("main").last_exit
        assert ended is not None
        assert ended.code == 3


def test_a_journal_that_can_not_be_written_stops_nothing(tmp_path: Path) -> None:
    disk = Failing(errno.ENOSPC, "journal.write")

    async def scene() -> None:
        async with agents.running(agents.settings(tmp_path)) as agent:
            faults.install(disk)
            disk.fails = True
            assert isinstance(await agent.controller.create(agents.pod("one")), PodRecord)
            await agent.until(lambda: "agent/journal-unwritable" in agent.controller.view().notes)
            disk.fails = False
            await agent.controller.create(agents.pod("two"))
            await agent.until(lambda: not agent.controller.view().notes)

    asyncio.run(scene())
    told = [line.get("pod") for line in Journal(tmp_path).lines() if "verdict" in line]
    assert told == ["one", "two"]


def test_only_one_process_holds_the_node_state(tmp_path: Path) -> None:
    first, second = (Store(tmp_path, pod_record.encode, pod_record.decode) for _ in range(2))
    first.open()
    with pytest.raises(BadInput) as refused:
        second.open()
    (finding,) = refused.value.findings
    assert ("agent/node-state-held", str(os.getpid())) == (finding.code, finding.fields["holder"])
    first.close()
    second.open()
    second.close()


def test_a_killed_agent_is_waited_for_as_long_as_a_child_of_it_has_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What an agent forks has its files until it becomes another program."""
    # However busy the machine is.
    monkeypatch.setattr(store_module, "_RELEASE_SECONDS", agents.PATIENCE_SECONDS)
    code = (
        "import os, sys; from pathlib import Path\n"
        "from numalet.agent.controller.store import Store\n"
        "Store(Path(sys.argv[1]), None, None).open()\n"
        "if os.fork(): os._exit(0)\n"
        "sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as agent:
        agent.wait(agents.PATIENCE_SECONDS)
        assert agent.stdin is not None
        letting_go = threading.Timer(0.2, agent.stdin.close)
        letting_go.start()
        store = Store(tmp_path, pod_record.encode, pod_record.decode)
        store.open()
        store.close()
        letting_go.join()


def test_the_root_folder_is_ours_alone(tmp_path: Path) -> None:
    root = tmp_path / "root"
    Store(root, pod_record.encode, pod_record.decode).open()
    assert root.stat().st_mode & 0o777 == 0o700
    assert {0o600} == {path.stat().st_mode & 0o777 for path in root.iterdir() if path.is_file()}
    open_to_all = tmp_path / "open"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    with refused_with("input/forbidden"):
        Store(open_to_all, pod_record.encode, pod_record.decode).open()


def test_a_folder_with_things_of_others_is_no_root_folder(tmp_path: Path) -> None:
    for name in ("empty", "etc", "mine"):
        (tmp_path / name).mkdir()
        (tmp_path / name).chmod(0o755)
    for name in ("manifests", "nri"):
        (tmp_path / "mine" / name).mkdir()
    for name in ("hosts", "runs"):
        (tmp_path / "etc" / name).mkdir()
    with pytest.raises(BadInput) as refused:
        Store(tmp_path / "etc", pod_record.encode, pod_record.decode).open()
    (finding,) = refused.value.findings
    assert finding.code == "input/conflict"
    assert "(hosts, runs)" in str(finding)
    with refused_with("input/conflict"):
        SharedState(tmp_path / "etc").prepare()
    assert {"hosts", "runs"} == {each.name for each in (tmp_path / "etc").iterdir()}
    for name in ("empty", "mine"):
        Store(tmp_path / name, pod_record.encode, pod_record.decode).open()
    modes = [(tmp_path / name).stat().st_mode & 0o777 for name in ("empty", "mine", "etc")]
    assert modes == [0o700, 0o700, 0o755]
    # It is one now, whatever is put into it.
    (tmp_path / "mine" / "notes").touch()
    SharedState(tmp_path / "mine").prepare()


def test_what_writing_left_behind_is_swept_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "memory_manager_state"
    seen: list[Path] = []
    before = faults.install(lambda *_: seen.extend(atomic.left_behind(path)))
    try:
        atomic.write_text(path, "whole")
    finally:
        faults.install(before)
    path.unlink()
    # As if it had been killed while it wrote.
    left = seen[0]
    left.write_text("half")
    (tmp_path / "node-state.lock").touch()
    for name in (".bashrc", ".profile", ".cpu_manager_state.swp"):
        (tmp_path / name).write_text("of somebody else")
    Store(tmp_path, pod_record.encode, pod_record.decode).open()
    assert {".bashrc", ".profile", ".cpu_manager_state.swp"} == {
        each.name for each in tmp_path.iterdir() if each.name.startswith(".")
    }
    assert not left.exists()


@pytest.mark.parametrize("point", ["records.append", "file.sync"])
async def test_a_pod_that_was_refused_is_not_there_after_a_crash(
    tmp_path: Path, point: str
) -> None:
    """However far its writing came, nothing of it is read by the next agent."""
    disk = Failing(errno.EIO, point)

    async with agents.running(agents.settings(tmp_path)) as agent:
        await agent.controller.create(agents.pod("one"))
        await agent.until(lambda: agent.phase("one") == "running")
        await agent.controller.settled()
        faults.install(disk)
        disk.fails = True
        assert isinstance(await agent.controller.create(agents.pod("two")), RequestRefused)
        assert [*store_files.read_records(tmp_path).by_uid] == ["uid-one"]


async def test_records_that_somebody_took_away_are_written_again(tmp_path: Path) -> None:
    async with agents.running(agents.settings(tmp_path)) as agent:
        await agent.controller.create(agents.pod("one"))
        await agent.until(lambda: agent.phase("one") == "running")
        await agent.controller.settled()
        (tmp_path / store_files.RECORD_FILE).unlink()
        await agent.controller.create(agents.pod("two"))
        await agent.until(lambda: agent.phase("two") == "running")
        await agent.controller.settled()
        assert agent_laws.broken(tmp_path, agent.controller, agent.runtime) == []


def _secretive(name: str, secret: str) -> dict[str, Any]:
    value = agents.manifest(name)
    value["spec"]["containers"][0]["env"] = [{"name": "PASSWORD", "value": secret}]
    return value


def _texts(root: Path) -> str:
    """All that is on the disk, which is for the owner alone."""
    found = []
    for path in root.rglob("*"):
        # Temporary files come and go.
        with suppress(FileNotFoundError):
            if path.is_file():
                assert path.stat().st_mode & 0o777 == 0o600, path
                found.append(path.read_text(errors="replace"))
    return "".join(found)


async def test_the_environment_of_a_pod_that_went_is_not_on_the_disk(tmp_path: Path) -> None:
    root, folder = tmp_path / "root", tmp_path / "manifests"
    folder.mkdir()
    value = _secretive("fixed", "swordfish-1")
    value["metadata"]["uid"] = "fixed"
    (folder / "fixed.yaml").write_text(json.dumps(value))

    async with agents.running(agents.settings(root, manifests=folder)) as agent:
        await agent.until(lambda: agent.phase("fixed-node-a") == "running")
        await agent.controller.create(agents.workload(_secretive("one", "swordfish-2"), "one"))
        await agent.controller.create(agents.pod("two"))
        await agent.until(lambda: agent.phase("one") == "running")
        await agent.controller.settled()
        assert "swordfish-1" in _texts(root)
        assert "swordfish-2" in _texts(root)
        # It is in the record of the pod alone.
        said = [str(each) for each in agent.controller.view().events]
        assert "swordfish" not in (root / journal.FILE_NAME).read_text() + str(said)
        await agent.controller.delete("default", "one", grace_seconds=0)
        await agent.until(lambda: "one" not in agent.names())
        await agent.controller.settled()
        assert "swordfish-2" not in _texts(root)
        # One that keeps its uid comes back as another pod.
        value["spec"]["containers"][0]["env"][0]["value"] = "swordfish-3"
        (folder / ".new").write_text(json.dumps(value))
        (folder / ".new").rename(folder / "fixed.yaml")
        await agent.until(lambda: "swordfish-1" not in _texts(root))
        await agent.until(lambda: agent.phase("fixed-node-a") == "running")
        assert "swordfish-3" in _texts(root)
        assert agent_laws.broken(root, agent.controller, agent.runtime) == []


def test_a_full_journal_is_rotated_and_the_older_file_is_kept(tmp_path: Path) -> None:
    written = Journal(tmp_path, most_bytes=200)
    for number in range(20):
        written.append([{"number": number, "text": "x" * 20}])
    numbers = [line["number"] for line in Journal(tmp_path).lines()]
    assert list(range(numbers[0], 20)) == numbers
    assert numbers[0] > 0
    sizes = [(tmp_path / name).stat().st_size for name in (journal.FILE_NAME, journal.OLDER_NAME)]
    assert max(sizes) < 300


def test_half_a_line_is_passed_over(tmp_path: Path) -> None:
    Journal(tmp_path).append([{"number": 1}])
    with (tmp_path / journal.FILE_NAME).open("a") as file:
        file.write('{"number": 2, "te')
    Journal(tmp_path).append([{"number": 3}])
    assert [line["number"] for line in Journal(tmp_path).lines()] == [1, 3]
