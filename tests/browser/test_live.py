"""Pages that stay current in a browser: changes arrive, and what a reader did stays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from playwright.sync_api import Page, expect

from numalet.core.model.pod import ContainerKey
from numalet.dashboard.application import served
from numalet.dashboard.sources import NodeView
from running import browsers, dashboards
from running.browsers import Visit
from values import shown_nodes
from values.shown_nodes import GIB, guaranteed


def _view() -> NodeView:
    config, node = shown_nodes.started()
    pods = [guaranteed("web-0", 12, 8 * GIB), guaranteed("web-1", 6, 4 * GIB, "team")]
    return shown_nodes.view_of(config, node, [*pods, guaranteed("big", 12, 4 * GIB, "team")])


def _without_first(view: NodeView) -> NodeView:
    return replace(view, revision=view.revision + 1, rows=view.rows[1:])


def test_a_change_arrives_in_the_table_and_the_filter_keeps_its_focus(page: Page) -> None:
    view = _view()
    source = dashboards.ChangingNode(view)
    dashboard = served(source)
    with dashboards.listening(dashboard.app) as url:
        page.goto(dashboard.link(url).url)
        page.goto(f"{url}/pods")
        rows = page.locator("table.pods tbody tr")
        expect(rows).to_have_count(3)
        expect(page.locator("#live")).to_have_text("live")
        page.evaluate("window.isSame = true")
        page.locator("input[type=search]").focus()
        source.show(_without_first(view))
        expect(rows).to_have_count(2)
        assert page.evaluate("window.isSame && document.activeElement.name") == "text"
        page.keyboard.type("web")
        expect(rows).to_have_count(1)
        assert page.url.endswith("?text=web")
        assert browsers.violations(page) == []


def test_a_log_that_grows_is_followed_without_an_event(page: Page, tmp_path: Path) -> None:
    view = _view()
    source = dashboards.ChangingNode(view)
    log = tmp_path / "log"
    log.write_text("first line\n" * 100)
    pod = view.rows[0].pod
    (container,) = pod.containers()
    source.log(ContainerKey(pod.uid, container.name), log)
    dashboard = served(source)
    with dashboards.listening(dashboard.app) as url:
        page.goto(dashboard.link(url).url)
        page.goto(f"{url}/pods/{pod.namespace}/{pod.name}")
        expect(page.locator(".log pre")).to_contain_text("first line")
        is_at_its_end = """box => box.scrollHeight > box.clientHeight &&
          box.firstElementChild.getBoundingClientRect().bottom <= box.getBoundingClientRect().bottom
        """
        assert page.locator(".log").evaluate(is_at_its_end)
        with log.open("a") as file:
            file.write("second line\n")
        expect(page.locator(".log pre")).to_contain_text("second line", timeout=30_000)


def test_a_server_that_goes_is_said_and_its_return_too(visit: Callable[..., Visit]) -> None:
    view = _view()
    source = dashboards.ChangingNode(view)
    dashboard = served(source)
    with dashboards.listening(dashboard.app) as url:
        opened = visit()
        opened.expected.append("ERR_")
        page = opened.page
        page.goto(dashboard.link(url).url)
        expect(page.locator("#live")).to_have_text("live")
        port = int(url.rsplit(":", 1)[1])
    expect(page.locator("#away")).to_contain_text("has not answered since")
    with dashboards.listening(dashboard.app, port):
        expect(page.locator("#away")).to_be_hidden()
        expect(page.locator("#live")).to_have_text("live")


def test_no_page_is_wider_than_a_telephone(visit: Callable[..., Visit]) -> None:
    dashboard = served(dashboards.ChangingNode(_view()))
    with dashboards.listening(dashboard.app) as url:
        page = visit(color_scheme="dark", viewport={"width": 400, "height": 800}).page
        page.goto(dashboard.link(url).url)
        for path in ("/", "/pods", "/pods/team/big", "/pods/team/big/ways-out/1"):
            page.goto(url + path)
            assert page.evaluate("document.documentElement.scrollWidth") <= 400, path
            assert browsers.violations(page) == [], path


def test_the_keyboard_alone_reaches_a_refused_pod(page: Page) -> None:
    dashboard = served(dashboards.ChangingNode(_view()))
    with dashboards.listening(dashboard.app) as url:
        page.goto(dashboard.link(url).url)
        page.keyboard.press("Tab")
        expect(page.locator(".skip")).to_be_focused()
        link = page.locator(".rejected a").first
        for _ in range(40):
            if link.evaluate("each => each === document.activeElement"):
                break
            page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        expect(page.locator("h1")).to_have_text("team/big")
