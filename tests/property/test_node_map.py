"""The map of a node in the middle of any life: figures agree, whatever its kubelet did."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numalet.insight.maps import node_map
from values import published_lives
from values.published_lives import Life

pytestmark = pytest.mark.property

lives = st.integers(0, 2**32 - 1).map(random.Random).map(published_lives.life)


@given(lives)
def test_the_parts_of_a_memory_bar_are_all_of_it(life: Life) -> None:
    """Also of a pod that was placed as a whole, and where a kubelet has miscounted."""
    chart = node_map.of_node(life.node, "n")
    for block in chart.nodes:
        for bar in block.memory:
            parts = [part.size_bytes for part in bar.parts]
            assert min(parts, default=1) > 0
            assert bar.kept_back_bytes + bar.free_bytes + sum(parts) == bar.total_bytes


@given(lives)
def test_a_pod_is_where_its_memory_its_cpus_and_its_devices_are(life: Life) -> None:
    chart = node_map.of_node(life.node, "n")
    places = {(each.resource, each.device_id): each.nodes for each in chart.devices}
    cpus = {cell.cpu: node.node_id for node in chart.nodes for cell in node.cpus}
    records = life.node.snapshot.device.records
    for pod in chart.pods:
        assert {cpus[cpu] for cpu in pod.cpus} <= {*pod.nodes}
        ids = {(resource, name) for resource, names in pod.devices.items() for name in names}
        assert {node for each in ids for node in places.get(each, ())} <= {*pod.nodes}
        assert bool(pod.devices) == bool(records.get(pod.uid))
