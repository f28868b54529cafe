"""The node drawn: every CPU once, and whose it is."""

from __future__ import annotations

from xml.etree import ElementTree

import numalet
from numalet.core.model import cpu_set
from numalet.core.node.node import Node
from numalet.drawing import node_drawing
from numalet.insight.maps import node_map
from numalet.insight.maps.resource_maps import CpuUse

_POD = """
{apiVersion: v1, kind: Pod, metadata: {name: near}, spec: {containers: [
  {name: c, resources: {limits: {cpu: "2", memory: 1Gi}}}]}}
"""


def _node(cpu_policy: str) -> Node:
    config = numalet.decode_config(
        {
            "cpuManagerPolicy": cpu_policy,
            "reservedSystemCPUs": "0",
            "memoryManagerPolicy": "Static",
            "reservedMemory": [{"numaNode": 0, "limits": {"memory": "100Mi"}}],
        },
        "test",
    )
    node = numalet.start_node(config, numalet.open_machine("2n4c2t", memory_per_node="64Gi"))
    assert isinstance(node, Node)
    (pod,) = numalet.read_pods(_POD, "test").pods
    after, _ = node.admit(pod)
    return after


def test_every_cpu_is_drawn_once_and_has_its_holder() -> None:
    chart = node_map.of_node(_node("static"), "n")
    read = ElementTree.fromstring(node_drawing.draw(chart))
    marks = [each for each in read.iter() if "data-cpu" in each.attrib]
    assert sorted(int(each.attrib["data-cpu"]) for each in marks) == [*range(16)]
    (pod,) = chart.pods
    own = {int(each.attrib["data-cpu"]) for each in marks if each.attrib.get("data-pod") == pod.uid}
    assert own == pod.cpus
    classes = {each.attrib["class"] for each in marks}
    assert classes == {"hue-1", "kept", "free"}


def test_the_heading_of_cpus_lists_those_that_are_free_and_those_that_are_reserved() -> None:
    node = _node("static")
    chart = node_map.of_node(node, "n")
    (pod,) = chart.pods
    block = next(each for each in chart.nodes if each.node_id in pod.nodes)
    free = {cell.cpu for cell in block.cpus if cell.use is CpuUse.SHARED}
    read = ElementTree.fromstring(node_drawing.draw(chart))
    texts = ["".join(each.itertext()) for each in read.iter() if each.tag.endswith("text")]
    assert any(f"CPUs free: {cpu_set.text(free)}" in each for each in texts)
    assert any("reserved: 0" in each for each in texts)


def test_shared_cpus_are_told_from_free_ones() -> None:
    chart = node_map.of_node(_node("none"), "n")
    read = ElementTree.fromstring(node_drawing.draw(chart, width_px=400))
    assert {each.attrib["class"] for each in read.iter() if "data-cpu" in each.attrib} == {"shared"}
