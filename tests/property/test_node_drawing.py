"""The drawing of any node: nothing is lost, nothing is outside, nothing lies on another."""

from __future__ import annotations

import itertools
import random
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import numalet
from numalet.core.model import cpu_set
from numalet.core.node.node import Node
from numalet.drawing import node_drawing
from numalet.insight.maps import node_map
from numalet.insight.maps.node_map import NodeMap
from values import filled_nodes, node_charts, random_nodes

pytestmark = pytest.mark.property

_SVG = "{http://www.w3.org/2000/svg}"
_WIDTHS = st.sampled_from([400, 640, 960, 1600])


def _chart(seed: int) -> NodeMap:
    rng = random.Random(seed)
    node = random_nodes.setup(rng).start()
    if node is None:
        return node_map.of_machine(random_nodes.machine(rng), "idle")
    return node_map.of_node(filled_nodes.filled(node, seed, 6), "held")


def _box(mark: Element) -> tuple[float, float, float, float]:
    left, top, width, height = (float(mark.get(name, 0)) for name in ("x", "y", "width", "height"))
    return left, top, left + width, top + height


def _overlap(one: Element, other: Element) -> bool:
    a, b = _box(one), _box(other)
    return min(a[2], b[2]) - max(a[0], b[0]) > 0.05 and min(a[3], b[3]) - max(a[1], b[1]) > 0.05


def _check(chart: NodeMap, width_px: int, opened: tuple[int, ...]) -> None:
    read = ElementTree.fromstring(node_drawing.draw(chart, width_px=width_px, opened=opened))
    body = [each for each in read if each.tag != f"{_SVG}defs"]
    rects = [mark for part in body for mark in part.iter(f"{_SVG}rect")]
    _, _, wide, high = map(float, read.attrib["viewBox"].split())
    for mark in rects:
        left, top, right, bottom = _box(mark)
        assert min(left, top) >= -1
        assert right <= wide - 1
        assert bottom <= high - 1
        assert mark.find(f"{_SVG}title") is not None or mark.get("class") != "free"
    cpus = [int(mark.attrib["data-cpu"]) for mark in rects if "data-cpu" in mark.attrib]
    for mark in rects:
        cpus += cpu_set.parse(mark.get("data-cpus", ""))
    assert sorted(cpus) == sorted(cell.cpu for node in chart.nodes for cell in node.cpus)
    blocks = [mark for mark in rects if "block" in mark.attrib["class"].split()]
    marks = [mark for mark in rects if {*mark.attrib} & {"data-cpu", "data-cpus", "data-bytes"}]
    for some in (blocks, marks):
        assert not [pair for pair in itertools.combinations(some, 2) if _overlap(*pair)]
    held = sum(int(mark.attrib["data-bytes"]) for mark in marks if "data-bytes" in mark.attrib)
    assert held == sum(bar.total_bytes for node in chart.nodes for bar in node.memory)
    ids = [each.attrib["id"] for each in read.iter() if "id" in each.attrib]
    assert len(ids) == len(set(ids))


@settings(max_examples=15)
@given(
    shape=st.tuples(st.integers(5, 64), st.integers(1, 6), st.integers(1, 2)),
    seed=st.integers(0, 1 << 32),
    pods=st.sampled_from([0, 3, 40]),
    width_px=_WIDTHS,
    data=st.data(),
)
def test_all_of_a_node_of_up_to_64_numa_nodes_is_drawn(
    shape: tuple[int, int, int], seed: int, pods: int, width_px: int, data: st.DataObject
) -> None:
    nodes, cores, threads = shape
    config = numalet.decode_config(
        {
            "cpuManagerPolicy": "static",
            "reservedSystemCPUs": "0",
            "memoryManagerPolicy": "Static",
            "topologyManagerPolicy": "best-effort",
            "topologyManagerPolicyOptions": {"max-allowable-numa-nodes": str(max(nodes, 8))},
            "reservedMemory": [{"numaNode": 0, "limits": {"memory": "1124Mi"}}],
            "kubeReserved": {"memory": "1Gi"},
        },
        "test",
    )
    machine = numalet.open_machine(f"{nodes}n{cores}c{threads}t", memory_per_node="8Gi")
    node = numalet.start_node(config, machine)
    assert isinstance(node, Node)
    chart = node_map.of_node(filled_nodes.filled(node, seed, pods), "large")
    opened = data.draw(st.sets(st.integers(0, nodes - 1), max_size=5))
    _check(chart, width_px, tuple(opened))


@given(seed=st.integers(0, 1 << 32), width_px=_WIDTHS, opened=st.booleans())
def test_all_of_any_node_is_drawn(seed: int, width_px: int, opened: bool) -> None:
    chart = _chart(seed)
    ids = tuple(node.node_id for node in chart.nodes)
    _check(chart, width_px, ids if opened else ())


@pytest.mark.parametrize("width_px", [400, 960, 1600])
@pytest.mark.parametrize("name", node_charts.GOLDEN)
def test_all_of_these_nodes_is_drawn(name: str, width_px: int) -> None:
    _check(node_charts.GOLDEN[name](), width_px, ())


@pytest.mark.parametrize("name", ["profile:uv-24n", "profile:dgx-h100", "profile:snc4"])
def test_all_of_large_machines_is_drawn(name: str) -> None:
    chart = node_charts.machine(name)
    _check(chart, 400, (0,))
    _check(chart, 1600, ())
