"""A machine with sixty-four NUMA nodes on the dashboard: it is readable, and leads further."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import expect

from numalet.dashboard.application import application
from running import browsers, dashboards
from running.browsers import Visit

_SMALLEST = """() => Math.min(...[...document.querySelectorAll("svg.node text")].map(
  each => parseFloat(getComputedStyle(each).fontSize) * each.getScreenCTM().d
))"""
"""The smallest text of the drawing, in pixels of the screen."""


def test_it_is_readable_and_opened_by_links(visit: Callable[..., Visit]) -> None:
    view = dashboards.node_view("64n16c2t", memory_per_node="64Gi")
    with dashboards.listening(application(dashboards.ChangingNode(view))) as url:
        for width_px in (400, 1600):
            page = visit(viewport={"width": width_px, "height": 900}).page
            page.goto(f"{url}/node")
            # NUMA nodes that are alike, and on which nothing is, are one block that opens.
            blocks, cells = (
                page.locator("svg.node [data-node]"),
                page.locator("svg.node [data-cpu]"),
            )
            expect(blocks).to_have_count(1)
            expect(cells).to_have_count(0)
            page.get_by_role("link", name="NUMA node 3: open").click()
            expect(cells).to_have_count(32)
            # A narrow screen gets the drawing for it, by itself.
            assert page.url.endswith("open=3" if width_px > 600 else "open=3&width=narrow")
            page.goto(f"{url}/node")
            page.locator("svg.node a").first.click()
            expect(blocks).to_have_count(64)
            expect(cells).to_have_count(64 * 32)
            assert "open=0" in page.url
            assert page.evaluate("document.documentElement.scrollWidth") <= width_px
            assert page.evaluate(_SMALLEST) >= 7, width_px
            assert browsers.violations(page) == []
            page.go_back()
            expect(blocks).to_have_count(1)
