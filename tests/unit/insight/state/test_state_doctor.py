"""State files on disk: found, recognised, replaced with backups or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from numalet.core.model.findings import BadInput
from numalet.insight.usecases import state_doctor
from numalet.io import kubelets
from numalet.io.documents.kubelet.kubelet_config import ConfigSources
from numalet.io.files import state_directory
from numalet.io.machines import MachineChoice
from values import state_builders
from values.state_builders import CPU, DEVICE, MEMORY

FILES = state_builders.files()
NOBODY = Path("/nowhere")


@pytest.fixture
def root_dir(tmp_path: Path) -> Path:
    """A kubelet's root directory with its state files."""
    folder = tmp_path / "kubelet"
    (folder / "device-plugins").mkdir(parents=True)
    for name in (CPU, MEMORY):
        (folder / name).write_text(FILES[name])
    (folder / "device-plugins" / DEVICE).write_text(FILES[DEVICE])
    return folder


def codes(bad: pytest.ExceptionInfo[BadInput]) -> list[str]:
    """Codes of what is wrong."""
    return [finding.code for finding in bad.value.findings]


def test_all_files_of_a_kubelet_are_found(root_dir: Path) -> None:
    source = state_doctor.read(root_dir)

    assert dict(source.files) == FILES
    assert root_dir / "device-plugins" / DEVICE == source.paths[DEVICE]


def test_in_a_copy_the_checkpoint_may_be_beside_the_others(tmp_path: Path) -> None:
    (tmp_path / DEVICE).write_text(FILES[DEVICE])
    (tmp_path / "device-plugins").mkdir()

    assert {DEVICE: tmp_path / DEVICE} == dict(state_doctor.read(tmp_path).paths)


def test_the_checkpoint_is_written_where_a_kubelet_looks_for_it(tmp_path: Path) -> None:
    beside = state_directory.read(tmp_path)
    assert beside.write({DEVICE: "1"}) == (DEVICE,)
    assert (tmp_path / DEVICE).read_text() == "1"
    root = tmp_path / "root"
    (root / "device-plugins").mkdir(parents=True)
    state_directory.read(root).write({DEVICE: "2"})
    assert (root / "device-plugins" / DEVICE).read_text() == "2"


def test_one_file_is_known_by_its_name_or_its_content(tmp_path: Path) -> None:
    named = tmp_path / "memory_manager_state.old"
    named.write_text("{")
    assert dict(state_doctor.read(named).files) == {MEMORY: "{"}
    for name in FILES:
        other = tmp_path / "saved.json"
        other.write_text(FILES[name])
        assert {name: other} == dict(state_doctor.read(other).paths)


@pytest.mark.parametrize("text", ["{", "[]", "{}"])
def test_another_file_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "notes").write_text(text)
    with pytest.raises(BadInput) as bad:
        state_doctor.read(tmp_path / "notes")
    assert codes(bad) == ["input/invalid"]


def test_a_directory_without_state_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as bad:
        state_doctor.read(tmp_path)
    assert codes(bad) == ["rebase/no-state-files"]
    with pytest.raises(BadInput) as bad:
        state_doctor.read(tmp_path / "missing")
    assert codes(bad) == ["input/not-found"]


def test_what_is_replaced_is_kept(root_dir: Path) -> None:
    (root_dir / MEMORY).chmod(0o640)
    source = state_doctor.read(root_dir)
    (done,) = state_doctor.replace(source, {MEMORY: "new"}, NOBODY)

    assert (root_dir / MEMORY, root_dir / f"{MEMORY}.bak") == (done.path, done.backup)
    assert ("new", FILES[MEMORY]) == (done.path.read_text(), done.backup.read_text())
    assert (
        done.path.stat().st_mode & 0o777,
        done.backup.stat().st_mode & 0o777,
    ) == (0o640, 0o600)
    again = state_doctor.read(root_dir)
    (second,) = state_doctor.replace(again, {MEMORY: "newer"}, NOBODY)
    assert root_dir / f"{MEMORY}.bak.2" == second.backup
    assert ("new", FILES[MEMORY]) == (second.backup.read_text(), done.backup.read_text())


def test_nothing_to_replace_is_nothing_done(root_dir: Path) -> None:
    before = sorted(root_dir.rglob("*"))

    assert state_doctor.replace(state_doctor.read(root_dir), {}, NOBODY) == ()
    assert before == sorted(root_dir.rglob("*"))


def test_a_file_that_changed_meanwhile_is_left_alone(root_dir: Path) -> None:
    source = state_doctor.read(root_dir)
    (root_dir / MEMORY).write_text("somebody else")
    with pytest.raises(BadInput) as bad:
        state_doctor.replace(source, {CPU: "new", MEMORY: "new"}, NOBODY)

    assert codes(bad) == ["rebase/changed-meanwhile"]
    assert (FILES[CPU], "somebody else") == (
        (root_dir / CPU).read_text(),
        (root_dir / MEMORY).read_text(),
    )
    assert list(root_dir.glob("*.bak*")) == []


def test_a_directory_in_which_a_kubelet_works_is_left_alone(
    root_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Path] = []

    def at_work_in(directory: Path, _proc: Path) -> str:
        asked.append(directory)
        return "process 7, kubelet"

    monkeypatch.setattr(kubelets, "at_work_in", at_work_in)
    for path in (root_dir, root_dir / MEMORY):
        with pytest.raises(BadInput) as bad:
            state_doctor.replace(state_doctor.read(path), {MEMORY: "new"})
        assert codes(bad) == ["rebase/held"]
    assert [root_dir, root_dir] == asked
    assert FILES[MEMORY] == (root_dir / MEMORY).read_text()


def test_everything_wrong_with_machine_and_configuration_is_said_at_once(tmp_path: Path) -> None:
    machine = MachineChoice(str(tmp_path / "missing"))
    with pytest.raises(BadInput) as bad:
        state_doctor.load_kubelet(
            machine, ConfigSources(config_file=tmp_path / "none.yaml"), tmp_path
        )

    assert codes(bad) == ["input/not-found", "document/unreadable"]
    loaded = state_doctor.load_kubelet(MachineChoice("1n2c"), ConfigSources(), tmp_path)
    assert [note.code for note in loaded.notes] == ["machine/note-memory-assumed"]
