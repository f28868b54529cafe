"""Folders with a /sys: where the machine is, and files that are missing or make no sense."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from numalet.core.model.findings import BadInput, Finding
from numalet.core.model.machine import Cpu, HugePagePool, Machine
from numalet.io import machines
from numalet.io.sysfs import roots, trees
from numalet.io.sysfs.discover import read_machine
from numalet.io.sysfs.trees import FolderTree, memory_tree

CPU = "sys/devices/system/cpu"
NODE = "sys/devices/system/node"


def _machine(
    files: Mapping[str, str], links: Mapping[str, str] | None = None
) -> tuple[Machine, tuple[Finding, ...]]:
    content = {name: text.encode() for name, text in files.items()}
    return read_machine(memory_tree(content, links or {}, set()), "tree")


def _lay_out(folder: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def _refusal(path: Path | str) -> Finding:
    with pytest.raises(BadInput) as caught:
        machines.open_machine(str(path))
    (finding,) = caught.value.findings
    assert str(finding)
    return finding


ONE = {f"{CPU}/cpu0/topology/core_id": "0\n", f"{NODE}/node0/cpulist": "0\n"}
PROC = {"proc/meminfo": "MemTotal: 5 kB\n"}


def test_a_folder_that_holds_sys_and_proc_is_a_machine(tmp_path: Path) -> None:
    loaded = machines.open_machine(str(_lay_out(tmp_path, ONE | PROC)))
    assert loaded.machine.node_ids == (0,)
    assert loaded.info.memory_capacity_bytes == 5 * 1024


def test_a_sys_folder_finds_proc_beside_it(tmp_path: Path) -> None:
    _lay_out(tmp_path, ONE | PROC)
    loaded = machines.open_machine(str(tmp_path / "sys"))
    assert loaded.info.memory_capacity_bytes == 5 * 1024


def test_a_sys_folder_of_another_name_has_no_proc(tmp_path: Path) -> None:
    _lay_out(tmp_path, ONE | PROC)
    (tmp_path / "sys").rename(tmp_path / "copy")
    assert machines.open_machine(str(tmp_path / "copy")).info.memory_capacity_bytes == 0


def test_the_only_machine_below_a_folder_is_found(tmp_path: Path) -> None:
    _lay_out(tmp_path / "a" / "b", ONE)
    (tmp_path / "a" / "loop").symlink_to("..")
    assert machines.open_machine(str(tmp_path)).machine.node_ids == (0,)


def test_several_machines_below_a_folder_are_listed(tmp_path: Path) -> None:
    _lay_out(tmp_path / "a", ONE)
    _lay_out(tmp_path / "b" / "c", ONE)
    finding = _refusal(tmp_path)
    assert finding.code == "input/invalid"
    assert str(finding).endswith(f"expected one of: {tmp_path}/a, {tmp_path}/b/c")
    assert machines.open_machine(f"{tmp_path}:b/c").machine.node_ids == (0,)


def test_a_folder_without_a_machine_is_refused(tmp_path: Path) -> None:
    assert _refusal(tmp_path).code == "input/not-found"


def test_a_search_in_a_large_folder_comes_to_an_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(roots, "_MOST_FOLDERS", 3)
    for number in range(10):
        (tmp_path / f"folder{number}").mkdir()
    _lay_out(tmp_path / "zzz", ONE)
    assert _refusal(tmp_path).code == "input/not-found"


def test_a_folder_that_must_not_be_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patched:
        patched.setattr(os, "scandir", refuse)
        finding = _refusal(tmp_path)
    assert finding.code == "input/unreadable"
    assert str(finding).endswith(": Permission denied")


def test_a_file_in_place_of_a_folder_is_no_machine(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as caught:
        machines.open_folder(_lay_out(tmp_path, {"file": ""}) / "file", "file")
    assert [finding.code for finding in caught.value.findings] == ["input/unreadable"]


def test_folders_that_can_not_be_listed_are_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _lay_out(tmp_path / "a" / "b", ONE)
    (tmp_path / "closed").mkdir()
    scan = os.scandir

    def guarded(path: Path) -> object:
        if Path(path).name == "closed":
            raise PermissionError(13, "Permission denied")
        return scan(path)

    with monkeypatch.context() as patched:
        patched.setattr(os, "scandir", guarded)
        assert machines.open_machine(str(tmp_path)).machine.node_ids == (0,)


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as caught:
        machines.open_folder(tmp_path / "absent", "absent")
    assert [finding.code for finding in caught.value.findings] == ["input/not-found"]


def test_empty_directories_are_no_machine(tmp_path: Path) -> None:
    (tmp_path / CPU).mkdir(parents=True)
    assert _refusal(tmp_path).code == "input/invalid"


def test_a_pipe_in_place_of_a_file_is_not_waited_for(tmp_path: Path) -> None:
    _lay_out(tmp_path, ONE)
    os.mkfifo(tmp_path / NODE / "node0" / "meminfo")
    assert machines.open_machine(str(tmp_path)).machine.nodes[0].memory_bytes is None


def test_a_link_in_place_of_a_file_is_noted_and_not_followed(tmp_path: Path) -> None:
    _lay_out(tmp_path, ONE | PROC)
    (tmp_path / NODE / "node0" / "meminfo").symlink_to(tmp_path / "proc" / "meminfo")
    loaded = machines.open_machine(str(tmp_path))
    assert loaded.machine.nodes[0].memory_bytes is None
    assert [(note.code, note.fields["value"]) for note in loaded.reading_notes] == [
        ("machine/note-unreadable", f"{NODE}/node0/meminfo")
    ]


def test_many_unreadable_files_are_cut_short(tmp_path: Path) -> None:
    _lay_out(tmp_path, ONE)
    for name in ("online", "possible", "has_cpu", "has_memory", "has_normal_memory"):
        (tmp_path / NODE / name).symlink_to("elsewhere")
    (tmp_path / CPU / "online").symlink_to("elsewhere")
    (note,) = machines.open_machine(str(tmp_path)).reading_notes
    assert str(note.fields["value"]).endswith(" and 1 more")


def test_a_file_too_large_to_be_one_of_the_kernel_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trees, "LARGEST_FILE_BYTES", 10)
    _lay_out(tmp_path, ONE | PROC)
    tree = FolderTree(tmp_path / "sys", tmp_path / "proc")
    assert tree.text("proc/meminfo") is None
    assert tree.unreadable == ["proc/meminfo"]


def test_a_tree_without_proc_has_nothing_there(tmp_path: Path) -> None:
    tree = FolderTree(tmp_path, None)
    assert tree.text("proc/meminfo") is None
    assert tree.link("proc/meminfo") is None
    assert tree.names("proc", re.compile(".*")) == ()
    assert not tree.is_directory("proc")


def test_folder_and_tarball_trees_answer_alike(tmp_path: Path) -> None:
    _lay_out(tmp_path, ONE)
    (tmp_path / NODE / "node0" / "cpu0").symlink_to("../../cpu/cpu0")
    folder = FolderTree(tmp_path / "sys", None)
    memory = memory_tree(
        {name: text.encode() for name, text in ONE.items()},
        {f"{NODE}/node0/cpu0": "../../cpu/cpu0"},
        set(),
    )
    anything = re.compile(".*")
    for path in (CPU, f"{CPU}/cpu0", f"{NODE}/node0", f"{NODE}/node0/cpu0", f"{NODE}/absent"):
        assert folder.text(path) == memory.text(path)
        assert folder.link(path) == memory.link(path)
        assert folder.is_directory(path) == memory.is_directory(path)
        if not folder.link(path):
            assert folder.names(path, anything) == memory.names(path, anything)


def test_the_live_machine_reads() -> None:
    live = machines.open_machine(None)
    assert live.machine.online_cpus
    assert live.info.cpu_count > 0
    assert live.machine.source == "/sys"


def test_without_a_list_an_offline_file_or_a_missing_place_means_offline() -> None:
    files = {
        f"{CPU}/cpu0/topology/core_id": "0",
        f"{CPU}/cpu1/topology/core_id": "1",
        f"{CPU}/cpu1/online": "0\n",
        f"{CPU}/cpu2/online": "1\n",
        f"{CPU}/cpu3/topology/core_id": "3",
        f"{CPU}/cpu3/online": "",
    }
    machine, _ = _machine(files)
    assert machine.online_cpus == frozenset({0, 3})
    assert machine.offline_cpus == frozenset({1, 2})


def test_without_any_place_directories_are_cpus() -> None:
    machine, _ = _machine({f"{CPU}/cpu0/uevent": "", f"{CPU}/cpu1/uevent": ""})
    assert machine.online_cpus == frozenset({0, 1})


def test_an_online_cpu_needs_no_directory() -> None:
    machine, _ = _machine({f"{CPU}/online": "0-1\n", f"{CPU}/cpu0/topology/core_id": "0"})
    assert machine.cpus == (Cpu(0, core_id=0), Cpu(1))


def test_an_offline_cpu_keeps_its_place() -> None:
    files = {f"{CPU}/online": "0\n", f"{CPU}/cpu1/topology/core_id": "7"}
    machine, _ = _machine(files)
    assert machine.cpus == (Cpu(0), Cpu(1, online=False, core_id=7))


@pytest.mark.parametrize(
    ("files", "cpus"),
    [
        ({"cpulist": "0-1\n", "cpumap": "f\n"}, {0, 1}),
        ({"cpulist": "\n", "cpumap": "3\n"}, {0, 1}),
        ({"cpulist": "\n", "cpumap": "0\n"}, set()),
        ({"cpulist": "\n"}, set()),
        ({"cpumap": "00000000,00000003\n"}, {0, 1}),
        ({"uevent": ""}, {4}),
    ],
)
def test_cpus_of_a_node_are_list_then_mask_then_links(
    files: Mapping[str, str], cpus: set[int]
) -> None:
    content = {f"{NODE}/node0/{name}": text for name, text in files.items()}
    machine, _ = _machine(content, {f"{NODE}/node0/cpu4": "../../cpu/cpu4"})
    assert machine.nodes[0].cpus == cpus
    assert machine.nodes[0].linked_cpus == frozenset({4})


def test_links_to_their_own_directory_are_broken() -> None:
    links = {f"{NODE}/node0/cpu0": ".", f"{NODE}/node0/cpu1": "../../cpu/cpu1"}
    machine, _ = _machine({f"{NODE}/node0/cpulist": "0-1"}, links)
    assert machine.nodes[0].broken_links == frozenset({0})


def test_an_entry_that_is_a_directory_is_a_link_that_works() -> None:
    machine, _ = _machine({f"{NODE}/node0/cpu0/uevent": ""})
    assert machine.nodes[0].broken_links == frozenset()


def test_odd_texts_are_warnings_and_taken_as_not_said() -> None:
    files = {
        f"{NODE}/node0/distance": "10 x\n",
        f"{NODE}/node0/cpulist": "(null)\n",
        f"{NODE}/node0/hugepages/hugepages-2048kB/nr_hugepages": "many\n",
    }
    machine, warnings = _machine(files)
    assert machine.nodes[0].distances is None
    assert machine.nodes[0].hugepages == (HugePagePool(2048, None),)
    assert [str(warning).split()[0] for warning in warnings] == [
        f"{NODE}/node0/cpulist",
        f"{NODE}/node0/hugepages/hugepages-2048kB/nr_hugepages",
        f"{NODE}/node0/distance",
    ]
    for warning in warnings:
        assert str(warning)


def test_warnings_come_to_an_end() -> None:
    files = {f"{NODE}/node{n}/distance": "x" for n in range(60)}
    _, warnings = _machine(files)
    assert len(warnings) == 50


def test_names_that_are_no_numbers_are_passed_over() -> None:
    files = {
        f"{NODE}/node01/cpulist": "0",
        f"{NODE}/nodes/cpulist": "0",
        f"{NODE}/node2/cpulist": "0",
        f"{NODE}/node2/hugepages/hugepages-xkB/nr_hugepages": "0",
    }
    machine, _ = _machine(files)
    assert machine.node_ids == (2,)
    assert machine.nodes[0].hugepages == ()


def test_caches_are_read_from_list_or_mask() -> None:
    index = f"{CPU}/cpu0/cache/index"
    files = {
        f"{CPU}/cpu0/topology/core_id": "0",
        f"{index}0/level": "1",
        f"{index}0/type": "Data\n",
        f"{index}0/size": "32K\n",
        f"{index}0/id": "0\n",
        f"{index}0/shared_cpu_map": "3\n",
        f"{index}1/shared_cpu_list": "0-3\n",
    }
    machine, _ = _machine(files)
    first, second = machine.cpus[0].caches
    assert (first.level, first.kind, first.size_bytes, first.cache_id) == (1, "Data", 32768, 0)
    assert (first.cpus, first.masked_cpu_count) == (frozenset({0, 1}), 2)
    assert (second.cpus, second.masked_cpu_count) == (frozenset({0, 1, 2, 3}), None)
