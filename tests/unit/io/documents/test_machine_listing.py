"""Machines from the output of numactl and lscpu: what it says, and what it does not contain."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from harness.bad_inputs import refused_with
from numalet.core.model.machine_info import MachineInfo
from numalet.io.machines import LoadedMachine, open_machine

NUMACTL = """\
available: 3 nodes (0-1,4)
node 0 cpus: 0 1 4 5
node 0 size: 4095 MB
node 0 free: 68 MB
node 1 cpus: 2 3 6 7
node 1 size: 4096 MB
node 1 free: 866 MB
node 4 cpus:
node 4 size: 1024 MB
node 4 free: 1024 MB
node distances:
node   0   1   4
  0:  10  20  40
  1:  20  10  30
  4:  40  30  10
"""
TABLE = """\
CPU NODE SOCKET CORE L1d:L1i:L2:L3 ONLINE    MAXMHZ
  0    0      0    0 0:0:0:0          yes 3500.0000
  1    0      0    1 1:1:1:0          yes 3500.0000
  2    1      1    2 2:2:2:1          yes 3500.0000
  3    1      1    3 3:3:3:1          yes 3500.0000
  4    0      0    0 0:0:0:0          yes 3500.0000
  5    0      0    1 1:1:1:0          yes 3500.0000
  6    1      1    2 2:2:2:1          yes 3500.0000
  7    -      -    - -                 no         -
