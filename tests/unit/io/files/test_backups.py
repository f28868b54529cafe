"""Names of backups."""

from __future__ import annotations

from pathlib import Path

from numalet.io.files import backups


def test_a_backup_takes_the_first_free_name(tmp_path: Path) -> None:
    file = tmp_path / "kubelet.yaml"
    for expected in ("kubelet.yaml.bak", "kubelet.yaml.bak.2", "kubelet.yaml.bak.3"):
        name = backups.free_name(file)
        assert tmp_path / expected == name
        name.touch()


def test_a_link_to_nothing_takes_a_name_too(tmp_path: Path) -> None:
    (tmp_path / "a.bak").symlink_to("nowhere")
    assert tmp_path / "a.bak.2" == backups.free_name(tmp_path / "a")
