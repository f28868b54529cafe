"""Every page of a node: in the dark and in light, on a telephone, and with the keyboard alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest
from playwright.sync_api import Page, expect

from browser.conftest import Photograph
from numalet.dashboard import history_points
from numalet.dashboard.application import application
from numalet.dashboard.sources import NodeView
from running import browsers, dashboards
from running.browsers import Visit
from values import shown_nodes
from values.shown_nodes import GIB, guaranteed

_PAGES: Final = (
    "/", "/node", "/pods", "/pods/default/web-0", "/pods/team/big", "/pods/team/big/ways-out/1",
    "/what-if?sample=larger", "/history", "/design",
)  # fmt: skip

_DRAWN: Final = ("/node", "/pods/", "/what-if")

_STOPS: Final = """() => {
  window.stops = [...document.querySelectorAll(
    "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']"
  )].filter(each => each.checkVisibility() && !each.disabled);
  return window.stops.map(each => each.outerHTML.slice(0, 100));
}"""
"""What the keyboard has to reach, in the order of the page."""

_AT: Final = """() => {
  const style = getComputedStyle(document.activeElement);
  const isSeen = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
  return [window.stops.indexOf(document.activeElement), isSeen];
}"""
"""Which of them has the focus, and whether it is seen to have it."""


def _view() -> NodeView:
    config, node = shown_nodes.started()
    pods = [guaranteed("web-0", 12, 8 * GIB), guaranteed("web-1", 6, 4 * GIB, "team")]
    return shown_nodes.view_of(config, node, [*pods, guaranteed("big", 12, 4 * GIB, "team")])


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Where pages of a node with a refused pod are served, for all tests of this file."""
    view = _view()
    source = dashboards.ChangingNode(view)
    now = datetime.now(UTC)
    source.keep(
        [
            history_points.point(replace(view, rows=()), view, now - timedelta(minutes=5)),
            history_points.point(view, view, now),
        ]
    )
    with dashboards.listening(application(source)) as served:
        yield served


@pytest.mark.parametrize("options", browsers.KINDS.values(), ids=browsers.KINDS)
def test_all_people_can_use_it(
    visit: Callable[..., Visit], url: str, options: dict[str, Any]
) -> None:
    page = visit(**options).page
    for path in _PAGES:
        page.goto(url + path)
        width_px = options["viewport"]["width"]
        assert page.evaluate("document.documentElement.scrollWidth") <= width_px, path
        assert browsers.violations(page) == [], path


def test_the_current_page_alone_looks_current_in_forced_colours(
    visit: Callable[..., Visit], url: str
) -> None:
    page = visit(forced_colors="active").page
    page.goto(f"{url}/pods")
    marked = page.locator(".pages a").evaluate_all(
        "all => all.filter(each => parseFloat(getComputedStyle(each).borderBottomWidth))"
        ".map(each => each.textContent)"
    )
    assert marked == ["Pods"]


def test_the_head_of_a_page_is_one_line_on_a_telephone_and_says_live(
    visit: Callable[..., Visit], url: str
) -> None:
    page = visit(viewport={"width": 390, "height": 800}).page
    page.goto(f"{url}/")
    expect(page.locator("#live")).to_have_text("live")
    expect(page.locator("#live")).to_be_in_viewport(ratio=1)
    assert page.evaluate("document.querySelector('.head').offsetHeight") < 50


def test_a_page_that_is_printed_is_light_even_where_dark_colours_are_preferred(
    visit: Callable[..., Visit], url: str
) -> None:
    page = visit(color_scheme="dark").page
    page.goto(f"{url}/node")
    ground = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(ground)
    page.emulate_media(media="print")
    assert page.evaluate(ground) == "rgb(255, 255, 255)" != dark
    expect(page.locator("nav.pages")).to_be_hidden()


def test_a_page_without_script_does_not_say_that_it_is_live(
    visit: Callable[..., Visit], url: str
) -> None:
    page = visit(java_script_enabled=False).page
    page.goto(f"{url}/")
    expect(page.locator("#live")).to_have_text("not live without script")
    other = visit().page
    other.goto(f"{url}/")
    expect(other.locator("#live")).to_have_text("live")
    colour = "getComputedStyle(document.getElementById('live')).color"
    assert page.evaluate(colour) != other.evaluate(colour)


