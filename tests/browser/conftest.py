"""Tests in a real Chromium run where they are asked for: ``make browser``.

With ``NUMALET_REQUIRE_BROWSER=1`` a missing browser is a failure. The browser is started once, and
every page has a context of its own. ``NUMALET_SCREENSHOTS`` names a folder for pictures of pages.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from playwright.sync_api import Browser, Page

from running import browsers, suites
from running.browsers import Visit

Open: TypeAlias = Callable[..., Visit]
"""Opens a page; arguments are those of a context of playwright."""
Photograph: TypeAlias = Callable[[Page, str], None]
"""Takes a picture of a page, under this name."""


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A browser on a machine that has one; else the tests are skipped, or fail."""
    suites.skip_unless_asked("BROWSER", "it starts a browser: make browser")
    if browsers.program() is None:
        suites.can_not_run("BROWSER", "chromium is not installed")
    with browsers.running() as started:
        yield started


@pytest.fixture
def visit(browser: Browser) -> Iterator[Open]:
    """Opens pages; at the end none of them may have done what no page may do."""
    visits: list[Visit] = []
    with ExitStack() as stack:

        def opened(**options: Any) -> Visit:
            visits.append(stack.enter_context(browsers.visit(browser, **options)))
            return visits[-1]

        yield opened
        assert [trouble for each in visits for trouble in each.unexpected()] == []


@pytest.fixture
def page(visit: Open) -> Page:
    """A page of 1,280 by 800 px in light colours."""
    return visit(viewport={"width": 1280, "height": 800}).page


@pytest.fixture
def photograph() -> Photograph:
    """Keeps a picture of the whole page where a folder for them is named."""
    folder = os.environ.get("NUMALET_SCREENSHOTS", "")

    def kept(shown: Page, name: str) -> None:
        if folder:
            shown.screenshot(path=Path(folder, f"{name}.png"), full_page=True)

    return kept
