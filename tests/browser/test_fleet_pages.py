"""Pages of a fleet: in the dark and in light, wide and on a telephone, for all people."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import pytest
from playwright.sync_api import Page, expect

from browser.conftest import Photograph
from numalet.cluster.following import StillFleet
from numalet.dashboard.application import application
from running import browsers, dashboards
from running.browsers import Visit
from values import gpu_fleet
from values.gpu_fleet import split_fleet

_PAGES: Final = ("/fleet", "/fleet?pod=gpu:+4,+cpu:+32", "/fleet/nodes/split")


@pytest.mark.parametrize("options", browsers.KINDS.values(), ids=browsers.KINDS)
def test_all_people_can_use_it(visit: Callable[..., Visit], options: dict[str, Any]) -> None:
    fleet = split_fleet()
    nodes = [fleet.nodes[name] for name in ("split", "seven")]
    cluster = gpu_fleet.cluster(nodes, [gpu_fleet.pod("waits", 4)], {})
    page = visit(**options).page
    with dashboards.listening(application(None, StillFleet(cluster))) as url:
        for path in _PAGES:
            answer = page.goto(url + path)
            assert answer is not None
            assert answer.status == 200, path
            width_px = options["viewport"]["width"]
            assert page.evaluate("document.documentElement.scrollWidth") <= width_px, path
            assert browsers.violations(page) == [], path


_CUT: Final = """[...document.querySelectorAll(".fleet table, .fleet .drawn")]
  .filter((each) => each.scrollWidth > each.clientWidth || !each.clientHeight).length"""


def test_paper_has_every_column_and_the_shapes_that_were_asked_about(page: Page) -> None:
    pods = [gpu_fleet.pod(uid, 2) for uid in "abcd"]
    cluster = gpu_fleet.cluster(
        [gpu_fleet.running("a-node-with-a-long-name.rack-7.example.com", pods, gone="ac")],
        [gpu_fleet.pod("waits", 4)],
    )
    with dashboards.listening(application(None, StillFleet(cluster))) as url:
        page.set_viewport_size({"width": 718, "height": 1000})
        page.goto(f"{url}/fleet?resource=cpu&find=&pod=gpu:+1")
        page.emulate_media(media="print")
        assert page.locator("details table").is_visible()
        assert page.evaluate(_CUT) == 0
        assert page.evaluate("document.documentElement.scrollWidth") <= 718


def test_the_keyboard_alone_asks_whether_a_pod_fits_and_opens_a_node(page: Page) -> None:
    name = "node-7.rack.example.com"
    cluster = gpu_fleet.cluster([gpu_fleet.running(name, [])])
    with dashboards.listening(application(None, StillFleet(cluster))) as url:
        page.goto(f"{url}/fleet")
        _tab_to(page, "#pod")
        page.keyboard.type("gpu: 1, cpu: 4, memory: 32Gi")
        page.keyboard.press("Tab")
        page.keyboard.type("1")
        page.keyboard.press("Enter")
        expect(page.locator("#fit h3")).to_contain_text("1 of 1 fit")
        assert browsers.violations(page) == []
        _tab_to(page, f"svg a[href$='{name}']")
        page.keyboard.press("Enter")
        expect(page.locator("h1")).to_have_text(name)


def _tab_to(page: Page, selector: str) -> None:
    """Press the key until this element has the focus."""
    for _ in range(100):
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
        page.keyboard.press("Tab")
    raise AssertionError(selector)


def test_what_must_go_is_one_button_away(page: Page, photograph: Photograph) -> None:
    cluster = gpu_fleet.cluster(
        [
            gpu_fleet.running("m", [gpu_fleet.pod("x", 4), gpu_fleet.pod("y", 2)]),
            gpu_fleet.running("n", [gpu_fleet.pod(uid, 2) for uid in "abcd"], gone="ac"),
        ]
    )
    with dashboards.listening(application(None, StillFleet(cluster))) as url:
        page.goto(f"{url}/fleet")
        page.locator("#pod").fill("gpu: 4, cpu: 16, memory: 128Gi")
        page.get_by_role("button", name="Plan what must go").click()
        expect(page.locator("#fit h3")).to_contain_text("1 pod must go on m")
        steps = page.locator("#fit table").nth(1).locator("tbody tr")
        expect(steps).to_have_count(3)
        expect(steps.nth(1)).to_contain_text("admit")
        expect(page.locator("#pod")).to_have_value("gpu: 4, cpu: 16, memory: 128Gi")
        assert browsers.violations(page) == []
        photograph(page, "fleet-plan")
        page.set_viewport_size({"width": 390, "height": 844})
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        photograph(page, "fleet-plan-390")
        page.goto(f"{url}/fleet/nodes/n")
        expect(page.locator("svg.node")).to_have_attribute("viewBox", re.compile("-1 -1 366 "))
        expect(page.locator("tr[data-pod=b]")).to_contain_text("(8)")
        photograph(page, "fleet-node-390")
