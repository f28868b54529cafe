"""In a real browser every text of a drawing lies within its block, and within the drawing."""

from __future__ import annotations

from typing import Final

import pytest
from playwright.sync_api import Page

from browser.conftest import Open
from numalet.drawing import node_drawing
from numalet.insight.maps.node_map import NodeMap
from values import node_charts

_OUTSIDE: Final = """() => {
  const picture = document.querySelector("svg.node").viewBox.baseVal;
  const whole = {x: picture.x, y: picture.y, width: picture.width, height: picture.height};
  const outside = [];
  for (const text of document.querySelectorAll("svg.node text")) {
    const outline = text.closest("[data-node]")?.querySelector(".block")?.getBBox() ?? whole;
    const box = text.getBBox();
    const fits = box.x >= outline.x && box.y >= outline.y - 1
      && box.x + box.width <= outline.x + outline.width
      && box.y + box.height <= outline.y + outline.height + 1;
    if (!fits) outside.push(text.textContent);
  }
  return outside;
}"""
"""Texts that are not within their block, or within the drawing where they are in none."""

_MACHINES: Final = (
    "2n8c2t", "profile:gb200-34n", "profile:epyc-nps4", "profile:dgx-h100", "profile:snc4",
    "profile:uv-24n", "64n4c2t",
)  # fmt: skip


def _check(page: Page, chart: NodeMap) -> None:
    for width_px in (400, 960, 1600):
        for opened in ((), tuple(node.node_id for node in chart.nodes)):
            page.set_content(node_drawing.draw(chart, width_px=width_px, opened=opened))
            assert page.evaluate(_OUTSIDE) == [], f"{width_px} px, {len(opened)} opened"


@pytest.mark.parametrize("name", _MACHINES)
def test_texts_of_machines_fit(page: Page, name: str) -> None:
    _check(page, node_charts.machine(name))


_DURATIONS: Final = """() => {
  const mark = document.querySelector("svg.node rect[data-cpu]");
  return getComputedStyle(mark).transitionDuration.split(", ");
}"""


@pytest.mark.parametrize(("motion", "expected"), [("no-preference", "0.2s"), ("reduce", "0s")])
def test_marks_move_in_200_ms_and_at_once_where_motion_is_to_be_reduced(
    visit: Open, motion: str, expected: str
) -> None:
    page = visit(reduced_motion=motion).page
    page.set_content(node_drawing.draw(node_charts.held()))
    assert {*page.evaluate(_DURATIONS)} == {expected}


def test_texts_of_held_nodes_fit(page: Page) -> None:
    _check(page, node_charts.held())
    _check(page, node_charts.grouped(5))
