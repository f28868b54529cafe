"""An agent that can open no more files says so, goes on with what it has, and recovers."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import itertools
import json
import resource
import signal
import socket
import time
from pathlib import Path
from typing import Any

import pytest

from numalet.agent.controller import shortage
from numalet.agent.controller.manifests import ManifestFolder
from numalet.agent.controller.shortage import NOTE, Shortage
from numalet.agent.controller.wiring import utc_now
from numalet.agent.telemetry.metrics import ACCEPT_PAUSES
from numalet.core.model.findings import Finding
from numalet.io.files import folder_news
from running import agent_processes
from running.agent_processes import PATIENCE_SECONDS, AgentProcess

MACHINE = ("--runtime", "fake", "-m", "2n8c1t", "--memory-per-node", "16Gi")
MANY = 40
FREE = 8
STATES = "/apis/numalet.dev/v1alpha1/nodestates"
MANIFEST = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "late"},
    "spec": {"containers": [{"name": "main", "command": ["serve"]}], "restartPolicy": "Never"},
}


class OnSocket(http.client.HTTPConnection):
    """A client of the agent's socket that stays connected."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=PATIENCE_SECONDS)
        self.path = path

    def connect(self) -> None:
        """Over the Unix socket."""
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(PATIENCE_SECONDS)
        self.sock.connect(str(self.path))

    def got(self, path: str) -> str:
        """The body of a good answer."""
        self.request("GET", path)
        response = self.getresponse()
        body = response.read().decode()
        assert response.status == 200, body
        return body


def _pods(client: OnSocket) -> set[str]:
    items = json.loads(client.got("/api/v1/pods"))["items"]
    return {item["metadata"]["name"].partition("-")[0] for item in items}


def _await_pod(client: OnSocket, name: str) -> None:
    until = time.monotonic() + PATIENCE_SECONDS
    while name not in _pods(client):
        assert time.monotonic() < until, "in vain"
        time.sleep(0.05)


def _limit_of(pid: int, free: int) -> int:
    """The limit with which a process can open so many files more; it may have high ones open."""
    taken = {int(each.name) for each in Path(f"/proc/{pid}/fd").iterdir()}
    numbers = (number for number in itertools.count() if number not in taken)
    return next(itertools.islice(numbers, free, None))


@pytest.mark.slow
def test_an_agent_at_its_limit_of_files_says_so_and_recovers(tmp_path: Path) -> None:
    root, manifests = tmp_path / "root", tmp_path / "manifests"
    manifests.mkdir()
    words = ("agent", "--root", str(root), "--manifests", str(manifests), *MACHINE)
    with agent_processes.forks() as starter:
        agent = AgentProcess(starter, (*words, "--log-format", "json"))
        try:
            agent.heard(lambda line: bool(line["msg"] == "Agent is ready"))
            with contextlib.closing(OnSocket(root / "agent.sock")) as kept:
                assert _pods(kept) == set()
                limit = _limit_of(agent.pid, FREE)
                resource.prlimit(agent.pid, resource.RLIMIT_NOFILE, (limit, limit))
                with contextlib.ExitStack() as crowd:
                    for _ in range(MANY):
                        crowd.enter_context(socket.socket(socket.AF_UNIX)).connect(str(kept.path))
                    line = agent.heard(lambda line: line.get("code") == NOTE)[-1]
                    assert not agent.is_over, agent.said
                    assert f"{limit} files" in line["msg"]
                    # Who is connected already is answered.
                    assert _pods(kept) == set()
                    (manifests / "late.json").write_text(json.dumps(MANIFEST))
                with contextlib.closing(OnSocket(root / "agent.sock")) as fresh:
                    _await_pod(fresh, "late")
                    page = fresh.got("/metrics")
                    (state,) = json.loads(fresh.got(STATES))["items"]
            (count,) = [row for row in page.splitlines() if row.startswith(ACCEPT_PAUSES)]
            assert float(count.split()[1]) >= 1
            assert f"process_max_fds {float(limit)}" in page
            assert NOTE in json.dumps(state)
        finally:
            assert agent.end(signal.SIGTERM) == 0


class Clocked(asyncio.SelectorEventLoop):
    """A loop whose time is what a test says; ``others`` is what it was left to handle itself."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.others: list[dict[str, Any]] = []

    def time(self) -> float:
        """What the test says."""
        return self.now

    def default_exception_handler(self, context: dict[str, Any]) -> None:
        """Remember it."""
        self.others.append(context)


def test_a_pause_is_counted_once_and_logged_once_a_minute() -> None:
    found: list[Finding] = []
    loop = Clocked()
    short = Shortage(found.append, _now=loop.time)
    context = {"exception": OSError(24, "Too many open files"), "socket": object()}
    assert short.notes() == ()
    for loop.now in (0.0, 0.0, 0.1, 1.0, 30.0, 60.0):
        short.handle(loop, context)
    assert short.counted().of(ACCEPT_PAUSES) == 4
    assert [each.code for each in found] == [NOTE, NOTE]
    assert short.notes() == (NOTE,)
    loop.now += shortage.NOTED_SECONDS
    assert short.notes() == ()
    others: list[dict[str, Any]] = [{"message": "x"}, {"exception": OSError(24, "no socket")}]
    for other in others:
        short.handle(loop, other)
    assert (loop.others, short.counted().of(ACCEPT_PAUSES)) == (others, 4)
    loop.close()


@pytest.mark.slow
async def test_a_folder_that_could_not_be_read_is_read_again_soon(tmp_path: Path) -> None:
    """Nothing in the folder changes when files can be opened again: only the clock helps."""
    (tmp_path / "late.json").write_text(json.dumps(MANIFEST))
    before = resource.getrlimit(resource.RLIMIT_NOFILE)

    # What is needed to wait is in memory from here on, as it is in an agent.
    await folder_news.wait([tmp_path], 0.01)
    folder = ManifestFolder(tmp_path, "node-a", utc_now, runs_here=False, full_read_seconds=3600.0)
    looks = folder.readings()
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, before[1]))
        found = [await anext(looks), await anext(looks)]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert [bool(each.broken) for each in found] == [True, False]
    assert [len(each.unreadable) for each in found] == [1, 1]
    async with asyncio.timeout(PATIENCE_SECONDS):
        (workload,) = (await anext(looks)).workloads
    assert workload.pod.name == "late-node-a"
