"""Links and sessions in a browser: what a page says where one of them is no longer good."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import expect

from numalet.dashboard import entrance
from numalet.dashboard.application import served
from running import browsers, dashboards
from running.browsers import Visit


def test_links_that_are_wrong_used_or_too_old_say_what_to_do(
    visit: Callable[..., Visit],
) -> None:
    now = [0.0]
    source = dashboards.ChangingNode(dashboards.node_view())
    dashboard = served(source, clock=lambda: now[0])
    opened = visit()
    opened.expected += ["403", "401"]
    page = opened.page
    with dashboards.listening(dashboard.app) as url:
        page.goto(f"{url}/node")
        expect(page.locator("main")).to_contain_text("No session: it has ended")
        used, old = dashboard.link(url).url, dashboard.link(url).url
        page.goto(used)
        expect(page.locator("h1")).to_have_text("node-a")
        page.context.clear_cookies()
        now[0] = entrance.TOKEN_SECONDS
        for link in (f"{url}/login?token=wrong", f"{url}/login", used, old):
            answer = page.goto(link)
            assert answer is not None
            assert answer.status == 403
            expect(page.locator("h1")).to_have_text("This link is no longer good")
            expect(page.locator("main")).to_contain_text("run numalet dashboard")
            assert page.context.cookies() == []
            assert browsers.violations(page) == []


def test_a_session_that_ends_while_a_page_is_open_is_said_in_the_page(
    visit: Callable[..., Visit],
) -> None:
    now = [0.0]
    source = dashboards.ChangingNode(dashboards.node_view())
    dashboard = served(source, clock=lambda: now[0])
    opened = visit()
    opened.expected += ["401", "ERR_"]
    page = opened.page
    with dashboards.listening(dashboard.app) as url:
        page.goto(dashboard.link(url).url)
        expect(page.locator("#live")).to_have_text("live")
        now[0] = entrance.SESSION_SECONDS
        source.show(dashboards.node_view(revision=2))
        expect(page.locator("#away")).to_contain_text("run numalet dashboard")
        expect(page.locator("#live")).to_have_text("not live")
        # The page stays as it was: what was read in it is not lost.
        expect(page.locator("h1")).to_have_text("node-a")
