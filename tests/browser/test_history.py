"""The history in a browser: one cursor for mouse, keyboard and touch, over charts and events."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

import pytest
from playwright.sync_api import Page, expect

from browser.conftest import Photograph
from numalet.dashboard import history_points
from numalet.dashboard.application import application
from numalet.dashboard.sources import NodeView
from running import dashboards
from running.browsers import Visit
from values import shown_nodes
from values.shown_nodes import GIB, guaranteed

_CURSOR: Final = "[...document.querySelectorAll('.plots .at')].map(each => each.style.left)"


def _view() -> NodeView:
    config, node = shown_nodes.started()
    pods = [
        guaranteed("web", 12, 8 * GIB),
        guaranteed("big", 12, 4 * GIB),
        guaranteed("db", 2, GIB),
    ]
    return shown_nodes.view_of(config, node, pods)


@pytest.fixture
def source() -> dashboards.ChangingNode:
    """A node whose first pod came 45 minutes ago, and two others 15 minutes ago."""
    now = datetime.now(UTC)
    # Seen later than its pods were created: what happened has the times of the points.
    view = replace(_view(), at=now - timedelta(hours=1))
    empty = replace(view, rows=())
    first = replace(view, rows=view.rows[:1])
    source = dashboards.ChangingNode(view)
    source.keep(
        [
            # The charts begin with the first point of the hour.
            history_points.point(empty, empty, now - timedelta(minutes=59, seconds=30)),
            history_points.point(empty, first, now - timedelta(minutes=45)),
            *[
                history_points.point(first, first, now - timedelta(minutes=45 - at))
                for at in range(1, 30)
            ],
            history_points.point(first, view, now - timedelta(minutes=15)),
        ]
    )
    return source


@pytest.fixture
def url(source: dashboards.ChangingNode) -> Iterator[str]:
    with dashboards.listening(application(source)) as served:
        yield served


def _near(page: Page) -> list[str]:
    return page.locator("tr.near .whose").all_text_contents()


def _point_at(page: Page, share: float) -> tuple[float, float]:
    """A place on the first chart, at this share of its time."""
    box = page.locator(".plots svg").first.bounding_box()
    assert box is not None
    left = float(page.locator(".over-time").get_attribute("data-left") or 0)
    return box["x"] + box["width"] * (left + share * (1 - left)), box["y"] + box["height"] / 2


def test_a_mouse_over_a_chart_says_what_happened_then(
    page: Page, url: str, source: dashboards.ChangingNode, photograph: Photograph
) -> None:
    page.goto(f"{url}/history")
    expect(page.locator("#live")).to_have_text("live")
    page.mouse.move(*_point_at(page, 0.25))
    expect(page.locator("output")).to_contain_text("(UTC): 1 event about then")
    assert _near(page) == ["default/web"]
    expect(page.locator(".plots .at")).to_be_visible()
    photograph(page, "history-cursor")
    page.mouse.move(*_point_at(page, 0.75))
    expect(page.locator("output")).to_contain_text("2 events about then")
    assert sorted(_near(page)) == ["default/big", "default/db"]
    page.mouse.move(*_point_at(page, 0.1))
    expect(page.locator(".now").first).to_have_text("not known")
    # The page changes: the cursor stays at its time.
    page.mouse.move(*_point_at(page, 0.25))
    expect(page.locator("output")).to_contain_text("1 event about then")
    source.show(replace(_view(), revision=2, title="renamed"))
    expect(page.locator("header")).to_contain_text("renamed")
    assert _near(page) == ["default/web"]


def test_the_keyboard_moves_the_cursor_and_hears_the_figures(page: Page, url: str) -> None:
    page.goto(f"{url}/history")
    slider = page.get_by_role("slider")
    slider.focus()
    page.keyboard.press("Home")
    expect(page.locator("output")).to_contain_text("0 events about then")
    for _ in range(7):
        page.keyboard.press("PageUp")
    page.keyboard.press("PageUp")
    page.keyboard.press("PageDown")
    page.keyboard.press("ArrowRight")
    left = page.evaluate(_CURSOR)
    page.keyboard.press("ArrowRight")
    assert page.evaluate(_CURSOR) != left
    said = slider.get_attribute("aria-valuetext") or ""
    assert "(UTC), " in said
    assert "memory, NUMA node 1 " in said


def test_a_finger_on_a_chart_moves_the_cursor(visit: Callable[..., Visit], url: str) -> None:
    page = visit(viewport={"width": 390, "height": 800}, has_touch=True).page
    page.goto(f"{url}/history")
    # The narrow drawing comes by itself.
    expect(page.locator(".over-time")).to_have_attribute("style", "max-width:364px")
    page.touchscreen.tap(*_point_at(page, 0.25))
    expect(page.locator("output")).to_contain_text("1 event about then")
    assert _near(page) == ["default/web"]


def test_without_script_there_is_no_slider(visit: Callable[..., Visit], url: str) -> None:
    page = visit(java_script_enabled=False).page
    page.goto(f"{url}/history")
    expect(page.locator(".plots svg")).to_have_count(2)
    expect(page.locator("tr[data-at]")).to_have_count(3)
    expect(page.get_by_role("slider")).to_have_count(0)
