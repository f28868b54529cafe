"""Heat maps: a cell per node, its NUMA nodes in it, traps and unknown nodes marked."""

from __future__ import annotations

from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import pytest

from numalet.drawing import heat_map
from numalet.drawing.heat_map import HeatCell, HeatPool

_SVG = "{http://www.w3.org/2000/svg}"


def _pool(*cells: HeatCell, name: str = "a100", most: int = 4) -> HeatPool:
    return HeatPool(name=name, cells=cells, most_per_numa_node=most)


def _read(pools: list[HeatPool], width_px: int = 960) -> Element:
    return ElementTree.fromstring(heat_map.draw(pools, "free GPUs", width_px=width_px))


def _cells(picture: Element) -> list[Element]:
    return [each for each in picture.iter() if "data-node" in each.attrib]


def _classes(cell: Element) -> list[str]:
    return [each.attrib["class"] for each in cell if "class" in each.attrib]


def test_a_cell_has_a_part_per_numa_node_and_is_a_link() -> None:
    cell = HeatCell(name="n1", free_by_numa_node=(0, 4), words="2 pods", href="/fleet/nodes/n1")
    (drawn,) = _cells(_read([_pool(cell)]))
    assert drawn.tag == f"{_SVG}a"
    assert drawn.attrib["href"] == "/fleet/nodes/n1"
    assert drawn[0].text == "n1; free GPUs by NUMA node: 0, 4; 2 pods"
    assert _classes(drawn) == ["shade-4", "shade-0", "frame"]


def test_traps_have_a_triangle_and_unknown_nodes_are_hatched() -> None:
    trap = HeatCell(name="n1", free_by_numa_node=(1, 1, 2, 3), is_trap=True)
    picture = _read([_pool(trap, HeatCell(name="n2", free_by_numa_node=None))])
    first, second = _cells(picture)
    assert _classes(first) == ["shade-3", "shade-3", "shade-2", "shade-1", "frame", "trap"]
    assert first[0].text == "n1; trap; free GPUs by NUMA node: 1, 1, 2, 3"
    assert _classes(second) == ["unknown", "frame"]
    assert second[0].text == "n2; not known"
    assert picture[1].text == "1 pool: 2 nodes, 1 trap, 1 not known"


def test_nodes_where_the_pod_fits_have_a_disc_and_the_legend_says_so() -> None:
    fitting = HeatCell(name="n1", free_by_numa_node=(4,), is_fitting=True)
    picture = _read([_pool(fitting, HeatCell(name="n2", free_by_numa_node=(1,)))])
    first, second = _cells(picture)
    assert (_classes(first), _classes(second)) == (
        ["shade-0", "frame", "fits"],
        ["shade-3", "frame"],
    )
    assert first[0].text == "n1; the pod fits; free GPUs by NUMA node: 4"
    assert picture[1].text == "1 pool: 2 nodes, the pod fits on 1"
    assert "the pod fits" in [each.text for each in picture.iter(f"{_SVG}text")]


def test_nodes_without_new_pods_are_crossed_and_the_legend_says_so() -> None:
    closed = HeatCell(name="n1", free_by_numa_node=(4,), is_closed=True)
    picture = _read([_pool(closed, HeatCell(name="n2", free_by_numa_node=(4,)))])
    assert [_classes(each) for each in _cells(picture)] == [
        ["shade-0", "frame", "closed", "closed"],
        ["shade-0", "frame"],
    ]
    assert picture[1].text == "1 pool: 2 nodes, 1 without new pods"
    assert "cordoned or not ready" in [each.text for each in picture.iter(f"{_SVG}text")]


