"""The state files of a directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from numalet.core.model.findings import BadInput
from numalet.io.files import recording, state_directory

CPU, MEMORY = "cpu_manager_state", "memory_manager_state"


def codes(bad: pytest.ExceptionInfo[BadInput]) -> list[str]:
    return [finding.code for finding in bad.value.findings]


def test_only_the_known_files_are_read(tmp_path: Path) -> None:
    (tmp_path / MEMORY).write_text("{}", encoding="utf-8")
    (tmp_path / "config.yaml").write_text("x", encoding="utf-8")

    assert dict(state_directory.read(tmp_path).files) == {MEMORY: "{}"}


def test_only_what_changed_is_written(tmp_path: Path) -> None:
    (tmp_path / CPU).write_text("same", encoding="utf-8")
    (tmp_path / MEMORY).write_text("old", encoding="utf-8")
    before = (tmp_path / CPU).stat().st_ino

    written = state_directory.read(tmp_path).write({CPU: "same", MEMORY: "new"})

    assert written == (MEMORY,)
    assert (tmp_path / MEMORY).read_text(encoding="utf-8") == "new"
    assert (tmp_path / CPU).stat().st_ino == before


def test_a_byte_order_mark_is_part_of_the_text(tmp_path: Path) -> None:
    (tmp_path / CPU).write_bytes(b"\xef\xbb\xbf{}")

    assert state_directory.read(tmp_path).files[CPU] == "\ufeff{}"


def test_a_directory_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as bad:
        state_directory.read(tmp_path / "nowhere")
    assert codes(bad) == ["files/no-such-directory"]


def test_bytes_that_are_no_text_are_damage_like_any_other(tmp_path: Path) -> None:
    (tmp_path / CPU).write_bytes(b'{"\xff"')
    assert state_directory.read(tmp_path).files[CPU] == '{"\ufffd"'


def test_a_pipe_in_the_place_of_a_file_is_refused(tmp_path: Path) -> None:
    import os

    os.mkfifo(tmp_path / MEMORY)
    with pytest.raises(BadInput) as bad:
        state_directory.read(tmp_path)
    assert codes(bad) == ["input/invalid"]


def test_a_file_that_is_too_large_is_refused(tmp_path: Path) -> None:
    (tmp_path / CPU).write_bytes(b" " * (33 << 20))
    with pytest.raises(BadInput) as bad:
        state_directory.read(tmp_path)
    assert codes(bad) == ["document/too-large"]


def test_a_recording_begins_empty_and_grows_line_by_line(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"

    recording.read(path).append({"a": 1})
    recording.read(path).append({"b": 2})

    assert path.read_text(encoding="utf-8") == '{"a": 1}\n{"b": 2}\n'


def test_a_recording_has_a_name_that_is_recognised_later(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as bad:
        recording.read(tmp_path / "a.json")
    assert codes(bad) == ["input/invalid"]


def test_signatures_are_others_after_a_state_file_was_written(tmp_path: Path) -> None:
    signatures = [state_directory.signatures(tmp_path)]
    plugins = tmp_path / state_directory.DEVICE_PLUGINS
    plugins.mkdir()
    for path in (tmp_path / CPU, tmp_path / MEMORY, plugins / "kubelet_internal_checkpoint"):
        path.write_text("{}", encoding="utf-8")
        signatures.append(state_directory.signatures(tmp_path))
    (tmp_path / CPU).write_text("{}\n", encoding="utf-8")
    signatures.append(state_directory.signatures(tmp_path))
    (tmp_path / MEMORY).unlink()
    signatures.append(state_directory.signatures(tmp_path))
    assert len(set(signatures)) == len(signatures)
    (tmp_path / "config.yaml").write_text("x", encoding="utf-8")
    assert state_directory.signatures(tmp_path) == signatures[-1]
