"""The rows of the first page: bars of pods for each NUMA node."""

from __future__ import annotations

from xml.etree import ElementTree

from numalet.core.model.value import replace
from numalet.drawing import node_drawing, room_drawing
from numalet.drawing.node import holders
from numalet.insight.maps import room
from numalet.insight.maps.node_map import NodeMap
from values import node_charts

_SVG = "{http://www.w3.org/2000/svg}"


def _link(opened: frozenset[int]) -> str:
    return f"/node?open={','.join(map(str, opened))}"


def _drawn(chart: NodeMap, width_px: int = 960, best: int | None = None) -> ElementTree.Element:
    rows = room.rooms(chart)
    return ElementTree.fromstring(
        room_drawing.draw(chart, rows, link=_link, width_px=width_px, best=best)
    )


def _words(picture: ElementTree.Element) -> str:
    return "\n".join("".join(each.itertext()) for each in picture.iter(f"{_SVG}text"))


def test_each_numa_node_has_a_bar_for_each_resource_and_a_link() -> None:
    chart = node_charts.held()
    picture = _drawn(chart, best=1)
    rows = [each for each in picture.iter(f"{_SVG}g") if "data-row" in each.attrib]
    assert [row.attrib["data-row"] for row in rows] == ["0", "1"]
    links = [each.attrib["href"] for each in picture.iter(f"{_SVG}a")]
    assert links == ["/node?open=0", "/node?open=1"]
    for row, block in zip(rows, chart.nodes, strict=True):
        counts = [each for each in row.iter() if "data-cpus" in each.attrib]
        assert {each.attrib["data-use"] for each in counts} >= {"shared"}
        devices = sum(int(each.get("data-devices", 0)) for each in row.iter())
        assert devices == sum(each.nodes == (block.node_id,) for each in chart.devices)
    assert _words(picture).count("most room") == 1


def test_a_pod_has_the_class_and_letter_that_it_has_in_the_drawing_of_the_node() -> None:
    chart = node_charts.held()

    def classes(picture: ElementTree.Element) -> set[tuple[str, str]]:
        marks = [each for each in picture.iter(f"{_SVG}rect") if each.get("data-pod")]
        return {
            (each.attrib["data-pod"], each.attrib["class"])
            for each in marks
            if each.attrib["class"].startswith("hue-")
        }

    rows = classes(_drawn(chart))
    assert len(rows) == len(chart.pods)
    assert rows <= classes(ElementTree.fromstring(node_drawing.draw(chart)))


def test_pods_are_in_the_order_of_their_letters_in_every_bar() -> None:
    chart = node_charts.held()
    block, *others = chart.nodes
    memory = tuple(replace(bar, parts=bar.parts[::-1]) for bar in block.memory)
    block = replace(block, cores=block.cores[::-1], memory=memory)
    row = _drawn(replace(chart, nodes=(block, *others))).find(f".//{_SVG}g[@data-row='0']")
    assert row is not None
    for kind in ("data-cpus", "data-bytes"):
        marks = [each for each in row.iter(f"{_SVG}rect") if kind in each.attrib]
        uids = [each.attrib["data-pod"] for each in marks if each.get("data-pod")]
        assert uids == [each for each in holders.by_uid(chart) if each in uids]
        assert len(uids) > 1


def test_on_a_narrow_screen_the_bars_are_below_one_another() -> None:
    chart = node_charts.held()
    wide, narrow = _drawn(chart), _drawn(chart, 364)
    assert float(narrow.attrib["height"]) > float(wide.attrib["height"])
    right = [float(each.get("x", 0)) + float(each.get("width", 0)) for each in narrow.iter()]
    assert max(right) <= 364


def test_nodes_of_a_group_and_nodes_without_cpus_say_so() -> None:
    grouped = _words(_drawn(node_charts.grouped()))
    assert "one group with 1" in grouped
    assert "memory only" in _words(_drawn(node_charts.machine("profile:gb200-34n")))