def _stops_of(page: Page) -> tuple[list[str], list[tuple[int, bool]]]:
    """What the keyboard has to reach, and what it does until it is at the end."""
    wanted: list[str] = page.evaluate(_STOPS)
    reached = []
    for _ in wanted:
        page.keyboard.press("Tab")
        number, is_seen = page.evaluate(_AT)
        reached.append((number, is_seen))
    return wanted, reached


def test_the_keyboard_reaches_everything_in_order_and_it_is_seen(page: Page, url: str) -> None:
    for path in _PAGES:
        page.goto(url + path)
        wanted, reached = _stops_of(page)
        numbers = [number for number, _ in reached]
        assert numbers == list(range(len(wanted))), (path, wanted)
        assert [wanted[number] for number, is_seen in reached if not is_seen] == [], path


def test_enter_opens_what_has_the_focus(page: Page, url: str) -> None:
    page.goto(f"{url}/pods")
    page.get_by_role("link", name="default/web-0").focus()
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("default/web-0")
    page.goto(f"{url}/pods/team/big")
    page.get_by_role("link", name="Show what it would look like").first.focus()
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_contain_text("with this change")


def test_the_address_of_the_table_of_pods_says_filter_and_order(page: Page, url: str) -> None:
    names = page.locator("table.pods tbody th")
    page.goto(f"{url}/pods?namespace=team&sort=pod&order=down")
    expect(names).to_have_text(["team/web-1", "team/big"])
    page.get_by_role("link", name="Pod", exact=False).and_(page.locator("thead a")).first.click()
    expect(names).to_have_text(["team/big", "team/web-1"])
    assert "namespace=team" in page.url
    # A choice counts at once where the script is there; before that, with the button.
    expect(page.locator("#live")).to_have_text("live")
    page.get_by_label("Status").select_option("Rejected")
    expect(names).to_have_text(["team/big"])
    page.reload()
    expect(names).to_have_text(["team/big"])
    expect(page.get_by_label("Status")).to_have_value("Rejected")


def test_a_new_namespace_can_be_chosen_at_once(page: Page) -> None:
    """The choices of a filter follow the node; the focus and the choice of the reader stay."""
    view = _view()
    source = dashboards.ChangingNode(view)
    with dashboards.listening(application(source)) as address:
        page.goto(f"{address}/pods")
        choice = page.get_by_label("Namespace")
        choice.focus()
        choice.select_option("team")
        rows = page.locator("table.pods tbody tr")
        expect(rows).to_have_count(2)
        expect(page.locator("#live")).to_have_text("live")
        moved = replace(view.rows[0], pod=replace(view.rows[0].pod, namespace="added"))
        source.show(replace(view, revision=2, rows=(moved, *view.rows[1:])))
        expect(choice.locator("option")).to_have_text(["any", "added", "team"])
        expect(choice).to_have_value("team")
        assert page.evaluate("document.activeElement.name") == "namespace"
        # What is chosen stays to be seen, even where no pod is like that any more.
        source.show(replace(view, revision=3, rows=view.rows[:1]))
        expect(rows).to_have_count(0)
        expect(choice).to_have_value("team")
        assert page.evaluate("document.activeElement.name") == "namespace"
        choice.select_option("default")
        expect(rows).to_have_count(1)
        expect(choice.locator("option")).to_have_text(["any", "default"])


@pytest.mark.parametrize("path", [each for each in _PAGES if each.startswith(_DRAWN)])
def test_a_telephone_gets_the_narrow_drawing_by_itself(
    url: str, visit: Callable[..., Visit], photograph: Photograph, path: str
) -> None:
    page = visit(viewport={"width": 390, "height": 844}).page
    page.goto(url + path)
    drawing = page.locator("svg.node").first
    expect(drawing).to_have_attribute("viewBox", re.compile(r"-1 -1 366 "))
    assert page.url.endswith("width=narrow")
    box = page.locator(".drawing").first
    assert box.evaluate("box => box.scrollWidth <= box.clientWidth")
    photograph(page, f"narrow{path.replace('/', '-')}")
    # The reader can have the wide one, and it stays wide.
    page.get_by_role("link", name="Draw it wide").click()
    expect(drawing).to_have_attribute("viewBox", re.compile(r"-1 -1 962 "))
    assert page.url.endswith("width=wide")
