"""One file is written without an intent; killed or failing anywhere, it is old or new."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.bad_inputs import refused_with
from numalet.core.model.findings import BadInput
from numalet.io.files import atomic, intent
from running import faults

NAME = "memory_manager_state"
POINTS = ["file.create", "file.write", "file.sync", "file.replace"]
"""What a write of one file passes, in this order; each of them before and after."""


@pytest.fixture(autouse=True)
def _no_hook_stays() -> Iterator[None]:
    before = faults.install(None)
    yield
    faults.install(before)


def old_file(folder: Path) -> Path:
    folder.mkdir()
    path = folder / NAME
    path.write_text("old")
    path.chmod(0o640)
    return path


def opened() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def end_of_a_child_that_writes(path: Path, plan: str) -> int:
    """The exit status of a copy of this process that writes the file, and fails as planned."""
    pid = os.fork()
    if pid == 0:
        faults.install(faults.planned(plan))
        atomic.write_text(path, "new")
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_one_file_is_created_written_had_on_the_disk_and_renamed(quick_path: Path) -> None:
    seen: list[str] = []
    path = old_file(quick_path / "state")
    faults.install(lambda name, moment: seen.append(f"{name} {moment.value}"))
    atomic.write_text(path, "new")
    assert [f"{name} {moment}" for name in POINTS for moment in ("before", "after")] == seen


@pytest.mark.parametrize("passage", range(1, 2 * len(POINTS) + 1))
def test_killed_anywhere_one_file_is_old_or_new(quick_path: Path, passage: int) -> None:
    path = old_file(quick_path / "state")
    assert end_of_a_child_that_writes(path, f"*:*:{passage}") == -signal.SIGKILL
    assert path.read_text() == ("new" if passage == 2 * len(POINTS) else "old")
    atomic.sweep(path.parent, [NAME])
    assert [each.name for each in path.parent.iterdir()] == [NAME]


@pytest.mark.parametrize("passage", range(1, 2 * len(POINTS) + 1))
def test_failing_anywhere_nothing_is_left_of_one_file(quick_path: Path, passage: int) -> None:
    path = old_file(quick_path / "state")
    before = opened()
    faults.install(faults.planned(f"*:*:{passage}:EIO"))
    with pytest.raises(BadInput) as bad:
        atomic.write_text(path, "new")
    (finding,) = bad.value.findings
    assert (finding.code, finding.where.document) == ("input/unwritable", str(path))
    assert path.read_text() == ("new" if passage == 2 * len(POINTS) else "old")
    assert path.stat().st_mode & 0o777 == 0o640
    assert [each.name for each in path.parent.iterdir()] == [NAME]
    # What fails after a file was created, as it can only here, takes its descriptor away.
    assert opened() - before == (1 if passage == 2 else 0)


def test_a_rename_that_fails_names_what_a_link_stands_for(quick_path: Path) -> None:
    path = old_file(quick_path / "state")
    link = quick_path / "link"
    link.symlink_to(path)
    faults.install(faults.planned("file.replace:before:1:EACCES"))
    with pytest.raises(BadInput) as bad:
        atomic.write_text(link, "new")
    assert bad.value.findings[0].where.document == str(path)
    assert path.read_text() == "old"


def test_an_interrupted_write_leaves_nothing(quick_path: Path) -> None:
    path = old_file(quick_path / "state")

    def interrupt(name: str, _: faults.Moment) -> None:
        if name == "file.sync":
            raise KeyboardInterrupt

    faults.install(interrupt)
    with pytest.raises(KeyboardInterrupt):
        atomic.write_text(path, "new")
    assert path.read_text() == "old"
    assert [each.name for each in path.parent.iterdir()] == [NAME]


def test_one_file_is_not_written_beside_an_intent_of_others(quick_path: Path) -> None:
    path = old_file(quick_path / "state")
    (path.parent / intent.NAME).write_text("{}")
    with refused_with("input/forbidden"):
        atomic.write_text(path, "new")
    assert path.read_text() == "old"


def test_a_block_that_fails_changes_nothing_about_one_file(quick_path: Path) -> None:
    path = old_file(quick_path / "state")
    within: list[str] = []

    def fail() -> None:
        with atomic.replaced({path: "new"}):
            within.append(path.read_text())
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert [*within, path.read_text()] == ["new", "new"]
    assert [each.name for each in path.parent.iterdir()] == [NAME]


def test_what_the_disk_takes_in_parts_is_written_whole(
    quick_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = old_file(quick_path / "state")
    write = os.write
    with monkeypatch.context() as slow:
        slow.setattr("os.write", lambda descriptor, left: write(descriptor, left[:3]))
        atomic.write_text(path, "longer than three")
    assert path.read_text() == "longer than three"


def test_a_name_that_can_not_be_removed_hides_no_reason(
    quick_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = old_file(quick_path / "state")

    def refuse(_path: str) -> None:
        raise PermissionError(13, "Permission denied")

    faults.install(faults.planned("file.write:before:1:ENOSPC"))
    with monkeypatch.context() as refusing:
        refusing.setattr("os.unlink", refuse)
        with pytest.raises(BadInput) as bad:
            atomic.write_text(path, "new")
    assert ": No space left on device; nothing was changed" in str(bad.value)


def test_a_path_from_here_is_written(quick_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(quick_path)
    atomic.write_text(Path("here"), "new")
    atomic.write_texts({"a": "1", "b": "2"})
    texts = {each.name: each.read_text() for each in quick_path.iterdir()}
    assert texts == {"a": "1", "b": "2", "here": "new"}
