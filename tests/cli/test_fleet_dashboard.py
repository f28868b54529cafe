"""``numalet fleet dashboard`` as a process: a dump or a cluster behind a link that works once."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from http.cookiejar import CookieJar
from pathlib import Path

import httpx
import pytest

from cli.commands import Runner
from running import fake_api_server
from values import gpu_dump, gpu_fleet

_COLLECTIONS = {
    "Node": "/api/v1/nodes",
    "Pod": "/api/v1/namespaces/default/pods",
    "NumaNode": "/apis/numalet.dev/v1alpha1/numanodes",
    "NumaNodeClass": "/apis/numalet.dev/v1alpha1/numanodeclasses",
}
_PATIENCE_SECONDS = 120


def test_a_dump_until_ctrl_c(tmp_path: Path) -> None:
    dump = tmp_path / "dump.json"
    gpu_dump.write_three_nodes(dump)
    command = [sys.executable, "-m", "numalet", "fleet", "dashboard", "--dump", str(dump)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            link = process.stdout.readline().strip()
            browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
            with browser.open(link, timeout=60) as answer:
                assert answer.status == 200
            base = link.partition("/login")[0]
            with browser.open(f"{base}/fleet", timeout=60) as answer:
                page = answer.read().decode()
            assert "<strong>dump.json</strong>, written at" in page
            for name in ("gpu-1", "gpu-2", "gpu-3"):
                assert f'data-node="{name}"' in page
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=120)
        finally:
            process.kill()
    assert process.returncode == 0
    assert "Traceback" not in said


def test_a_dump_that_is_not_there_is_refused(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "numalet", "fleet", "dashboard", "--dump"]
    done = subprocess.run(
        [*command, str(tmp_path / "none.json")],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 2
    assert "none.json" in done.stderr


@pytest.mark.slow
async def test_a_cluster_is_followed(tmp_path: Path) -> None:
    async with fake_api_server.running() as server:
        for each in gpu_dump.objects(gpu_fleet.cluster([gpu_fleet.running("gpu-1", [])])):
            server.put(f"{_COLLECTIONS[each['kind']]}/{each['metadata']['name']}", each)
        config = str(server.write_kubeconfig(tmp_path / "kubeconfig"))
        command = ["-m", "numalet", "fleet", "dashboard", "--kubeconfig", config]
        process = await asyncio.create_subprocess_exec(
            sys.executable, *command, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        try:
            assert process.stdout is not None
            link = (await process.stdout.readline()).decode().strip()
            async with httpx.AsyncClient(timeout=60, follow_redirects=True) as browser:
                assert (await browser.get(link)).status_code == 200
                page = f"{link.partition('/login')[0]}/fleet"
                before = (await browser.get(page)).text
                assert 'data-node="gpu-1"' in before
                assert "stays as it is" not in before
                for each in gpu_dump.objects(gpu_fleet.cluster([gpu_fleet.running("gpu-2", [])])):
                    path = f"{_COLLECTIONS[each['kind']]}/{each['metadata']['name']}"
                    server.put(path, each)
                await _until(browser, page, lambda text: 'data-node="gpu-2"' in text)
                await server.stop()
                await _until(browser, page, lambda text: "as it was at" in text)
                await server.start()
                await _until(browser, page, lambda text: "as it was at" not in text)
            process.send_signal(signal.SIGINT)
            _, said = await asyncio.wait_for(process.communicate(), _PATIENCE_SECONDS)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
    assert process.returncode == 0
    assert b"Traceback" not in said


async def _until(browser: httpx.AsyncClient, page: str, holds: Callable[[str], bool]) -> None:
    """Ask for the page after every event, until it holds."""
    events = page.removesuffix("/fleet") + "/events"
    async with asyncio.timeout(_PATIENCE_SECONDS), browser.stream("GET", events) as stream:
        async for line in stream.aiter_lines():
            if line.startswith("data:") and holds((await browser.get(page)).text):
                return
    raise AssertionError("the events have ended")


def test_the_help_speaks_of_the_cluster_and_of_no_simulated_node(numalet: Runner) -> None:
    told = " ".join(numalet("fleet", "dashboard", "--help").out.split())
    assert "Where to serve the pages" in told
    assert "simulated" not in told
