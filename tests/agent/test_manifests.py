"""The manifest folder, with the semantics of the kubelet's static pods."""

from __future__ import annotations

import errno
import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from numalet.agent.controller import manifests
from numalet.agent.controller.manifests import ManifestFolder
from numalet.core.config.behaviour import EXACT, NATIVE, Behaviour
from numalet.core.model.findings import Severity
from numalet.core.snapshot import placement
from numalet.core.workload import static_pods
from numalet.core.workload.records import EventKind
from numalet.core.workload.spec import WorkloadSource
from running import agents


def _folder(path: Path, behaviour: Behaviour = EXACT) -> ManifestFolder:
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    return ManifestFolder(path, "Node-A", lambda: moment, behaviour=behaviour)


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
    assert [each.pod.name for each in read.workloads] == ["one-node-a", "two-node-a"]
    assert {WorkloadSource.FILE} == {each.source for each in read.workloads}
    assert str(tmp_path / "a.anything") == read.workloads[0].origin
    assert len(read.workloads[0].uid) == 32


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


def test_a_broken_file_is_reported_once_and_others_still_load(tmp_path: Path) -> None:
    folder = _folder(tmp_path)
    _put(tmp_path, "a.yaml", agents.manifest("one"))
    (tmp_path / "b.yaml").write_text("{half: ")
    read = folder.read()
    assert [each.pod.name for each in read.workloads] == ["one-node-a"]
    assert [str(tmp_path / "b.yaml")] == list(read.broken)
    again = folder.read()
    assert again.broken == {}
    assert {str(tmp_path / "b.yaml")} == again.unreadable


def test_a_file_that_is_too_large_is_refused_without_being_read_whole(tmp_path: Path) -> None:
    file = _put(tmp_path, "a.yaml", agents.manifest("one"))
    with file.open("ab") as end:
        end.truncate(manifests.LARGEST_BYTES + 1)
    (tmp_path / "b.yaml").write_text(json.dumps(agents.manifest("two")))
    read = _folder(tmp_path).read()
    assert [each.pod.name for each in read.workloads] == ["two-node-a"]
    ((finding,),) = read.broken.values()
    assert (finding.code, finding.fields["limit_bytes"]) == ("document/too-large", 10 << 20)


async def test_what_the_author_of_a_file_should_know_is_an_event_of_its_pod(tmp_path: Path) -> None:
    folder = tmp_path / "manifests"
    folder.mkdir()
    value = agents.manifest("one")
    value["spec"]["containers"][0]["image"] = "ignored"
    text = json.dumps(value)
    (folder / "a.yaml").write_text(f"{text[:-1]}, kind: Pod}}\n---\n{text}\n---\n")
    _put(folder, "b.yaml", agents.manifest("two"))

    given = agents.settings(tmp_path / "root", manifests=folder)
    async with agents.running(given) as agent:
        await agent.until(lambda: agent.names() == ["one-node-a", "two-node-a"])
        (event,) = (
            each for each in agent.controller.view().events if each.reason == "ManifestRemarks"
        )
        assert (event.pod_name, event.kind) == ("one-node-a", EventKind.WARNING)
        for said in ("a.yaml", "kind", "ignores 1 others", "image"):
            assert said in event.message


async def test_a_missing_folder_is_reported_at_the_start_and_waited_for(tmp_path: Path) -> None:
    folder = tmp_path / "manifests"
    given = agents.settings(tmp_path / "root", manifests=folder)
    assert [each.code for each in given.notes] == ["input/not-found"]

    async with agents.running(given) as agent:
        assert agent.names() == []
        folder.mkdir()
        _put(folder, "a.yaml", agents.manifest("one"))
        await agent.until(lambda: agent.names() == ["one-node-a"])


def test_a_missing_folder_is_empty(tmp_path: Path) -> None:
    assert _folder(tmp_path / "nowhere").read().workloads == ()


async def test_a_folder_that_can_not_be_read_leaves_its_pods_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "manifests"
    folder.mkdir()
    _put(folder, "a.yaml", agents.manifest("one"))
    source = _folder(folder)
    read = source.read()

    def broken(self: Path) -> Iterator[Path]:
        raise OSError(errno.EIO, "Input/output error")

    async with agents.running(agents.settings(tmp_path / "root")) as agent:
        agent.controller.enqueue(read)
        await agent.controller.settled()
        assert agent.phase("one-node-a") == "running"
        with monkeypatch.context() as patch:
            patch.setattr(Path, "iterdir", broken)
            unread, again = source.read(), source.read()
        assert [(str(folder),), ()] == [tuple(each.broken) for each in (unread, again)]
        agent.controller.enqueue(unread)
        await agent.controller.settled()
        assert agent.phase("one-node-a") == "running"
        (folder / "a.yaml").unlink()
        agent.controller.enqueue(source.read())
        await agent.until(lambda: not agent.names())


