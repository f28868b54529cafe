"""What root believes: nothing that another user could have written."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from harness.bad_inputs import refused_with
from numalet.agent.controller.manifests import ManifestFolder
from numalet.agent.controller.shared_state import SharedState
from numalet.agent.controller.store import Store
from numalet.io.documents.pods import pod_record
from numalet.io.files import trust
from running import agents

NOBODY = 65534
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root is asked")


def give(path: Path) -> Path:
    os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
    return path


def made(path: Path, mode: int = 0o755) -> Path:
    path.mkdir()
    path.chmod(mode)
    return path


def mine(folder: Path) -> Path:
    return made(folder / "mine")


def of_another(folder: Path) -> Path:
    return give(made(folder / "theirs"))


def open_to_all(folder: Path) -> Path:
    return made(folder / "open", 0o777)


def open_to_a_group(folder: Path) -> Path:
    path = made(folder / "open", 0o775)
    os.chown(path, 0, 12345)
    return path


def like_tmp(folder: Path) -> Path:
    return made(folder / "tmp", 0o1777)


def below(make: Callable[[Path], Path]) -> Callable[[Path], Path]:
    return lambda folder: made(make(folder) / "below")


def linked(make: Callable[[Path], Path]) -> Callable[[Path], Path]:
    def link(folder: Path) -> Path:
        (folder / "link").symlink_to(make(folder).relative_to(folder))
        return folder / "link"

    return link


def linked_by_another(folder: Path) -> Path:
    made(folder / "mine")
    (like_tmp(folder) / "link").symlink_to(folder / "mine")
    return give(folder / "tmp" / "link")


GOOD = (mine, below(like_tmp), linked(mine), linked(below(mine)), below(below(mine)))
BAD = (
    *(of_another, open_to_all, open_to_a_group, like_tmp),
    *(below(each) for each in (of_another, open_to_all, open_to_a_group)),
    *(linked(each) for each in (of_another, open_to_all)),
    *(below(linked(each)) for each in (of_another, open_to_all)),
    linked_by_another,
)


@pytest.mark.parametrize("make", GOOD)
def test_a_folder_that_only_root_can_change_is_believed(
    tmp_path: Path, make: Callable[[Path], Path]
) -> None:
    folder = make(tmp_path)
    assert trust.doubt(folder) is None
    assert trust.doubt(folder / "not" / "yet") is None
    Store(folder, pod_record.encode, pod_record.decode).open()


@pytest.mark.parametrize("make", BAD)
def test_one_that_others_can_change_is_refused_for_node_state_and_manifests(
    tmp_path: Path, make: Callable[[Path], Path]
) -> None:
    folder = make(tmp_path)
    finding = trust.doubt(folder)
    assert finding is not None
    assert "ch" in finding.located
    before = sorted(folder.iterdir()), folder.stat().st_mode
    codes = r"input/forbidden|input/forbidden"
    with refused_with(codes):
        Store(folder, pod_record.encode, pod_record.decode).open()
    with refused_with(codes):
        SharedState(folder).prepare()
    with refused_with("input/forbidden"):
        agents.here(tmp_path / "root", manifests=folder)
    assert before == (sorted(folder.iterdir()), folder.stat().st_mode)


def test_a_link_that_leads_to_itself_is_nothing(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    assert trust.doubt(tmp_path / "loop") is None


def test_files_of_others_in_a_root_folder_are_refused(tmp_path: Path) -> None:
    made(tmp_path / "root", 0o700)
    Store(tmp_path / "root", pod_record.encode, pod_record.decode).open()
    made(tmp_path / "root" / "run", 0o700)
    give(tmp_path / "root" / "node-state.lock")
    with refused_with("input/forbidden") as refused:
        Store(tmp_path / "root", pod_record.encode, pod_record.decode).open()
    assert "(node-state.lock)" in str(refused.value)
    os.chown(tmp_path / "root" / "node-state.lock", 0, 0)
    (tmp_path / "root" / "run" / "runs.json").write_text("[]")
    give(tmp_path / "root" / "run" / "runs.json")
    with refused_with("input/forbidden"):
        SharedState(tmp_path / "root").prepare()


def looked(folder: Path) -> tuple[list[str], list[str]]:
    """Names of pods that are taken, and codes of what is wrong with files that are not."""
    source = ManifestFolder(folder, "node-a", lambda: datetime(2026, 1, 1, tzinfo=UTC))
    read = source.read()
    codes = [each.code for findings in read.broken.values() for each in findings]
    return [each.pod.name for each in read.workloads], codes


def test_a_manifest_of_another_user_is_not_run(tmp_path: Path) -> None:
    folder, elsewhere = made(tmp_path / "manifests"), of_another(tmp_path)
    texts = {name: json.dumps(agents.manifest(name)) for name in ("a", "b", "c", "d", "e")}
    for name in ("a", "b", "c"):
        (folder / f"{name}.yaml").write_text(texts[name])
        (folder / f"{name}.yaml").chmod(0o644)
    give(folder / "b.yaml")
    (folder / "c.yaml").chmod(0o666)
    (elsewhere / "d.yaml").write_text(texts["d"])
    (folder / "d.yaml").symlink_to(elsewhere / "d.yaml")
    (made(tmp_path / "mine") / "e.yaml").write_text(texts["e"])
    (folder / "e.yaml").symlink_to(tmp_path / "mine" / "e.yaml")
    names, codes = looked(folder)
    assert names == ["a-node-a", "e-node-a"]
    assert codes == ["input/forbidden", "input/forbidden", "input/forbidden"]
    # Should the folder itself become so, nothing of it counts, and nothing that runs is ended.
    folder.chmod(0o777)
    assert looked(folder) == ([], ["input/forbidden"])
