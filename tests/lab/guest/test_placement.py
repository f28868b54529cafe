"""A process bound to a NUMA node has its pages there, moves with its group, dies at its limit."""

from __future__ import annotations

import signal

import pytest

from lab.guest.groups import Group, wait_until
from lab.guest.touching import KilledError, Toucher
from numalet.agent.host.cgroup_v2 import numa_stat
from numalet.agent.host.procfs import numa_maps, status

MIB = 1 << 20
SIZE_BYTES = 32 * MIB


def pages_at(pid: int, address: int) -> dict[int, int]:
    """Pages by node of the area that begins there."""
    maps = numa_maps.read(pid)
    assert maps is not None
    area = maps.area_at(address)
    assert area is not None
    return dict(area.pages_by_node)


@pytest.mark.parametrize("node", [0, 1])
def test_touched_pages_are_on_the_node_of_cpuset_mems(group: Group, node: int) -> None:
    group.bind(nodes=str(node))
    with Toucher(group, SIZE_BYTES) as process:
        address = process.touch()
        assert pages_at(process.pid, address) == {node: SIZE_BYTES // 4096}
        allowed = status.read(process.pid)
        assert allowed is not None
        assert allowed.nodes == {node}
        wait_until(lambda: _anonymous(group, node) >= SIZE_BYTES, "memory.numa_stat catches up")
        assert _anonymous(group, 1 - node) == 0


def _anonymous(group: Group, node: int) -> int:
    stat = numa_stat.read(group.path)
    assert stat is not None
    return stat["anon"][node]


def test_pages_move_when_the_node_of_the_group_changes(group: Group) -> None:
    group.bind(nodes="0")
    with Toucher(group, SIZE_BYTES) as process:
        address = process.touch()
        group.bind(nodes="1")
        wanted = {1: SIZE_BYTES // 4096}
        wait_until(lambda: pages_at(process.pid, address) == wanted, "all pages on node 1")


def test_a_process_runs_only_on_the_cpus_of_its_group(group: Group) -> None:
    group.bind(cpus="2-3", nodes="1")
    with Toucher(group, MIB) as process:
        allowed = status.read(process.pid)
        assert allowed is not None
        assert allowed.cpus == {2, 3}


def test_more_than_memory_max_is_killed(group: Group) -> None:
    group.write("memory.max", str(16 * MIB))
    with Toucher(group, SIZE_BYTES) as process:
        with pytest.raises(KilledError) as caught:
            process.touch()
        assert caught.value.status == -signal.SIGKILL
    assert group.events()["oom_kill"] == 1


def test_a_full_node_kills_although_others_are_empty(group: Group) -> None:
    group.bind(nodes="1")
    with Toucher(group, 900 * MIB) as process:
        with pytest.raises(KilledError) as caught:
            process.touch()
        assert caught.value.status == -signal.SIGKILL
    assert group.events()["oom_kill"] == 1


def test_killing_a_group_leaves_it_empty(group: Group) -> None:
    with Toucher(group, MIB) as process:
        process.touch()
        group.kill()
        with pytest.raises(KilledError):
            process.touch_again()
    assert group.read("cgroup.procs") == ""