def test_a_file_that_can_not_be_examined_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = tmp_path / "a.yaml"
    link.symlink_to(tmp_path / "secret" / "a.yaml")

    def denied(self: Path) -> bool:
        if self == link:
            raise PermissionError(errno.EACCES, "Permission denied")
        return False

    monkeypatch.setattr(Path, "is_file", denied)
    read = _folder(tmp_path).read()
    assert {str(link)} == read.unreadable == set(read.broken)


def test_of_two_files_with_one_name_the_last_one_wins(tmp_path: Path) -> None:
    _put(tmp_path, "a.yaml", agents.manifest("one", cpu="1"))
    _put(tmp_path, "b.yaml", agents.manifest("one", cpu="2"))
    (only,) = _folder(tmp_path).read().workloads
    assert str(tmp_path / "b.yaml") == only.origin


async def test_the_agent_follows_the_folder(tmp_path: Path) -> None:
    manifests = tmp_path / "manifests"
    manifests.mkdir()
    _put(manifests, "a.yaml", agents.manifest("one"))

    given = agents.settings(tmp_path / "root", manifests=manifests)
    async with agents.running(given) as agent:
        await agent.until(lambda: agent.phase("one-node-a") == "running")
        first = agent.record("one-node-a").uid
        _put(manifests, "a.yaml", agents.manifest("one", cpu="3"))
        await agent.until(
            lambda: (
                [first] != [each.uid for each in agent.controller.view().records.values()]
                and agent.names() == ["one-node-a"]
                and agent.phase("one-node-a") == "running"
            )
        )
        held = placement.of_all(agent.controller.view().node.snapshot)
        assert [len(each.cpus) for each in held.values()] == [3]
        (manifests / "a.yaml").write_text("{half")
        await agent.until(lambda: bool(agent.controller.view().events))
        await agent.until(
            lambda: any(e.reason == "InvalidManifest" for e in agent.controller.view().events)
        )
        assert agent.phase("one-node-a") == "running"
        (manifests / "a.yaml").unlink()
        await agent.until(lambda: not agent.names())
        assert not placement.of_all(agent.controller.view().node.snapshot)


async def test_a_pod_that_keeps_its_uid_comes_back_changed(tmp_path: Path) -> None:
    manifests = tmp_path / "manifests"
    manifests.mkdir()
    value = agents.manifest("one")
    value["metadata"]["uid"] = "fixed"
    _put(manifests, "a.yaml", value)

    given = agents.settings(tmp_path / "root", manifests=manifests)
    async with agents.running(given) as agent:
        await agent.until(lambda: agent.phase("one-node-a") == "running")
        changed = agents.manifest("one", cpu="3")
        changed["metadata"]["uid"] = "fixed"
        _put(manifests, "a.yaml", changed)

        def has_three() -> bool:
            held = placement.of_all(agent.controller.view().node.snapshot)
            return [len(each.cpus) for each in held.values()] == [3]

        await agent.until(has_three)
        await agent.until(lambda: agent.phase("one-node-a") == "running")


ODD_MEMBERS: list[tuple[str, Any]] = [
    ("spec.containers.0.image", 3.9),
    ("spec.containers.0.image", True),
    ("spec.containers.0.stdin", "yes"),
    ("spec.containers.0.ports", [{"containerPort": "80"}]),
    ("spec.containers.0.env", [{"name": "A", "value": 5}]),
    ("spec.tolerations", "x"),
    ("spec.volumes", [{"name": "v", "emptyDir": {"sizeLimit": "much"}}]),
    ("spec.priority", 2**70),
    ("metadata.labels", {"a": 1}),
    ("metadata.creationTimestamp", "9999-99-99"),
    ("metadata.ownerReferences", [{"uid": "u"}]),
    ("status", "running"),
    ("metadata.annotations", []),
    ("metadata.namespace", 0),
    ("metadata.uid", False),
    ("spec", []),
    ("metadata", ""),
]


