"""``numalet dashboard``: a simulated node served on loopback, and what it refuses."""

from __future__ import annotations

import http.client
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from cli.commands import DOCUMENTED, GUARANTEED, Runner
from numalet.cli import dashboard_links
from numalet.cli.dashboard_links import LinkFormat


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


def test_an_agent_and_a_machine(numalet: Runner, tmp_path: Path) -> None:
    ended = numalet("dashboard", "--root", str(tmp_path), "-m", "1n2c")
    assert ended.status == 2
    assert "--machine describes a simulated node" in ended.err


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
