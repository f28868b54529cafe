"""Topologies by name, changed by hand, and with room for huge pages."""

from __future__ import annotations

import pytest

from harness.bad_inputs import refused_with
from numalet.core.model.findings import BadInput
from numalet.lab.request import ReservedPages, hugepage_arguments, parse_hugepages, with_hugepages
from numalet.lab.topology import (
    MOST_CPUS,
    MOST_NODES,
    TOPOLOGIES,
    CpuLayout,
    Topology,
    changed_topology,
    topology_named,
)

ALL = pytest.mark.parametrize("topology", TOPOLOGIES.values(), ids=TOPOLOGIES)


def refusal(bad: pytest.ExceptionInfo[BadInput]) -> str:
    return bad.value.findings[0].located


@ALL
def test_every_cpu_is_in_one_node_and_in_the_layout(topology: Topology) -> None:
    cpus = sorted(cpu for node in topology.nodes for cpu in node.cpus)
    assert list(range(topology.layout.cpu_count)) == cpus
    assert len(cpus) <= MOST_CPUS


@ALL
def test_distances_are_what_firmware_may_say(topology: Topology) -> None:
    count = len(topology.nodes)
    assert count <= MOST_NODES
    rows = topology.distances
    assert rows is not None
    assert {count} == {len(row) for row in rows} | {len(rows)}
    for one in range(count):
        for other in range(count):
            assert rows[one][other] == rows[other][one]
            assert (rows[one][other] == 10) == (one == other)


@ALL
def test_nodes_are_in_the_order_in_which_a_kernel_numbers_them(topology: Topology) -> None:
    firsts = [min(node.cpus, default=topology.cpu_count) for node in topology.nodes]
    assert sorted(firsts) == firsts


@ALL
def test_no_core_is_in_two_nodes(topology: Topology) -> None:
    threads = topology.layout.threads
    for node in topology.nodes:
        cores = {cpu // threads for cpu in node.cpus}
        assert len(cores) * threads == len(node.cpus)


def test_the_names_say_how_many_nodes_and_cpus_there_are() -> None:
    counts = {name: (len(t.nodes), t.cpu_count) for name, t in TOPOLOGIES.items()}
    assert counts == {
        "2n4c": (2, 4),
        "2n16c-smt": (2, 16),
        "4n8c-distances": (4, 8),
        "8n8c": (8, 8),
        "4n4c+2mem": (6, 4),
        "3n4c-1memless": (3, 4),
        "36n": (36, 4),
        "64n": (64, 64),
    }


def test_a_tray_has_two_nodes_with_cpus_and_34_without() -> None:
    tray = topology_named("36n")
    assert [number for number, node in enumerate(tray.nodes) if node.cpus] == [0, 1]


@pytest.mark.parametrize(
    ("name", "near"), [("4n8c", "4n8c-distances"), ("36nodes", "36n"), ("2n16c-ht", "2n16c-smt")]
)
def test_an_unknown_name_is_answered_with_the_nearest(name: str, near: str) -> None:
    with pytest.raises(BadInput) as bad:
        topology_named(name)
    assert refusal(bad).startswith(f"--topology: unknown topology '{name}'; did you mean")
    assert near in refusal(bad)


def test_a_name_like_no_other_is_answered_with_all() -> None:
    with pytest.raises(BadInput) as bad:
        topology_named("?")
    assert all(name in refusal(bad) for name in TOPOLOGIES)


def test_the_memory_of_a_node_changes_and_nothing_else() -> None:
    before = topology_named("4n8c-distances")
    after = changed_topology(before, ["1=640Mi", "2=0"], [])
    assert [node.memory_mib for node in after.nodes] == [512, 640, 0, 512]
    assert before.distances == after.distances


def test_nodes_after_one_that_is_gone_move_up_with_their_cpus() -> None:
    before = topology_named("4n4c+2mem")
    after = changed_topology(before, [], [2, 4])
    assert [{0}, {1}, {2}, set()] == [set(node.cpus) for node in after.nodes]
    assert after.distances == (
        (10, 12, 21, 24),
        (12, 10, 21, 24),
        (21, 21, 10, 14),
        (24, 24, 14, 10),
    )
    # Three CPUs are no whole packages of two.
    assert CpuLayout(3) == after.layout


def test_a_whole_package_that_is_gone_leaves_the_others_as_they_were() -> None:
    after = changed_topology(topology_named("2n16c-smt"), [], [0])
    assert CpuLayout(packages=1, cores=4, threads=2) == after.layout


@pytest.mark.parametrize(
    ("memories", "gone", "said"),
    [
        (["1"], [], "invalid node memory '1'"),
        (["x=1Gi"], [], "invalid node memory 'x=1Gi'"),
        (["0=much"], [], "invalid node memory '0=much'"),
        (["2=1Gi"], [], "topology 2n4c has no node 2; expected 0 to 1"),
        (["1=8Mi"], [], "node 1 has only 8 MiB"),
        (["1=1"], [], "node 1 has only 0 MiB"),
        ([], [7], "has no node 7"),
        ([], [-1], "has no node -1"),
        ([], [0, 1], "no node has both CPUs and memory"),
        (["0=0", "1=0"], [], "no node has both CPUs and memory"),
    ],
)
def test_changes_that_can_not_be_are_refused(
    memories: list[str], gone: list[int], said: str
) -> None:
    with pytest.raises(BadInput) as bad:
        changed_topology(topology_named("2n4c"), memories, gone)
    assert said in refusal(bad)


def test_huge_pages_are_read_and_said_to_the_kernel() -> None:
    reserved = parse_hugepages("2Mi=0:64, 1:32; 1Gi=1:1")
    assert reserved == (ReservedPages(0, 2, 64), ReservedPages(1, 2, 32), ReservedPages(1, 1024, 1))
    words = ("hugepagesz=2M", "hugepages=0:64,1:32", "hugepagesz=1G", "hugepages=1:1")
    assert words == hugepage_arguments(reserved)
    assert parse_hugepages("") == ()


def test_nodes_grow_by_their_huge_pages() -> None:
    topology = with_hugepages(topology_named("2n4c"), parse_hugepages("2Mi=1:8"))
    assert [node.memory_mib for node in topology.nodes] == [768, 784]


def test_nodes_are_whole_gibibytes_where_pages_are() -> None:
    topology = with_hugepages(topology_named("3n4c-1memless"), parse_hugepages("1Gi=2:2"))
    assert [node.memory_mib for node in topology.nodes] == [1024, 0, 3072]


@pytest.mark.parametrize("text", ["4Mi=0:1", "2Mi", "2Mi=0", "2Mi=0:-1", "2Mi=a:1", "1Gi=0:1,"])
def test_a_text_that_reserves_nothing_is_shown(text: str) -> None:
    with pytest.raises(BadInput) as bad:
        parse_hugepages(text)
    assert "invalid huge pages" in refusal(bad)


def test_a_node_has_its_pages_said_once() -> None:
    with refused_with("input/duplicate"):
        parse_hugepages("2Mi=0:1,0:2")


@pytest.mark.parametrize("node", [1, 3])
def test_pages_need_a_node_with_memory(node: int) -> None:
    with refused_with("input/not-found"):
        with_hugepages(topology_named("3n4c-1memless"), [ReservedPages(node, 2, 1)])
