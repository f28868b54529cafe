"""Our tree of cgroups over a file system that answers as the kernel does."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from numalet.agent.host.cgroup_v2 import interface_files, root
from numalet.agent.host.cgroup_v2.interface_files import SettingRefusal
from numalet.agent.host.cgroup_v2.tree import CgroupTree
from numalet.core.enforcement.cgroup_settings import NO_QUOTA, CgroupSettings
from numalet.shared.findings.runtime import CgroupNoCgroupV2
from running.fake_cgroups import FakeCgroups

SIZES = (2 << 20, 1 << 30)


@pytest.fixture
def tree(tmp_path: Path) -> FakeCgroups:
    return FakeCgroups(tmp_path / "fs")


def test_a_cgroup_is_made_with_those_above_it_and_their_controllers(tree: FakeCgroups) -> None:
    tree.make("burstable/podu/c")
    assert tree.children("burstable/podu") == ("c",)
    assert tree.read("burstable/podu/c", "memory.max") == "max"
    tree.make("burstable/podu/c")


def test_a_path_that_leads_elsewhere_is_a_bug(tree: FakeCgroups) -> None:
    for path in ("..", "a/../b", "/etc", "a//b"):
        with pytest.raises(ValueError, match=path):
            tree.folder(path)


def test_all_settings_are_written_once_and_read_back(tree: FakeCgroups) -> None:
    tree.make("podu/c")
    wanted = CgroupSettings(
        cpus=frozenset({1, 2}),
        memory_nodes=(1, 3),
        memory_max_bytes=1 << 30,
        memory_high_bytes=1 << 29,
        memory_min_bytes=4096,
        swap_max_bytes=0,
        hugetlb_max_bytes={2 << 20: 0, 1 << 30: 1 << 30},
        cpu_weight=39,
        cpu_quota_us=200_000,
        pids_max=100,
        oom_group=True,
    )
    written = interface_files.apply(tree, "podu/c", wanted)
    assert not isinstance(written, SettingRefusal)
    assert len(written) == 12
    assert wanted == interface_files.settings(tree, "podu/c", SIZES)
    assert interface_files.apply(tree, "podu/c", wanted) == ()


def test_a_quota_is_taken_away(tree: FakeCgroups) -> None:
    tree.make("podu/c")
    interface_files.apply(tree, "podu/c", CgroupSettings(cpu_quota_us=200_000))
    none = CgroupSettings(cpu_quota_us=NO_QUOTA)
    assert interface_files.apply(tree, "podu/c", none) == ("cpu.max",)
    assert tree.read("podu/c", "cpu.max") == "max 100000"
    assert interface_files.apply(tree, "podu/c", none) == ()


def test_only_what_differs_is_written(tree: FakeCgroups) -> None:
    tree.make("podu/c")
    wanted = CgroupSettings(memory_nodes=(1,), memory_max_bytes=1 << 30)
    interface_files.apply(tree, "podu/c", wanted)
    tree.write("podu/c", "cpuset.mems", "0-2")
    assert interface_files.apply(tree, "podu/c", wanted) == ("cpuset.mems",)
    assert tree.read("podu/c", "cpuset.mems.effective") == "1"


def test_an_empty_set_is_cleared(tree: FakeCgroups) -> None:
    tree.make("podu")
    tree.write("podu", "cpuset.mems", "1")
    wanted = CgroupSettings(cpus=frozenset(), memory_nodes=())
    assert interface_files.apply(tree, "podu", wanted) == ("cpuset.mems",)
    assert interface_files.apply(tree, "podu", wanted) == ()
    assert tree.read("podu", "cpuset.mems.effective") == "0-3"


def test_a_node_without_memory_is_taken_and_refused_by_us(tree: FakeCgroups) -> None:
    tree.with_memory = frozenset({0, 1, 2})
    tree.make("podu/c")
    refused = interface_files.apply(tree, "podu/c", CgroupSettings(memory_nodes=(3,)))
    assert isinstance(refused, SettingRefusal)
    assert refused.why.code == "cgroup/not-in-force"
    assert tuple(refused.why.fields[name] for name in ("file", "value", "found")) == (
        "cpuset.mems",
        "3",
        "0-2",
    )


def test_an_offline_cpu_among_others_is_refused_too(tree: FakeCgroups) -> None:
    tree.online = frozenset(range(7))
    tree.make("podu/c")
    refused = interface_files.apply(tree, "podu/c", CgroupSettings(cpus=frozenset({6, 7})))
    assert isinstance(refused, SettingRefusal)
    assert refused.why.fields["found"] == "6"


def test_a_narrower_cgroup_above_is_noticed_without_a_write(tree: FakeCgroups) -> None:
    tree.make("podu/c")
    wanted = CgroupSettings(memory_nodes=(1, 2))
    assert interface_files.apply(tree, "podu/c", wanted) == ("cpuset.mems",)
    tree.write("podu", "cpuset.mems", "1")
    assert isinstance(interface_files.apply(tree, "podu/c", wanted), SettingRefusal)


def test_a_text_that_the_kernel_refuses_is_reported_with_its_file(tree: FakeCgroups) -> None:
    tree.make("podu/c")
    refused = interface_files.apply(tree, "podu/c", CgroupSettings(cpus=frozenset({99})))
    assert isinstance(refused, SettingRefusal)
    assert refused.why.code == "cgroup/refused"
    assert (refused.why.fields["file"], refused.why.fields["value"]) == ("cpuset.cpus", "99")


def test_what_the_kernel_rounds_away_is_refused(tree: FakeCgroups) -> None:
    tree.make("podu/c")
    refused = interface_files.apply(tree, "podu/c", CgroupSettings(memory_max_bytes=5000))
    assert isinstance(refused, SettingRefusal)
    assert refused.why.fields["found"] == "4096"


def test_a_cgroup_that_vanished_is_a_refusal(tree: FakeCgroups) -> None:
    refused = interface_files.apply(tree, "podu/c", CgroupSettings(cpu_weight=1))
    assert refused == ()
    assert isinstance(
        interface_files.apply(tree, "podu/c", CgroupSettings(cpus=frozenset({1}))), SettingRefusal
    )


def test_settings_without_a_controller_are_left_out(tmp_path: Path) -> None:
    tree = FakeCgroups(tmp_path / "fs")
    (tree.top / "cgroup.controllers").write_text("cpuset memory\n")
    tree.make("podu/c")
    wanted = CgroupSettings(cpu_weight=39, pids_max=1, memory_max_bytes=4096)
    assert interface_files.apply(tree, "podu/c", wanted) == ("memory.max",)


def test_a_cgroup_is_removed_with_all_below(tree: FakeCgroups) -> None:
    tree.make("podu/c")
    tree.make("podu/d")
    assert tree.remove("podu")
    assert not tree.exists("podu")
    assert tree.remove("podu")


def test_a_cgroup_with_processes_stays(tree: FakeCgroups) -> None:
    tree.make("podu/c")
    (tree.folder("podu/c") / "cgroup.events").write_text("populated 1\nfrozen 0\n")
    (tree.folder("podu/c") / "cgroup.procs").write_text("17\n4\n")
    assert tree.processes("podu") == (4, 17)
    assert not tree.remove("podu")
    assert tree.exists("podu/c")


def test_killing_what_is_not_there_is_nothing(tree: FakeCgroups) -> None:
    tree.make("podu")
    tree.kill("podu")
    tree.kill("podv")
    assert tree.killed == ["podu"]


def test_counters_are_read(tree: FakeCgroups) -> None:
    tree.make("podu")
    folder = tree.folder("podu")
    (folder / "memory.numa_stat").write_text(
        "anon N0=0 N1=4096\nfile N0=20480 N1=8192\nshmem N0=0 N1=8192\nslab N0=4096 N1=0\n"
    )
    (folder / "hugetlb.2MB.numa_stat").write_text("total=2097152 N0=0 N1=2097152\n")
    assert interface_files.pages(tree, "podu", SIZES) == {
        "memory": {1: 12288},
        "file": {0: 20480},
        "hugepages-2Mi": {1: 2097152},
    }
    assert interface_files.pages(tree, "nothing", SIZES) == {}


def _proc(tmp_path: Path, mounts: str, cgroups: str) -> Path:
    (tmp_path / "mountinfo").write_text(mounts)
    (tmp_path / "cgroup").write_text(cgroups)
    return tmp_path


def _mount(top: Path) -> str:
    return f"30 25 0:26 / {top} rw,relatime shared:4 - cgroup2 c rw\n"


def test_without_cgroup_v2_there_is_no_tree(tmp_path: Path) -> None:
    proc = _proc(tmp_path, "30 25 0:26 / /x rw - cgroup c rw,cpuset\n", "")
    assert root.Unusable(CgroupNoCgroupV2()) == root.find(proc)


def test_a_tree_of_our_own_is_made_at_the_top(tmp_path: Path, tree: FakeCgroups) -> None:
    found = root.find(_proc(tmp_path, _mount(tree.top), "0::/\n"), at=tree.at)
    assert isinstance(found, root.Usable)
    assert tree.top / "numalet" == found.tree.root
    assert found.shortfalls == ()


def test_without_the_controllers_the_tree_promises_nothing(
    tmp_path: Path, tree: FakeCgroups
) -> None:
    (tree.top / "cgroup.controllers").write_text("hugetlb\n")
    found = root.find(_proc(tmp_path, _mount(tree.top), "0::/a\n"), at=tree.at)
    assert isinstance(found, root.Unusable)
    assert found.why.fields["missing"] == "cpuset, memory"
    assert not tree.exists("numalet")


def test_missing_optional_controllers_are_named(tmp_path: Path, tree: FakeCgroups) -> None:
    (tree.top / "cgroup.controllers").write_text("cpuset memory cpu\n")
    found = root.find(_proc(tmp_path, _mount(tree.top), "0::/a\n"), at=tree.at)
    assert isinstance(found, root.Usable)
    assert found.shortfalls == ("cgroup/no-hugetlb-controller", "cgroup/no-pids-controller")


@pytest.fixture
def delegated(monkeypatch: pytest.MonkeyPatch) -> set[Path]:
    """The folders that a service manager is taken to have delegated."""
    folders: set[Path] = set()

    def getxattr(path: Path, name: str) -> bytes:
        if path not in folders or name != "user.delegate":
            raise OSError
        return b"1"

    monkeypatch.setattr("os.getxattr", getxattr)
    return folders


def test_a_delegated_unit_steps_aside_and_has_the_tree(
    tmp_path: Path, tree: FakeCgroups, delegated: set[Path]
) -> None:
    tree.make("system/numalet%service")
    unit = tree.folder("system/numalet%service")
    (unit / "cgroup.procs").write_text("1\n")
    delegated.add(unit)
    proc = _proc(tmp_path, _mount(tree.top), "0::/system/numalet%service\n")
    found = root.find(proc, at=tree.at)
    assert isinstance(found, root.Usable)
    assert unit / "pods" == found.tree.root
    assert (unit / "agent" / "cgroup.procs").read_text().strip() == "1"


def test_a_unit_for_pods_beside_ours_has_the_tree_and_we_stay_in_ours(
    tmp_path: Path, tree: FakeCgroups, delegated: set[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    # The fake does not take names with dots, which are files there.
    monkeypatch.setattr(root, "PODS_UNIT", "pods-unit")
    for name in ("agent%service", "pods-unit"):
        tree.make(f"system/{name}")
    (tree.folder("system/agent%service") / "cgroup.procs").write_text("1\n")
    delegated.add(tree.folder("system/pods-unit"))
    proc = _proc(tmp_path, _mount(tree.top), "0::/system/agent%service\n")
    found = root.find(proc, at=tree.at)
    assert isinstance(found, root.Usable)
    assert tree.folder("system/pods-unit/pods") == found.tree.root
    assert (tree.folder("system/agent%service") / "cgroup.procs").read_text().strip() == "1"
    # A signal to the whole of our unit is none for the programs, nor for who watches them.
    assert root.of_shims(found.tree) == tree.folder("system/pods-unit/agent")


def test_shims_stay_where_they_are_without_a_unit_for_pods(tree: FakeCgroups) -> None:
    assert root.of_shims(tree.at(tree.folder("system/other/pods"))) is None


def test_a_place_that_can_not_be_written_is_reported(tmp_path: Path, tree: FakeCgroups) -> None:
    class Refusing(FakeCgroups):
        def _create(self, folder: Path) -> None:
            raise PermissionError(13, "Permission denied")

    refusing = Refusing(tree.top)
    found = root.find(_proc(tmp_path, _mount(tree.top), "0::/\n"), at=refusing.at)
    assert isinstance(found, root.Unusable)
    assert found.why.code == "cgroup/not-writable"
    assert found.why.fields["error"] == "Permission denied"


def test_a_kernel_without_a_file_for_it_kills_one_by_one(tmp_path: Path) -> None:
    (tmp_path / "pod" / "c").mkdir(parents=True)
    tree = CgroupTree(tmp_path)
    no_pid = (1 << 22) + 1
    with subprocess.Popen(["sleep", "1000"]) as program:
        (tmp_path / "pod" / "c" / "cgroup.procs").write_text(f"{no_pid}\n{program.pid}\n")
        tree.kill("pod")
        assert program.wait(120) == -signal.SIGKILL