def test_a_cell_of_many_nodes_says_how_many_and_headings_count_nodes() -> None:
    cells = (
        HeatCell(name="n1", free_by_numa_node=(4,), is_trap=True, count=2),
        HeatCell(name="n3", free_by_numa_node=(4,), count=160),
        HeatCell(name="n4", free_by_numa_node=(4,), is_closed=True),
        HeatCell(name="x", free_by_numa_node=None, count=37),
    )
    picture = _read([_pool(*cells), _pool(HeatCell(name="y", free_by_numa_node=(0,)))])
    counts = "200 nodes, 2 traps, 37 not known, 1 without new pods"
    assert picture[1].text == "2 pools: 201 nodes, 2 traps, 37 not known, 1 without new pods"
    assert counts in [each.text for each in picture.iter(f"{_SVG}text")]
    drawn = _cells(picture)
    numbers = [[text.text for text in each.iter(f"{_SVG}text")] for each in drawn]
    assert numbers == [["2"], ["160"], [], ["37"], []]
    frames = [each.find(f"{_SVG}rect[@class='frame']") for each in drawn]
    widths = [float(each.attrib["width"]) + 1 for each in frames if each is not None]
    # The largest pool would fill the width if all its nodes were in one cell.
    assert widths[1] == pytest.approx(160 * 960 / 200)
    assert widths[2] == widths[4] == 24 < widths[0] < widths[3] < widths[1]
    assert drawn[1][0].text == "n3; free GPUs by NUMA node: 4; and 159 nodes alike"
    assert max(float(each.attrib["x"]) + float(each.attrib["width"]) for each in frames
               if each is not None) <= 960  # fmt: skip


def test_what_is_not_allocated_per_numa_node_is_undivided_and_dashed() -> None:
    whole = HeatCell(name="web", free_by_numa_node=(0,), whole=(16, 64))
    picture = _read([_pool(whole)])
    (drawn,) = _cells(picture)
    assert _classes(drawn) == ["shade-3", "frame whole"]
    assert drawn[0].text == "web; 16 of 64 free GPUs, not allocated per NUMA node"
    assert "not allocated per NUMA node" in [each.text for each in picture.iter(f"{_SVG}text")]


def test_shades_say_how_much_is_used() -> None:
    cells = tuple(HeatCell(name=str(n), free_by_numa_node=(n,)) for n in (0, 1, 99, 100, 101))
    drawn = _cells(_read([_pool(*cells, most=100)]))
    shades = [_classes(each)[0] for each in drawn]
    assert shades == ["shade-4", "shade-3", "shade-1", "shade-0", "shade-0"]


def test_a_node_that_never_has_the_resource_is_empty_with_a_line() -> None:
    picture = _read([_pool(HeatCell(name="cpu-1", free_by_numa_node=()), most=0)])
    (cell,) = _cells(picture)
    assert _classes(cell) == ["absent", "frame"]
    assert "has none of it" in "".join(picture.itertext())
    assert "cpu-1; has none of it" in "".join(cell.itertext())


def test_a_pool_of_unknown_nodes_does_not_say_that_nothing_is_free() -> None:
    picture = _read([_pool(HeatCell(name="x", free_by_numa_node=None), most=0)])
    assert "1 node, 1 not known" in "".join(picture.itertext())
    assert "no free" not in "".join(picture.itertext())


def test_a_pool_without_the_resource_is_empty() -> None:
    picture = _read([_pool(HeatCell(name="n", free_by_numa_node=(0,)), most=0)])
    (drawn,) = _cells(picture)
    assert _classes(drawn) == ["shade-0", "frame"]
    assert "1 node, no free GPUs" in [each.text for each in picture.iter(f"{_SVG}text")]


@pytest.mark.parametrize(
    ("count", "cell_px"), [(200, 24), (201, 16), (1501, 12), (3001, 8), (5000, 8)]
)
def test_cells_are_smaller_where_there_are_many(count: int, cell_px: int) -> None:
    cells = tuple(HeatCell(name=f"n{n}", free_by_numa_node=(1,)) for n in range(count))
    picture = _read([_pool(*cells)])
    drawn = _cells(picture)
    assert len(drawn) == count
    assert float(drawn[0][1].attrib["width"]) == cell_px


def test_the_legend_has_every_shade_and_as_many_lines_as_it_needs() -> None:
    one, two = (_read([_pool()], width_px) for width_px in (600, 240))
    legends = [picture.find(f".//{_SVG}g[@class='legend']") for picture in (one, two)]
    for legend in legends:
        assert legend is not None
        shades = [each.attrib["class"] for each in legend.iter(f"{_SVG}rect")]
        assert [each for each in shades if "shade" in each] == [f"shade-{at}" for at in range(5)]
        words = ["all free GPUs", "some", "none", "trap", "not known"]
        assert [each.text for each in legend.iter(f"{_SVG}text")] == words
    lines = [
        {each.attrib["y"] for each in legend.iter(f"{_SVG}text")}
        for legend in legends
        if legend is not None
    ]
    assert [len(each) for each in lines] == [1, 2]
    # What is below the legend moves down by its second line.
    assert float(two.attrib["height"]) == float(one.attrib["height"]) + 20
