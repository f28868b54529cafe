"""Many tabs of one browser: one stream for all of them, and none of them stops the others.

Chromium opens six connections to a server over HTTP/1.1.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Final, TypeVar

import pytest
from playwright.sync_api import BrowserContext, Page, expect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from numalet.dashboard.application import served
from numalet.dashboard.sources import NodeView
from running import dashboards
from running.browsers import PATIENCE_MS, Visit
from values import shown_nodes
from values.shown_nodes import GIB, guaranteed

App = TypeVar("App", bound=ASGIApp)
_TABS: Final = 12
_SECONDS: Final = PATIENCE_MS / 1000
_HIDE: Final = """isHidden => {
  Object.defineProperty(document, "hidden", {value: isHidden, configurable: true});
  document.dispatchEvent(new Event("visibilitychange"));
}"""
"""A browser without a window hides no tab by itself."""


class _Counting:
    """An application that counts its open streams."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._open = self.most = 0
        self._news = threading.Condition()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope.get("path") != "/events":
            await self._app(scope, receive, send)
            return
        self._add(1)
        try:
            await self._app(scope, receive, send)
        finally:
            self._add(-1)

    def _add(self, number: int) -> None:
        with self._news:
            self._open += number
            self.most = max(self.most, self._open)
            self._news.notify_all()

    def until(self, number: int) -> None:
        """Wait until so many streams are open."""
        with self._news:
            assert self._news.wait_for(lambda: self._open == number, _SECONDS), self._open


def _views() -> tuple[NodeView, NodeView]:
    config, node = shown_nodes.started()
    pods = [guaranteed("web-0", 2, GIB), guaranteed("web-1", 2, GIB)]
    view = shown_nodes.view_of(config, node, pods)
    return replace(view, rows=view.rows[:1]), replace(view, revision=view.revision + 1)


def _tabs(context: BrowserContext, link: str, count: int) -> list[Page]:
    """So many tabs with the pods of the node, all of them live."""
    tabs = [context.new_page() for _ in range(count)]
    tabs[0].goto(link)
    for tab in tabs:
        tab.goto(f"{link.partition('/login')[0]}/pods")
    for tab in tabs:
        expect(tab.locator("#live")).to_have_text("live")
    return tabs


@contextmanager
def _seen_through(
    kind: Callable[[ASGIApp], App], visit: Callable[..., Visit], count: int
) -> Iterator[tuple[App, dashboards.ChangingNode, list[Page]]]:
    """Tabs of a dashboard whose requests go through an application of this kind."""
    source = dashboards.ChangingNode(_views()[0])
    dashboard = served(source)
    around = kind(dashboard.app)
    context = visit().page.context
    with dashboards.listening(around) as url:
        yield around, source, _tabs(context, dashboard.link(url).url, count)


@pytest.mark.timeout(1200)  # Each of the tabs has the patience of a page.
def test_twelve_tabs_show_a_change_and_none_stops_another(visit: Callable[..., Visit]) -> None:
    with _seen_through(_Counting, visit, _TABS) as (counting, source, tabs):
        counting.until(1)
        source.show(_views()[1])
        for tab in tabs:
            expect(tab.locator("table.pods tbody tr")).to_have_count(2)
            expect(tab.locator("#live")).to_have_text("live")
        # The first one reads the stream for all, until it leaves its page.
        for tab in (tabs[0], tabs[-1]):
            tab.bring_to_front()
            tab.get_by_role("link", name="default/web-1").click()
            expect(tab.locator("h1")).to_have_text("default/web-1")
            expect(tab.locator("#live")).to_have_text("live")
        counting.until(1)


def test_the_stream_goes_to_a_tab_that_is_seen(visit: Callable[..., Visit]) -> None:
    before, after = _views()
    with _seen_through(_Counting, visit, 3) as (counting, source, (first, second, third)):
        rows = "table.pods tbody tr"
        first.close()
        second.evaluate(_HIDE, arg=True)
        source.show(after)
        expect(third.locator(rows)).to_have_count(2)
        expect(second.locator(rows)).to_have_count(1)
        third.evaluate(_HIDE, arg=True)
        counting.until(0)
        source.show(replace(before, revision=after.revision + 1))
        second.evaluate(_HIDE, arg=False)
        counting.until(1)
        expect(second.locator(rows)).to_have_count(1)
        third.evaluate(_HIDE, arg=False)
        expect(third.locator(rows)).to_have_count(1)
        expect(third.locator("#live")).to_have_text("live")
        counting.until(1)


class _Holding:
    """An application that keeps what it would send below one path as long as it is told so."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self.path = ""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._goes = asyncio.Event()
        self._goes.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._loop = asyncio.get_running_loop()

        async def held(message: Message) -> None:
            if self.path and scope["path"] == self.path:
                await self._goes.wait()
            await send(message)

        await self._app(scope, receive, held)

    def hold(self, path: str) -> None:
        """Keep back everything for this path, from now on."""
        self._goes.clear()
        self.path = path

    def go_on(self) -> None:
        """Send it."""
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._goes.set)


def test_a_page_without_data_or_refresh_says_that_it_is_stale(visit: Callable[..., Visit]) -> None:
    with _seen_through(_Holding, visit, 2) as (holding, source, tabs):
        holding.hold("/events")
        for tab in tabs:
            expect(tab.locator("#live")).to_have_text("stale")
            expect(tab.locator("#away")).to_contain_text("(UTC)")
            expect(tab.locator("table.pods tbody tr")).to_have_count(1)
        holding.go_on()
        for tab in tabs:
            expect(tab.locator("#live")).to_have_text("live")
            expect(tab.locator("#away")).to_be_hidden()
        # The stream is there, and the pages wait for what they ask for after its news.
        holding.hold("/pods")
        source.show(_views()[1])
        for tab in tabs:
            expect(tab.locator("#live")).to_have_text("stale")
        holding.go_on()
        for tab in tabs:
            expect(tab.locator("table.pods tbody tr")).to_have_count(2)
            expect(tab.locator("#live")).to_have_text("live")


def test_a_new_link_in_another_tab_is_enough_for_a_page_whose_server_started_again(
    visit: Callable[..., Visit],
) -> None:
    before, after = _views()
    dashboard = served(dashboards.ChangingNode(before))
    opened = visit()
    opened.expected += ["ERR_", "401"]
    context = opened.page.context
    with dashboards.listening(dashboard.app) as url:
        (tab,) = _tabs(context, dashboard.link(url).url, 1)
        port = int(url.rsplit(":", 1)[1])
    expect(tab.locator("#away")).to_contain_text("start")
    tab.get_by_role("link", name="default/web-0").click()
    expect(tab.locator("#away")).to_contain_text("This link")
    expect(tab.locator("h1")).to_have_text("Pods")
    again = served(dashboards.ChangingNode(after))
    with dashboards.listening(again.app, port):
        expect(tab.locator("#away")).to_contain_text("run numalet dashboard")
        opened.page.goto(again.link(url).url)
        expect(tab.locator("#live")).to_have_text("live")
        expect(tab.locator("table.pods tbody tr")).to_have_count(2)