def _with(value: dict[str, Any], path: str, member: Any) -> dict[str, Any]:
    *names, last = path.split(".")
    part: Any = value
    for name in names:
        part = part[int(name)] if isinstance(part, list) else part[name]
    part[last] = member
    return value


async def test_what_is_of_another_type_is_one_event_and_no_end_of_the_agent(tmp_path: Path) -> None:
    folder = tmp_path / "manifests"
    folder.mkdir()
    for number, (path, member) in enumerate(ODD_MEMBERS):
        _put(folder, f"{number}.yaml", _with(agents.manifest(f"bad-{number}"), path, member))
    _put(folder, "good.yaml", agents.manifest("good"))

    given = agents.settings(tmp_path / "root", manifests=folder)
    async with agents.running(given) as agent:

        def told() -> list[str]:
            events = agent.controller.view().events
            found = [each for each in events if each.reason == "InvalidManifest"]
            return [each.message for each in found for _ in range(each.count)]

        await agent.until(lambda: agent.names() == ["good-node-a"])
        await agent.until(lambda: len(told()) == len(ODD_MEMBERS))
        for number in range(len(ODD_MEMBERS)):
            assert len([each for each in told() if f"/{number}.yaml" in each]) == 1
        # A change of one of them is one more event, and a good one brings its pod.
        _put(folder, "0.yaml", _with(agents.manifest("bad-0"), "spec.tolerations", 5))
        await agent.until(lambda: len(told()) == len(ODD_MEMBERS) + 1)
        _put(folder, "0.yaml", agents.manifest("bad-0"))
        await agent.until(lambda: agent.names() == ["good-node-a", "bad-0-node-a"])
        assert len(told()) == len(ODD_MEMBERS) + 1


@pytest.mark.parametrize(
    "path", ["metadata.lables", "spec.tolerance", "spec.containers.0.resorces"]
)
def test_a_field_that_no_release_knows_is_an_event_and_in_native_mode_the_end(
    tmp_path: Path, path: str
) -> None:
    _put(tmp_path, "a.yaml", _with(agents.manifest("one"), path, {"app": "web"}))
    exact, native = _folder(tmp_path).read(), _folder(tmp_path, NATIVE).read()
    (workload,) = exact.workloads
    assert path.rpartition(".")[2] not in str(workload.manifest)
    (remark,) = exact.remarks[workload.uid]
    assert (remark.code, remark.severity) == ("document/unknown-field", Severity.WARNING)
    ((refusal,),) = native.broken.values()
    assert (refusal.code, refusal.severity) == ("document/unknown-field", Severity.ERROR)
    near = {"lables": "labels", "tolerance": "tolerations", "resorces": "resources"}
    assert near[refusal.fields["name"]] in refusal.fields["nearest"].split(" or ")


def test_a_bug_in_reading_one_file_is_reported_and_others_still_load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bugs: list[Exception] = []
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    folder = ManifestFolder(tmp_path, "n", lambda: moment, report_bug=bugs.append)
    _put(tmp_path, "a.yaml", agents.manifest("one"))
    _put(tmp_path, "b.yaml", agents.manifest("two"))
    made = static_pods.static_pod

    def broken(value: Mapping[Any, Any], **given: Any) -> dict[str, Any]:
        if value["metadata"]["name"] == "one":
            raise ZeroDivisionError
        return made(value, **given)

    monkeypatch.setattr(static_pods, "static_pod", broken)
    for seen in ([str(tmp_path / "a.yaml")], []):
        read = folder.read()
        assert [each.pod.name for each in read.workloads] == ["two-n"]
        assert [*read.broken] == seen
    assert [type(bug) for bug in bugs] == [ZeroDivisionError]


@pytest.mark.parametrize("error", [OSError(errno.EMFILE, "Too many open files"), MemoryError()])
def test_a_file_that_could_not_be_read_for_lack_of_files_is_read_when_it_can_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    bugs: list[Exception] = []
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    folder = ManifestFolder(tmp_path, "n", lambda: moment, report_bug=bugs.append)
    _put(tmp_path, "a.yaml", agents.manifest("one"))

    def lacking(value: Mapping[Any, Any], **given: Any) -> dict[str, Any]:
        raise error

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(static_pods, "static_pod", lacking)
        ((finding,),) = folder.read().broken.values()
        assert finding.code == "document/unreadable"
    (workload,) = folder.read().workloads
    assert (workload.pod.name, bugs) == ("one-n", [])
