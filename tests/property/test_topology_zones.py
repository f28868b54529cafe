"""NodeResourceTopology is what the field's publisher makes of one answer, except as documented.

The differences are those of the table in docs/reference/numanode.md.
"""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numalet.core.model.value import replace
from numalet.core.node.node import Node
from numalet.shared.kubernetes import pod_resources
from numalet.shared.kubernetes.pod_resources import ContainerEntry, PodEntry
from numalet.shared.publish import node_view
from oracles import topology_updater
from oracles.topology_updater import UpdaterZone
from values import published_lives
from values.published_lives import Life

pytestmark = pytest.mark.property

lives = st.integers(0, 2**32 - 1).map(random.Random).map(published_lives.life)


def expected(node: Node) -> dict[str, UpdaterZone]:
    """The zones of the field's publisher, with our differences."""
    pods = map(_by_containers, pod_resources.pods(node, node.snapshot.pods.values()))
    machine = node.rules.machine
    zones = topology_updater.zones(machine, pod_resources.allocatable(node), pods)
    for each in machine.nodes:
        zone = zones[f"node-{each.node_id}"]
        cpus = sum(len(core.threads) for core in each.cores)
        if not cpus:
            zone.costs = {}
        elif "cpu" not in zone.resources:
            zone.resources["cpu"] = topology_updater.UpdaterAmount(cpus, 0, 0)
    return zones


def _by_containers(pod: PodEntry) -> PodEntry:
    """What a pod got as a whole, which the field's publisher does not read, as a container's."""
    cpus = tuple(replace(each, cpus=()) if pod.cpus else each for each in pod.containers)
    parts = tuple(replace(each, memory=()) if pod.memory else each for each in cpus)
    whole = ContainerEntry(name="", devices=(), cpus=pod.cpus, memory=pod.memory)
    return replace(pod, containers=(*parts, whole), cpus=(), memory=())


def read(zone: dict[str, Any]) -> UpdaterZone:
    """A zone of ours."""
    return UpdaterZone(
        costs={each["name"]: each["value"] for each in zone.get("costs", ())},
        resources={
            each["name"]: topology_updater.UpdaterAmount(
                int(each["capacity"]), int(each["allocatable"]), int(each["available"])
            )
            for each in zone["resources"]
        },
    )


@given(lives)
def test_zones_are_those_of_the_topology_updater_but_for_what_is_documented(life: Life) -> None:
    topology = node_view.topology_of(life.node, life.node.snapshot.pods.values())
    assert {each["name"]: read(each) for each in topology["zones"]} == expected(life.node)
    assert {each["type"] for each in topology["zones"]} == {"Node"}


@given(lives)
def test_zones_and_resources_are_in_a_fixed_order(life: Life) -> None:
    zones = node_view.topology_of(life.node, life.node.snapshot.pods.values())["zones"]
    ids = [int(each["name"].removeprefix("node-")) for each in zones]
    assert ids == sorted(ids)
    for zone in zones:
        names = [each["name"] for each in zone["resources"]]
        assert names == sorted(names)
