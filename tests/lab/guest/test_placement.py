"""A process bound to a NUMA node has its pages there, as maps of its memory and counters both say.

What becomes of programs that move, or use too much, is in ``test_enforcement.py``.
"""

from __future__ import annotations

import pytest

from lab.guest.groups import Group, wait_until
from lab.guest.touching import Toucher
from numalet.agent.host import procfs
from numalet.agent.host.cgroup_v2 import interface_files

MIB = 1 << 20
SIZE_BYTES = 32 * MIB


def pages_at(pid: int, address: int) -> dict[int, int]:
    """Pages by node of the area that begins there."""
    maps = procfs.read_numa_maps(pid)
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
        allowed = procfs.read_status(process.pid)
        assert allowed is not None
        assert allowed.nodes == {node}
        wait_until(lambda: _anonymous(group, node) >= SIZE_BYTES, "memory.numa_stat catches up")
        assert _anonymous(group, 1 - node) == 0


def _anonymous(group: Group, node: int) -> int:
    stat = interface_files.read_numa_stat(group.path)
    assert stat is not None
    return stat["anon"][node]
