"""The manifest folder, with the semantics of the kubelet's static pods."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import agents
from numalet.agent.manifests import ManifestFolder
from numalet.snapshot import placement
from numalet.workload.spec import Source


def _folder(path: Path) -> ManifestFolder:
    return ManifestFolder(path, "Node-A", lambda: datetime(2026, 1, 1, tzinfo=UTC))


def _put(path: Path, name: str, value: dict[str, Any]) -> Path:
    file = path / name
    hidden = path / f".{name}"
    hidden.write_text(json.dumps(value))
    return hidden.replace(file)


def test_files_are_pods_in_the_order_of_their_names(tmp_path: Path) -> None:
    _put(tmp_path, "b.yaml", agents.manifest("two"))
    _put(tmp_path, "a.anything", agents.manifest("one"))
    (tmp_path / "folder").mkdir()
    (tmp_path / ".hidden.yaml").write_text(json.dumps(agents.manifest("three")))
    read = _folder(tmp_path).read()
    assert ["one-node-a", "two-node-a"] == [each.pod.name for each in read.workloads]
    assert {Source.FILE} == {each.source for each in read.workloads}
    assert str(tmp_path / "a.anything") == read.workloads[0].origin
    assert 32 == len(read.workloads[0].uid)


def test_a_changed_file_is_another_pod_and_a_touched_one_is_not(tmp_path: Path) -> None:
    folder = _folder(tmp_path)
    file = _put(tmp_path, "a.yaml", agents.manifest("one"))
    (first,) = folder.read().workloads
    file.touch()
    (touched,) = folder.read().workloads
    assert first is touched
    _put(tmp_path, "a.yaml", agents.manifest("one", cpu="3"))
    (changed,) = folder.read().workloads
    assert first.uid != changed.uid


def test_a_broken_file_is_told_once_and_others_still_load(tmp_path: Path) -> None:
    folder = _folder(tmp_path)
    _put(tmp_path, "a.yaml", agents.manifest("one"))
    (tmp_path / "b.yaml").write_text("{half: ")
    read = folder.read()
    assert ["one-node-a"] == [each.pod.name for each in read.workloads]
    assert [str(tmp_path / "b.yaml")] == list(read.broken)
    again = folder.read()
    assert {} == again.broken
    assert {str(tmp_path / "b.yaml")} == again.unreadable


def test_a_missing_folder_is_empty(tmp_path: Path) -> None:
    assert () == _folder(tmp_path / "nowhere").read().workloads


def test_of_two_files_with_one_name_the_last_one_wins(tmp_path: Path) -> None:
    _put(tmp_path, "a.yaml", agents.manifest("one", cpu="1"))
    _put(tmp_path, "b.yaml", agents.manifest("one", cpu="2"))
    (only,) = _folder(tmp_path).read().workloads
    assert str(tmp_path / "b.yaml") == only.origin


def test_the_agent_follows_the_folder(tmp_path: Path) -> None:
    manifests = tmp_path / "manifests"
    manifests.mkdir()
    _put(manifests, "a.yaml", agents.manifest("one"))

    async def scene() -> None:
        given = agents.settings(tmp_path / "root", manifests=manifests)
        async with agents.running(given) as agent:
            await agent.until(lambda: agent.phase("one-node-a") == "running")
            first = agent.record("one-node-a").uid
            _put(manifests, "a.yaml", agents.manifest("one", cpu="3"))
            await agent.until(
                lambda: (
                    [first] != [each.uid for each in agent.keeper.view().records.values()]
                    and agent.names() == ["one-node-a"]
                    and agent.phase("one-node-a") == "running"
                )
            )
            held = placement.of_all(agent.keeper.view().node.snapshot)
            assert [3] == [len(each.cpus) for each in held.values()]
            (manifests / "a.yaml").write_text("{half")
            await agent.until(lambda: bool(agent.keeper.view().events))
            await agent.until(
                lambda: any(e.reason == "InvalidManifest" for e in agent.keeper.view().events)
            )
            assert "running" == agent.phase("one-node-a")
            (manifests / "a.yaml").unlink()
            await agent.until(lambda: not agent.names())
            assert not placement.of_all(agent.keeper.view().node.snapshot)

    asyncio.run(scene())


def test_a_pod_that_keeps_its_uid_comes_back_changed(tmp_path: Path) -> None:
    manifests = tmp_path / "manifests"
    manifests.mkdir()
    value = agents.manifest("one")
    value["metadata"]["uid"] = "fixed"
    _put(manifests, "a.yaml", value)

    async def scene() -> None:
        given = agents.settings(tmp_path / "root", manifests=manifests)
        async with agents.running(given) as agent:
            await agent.until(lambda: agent.phase("one-node-a") == "running")
            changed = agents.manifest("one", cpu="3")
            changed["metadata"]["uid"] = "fixed"
            _put(manifests, "a.yaml", changed)

            def has_three() -> bool:
                held = placement.of_all(agent.keeper.view().node.snapshot)
                return [3] == [len(each.cpus) for each in held.values()]

            await agent.until(has_three)
            await agent.until(lambda: agent.phase("one-node-a") == "running")

    asyncio.run(scene())
