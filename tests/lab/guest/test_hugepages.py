"""Huge pages reserved at boot are where they were asked for, and are taken from there.

The guest has 2Mi=0:8,1:16 and 1Gi=1:1.
"""

from __future__ import annotations

import errno

import pytest

from lab.guest.groups import Group
from lab.guest.touching import ONE_GIB, TWO_MIB, RefusedError, Toucher
from numalet.agent.host import procfs
from numalet.agent.host.procfs import AreaKind
from numalet.io import machines


def test_pages_are_reserved_on_the_nodes_that_were_named() -> None:
    machine = machines.open_machine(None).machine
    pools = {
        (node.node_id, pool.page_size_kib): pool.count
        for node in machine.nodes
        for pool in node.hugepages
    }
    expected = {(0, 2048): 8, (1, 2048): 16, (0, 1 << 20): 0, (1, 1 << 20): 1}
    assert expected == pools


@pytest.mark.parametrize(("node", "shift", "count"), [(0, TWO_MIB, 8), (1, ONE_GIB, 1)])
def test_huge_pages_come_from_the_node_of_cpuset_mems(
    group: Group, node: int, shift: int, count: int
) -> None:
    group.bind(nodes=str(node))
    with Toucher(group, count << shift, shift) as process:
        process.touch()
        maps = procfs.read_numa_maps(process.pid)
        assert maps is not None
        assert maps.bytes_by_node(AreaKind.HUGE) == {node: count << shift}


def test_no_huge_page_on_the_node_is_no_memory(group: Group) -> None:
    group.bind(nodes="0")
    with Toucher(group, 1 << ONE_GIB, ONE_GIB) as process:
        with pytest.raises(RefusedError) as caught:
            process.touch()
        assert caught.value.errno == errno.ENOMEM
