"""Small marks of tables: what they say, and that their parts fill them."""

from __future__ import annotations

from xml.etree import ElementTree

from numalet.drawing import marks
from numalet.drawing.charts import BarPart
from numalet.drawing.scales import Unit

GI = 1 << 30


def test_the_parts_of_a_bar_fill_it() -> None:
    parts = [BarPart("kept back", GI, "kept"), BarPart("free", 3 * GI, "free")]
    picture = ElementTree.fromstring(marks.share_bar("NUMA node 0", parts, Unit.BYTES))
    widths = [float(each.attrib["width"]) for each in picture if len(each)]
    assert widths == [30, 90]
    assert picture[1].text == "kept back 1Gi, free 3Gi"


def test_a_bar_of_nothing_is_empty() -> None:
    picture = ElementTree.fromstring(marks.share_bar("NUMA node 0", [BarPart("free", 0)]))
    assert [each.attrib["width"] for each in picture if len(each)] == ["0"]


def test_a_pod_has_a_full_square_for_each_of_its_nodes() -> None:
    picture = ElementTree.fromstring(marks.nodes_of_pod("default/web", (3, 17), range(18)))
    full = [
        each.attrib["data-numa-node"] for each in picture if each.attrib.get("class") == "accent"
    ]
    assert full == ["3", "17"]
    assert picture[1].text == "NUMA nodes 3, 17"
    assert (picture.attrib["width"], picture.attrib["height"]) == ("160", "20")


def test_a_pod_on_no_node_of_none() -> None:
    picture = ElementTree.fromstring(marks.nodes_of_pod("default/web", (), ()))
    assert picture[1].text == "on no NUMA node"
