"""Files are written whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from numalet.core.model.findings import BadInput
from numalet.io.files import atomic, temporary
from running import faults


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_new_file_is_for_its_owner_only(tmp_path: Path) -> None:
    atomic.write_text(tmp_path / "new", "text\r\n")

    assert (tmp_path / "new").read_bytes() == b"text\r\n"
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o600
    assert names(tmp_path) == ["new"]


def test_a_temporary_name_that_is_there_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends = iter(["00000000", "00000001"])
    for kind in ("likely_end", "random_end"):
        monkeypatch.setattr(temporary, kind, lambda: next(ends))
    there = tmp_path / ".state.00000000"
    there.write_text("of another process")
    atomic.write_text(tmp_path / "state", "new")
    assert (tmp_path / "state").read_text() == "new"
    assert there.read_text() == "of another process"
    assert sorted(each.name for each in tmp_path.iterdir()) == [there.name, "state"]


def test_an_existing_file_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "old").touch(0o640)

    atomic.write_text(tmp_path / "old", "text")

    assert (tmp_path / "old").stat().st_mode & 0o777 == 0o640


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "target").touch()
    (tmp_path / "link").symlink_to("target")

    atomic.write_text(tmp_path / "link", "text")

    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text(encoding="utf-8") == "text"


def test_what_is_no_file_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()

    with pytest.raises(BadInput) as bad:
        atomic.write_text(tmp_path / "folder", "text")

    assert bad.value.findings[0].code == "input/invalid"
    assert names(tmp_path) == ["folder"]


def test_no_file_changes_if_one_can_not_be_written(tmp_path: Path) -> None:
    (tmp_path / "first").write_text("old", encoding="utf-8")

    with pytest.raises(BadInput) as bad:
        atomic.write_texts({tmp_path / "first": "new", tmp_path / "nowhere" / "second": "new"})

    assert bad.value.findings[0].code == "input/unwritable"
    assert ": No such file or directory; nothing was changed" in str(bad.value)
    assert (tmp_path / "first").read_text(encoding="utf-8") == "old"
    assert names(tmp_path) == ["first"]


def test_nothing_is_left_of_a_write_that_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("old", encoding="utf-8")

    def fail(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(BadInput) as bad:
        atomic.write_text(tmp_path / "file", "new")

    assert ": No space left on device; nothing was changed" in str(bad.value)
    assert (tmp_path / "file").read_text(encoding="utf-8") == "old"
    assert names(tmp_path) == ["file"]


def test_a_rename_that_fails_leaves_the_old_files(tmp_path: Path) -> None:
    before = faults.install(faults.planned("file.replace:before:1:EACCES"))
    try:
        with pytest.raises(BadInput):
            atomic.write_texts({tmp_path / "a": "1", tmp_path / "b": "2"})
    finally:
        faults.install(before)

    assert names(tmp_path) == []


def test_a_name_that_no_file_can_have_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as bad:
        atomic.write_text(tmp_path / "a\0b", "text")
    assert "null" in str(bad.value)


def test_of_many_files_none_changes_if_one_can_not_be_written(tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.txt" for number in range(12)]
    for path in paths:
        path.write_text("old")
    texts = dict.fromkeys([*paths, tmp_path / "no-folder" / "x.txt"], "new")
    with pytest.raises(BadInput):
        atomic.write_texts(texts)
    assert {"old"} == {path.read_text() for path in paths}
    assert sorted(paths) == sorted(tmp_path.iterdir())
    atomic.write_texts(dict.fromkeys(paths, "new"))
    assert {"new"} == {path.read_text() for path in paths}
    assert sorted(paths) == sorted(tmp_path.iterdir())


@pytest.mark.parametrize("is_quick", [True, False])
def test_when_one_of_many_does_not_reach_the_disk_none_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_quick: bool
) -> None:
    paths = [tmp_path / f"{number}.txt" for number in range(12)]
    for path in paths:
        path.write_text("old")
    opened = len(list(Path("/proc/self/fd").iterdir()))
    asked: list[int] = []

    def fail_once(descriptor: int) -> None:
        asked.append(descriptor)
        if len(asked) == 5:
            raise OSError(5, "Input/output error")

    monkeypatch.setattr("os.fsync", fail_once)
    monkeypatch.setattr(atomic._latest, "is_quick", is_quick)
    monkeypatch.setattr(atomic._latest, "may_share_out", True)
    with pytest.raises(BadInput) as bad:
        atomic.write_texts(dict.fromkeys(paths, "new"))
    assert ": Input/output error; nothing was changed" in str(bad.value)
    assert {"old"} == {path.read_text() for path in paths}
    assert sorted(paths) == sorted(tmp_path.iterdir())
    assert opened == len(list(Path("/proc/self/fd").iterdir()))


def test_a_folder_that_is_none_can_not_be_had_on_the_disk(tmp_path: Path) -> None:
    atomic.sync_folders([tmp_path])
    with pytest.raises(BadInput) as bad:
        atomic.sync_folders([tmp_path, tmp_path / "nowhere"])
    assert bad.value.findings[0].code == "input/unwritable"
