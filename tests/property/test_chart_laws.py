"""Laws of charts and heat maps: nothing overlaps, all is inside, ticks cover the range."""

from __future__ import annotations

from itertools import combinations, pairwise
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numalet.drawing import charts, heat_map, svg
from numalet.drawing.charts import BarPart, BarRow, Unit
from numalet.drawing.heat_map import HeatCell, HeatPool

pytestmark = pytest.mark.property

WIDTHS = st.integers(400, 1600)
WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=60)
Box = tuple[float, float, float, float]


def box(mark: Element) -> Box:
    """Left, top, right and bottom."""
    left, top, wide, high = (float(mark.attrib[name]) for name in ("x", "y", "width", "height"))
    return left, top, left + wide, top + high


def overlap(one: Box, other: Box) -> bool:
    """Whether they share more than what rounding leaves."""
    wide = min(one[2], other[2]) - max(one[0], other[0])
    high = min(one[3], other[3]) - max(one[1], other[1])
    return wide > 0.05 and high > 0.05


@given(st.floats(0, 1e18), st.sampled_from(Unit), st.integers(2, 6))
def test_ticks_cover_the_range_with_few_equal_steps(most: float, unit: Unit, count: int) -> None:
    ticks = charts.ticks(most, unit, count)
    assert ticks[0] == 0
    assert ticks[-1] >= most
    assert 2 <= len(ticks) <= count + 2
    assert {round((b - a) / ticks[1], 9) for a, b in pairwise(ticks)} == {1}


@given(st.integers(0, 2_000_000_000), st.integers(1, 10_000_000), st.integers(2, 12))
def test_moments_are_inside_and_not_too_many(start: int, length: int, most: int) -> None:
    moments = charts.moments(start, start + length, most)
    assert len(moments) <= most
    assert all(start <= each <= start + length for each in moments)


@given(WORDS, st.floats(0, 400), st.integers(1, 4))
def test_what_is_shortened_fits(words: str, room_px: float, most: int) -> None:
    assert svg.text_width_px(svg.shortened_text(words, room_px)) <= room_px
    lines = svg.text_lines(words, room_px, most)
    assert len(lines) <= most
    assert all(svg.text_width_px(line) <= room_px for line in lines)


PARTS = st.lists(st.integers(0, 1 << 50), min_size=1, max_size=4).map(
    lambda values: tuple(BarPart(f"part {at}", value) for at, value in enumerate(values))
)


@settings(max_examples=50)
@given(st.lists(st.tuples(WORDS, PARTS), max_size=6), WIDTHS)
def test_bars_are_inside_beside_each_other_and_to_scale(
    rows: list[tuple[str, tuple[BarPart, ...]]], width_px: int
) -> None:
    made = [BarRow(label=label, parts=parts) for label, parts in rows]
    picture = ElementTree.fromstring(charts.bars("Sizes", made, Unit.BYTES, width_px=width_px))
    boxes = [box(each) for each in picture.iter() if each.tag.endswith("rect")]
    height_px = float(picture.attrib["height"])
    assert all(
        a >= 0 and b >= 0 and c <= width_px + 0.05 and d <= height_px for a, b, c, d in boxes
    )
    assert not [pair for pair in combinations(boxes, 2) if overlap(*pair)]


CELLS = st.builds(
    HeatCell,
    name=WORDS,
    free_by_numa_node=st.none() | st.lists(st.integers(0, 9), max_size=9).map(tuple),
    is_trap=st.booleans(),
)
POOLS = st.builds(
    HeatPool,
    name=WORDS,
    cells=st.lists(CELLS, max_size=40).map(tuple),
    most_per_numa_node=st.integers(0, 8),
)


@settings(max_examples=30)
@given(st.lists(POOLS, max_size=3), WIDTHS)
def test_every_node_is_a_cell_inside_that_no_other_overlaps(
    pools: list[HeatPool], width_px: int
) -> None:
    picture = ElementTree.fromstring(heat_map.draw(pools, "free GPUs", width_px=width_px))
    for pool in (each for each in picture if "data-pool" in each.attrib):
        boxes = []
        for cell in pool:
            if "data-node" in cell.attrib:
                *parts, frame = [box(each) for each in cell if each.tag.endswith("rect")]
                boxes.append(frame)
                assert not [pair for pair in combinations(parts, 2) if overlap(*pair)]
        assert all(left >= 0 and right <= width_px for left, _, right, _ in boxes)
        assert not [pair for pair in combinations(boxes, 2) if overlap(*pair)]
    drawn = sum("data-node" in each.attrib for each in picture.iter())
    assert drawn == sum(len(each.cells) for each in pools)
