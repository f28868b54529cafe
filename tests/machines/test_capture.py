"""A captured machine is the machine, in the same bytes every time."""

from __future__ import annotations

from pathlib import Path

import pytest

from machines.guests import NAMES, tarball
from numalet.core.model.findings import BadInput
from numalet.io import machines
from numalet.io.sysfs import discover
from numalet.io.sysfs.archive import read_archive
from numalet.io.sysfs.capture import capture
from numalet.io.sysfs.trees import Tree


def _tree(name: str) -> Tree:
    tree = machines.open_machine(str(tarball(name))).tree
    assert tree is not None
    return tree


@pytest.mark.parametrize("name", NAMES)
def test_a_captured_guest_reads_as_the_same_machine(name: str, tmp_path: Path) -> None:
    tree = _tree(name)
    capture(tree, tmp_path / "one.tar.gz", "guest")
    captured = read_archive(tmp_path / "one.tar.gz", "one.tar.gz")
    assert list(captured.trees) == ["."]
    assert discover.read_machine(tree, "guest") == discover.read_machine(
        captured.trees["."], "guest"
    )


def test_the_same_machine_gives_the_same_bytes(tmp_path: Path) -> None:
    tree = _tree("n2c4")
    capture(tree, tmp_path / "one.tar.gz", "guest")
    capture(tree, tmp_path / "two.tar.gz", "guest")
    assert (tmp_path / "one.tar.gz").read_bytes() == (tmp_path / "two.tar.gz").read_bytes()


def test_a_capture_of_a_capture_is_the_same_bytes(tmp_path: Path) -> None:
    capture(_tree("n4c4-uneven"), tmp_path / "one.tar.gz", "guest")
    again = machines.open_machine(str(tmp_path / "one.tar.gz")).tree
    assert again is not None
    capture(again, tmp_path / "two.tar.gz", "guest")
    assert (tmp_path / "one.tar.gz").read_bytes() == (tmp_path / "two.tar.gz").read_bytes()


def test_a_capture_that_can_not_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "inside").write_text("")
    with pytest.raises(BadInput) as caught:
        capture(_tree("n1c4"), tmp_path / "taken", "guest")
    assert [finding.code for finding in caught.value.findings] == ["input/unwritable"]
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


def test_a_capture_into_a_folder_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as caught:
        capture(_tree("n1c4"), tmp_path / "absent" / "one.tar.gz", "guest")
    assert [finding.code for finding in caught.value.findings] == ["input/unwritable"]


def test_a_live_machine_can_be_captured(tmp_path: Path) -> None:
    live = machines.open_machine(None)
    assert live.tree is not None
    capture(live.tree, tmp_path / "live.tar.gz", "/sys")
    captured = machines.open_machine(str(tmp_path / "live.tar.gz"))
    assert live.machine.nodes == captured.machine.nodes
    assert live.machine.cpus == captured.machine.cpus
