"""``numalet dashboard``: a simulated node or a kubelet's served on loopback; what it refuses."""

from __future__ import annotations

import asyncio
import http.client
import json
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from cli.commands import DOCUMENTED, GUARANTEED, Runner
from numalet.agent.controller import wiring
from numalet.cli import dashboard_links, dashboard_serving
from numalet.cli.dashboard_links import LinkFormat
from numalet.dashboard.sources import NodeSource
from numalet.io import kubelets
from numalet.io.agent_client import places
from running import agents, kubelet_node


@contextmanager
def _served(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The command at work, and the link that it printed."""
    command = [sys.executable, "-m", "numalet", "dashboard", *arguments]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


def _get(url: str, cookie: str = "") -> http.client.HTTPResponse:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=60)
    path = f"{parts.path}?{parts.query}" if parts.query else parts.path
    connection.request("GET", path, headers={"Cookie": cookie} if cookie else {})
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer


def _asked(url: str, cookie: str) -> urllib.request.Request:
    return urllib.request.Request(url, headers={"Cookie": cookie})


def _text(url: str, cookie: str) -> str:
    """A page of a session."""
    with urllib.request.urlopen(_asked(url, cookie), timeout=60) as answer:
        return str(answer.read().decode())


def test_a_simulated_node_until_ctrl_c() -> None:
    with _served(*DOCUMENTED, "--node-name", "node-a", GUARANTEED) as (process, link):
        assert urlsplit(link).hostname == "127.0.0.1"
        base = link.partition("/login")[0]
        assert _get(f"{base}/").status == 401
        opened = _get(link)
        assert opened.status == 303
        cookie = (opened.getheader("set-cookie") or "").partition(";")[0]
        assert _get(f"{base}/", cookie).status == 200
        assert _get(link).status == 403
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=120)
        assert process.returncode == 0
        assert "within 5 minutes" in said
        assert "Traceback" not in said


@pytest.mark.parametrize("address", ["0.0.0.0:0", "10.1.2.3:80", "[::]:0", "node7:8080"])
def test_others_can_not_connect_without_a_certificate(numalet: Runner, address: str) -> None:
    ended = numalet("dashboard", "-m", "1n2c", "--listen", address)
    assert ended.status == 2
    assert "loopback" in ended.err


@pytest.mark.parametrize("address", ["x", "127.0.0.1:99999", ":", "127.0.0.1:"])
def test_no_address(numalet: Runner, address: str) -> None:
    ended = numalet("dashboard", "-m", "1n2c", "--listen", address)
    assert ended.status == 2
    assert "--listen" in ended.err


def test_no_agent_and_no_machine(numalet: Runner, tmp_path: Path) -> None:
    ended = numalet("dashboard", "--root", str(tmp_path))
    assert ended.status == 2
    assert "no agent" in ended.err


@pytest.mark.slow
def test_a_kubelet_without_an_agent_is_followed_until_ctrl_c(tmp_path: Path) -> None:
    kubelet = kubelet_node.made(tmp_path / "k")
    kubelet.admit("one")
    words = ("-m", "2n8c1t", "--memory-per-node", "16Gi", "--kubelet-root", str(kubelet.root))
    with _served(*words) as (process, link):
        base = link.partition("/login")[0]
        cookie = (_get(link).getheader("set-cookie") or "").partition(";")[0]
        assert "uid-one" in _text(f"{base}/pods", cookie)
        first = _text(f"{base}/", cookie)
        assert "kubectl get events" in first
        # The files of a kubelet do not name its node.
        assert '<strong class="name">root</strong>' in first
        with urllib.request.urlopen(_asked(f"{base}/events", cookie), timeout=120) as events:
            kubelet.admit("two")
            while "uid-two" not in _text(f"{base}/pods", cookie):
                assert events.readline()
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=120)
        assert process.returncode == 0
        assert "Traceback" not in said


@pytest.mark.parametrize(
    ("given", "word"),
    [
        (("--socket", "agent.sock"), "--socket or --root"),
        (("--native",), "--native"),
        (("pods.yaml",), "pods.yaml"),
        (("--cpu-manager-policy", "none"), "--cpu-manager-policy"),
    ],
)
def test_what_can_not_go_with_a_kubelet(
    numalet: Runner, tmp_path: Path, given: tuple[str, ...], word: str
) -> None:
    kubelet = kubelet_node.made(tmp_path / "k")
    ended = numalet("dashboard", "--kubelet-root", str(kubelet.root), *given)
    assert ended.status == 2
    assert f"--kubelet-root cannot be combined with {word}" in ended.err


def test_no_kubelet_in_the_folder(numalet: Runner, tmp_path: Path) -> None:
    ended = numalet("dashboard", "--kubelet-root", str(tmp_path))
    assert ended.status == 2
    assert f"no kubelet runs in {tmp_path}" in ended.err


def test_without_an_agent_it_is_the_kubelet_of_this_machine(
    numalet: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served: list[str] = []

    async def opened(node: AbstractAsyncContextManager[NodeSource]) -> None:
        async with node as source:
            served.append(source.view().kind.value)

    def serve(node: AbstractAsyncContextManager[NodeSource], *_: object, **__: object) -> None:
        asyncio.run(opened(node))

    kubelet = kubelet_node.made(tmp_path / "k")
    monkeypatch.setattr(places, "default_root", lambda: tmp_path / "no-agent")
    monkeypatch.setattr(dashboard_serving, "serve", serve)
    monkeypatch.setattr(kubelets, "ROOT", tmp_path / "no-kubelet")
    refused = numalet("dashboard")
    assert (refused.status, served) == (2, [])
    assert "no agent" in refused.err
    monkeypatch.setattr(kubelets, "ROOT", kubelet.root)
    ended = numalet("dashboard")
    assert (ended.status, served) == (0, ["observing"])
    assert f"no agent answers; showing the kubelet in {kubelet.root}" in ended.err


async def test_an_agent_serves_its_pages_where_it_does(numalet: Runner, tmp_path: Path) -> None:
    settings = agents.settings(tmp_path, kube_api="0")
    async with agents.running(settings) as agent, wiring.served(agent.controller, settings):
        words = ("dashboard", "--root", str(tmp_path), "--listen", "8080")
        ended = await asyncio.to_thread(numalet, *words)
    assert ended.status == 2
    assert "leave it out" in ended.err


def test_an_agent_and_a_machine(numalet: Runner, tmp_path: Path) -> None:
    ended = numalet("dashboard", "--root", str(tmp_path), "-m", "1n2c")
    assert ended.status == 2
    assert "--machine cannot be combined with --socket or --root" in ended.err


def test_a_link_for_people_and_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    link = dashboard_links.of_answer({"url": "https://x/", "seconds": 300, "fingerprint": "AB:CD"})
    dashboard_links.say(link, LinkFormat.TEXT, is_opened=False)
    out, err = capsys.readouterr()
    assert out == "https://x/\n"
    assert "AB:CD" in err
    dashboard_links.say(link, LinkFormat.JSON, is_opened=False)
    out, err = capsys.readouterr()
    assert json.loads(out) == {"url": "https://x/", "seconds": 300, "fingerprint": "AB:CD"}
    assert err == ""


def test_a_kubelet_that_would_not_start(numalet: Runner) -> None:
    ended = numalet("dashboard", "-m", "1n2c", "--memory-manager-policy", "Static")
    assert ended.status == 2
    assert "would not start" in ended.err