"""
PARSEABLE = """\
# The following is the parsable format, which can be fed to other
# CPU,Core,Socket,Node,,L1d,L1i,L2,L3
0,0,0,0,,0,0,0,0
1,0,0,0,,0,0,0,0
2,1,0,1,,1,1,1,0
3,1,0,1,,1,1,1,0
"""
SUMMARY = """\
Architecture:             x86_64
CPU(s):                   8
On-line CPU(s) list:      0-7
Thread(s) per core:       2
Core(s) per socket:       2
Socket(s):                2
NUMA node(s):             3
NUMA node0 CPU(s):        0,1,4,5
NUMA node1 CPU(s):        2,3,6,7
NUMA node2 CPU(s):
"""


def opened(folder: Path, text: str, memory: str | None = None) -> LoadedMachine:
    """The machine of a file with this text."""
    path = folder / "machine.txt"
    path.write_text(text, encoding="utf-8")
    return open_machine(path, memory_per_node=memory)


def cores(machine: MachineInfo) -> dict[int, list[tuple[int, tuple[int, ...], int | None]]]:
    """Socket, threads and cache of every core, by node."""
    return {
        node.node_id: [(each.socket_id, each.threads, each.uncore_cache_id) for each in node.cores]
        for node in machine.nodes
    }


def lacks(loaded: LoadedMachine) -> list[str]:
    """What the warnings say is not in the output."""
    found = [each for each in loaded.reading_notes if each.code == "input/ignored"]
    named = [re.match("the output does not contain (.*?); assumed: ", str(each)) for each in found]
    return [each[1] for each in named if each]


def test_numactl_has_nodes_memory_and_distances_and_no_cores(tmp_path: Path) -> None:
    loaded = opened(tmp_path, "$ numactl --hardware\n" + NUMACTL)
    assert loaded.info.node_ids == (0, 1, 4)
    assert [node.memory_bytes >> 20 for node in loaded.info.nodes] == [4095, 4096, 1024]
    assert [node.distances for node in loaded.info.nodes] == [
        (10, 20, 40), (20, 10, 30), (40, 30, 10),
    ]  # fmt: skip
    assert cores(loaded.info)[1] == [(1, (cpu,), None) for cpu in (2, 3, 6, 7)]
    assert cores(loaded.info)[4] == []
    assert lacks(loaded) == [
        "which CPUs share a core", "sockets", "sizes of memory to the byte", "huge pages",
    ]  # fmt: skip


def test_lscpu_e_has_cores_and_caches_and_no_memory(tmp_path: Path) -> None:
    loaded = opened(tmp_path, TABLE, "8Gi")
    assert cores(loaded.info) == {
        0: [(0, (0, 4), 0), (0, (1, 5), 0)],
        1: [(1, (2, 6), 1), (1, (3,), 1)],
    }
    assert {node.memory_bytes for node in loaded.info.nodes} == {8 << 30}
    assert lacks(loaded) == ["sizes of memory", "distances", "huge pages"]


def test_both_in_one_file_say_most(tmp_path: Path) -> None:
    for text in (TABLE + NUMACTL, NUMACTL + TABLE):
        loaded = opened(tmp_path, text)
        assert cores(loaded.info)[0] == [(0, (0, 4), 0), (0, (1, 5), 0)]
        assert loaded.info.node_ids == (0, 1, 4)
        assert loaded.info.nodes[2].memory_bytes == 1 << 30
        assert lacks(loaded) == ["sizes of memory to the byte", "huge pages"]


def test_lscpu_p_has_the_same_as_a_table(tmp_path: Path) -> None:
    loaded = opened(tmp_path, PARSEABLE, "8Gi")
    assert cores(loaded.info) == {0: [(0, (0, 1), 0)], 1: [(0, (2, 3), 0)]}


def test_the_summary_of_lscpu_only_counts_threads_and_sockets(tmp_path: Path) -> None:
    loaded = opened(tmp_path, SUMMARY, "8Gi")
    assert cores(loaded.info) == {
        0: [(0, (0, 4), None), (0, (1, 5), None)],
        1: [(0, (2, 6), None), (0, (3, 7), None)],
        2: [],
    }
    assert lacks(loaded) == [
        "which CPUs share a core", "the sockets of CPUs", "last-level caches",
        "sizes of memory", "distances", "huge pages",
    ]  # fmt: skip


def test_a_summary_without_numa_has_all_cpus_on_one_node(tmp_path: Path) -> None:
    text = "CPU(s): 4\nOn-line CPU(s) list: 0-3\nThread(s) per core: 1\nSocket(s): 2\n"
    loaded = opened(tmp_path, text, "8Gi")
    assert cores(loaded.info) == {0: [(cpu // 2, (cpu,), None) for cpu in range(4)]}
    assert "NUMA nodes" in lacks(loaded)


def test_threads_that_do_not_divide_the_cpus_are_not_guessed(tmp_path: Path) -> None:
    text = "On-line CPU(s) list: 0-2\nThread(s) per core: 2\nNUMA node0 CPU(s): 0-2\n"
    loaded = opened(tmp_path, text, "8Gi")
    assert [threads for _, threads, _ in cores(loaded.info)[0]] == [(0,), (1,), (2,)]


def test_columns_that_were_not_printed_are_named(tmp_path: Path) -> None:
    loaded = opened(tmp_path, "CPU ONLINE\n  0 yes\n  1 yes\n", "8Gi")
    assert cores(loaded.info) == {0: [(0, (0,), None), (0, (1,), None)]}
    assert lacks(loaded)[:4] == [
        "which CPUs share a core", "sockets", "NUMA nodes", "last-level caches",
    ]  # fmt: skip


@pytest.mark.parametrize("of", ["table", "summary"])
def test_the_json_of_lscpu_says_what_its_text_says(tmp_path: Path, of: str) -> None:
    if of == "table":
        names, *rows = [line.split() for line in TABLE.splitlines()]
        entries = [dict(zip(map(str.lower, names), row, strict=True)) for row in rows]
        value = {"cpus": [{**each, "online": each["online"] == "yes"} for each in entries]}
        text = TABLE
    else:
        fields = [line.split(":", 1) for line in SUMMARY.splitlines()]
        flat: list[dict[str, object]] = [
            {"field": f"{name}:", "data": data.strip() or None} for name, data in fields
        ]
        value = {"lscpu": [flat[0], {"field": "NUMA:", "data": None, "children": flat[1:]}]}
        text = SUMMARY
    printed = opened(tmp_path, json.dumps(value, indent=2), "8Gi")
    assert printed.info == opened(tmp_path, text, "8Gi").info
    assert lacks(printed) == lacks(opened(tmp_path, text, "8Gi"))


def test_memory_is_asked_for_and_not_guessed(tmp_path: Path) -> None:
    for text in (TABLE, PARSEABLE, SUMMARY):
        with refused_with("input/required"):
            opened(tmp_path, text)
    with refused_with("input/conflict"):
        opened(tmp_path, NUMACTL, "8Gi")


def test_numactl_without_numa_has_no_machine(tmp_path: Path) -> None:
    with refused_with("input/not-supported"):
        opened(tmp_path, "No NUMA support available on this system.\n")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (NUMACTL.replace("0 1 4 5", f"0 1 4 {10**8}"), "input/invalid"),
        (NUMACTL.replace("0 1 4 5", "0 1 4 " + "9" * 5000), "document/type"),
        (NUMACTL.replace("0 1 4 5", "0 1 4 x"), "document/type"),
        (NUMACTL.replace("0 1 4 5", "0 1 4 2"), "input/duplicate"),
        (NUMACTL.replace("4095 MB", "9" * 5000 + " MB"), "input/invalid"),
        (NUMACTL.replace("20  10  30", "20  10"), "input/invalid"),
        (TABLE.replace("\n  3 ", "\n  2 "), "input/duplicate"),
        (SUMMARY.replace("0-7", "0-30000000000"), "input/invalid"),
        (SUMMARY.replace("0,1,4,5", "x"), "input/invalid"),
    ],
)
def test_numbers_that_no_machine_has_are_findings(tmp_path: Path, text: str, code: str) -> None:
    with refused_with(code):
        opened(tmp_path, text, None if "size" in text else "8Gi")
