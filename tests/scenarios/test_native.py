"""Native mode, rule by rule: what it does where the kubelet has an accident or a limit."""

from __future__ import annotations

from dataclasses import replace

import pytest

from builders import container, machine, pod, simple
from numalet.config.behaviour import EXACT, NATIVE, Behaviour, Mode
from numalet.config.kubelet_config import KubeletConfig, ReservedMemory
from numalet.config.rules import StartRefused
from numalet.model import numa_mask
from numalet.model.machine_info import MachineInfo
from numalet.model.pod import Pod
from numalet.model.quantity import Quantity
from numalet.node import node as nodes
from numalet.node.node import Node
from numalet.reports.memory_map import memory_map

ONE_GIB = {"memory": Quantity.parse("1Gi")}
NO_TOPOLOGY = KubeletConfig(
    memory_manager_policy="Static",
    kube_reserved={"memory": "1Gi"},
    reserved_memory=(ReservedMemory(0, ONE_GIB),),
)
BEST_EFFORT = replace(NO_TOPOLOGY, topology_manager_policy="best-effort")


def _started(machine: MachineInfo, config: KubeletConfig, mode: Behaviour = NATIVE) -> Node:
    node = nodes.start(config, machine, behaviour=mode)
    assert isinstance(node, Node), node
    return node


def _admitted(node: Node, *pods: Pod) -> Node:
    """The node after all of them were admitted and their containers started."""
    for each in pods:
        node, decision = node.admit(each)
        assert decision.admitted, decision.rejection
        node = node.pod_started(each.uid)
    return node


def test_modes_have_their_names() -> None:
    assert (Mode.EXACT, Mode.NATIVE) == (EXACT.mode, NATIVE.mode)
    assert Mode.NATIVE is replace(EXACT, release_at_once=True).mode


def test_node_ids_above_63_are_ordinary() -> None:
    node = _started(machine(10, 10, 10, node_ids=(0, 64, 700)), BEST_EFFORT)

    node = _admitted(node, simple("wide", "25Gi"))

    (block,) = node.snapshot.memory.blocks["wide"]["c"]
    assert (0, 64, 700) == block.nodes
    again = node.restart(BEST_EFFORT, node.rules.machine, node.state_files())
    assert isinstance(again, Node)
    assert again.snapshot.memory.nodes == node.snapshot.memory.nodes


@pytest.mark.parametrize("option", [None, "8", "12"])
def test_any_number_of_nodes_is_accepted(option: str | None) -> None:
    options = None if option is None else {"max-allowable-numa-nodes": option}
    asked = replace(BEST_EFFORT, topology_manager_policy_options=options)

    node = _started(machine(*[10] * 20), asked)

    assert node.rules.topology.node_limit is None
    assert node.admit(simple("p", "15Gi"))[1].admitted


def test_a_node_limit_that_no_kubelet_reads_is_refused_all_the_same() -> None:
    options = {"max-allowable-numa-nodes": "7"}
    asked = replace(BEST_EFFORT, topology_manager_policy_options=options)

    refused = nodes.start(asked, machine(10, 10), behaviour=NATIVE)

    assert isinstance(refused, StartRefused)
    assert "config/topology-node-limit" == refused.findings[0].code


def test_distances_are_by_position() -> None:
    distances = ((10, 40, 12), (40, 10, 30), (12, 30, 10))
    asked = replace(
        BEST_EFFORT, topology_manager_policy_options={"prefer-closest-numa-nodes": "true"}
    )
    node = _started(machine(10, 10, 10, node_ids=(0, 5, 9), distances=distances), asked)

    _, decision = node.admit(simple("wide", "15Gi"))

    # Nodes 0 and 9 are the nearest pair.
    assert numa_mask.of((0, 9)) == decision.affinities["c"].mask


def test_what_is_refused_or_removed_leaves_at_once() -> None:
    node = _started(machine(10, 10), NO_TOPOLOGY)
    before = node.snapshot.memory

    after, decision = node.admit(pod("two", container("a", "6Gi"), container("b", "99Gi")))

    assert not decision.admitted
    assert before == after.snapshot.memory
    assert () == after.leftovers()
    there = _admitted(after, simple("one", "6Gi"))
    assert before.nodes == there.remove("one").snapshot.memory.nodes
    assert not memory_map(there.remove("one").snapshot, (), {}).active
