"""Where the memory of processes is, as the kernel says it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from harness.bad_inputs import refused_with
from numalet.agent.host import procfs
from numalet.agent.host.cgroup_v2 import interface_files
from numalet.agent.host.procfs import AreaKind
from numalet.core.model.findings import BadInput

MAPS = """\
00400000 default file=/usr/bin/python3.11 mapped=31 mapmax=2 N0=30 N1=1 kernelpagesize_kB=4
02000000 default heap anon=700 dirty=700 active=0 N1=700 kernelpagesize_kB=4
7f0000000000 bind:1 anon=16384 dirty=16384 N1=16384 kernelpagesize_kB=4
7f1000000000 default file=/anon_hugepage\\040(deleted) huge anon=3 dirty=3 N0=2 N2=1 \
kernelpagesize_kB=2048
7f2000000000 default
7ffd00000000 default stack anon=3 dirty=3 N0=3 kernelpagesize_kB=4
"""


def test_bytes_are_summed_by_node_in_units_of_each_areas_page_size() -> None:
    maps = procfs.parse_numa_maps(MAPS)
    assert maps.bytes_by_node(AreaKind.ANONYMOUS) == {0: 3 * 4096, 1: (700 + 16384) * 4096}
    assert maps.bytes_by_node(AreaKind.FILE) == {0: 30 * 4096, 1: 4096}
    assert maps.bytes_by_node(AreaKind.HUGE) == {0: 2 * 2**21, 2: 2**21}
    assert maps.bytes_by_node()[0] == 33 * 4096 + 2 * 2**21


def test_a_kernel_has_room_for_the_smaller_of_its_numbers_of_tasks(tmp_path: Path) -> None:
    (tmp_path / "pid_max").write_text("4194304\n")
    (tmp_path / "threads-max").write_text("32768\n")
    assert procfs.read_kernel_limits(tmp_path).tasks == 32768
    (tmp_path / "threads-max").write_text("many")
    assert procfs.read_kernel_limits(tmp_path).tasks == 4194304
    assert procfs.read_kernel_limits(tmp_path / "nowhere").tasks is None
    assert os.sysconf("SC_PAGE_SIZE") == procfs.read_kernel_limits().page_bytes


def test_an_area_is_found_by_its_address() -> None:
    maps = procfs.parse_numa_maps(MAPS)
    area = maps.area_at(0x7F0000000000)
    assert area is not None
    assert (
        area.policy,
        area.kind,
        area.pages_by_node,
    ) == ("bind:1", AreaKind.ANONYMOUS, {1: 16384})
    assert maps.area_at(1) is None


def test_a_file_named_like_a_figure_is_no_figure() -> None:
    maps = procfs.parse_numa_maps("7f00 default file=/N0=9 huge=1 N1=2 kernelpagesize_kB=4\n")
    assert maps.bytes_by_node() == {1: 8192}


@pytest.mark.parametrize("line", ["nonsense", "zz default", " 00 default"])
def test_a_line_that_is_no_area_is_shown(line: str) -> None:
    with pytest.raises(BadInput) as caught:
        procfs.parse_numa_maps(f"00400000 default\n{line}\n", "maps")
    assert caught.value.findings[0].located.startswith(f"maps:2: invalid line {line!r}")


def test_a_process_that_is_gone_has_no_maps(tmp_path: Path) -> None:
    assert procfs.read_numa_maps(1, tmp_path) is None
    assert procfs.read_status(1, tmp_path) is None


def test_what_can_not_be_read_is_reported(tmp_path: Path) -> None:
    for name in ("numa_maps", "status"):
        (tmp_path / "7" / name).mkdir(parents=True)
    for read in (procfs.read_numa_maps, procfs.read_status):
        with refused_with("input/unreadable", "cannot read"):
            read(7, tmp_path)


def test_maps_are_read_from_the_folder_of_the_process(tmp_path: Path) -> None:
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "numa_maps").write_text(MAPS)
    assert procfs.read_numa_maps(7, tmp_path) == procfs.parse_numa_maps(MAPS)


def test_this_process_may_use_what_its_scheduler_says() -> None:
    allowed = procfs.read_status(os.getpid())
    assert allowed is not None
    assert os.sched_getaffinity(0) == allowed.cpus
    assert allowed.nodes


def test_lists_of_status_may_be_empty_but_not_missing() -> None:
    text = "Name:\tx\nCpus_allowed:\tff\nCpus_allowed_list:\t0-2,7\nMems_allowed_list:\t\n"
    assert procfs.parse_status(text) == procfs.Allowed(frozenset({0, 1, 2, 7}), frozenset())
    for wrong in ("Name:\tx\n", "Cpus_allowed_list:\tx\nMems_allowed_list:\t0\n"):
        with refused_with("input/invalid", "a list of numbers"):
            procfs.parse_status(wrong)


def test_figures_of_a_group_are_bytes_by_kind_and_node(tmp_path: Path) -> None:
    (tmp_path / "memory.numa_stat").write_text("anon N0=0 N1=71270400\nfile N0=4096 N1=0\n")
    stat = interface_files.read_numa_stat(tmp_path)
    assert stat == {"anon": {0: 0, 1: 71270400}, "file": {0: 4096, 1: 0}}
    assert interface_files.read_numa_stat(tmp_path / "gone") is None


def test_huge_pages_of_a_group_have_the_same_form() -> None:
    assert interface_files.parse_numa_stat("total N0=2097152 N1=0\n") == {
        "total": {0: 2097152, 1: 0}
    }


@pytest.mark.parametrize("text", ["anon N0=x", "anon 5", "\n"])
def test_a_line_that_is_no_figures_is_shown(text: str) -> None:
    with refused_with("input/invalid", "bytes for each NUMA node"):
        interface_files.parse_numa_stat(text)
