"""Pages of the dashboard in a browser: they work, and all people can use them."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page, expect

from browser.conftest import Photograph
from numalet.dashboard.application import application
from running import browsers, dashboards
from running.browsers import Visit


def test_the_page_of_a_node(page: Page, photograph: Photograph) -> None:
    source = dashboards.ChangingNode(dashboards.node_view())
    with dashboards.listening(application(source)) as url:
        page.goto(f"{url}/node")
        expect(page.locator("svg.node [data-cpu]")).to_have_count(16)
        assert browsers.violations(page) == []
        photograph(page, "node")


def test_in_the_dark_and_on_a_telephone(visit: Callable[..., Visit]) -> None:
    source = dashboards.ChangingNode(dashboards.node_view())
    with dashboards.listening(application(source)) as url:
        page = visit(color_scheme="dark", viewport={"width": 400, "height": 800}).page
        page.goto(f"{url}/node")
        assert browsers.violations(page) == []
