"""Keys of pods of which every container gets all from one NUMA node."""

from __future__ import annotations

from dataclasses import replace

import pytest

from numalet.core.cluster import facts as facts_of_nodes
from numalet.core.cluster import keys, one_node_each, verdicts
from numalet.core.cluster.asking import Asking
from numalet.core.cluster.asking import of as asking_of
from numalet.core.cluster.facts import FactReader
from numalet.core.cluster.keys import StateKey
from numalet.core.cluster.one_node_each import OneNodeEach
from numalet.core.cluster.verdicts import Verdicts
from numalet.core.model.pod import Container, ContainerKind, Pod
from numalet.core.model.quantity import Quantity
from numalet.core.node.node import Node
from values import gpu_fleet

READER = FactReader()


def containers(*asked: tuple[int, int]) -> Pod:
    """A pod whose containers ask for these CPUs and GiB."""
    every = []
    for at, (cpus, gib) in enumerate(asked):
        amounts = {"cpu": Quantity.from_int(cpus), "memory": Quantity.from_bytes(gib << 30)}
        every.append(Container(f"c{at}", requests=amounts, limits=amounts))
    return replace(gpu_fleet.pod("p"), app_containers=tuple(every))


def asking(pod: Pod, node: Node) -> Asking:
    return asking_of(pod, READER.class_of(node.roster))


def by_node(pod: Pod, node: Node) -> OneNodeEach | None:
    return asking(pod, node).one_node_each


def key(pod: Pod, node: Node) -> StateKey:
    return keys.of(READER.facts(node), asking(pod, node))


def test_what_is_compared_are_sums_of_containers() -> None:
    node = gpu_fleet.empty(scope="container")
    asks = by_node(containers((2, 1), (2, 1), (3, 0)), node)
    gib = 1 << 30
    assert asks is not None
    assert asks.memory == ("memory",)
    every = ((2, gib), (3, 0), (4, 2 * gib), (5, gib), (7, 2 * gib))
    assert asks.choices == asks.aligned == every
    whole = by_node(containers((2, 1), (2, 1), (3, 0)), gpu_fleet.empty(scope="pod"))
    assert whole is not None
    assert whole.aligned == ((7, 2 * gib),)


def test_who_is_not_meant() -> None:
    node = gpu_fleet.empty(scope="container")
    two = containers((2, 1), (2, 1))
    assert by_node(two, node) is not None
    assert by_node(two, gpu_fleet.empty("restricted", scope="container")) is None
    (first, second) = two.app_containers
    early = replace(two, init_containers=(replace(first, kind=ContainerKind.INIT),))
    assert by_node(early, node) is None
    different = containers(*((1, 1 << at) for at in range(8)))
    assert by_node(different, node) is None
    odd = {"cpu": Quantity.parse("2"), "memory": Quantity.parse("0.5")}
    fraction = replace(two, app_containers=(first, replace(second, requests=odd, limits=odd)))
    read = one_node_each.of(fraction, READER.class_of(node.roster))
    assert read is None


def test_states_between_two_sums_are_one_to_the_pod() -> None:
    first = gpu_fleet.empty(scope="container")
    pod = containers((4, 1), (4, 1))

    def after(cpus: int) -> Node:
        node, decision = first.admit(gpu_fleet.pod("there", 0, cpus))
        assert decision.admitted
        return node.pod_started("there")

    assert key(pod, after(1)) == key(pod, after(2))
    assert len({key(pod, after(each)) for each in range(1, 12)}) < 5


def test_where_no_numa_node_has_the_memory_alone_sets_of_them_count() -> None:
    first = gpu_fleet.empty(scope="container")
    gib = max(each.tables["memory"].free for each in first.snapshot.memory.nodes.values()) >> 30
    wide = containers((1, gib + 1))
    used, decision = first.admit(containers((1, gib - 1)))
    assert decision.admitted
    assert key(wide, first) != key(wide, used)
    assert key(containers((1, 1)), first) == key(containers((1, 1)), first.admit(wide)[0])


def test_nodes_with_every_number_in_common_have_one_state(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reader, node = FactReader(), gpu_fleet.empty()
    taken, _ = node.admit(gpu_fleet.pod("a", 1))
    assert reader.facts(node).state is reader.facts(replace(node)).state
    assert reader.facts(node).state is not reader.facts(taken).state
    monkeypatch.setattr(facts_of_nodes, "_MOST_STATES", 1)
    forgotten = reader.facts(node)
    assert forgotten.state is forgotten.state


def test_a_full_table_of_states_is_cleared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdicts, "_MOST_KEYS", 1)
    table = Verdicts().table(gpu_fleet.pod("p", 4))
    reader, node = FactReader(), gpu_fleet.empty()
    taken, _ = node.admit(gpu_fleet.pod("a", 8, 8))
    answers = [table.verdict(reader.facts(each)).admitted for each in (node, taken, node)]
    assert answers == [node.fits(table.pod), taken.fits(table.pod), node.fits(table.pod)]


def test_memory_alone_is_compared_where_no_policy_hands_out_cpus() -> None:
    config = replace(gpu_fleet.kubelet_config(), cpu_manager_policy="none")
    node, two = gpu_fleet.empty(config=config), containers((2, 1), (2, 1))
    asks = by_node(two, node)
    assert asks is not None
    assert asks.choices == ((0, 1 << 30), (0, 2 << 30))
    admitted, _ = node.admit(replace(two, uid="q", name="q"))
    released = admitted.remove("q")
    assert key(two, admitted) != key(two, node)
    assert key(two, released) == key(two, node)
