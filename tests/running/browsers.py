"""A real Chromium, and pages in it that may ask nobody but the server of the test.

A page fails its test where it asks for anything elsewhere, where a script of it throws, and where
its console has an error; a violation of the Content-Security-Policy is one.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import resources
from typing import Any, Final
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Page, Request, ViewportSize, expect, sync_playwright

PATIENCE_MS: Final = 60_000
_NAMES: Final = ("chromium", "chromium-browser")
_LOCAL: Final = ("127.0.0.1", "localhost", "::1")
KINDS: Final[dict[str, dict[str, Any]]] = {
    f"{width_px} {name}": {"viewport": {"width": width_px, "height": 800}, **colours}
    for width_px in (390, 1280)
    for name, colours in (
        ("light", {"color_scheme": "light"}),
        ("dark", {"color_scheme": "dark"}),
        ("forced", {"forced_colors": "active"}),
    )
}
"""What every page is tried with: widths in pixels, and colours."""
_WITHOUT_A_HOST: Final = ("data", "blob", "about", "file")
PAPER: Final[ViewportSize] = {"width": 718, "height": 1046}
"""The space on A4 between margins of 10 mm, in pixels of 1/96 inch."""

CUT_OFF: Final = """() => {
  const cut = [];
  for (const each of document.querySelectorAll("main :is(td, th, li, pre, p, svg text)")) {
    const box = each.getBoundingClientRect();
    if (each.matches(".width, .find")) continue;
    if (!each.checkVisibility()) { cut.push(each); continue; }
    if (box.right > innerWidth + 1) cut.push(each);
    for (let around = each.parentElement; around; around = around.parentElement) {
      const style = getComputedStyle(around);
      if (style.overflowX === "visible" && style.overflowY === "visible") continue;
      const {right, bottom} = around.getBoundingClientRect();
      if (box.right > right + 1 || box.bottom > bottom + 1) { cut.push(each); break; }
    }
  }
  return cut.map(each => each.textContent.slice(0, 80));
}"""
"""Texts of the page that are beyond the paper, or outside of a box that cuts them off."""

BROKEN: Final = r"""() => {
  const broken = [];
  const texts = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  for (let text = texts.nextNode(); text; text = texts.nextNode()) {
    if (!text.parentElement.checkVisibility() || text.parentElement.closest("svg, pre")) continue;
    for (const {0: word, index} of text.data.matchAll(/[^\s\u200b]+/g)) {
      const whole = /^[\d,-]+$/.test(word) ? /[\d-]+,?/g : /[^/.-]+[/.-]*|[/.-]+/g;
      for (const {0: part, index: inside} of word.matchAll(whole)) {
        const range = new Range();
        range.setStart(text, index + inside);
        range.setEnd(text, index + inside + part.length);
        const lines = new Set([...range.getClientRects()].map((box) => Math.round(box.top)));
        if (lines.size > 1) broken.push(word);
      }
    }
  }
  return broken;
}"""
"""Words of the page on two lines, unless they break after a hyphen, a slash or a dot of a name."""


def program() -> str | None:
    """The Chromium of this machine."""
    return next((path for path in map(shutil.which, _NAMES) if path), None)


@contextlib.contextmanager
def running() -> Iterator[Browser]:
    """A browser without a window. In a container it can not have a sandbox of its own."""
    path = program()
    assert path is not None
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Visit:
    """One page; ``troubles`` are what no page may do. ``expected`` are parts of those it may."""

    page: Page
    troubles: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)

    def unexpected(self) -> list[str]:
        """The troubles that the test did not ask for."""
        return [each for each in self.troubles if not any(one in each for one in self.expected)]


@contextlib.contextmanager
def visit(browser: Browser, **options: Any) -> Iterator[Visit]:
    """A page in a context of its own, such as ``viewport=…, color_scheme="dark"``.

    The troubles are those of every page of the context.
    """
    context = browser.new_context(**{"ignore_https_errors": True, **options})
    context.set_default_timeout(PATIENCE_MS)
    made = Visit(context.new_page())

    def requested(request: Request) -> None:
        url = urlsplit(request.url)
        if url.scheme not in _WITHOUT_A_HOST and url.hostname not in _LOCAL:
            made.troubles.append(f"asks {request.url}")

    context.on("request", requested)
    context.on("weberror", lambda thrown: made.troubles.append(f"throws {thrown.error}"))
    context.on(
        "console",
        lambda said: made.troubles.append(f"says {said.text}") if said.type == "error" else None,
    )
    try:
        yield made
    finally:
        context.close()


def violations(page: Page) -> list[str]:
    """What axe-core says that people with assistive technology can not use: rule and elements."""
    script = resources.files("axe_core_python").joinpath("axe.min.js").read_text(encoding="utf-8")
    page.evaluate(script)
    result: dict[str, Any] = page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{each['id']} ({each['impact']}): {node['target']} {node['failureSummary']}"
        for each in result["violations"]
        for node in each["nodes"]
    ]
