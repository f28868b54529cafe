"""Every page that a command writes, opened from the disk in a browser without a network."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Page, Request, expect

from cli.commands import EXAMPLES
from numalet.cli import main
from running import browsers, kubelet_node
from running.browsers import Visit

_MACHINE: Final = ("-m", "2n16c2t", "--memory-per-node", "64Gi")
_KUBELET: Final = ("-m", "2n8c1t", "--memory-per-node", "16Gi")
_PODS: Final = ("-c", "kubelet.yaml", *_MACHINE, "pods.yaml")
_COMMANDS: Final = {
    "machine": ("machine", "profile:dgx-h100"),
    "simulate": ("simulate", *_PODS),
    "explain": ("explain", *_PODS, "--pod", "analytics"),
    "what-if": ("what-if", *_PODS),
    "state show": ("state", "show", "after", *_KUBELET),
    "state diff": ("state", "diff", "before", "after", *_KUBELET),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The inputs of the tutorial, and state files before and after a pod came."""
    shutil.copytree(EXAMPLES.parent / "tutorial", tmp_path, dirs_exist_ok=True)
    kubelet = kubelet_node.made(tmp_path / "kubelet")
    kubelet.admit("one")
    shutil.copytree(kubelet.root, tmp_path / "before")
    kubelet.admit("two")
    shutil.copytree(kubelet.root, tmp_path / "after")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", _COMMANDS)
def test_a_page_opens_without_a_network(
    name: str, folder: Path, visit: Callable[..., Visit], capsys: pytest.CaptureFixture[str]
) -> None:
    page = folder / "page.html"
    assert main.run([*_COMMANDS[name], "--html", str(page)]) in (0, 1)
    capsys.readouterr()
    for scheme, width_px in (("light", 1280), ("dark", 400)):
        shown = visit(
            offline=True, color_scheme=scheme, viewport={"width": width_px, "height": 900}
        ).page
        assert _asked_by(shown, page.as_uri()) == [page.as_uri()]
        assert shown.locator("svg").count() > 0
        assert shown.evaluate("document.documentElement.scrollWidth") <= width_px
        assert browsers.violations(shown) == []
        if name == "simulate":
            _finds(shown)
        assert _lights_up(shown) is (shown.locator("tr[data-pod]").count() > 0)
    shown.set_viewport_size(browsers.PAPER)
    shown.emulate_media(media="print")
    assert [shown.evaluate(browsers.CUT_OFF), shown.evaluate(browsers.BROKEN)] == [[], []]


def _asked_by(page: Page, address: str) -> list[str]:
    """What is asked for when this address is opened."""
    asked: list[str] = []

    def note(request: Request) -> None:
        asked.append(request.url)

    page.on("request", note)
    page.goto(address)
    return asked


def _lights_up(page: Page) -> bool:
    """Whether what a pod holds lights up when its line of a table has the focus."""
    lines = page.locator("tr[data-pod][tabindex]")
    if not lines.count():
        return False
    lines.first.focus()
    uid = lines.first.get_attribute("data-pod")
    lit = page.locator(f"svg [data-pod='{uid}'].lit").count()
    return lit > 0 and page.locator(".some-lit").count() > 0


def _finds(page: Page) -> None:
    """Type a CPU, a pod, and what is not there."""
    page.locator("#find").fill("cpu 3")
    expect(page.locator("rect.sought")).to_have_count(2)
    expect(page.locator("#found")).to_contain_text("CPU 3 ")
    page.locator("#find").fill("cache")
    expect(page.locator("#found")).to_contain_text("default/cache")
    expect(page.locator("rect.found.sought").first).to_be_visible()
    page.locator("#find").fill("nobody")
    expect(page.locator("#found")).to_have_text("Nothing on this page is called nobody.")
    page.locator("#find").fill("")
    expect(page.locator("#found")).to_have_text("")
    assert page.locator(".sought").count() == 0
