"""The dashboard of a kubelet without an agent, as the command serves it, in a browser."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from playwright.sync_api import Page, expect

from running import agents, browsers, kubelet_node


def test_pods_come_with_the_state_files_and_what_is_not_known_is_said(
    page: Page, tmp_path: Path
) -> None:
    kubelet = kubelet_node.made(tmp_path)
    kubelet.admit("one")
    shape = agents.SHAPE
    machine = ("-m", str(shape.text), "--memory-per-node", str(shape.memory_per_node))
    command = [sys.executable, "-m", "numalet", "dashboard", *machine]
    with subprocess.Popen(
        [*command, "--kubelet-root", str(kubelet.root)], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            link = process.stdout.readline().strip()
            base = link.partition("/login")[0]
            page.goto(link)
            expect(page.locator("header")).to_contain_text("observing")
            expect(page.locator("main")).to_contain_text("a kubelet keeps no record")
            expect(page.locator("#live")).to_have_text("live")
            assert browsers.violations(page) == []
            page.goto(f"{base}/pods")
            rows = page.locator("table.pods tbody tr")
            expect(rows).to_have_count(1)
            expect(page.locator("#live")).to_have_text("live")
            kubelet.admit("two")
            expect(rows).to_have_count(2)
            assert browsers.violations(page) == []
            page.get_by_role("link", name="uid-two").click()
            expect(page.locator("main")).to_contain_text("kubectl logs")
            assert browsers.violations(page) == []
            page.goto(f"{base}/history")
            expect(page.locator("main")).to_contain_text("Rejections are not known")
        finally:
            process.kill()
