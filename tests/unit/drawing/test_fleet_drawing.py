"""The map of a fleet is drawn in the units of its resource, with marks and links where given."""

from __future__ import annotations

import re
from collections.abc import Collection

import pytest

from numalet.core.cluster.cluster import Cluster, UndecidedNode
from numalet.core.managers.device.inventory import Device
from numalet.core.model import input_error
from numalet.core.model.value import replace
from numalet.drawing import fleet_drawing
from numalet.insight.fleet import traps
from numalet.insight.fleet.heat import FleetMapper
from values import gpu_fleet

FULL = gpu_fleet.running("full", [gpu_fleet.pod("a", 4)])
EMPTY = gpu_fleet.running("empty", [])


def drawn(cluster: Cluster, resource: str, fitting: Collection[str] = ()) -> list[str]:
    """The titles of the nodes."""
    fleet = FleetMapper().map(cluster, traps.traps(cluster), resource, fitting)
    text = fleet_drawing.draw(fleet)
    return re.findall(r"<[ag][^>]*data-node[^>]*><title>(.*?)</title>", text)


@pytest.mark.parametrize(
    ("resource", "expected"),
    [
        (gpu_fleet.GPU, ["empty; free nvidia.com/gpu by NUMA node: 4, 4"]),
        ("cpu", ["empty; free CPUs by NUMA node: 30, 32"]),
        ("memory", ["empty; GiB free of memory by NUMA node: 255, 256"]),
    ],
)
def test_amounts_are_in_the_unit_of_the_resource(resource: str, expected: list[str]) -> None:
    assert drawn(gpu_fleet.cluster([EMPTY]), resource) == expected


def test_nodes_where_the_pod_fits_are_marked_and_cells_are_links_where_asked() -> None:
    cluster = gpu_fleet.cluster([FULL, EMPTY])
    marked = drawn(cluster, gpu_fleet.GPU, fitting={"empty"})
    assert [each.split("; ")[:2] for each in marked] == [
        ["empty", "the pod fits"],
        ["full", "free nvidia.com/gpu by NUMA node: 0, 4"],
    ]
    fleet = FleetMapper().map(cluster, traps.traps(cluster), gpu_fleet.GPU)
    linked = fleet_drawing.draw(fleet, href=lambda name, count, resource: f"/{name}/{count}")
    assert 'href="/full/1"' in linked


def test_words_say_why_a_node_shows_nothing() -> None:
    closed = replace(EMPTY, is_cordoned=True)
    no_gpus = gpu_fleet.empty().devices_reported({gpu_fleet.GPU: ()})
    plain = gpu_fleet.running("plain", [], on=no_gpus)
    why = input_error.NotFound("nothing describes it")
    cluster = replace(
        gpu_fleet.cluster([closed, plain]), undecided={"u": UndecidedNode(name="u", why=why)}
    )
    titles = " ".join(drawn(cluster, gpu_fleet.GPU))
    assert "gets no new pods: cordoned or not ready" in titles
    assert "plain; has none of it" in titles
    lone = [Device("a", (0,)), Device("b", ())]
    partly = gpu_fleet.empty().devices_reported({gpu_fleet.GPU: lone})
    (title,) = drawn(gpu_fleet.cluster([gpu_fleet.running("p", [], on=partly)]), gpu_fleet.GPU)
    assert title.endswith("1 free on no NUMA node")
    assert "u; not known; nothing describes it" in titles
