"""Classes of nodes: one name for one content, started once, shared by all members."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from numalet.core.cluster import classes
from numalet.core.cluster.classes import ClassSpec
from numalet.core.config.behaviour import EXACT, NATIVE
from numalet.core.config.kubelet_config import KubeletConfig, ReservedMemory
from numalet.core.config.rules import StartRefused
from numalet.core.managers.device.inventory import Device
from numalet.core.model.machine_info import MachineInfo, OperatingSystem
from numalet.core.model.node_constraints import NodeIdentity
from numalet.core.model.quantity import Quantity
from numalet.core.node import node as nodes
from numalet.core.node.node import Node
from values import builders
from values.builders import GI
from values.device_bench import GPU

MACHINE = builders.machine(10, 10)
CONFIG = KubeletConfig(
    memory_manager_policy="Static",
    kube_reserved={"memory": "924Mi"},
    reserved_memory=(ReservedMemory(0, {"memory": Quantity.parse("1Gi")}),),
    uses_default_eviction=True,
)
GPUS = (Device("GPU-b", (1,)), Device("GPU-a", (0,)))


def started(config: KubeletConfig = CONFIG, machine: MachineInfo = MACHINE) -> Node:
    node = nodes.start(config, machine, devices={GPU: GPUS})
    assert isinstance(node, Node), node
    return node


def spec(config: KubeletConfig = CONFIG) -> ClassSpec:
    return classes.spec_of(started(config), config)


def test_what_decides_nothing_is_not_in_the_name_of_a_class() -> None:
    quiet = replace(CONFIG, fail_swap_on=False, healthz_port=10249, pod_pids_limit=4096)
    noted = started(machine=replace(MACHINE, notes=("a remark",)))

    assert classes.class_name(spec()) == classes.class_name(spec(quiet))
    assert classes.class_name(spec()) == classes.class_name(classes.spec_of(noted, CONFIG))


@pytest.mark.parametrize(
    "other",
    [
        {"config": replace(CONFIG, max_pods=20)},
        {"machine": builders.machine(10, 11)},
        {"machine": replace(MACHINE, os=OperatingSystem.WINDOWS)},
        {"behaviour": NATIVE},
        {"behaviour": replace(EXACT, memory_node_classes=())},
        {"devices": {GPU: ((0,), (0,))}},
    ],
)
def test_what_decides_something_gives_another_name(other: dict[str, Any]) -> None:
    assert classes.class_name(spec()) != classes.class_name(replace(spec(), **other))


def test_the_name_of_a_class_stays_what_it_is_in_every_later_version() -> None:
    assert classes.class_name(ClassSpec(machine=MACHINE)) == "6f2003fb98e437d5"


def test_thresholds_are_written_out_where_they_are_kept_from_pods() -> None:
    ignoring = replace(CONFIG, ignore_hard_eviction=True, kube_reserved={"memory": "1Gi"})

    assert spec().config.eviction_hard == {"memory.available": "100Mi"}
    assert spec(ignoring).config.eviction_hard == {"memory.available": "0%"}
    for config in (CONFIG, ignoring):
        empty = classes.start(spec(config))
        assert isinstance(empty, Node)
        assert empty.rules.reservation == started(config).rules.reservation


def test_an_empty_node_of_a_class_has_its_devices_in_the_order_of_their_ids() -> None:
    empty = classes.start(spec())
    assert isinstance(empty, Node)

    known = empty.snapshot.device.inventory.known[GPU].by_id
    assert [known[each].numa_nodes for each in sorted(known)] == [(0,), (1,)]
    assert classes.device_places(empty) == {GPU: ((0,), (1,))}
    assert classes.spec_of(empty, CONFIG) == spec()


def test_a_class_of_which_no_kubelet_starts_says_why() -> None:
    wrong = replace(CONFIG, kube_reserved={"memory": "2Gi"})
    refused = classes.start(replace(spec(), config=wrong))

    assert isinstance(refused, StartRefused)


def test_members_share_the_managers_and_have_their_own_names() -> None:
    empty = classes.start(spec())
    assert isinstance(empty, Node)
    one = classes.member(empty, NodeIdentity(name="one", labels={"zone": "a"}))
    other = classes.member(empty, NodeIdentity(name="other"))

    assert (one.rules.identity.name, other.rules.identity.name) == ("one", "other")
    assert one.roster.slots is other.roster.slots
    assert one.snapshot is other.snapshot


def test_machines_without_numa_have_a_class_too() -> None:
    alone = MachineInfo((), 8 * GI, 4, 1)

    assert isinstance(classes.start(ClassSpec(machine=alone)), Node)


def test_positions_are_distinguished_from_ids() -> None:
    assert classes.positions(map(classes.device_id, (3, 0))) == frozenset({0, 3})
    assert classes.positions(["00000", "GPU-1"]) is None
    assert classes.positions(["7"]) is None
    assert classes.positions(["9" * 5_000]) is None
