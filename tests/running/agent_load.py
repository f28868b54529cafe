"""A load on a real agent: clients that submit pods as fast as they are answered.

Closed loop: each client has one request open. A create is answered after the decision is on the
disk, so its duration is the time from submitting to decided. The clients are tasks of one thread
that speak HTTP by hand: threads would wait for each other's turn with the interpreter, and what
is measured would be that.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from numalet.io.agent_client.client import AgentClient, AgentRefused
from running import process_costs
from servers.pods import pod

CLIENTS: Final = 16
PODS: Final = 1000
MACHINE: Final = ("-m", "2n16c2t", "--memory-per-node", "128Gi")
_PODS_PATH: Final = "/api/v1/namespaces/default/pods"


@dataclass(frozen=True)
class RunningAgent:
    """An agent in a process of its own."""

    socket: Path
    pid: int

    def memory_bytes(self) -> int:
        """The largest part of it that was in memory so far."""
        return process_costs.most_memory_bytes(self.pid)

    def cpu_seconds(self) -> float:
        """CPU time it has used."""
        return process_costs.cpu_seconds(self.pid)

    def idle_cpu(self, seconds: float) -> float:
        """The part of a CPU that it uses while nobody asks for anything."""
        before, began = self.cpu_seconds(), time.monotonic()
        threading.Event().wait(seconds)
        return (self.cpu_seconds() - before) / (time.monotonic() - began)


@contextlib.contextmanager
def agent(root: Path, *options: str, machine: Sequence[str] = MACHINE) -> Iterator[RunningAgent]:
    """An agent over a described machine, whose programs are only told of."""
    socket, log = root / "agent.sock", root.parent / "agent.log"
    command = [sys.executable, "-m", "numalet", "agent", "--runtime", "fake", *machine]
    with (
        log.open("wb") as errors,
        subprocess.Popen([*command, "--root", str(root), *options], stderr=errors) as process,
    ):
        try:
            deadline = time.monotonic() + 180
            while not _is_ready(socket):
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < deadline, log.read_text()
                threading.Event().wait(0.02)
            yield RunningAgent(socket, process.pid)
        finally:
            process.terminate()
            process.wait(120)


def _is_ready(socket: Path) -> bool:
    from numalet.core.model.findings import BadInput

    with AgentClient(socket) as client, contextlib.suppress(BadInput, AgentRefused):
        return client.text("/readyz") == "ok"
    return False


@dataclass
class Load:
    """What the clients saw."""

    durations: list[float] = field(default_factory=list)
    rejected: int = 0
    deleted: int = 0
    took_seconds: float = 0.0
    troubles: list[str] = field(default_factory=list)

    def at(self, part: float) -> float:
        """The duration within which this part of all creates was answered, in seconds."""
        ordered = sorted(self.durations)
        return ordered[min(len(ordered) - 1, int(len(ordered) * part))]

    def __str__(self) -> str:
        return (
            f"{len(self.durations)} pods by {CLIENTS} clients in {self.took_seconds:.2f} s:"
            f" p50 {self.at(0.5) * 1e3:.1f} ms, p99 {self.at(0.99) * 1e3:.1f} ms,"
            f" {self.rejected} rejected, {self.deleted} deleted"
        )


def put(on: RunningAgent, pods: int = PODS) -> Load:
    """Submit so many pods from all clients, and delete half of them at random."""
    load, began = Load(), time.perf_counter()
    asyncio.run(_all_clients(on.socket, pods // CLIENTS, load))
    load.took_seconds = time.perf_counter() - began
    return load


async def _all_clients(socket: Path, count: int, load: Load) -> None:
    async with asyncio.TaskGroup() as group:
        for number in range(CLIENTS):
            group.create_task(_client(socket, number, count, load))


async def _client(socket: Path, number: int, count: int, load: Load) -> None:
    chance = random.Random(number)
    mine: list[str] = []
    reader, writer = await asyncio.open_unix_connection(str(socket))
    try:
        for at in range(count):
            name = f"load-{number}-{at}"
            request = _request("POST", _PODS_PATH, pod(name, "256Mi", "1"))
            began = time.perf_counter()
            answer = await _answer(reader, writer, request)
            load.durations.append(time.perf_counter() - began)
            load.rejected += json.loads(answer)["status"].get("phase") == "Failed"
            mine.append(name)
            if chance.random() < 0.5:
                gone = mine.pop(chance.randrange(len(mine)))
                path = f"{_PODS_PATH}/{gone}"
                await _answer(reader, writer, _request("DELETE", path, {"gracePeriodSeconds": 0}))
                load.deleted += 1
    except Exception as error:
        load.troubles.append(repr(error))
    finally:
        writer.close()


def _request(method: str, path: str, document: Any) -> bytes:
    body = json.dumps(document).encode()
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: numalet\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def _answer(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes
) -> bytes:
    """The body of the answer; its status is 200 or 201."""
    writer.write(request)
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    length = next(
        int(line.partition(":")[2])
        for line in head.splitlines()
        if line.lower().startswith("content-length")
    )
    body = await reader.readexactly(length)
    assert head.split(maxsplit=2)[1] in ("200", "201"), body.decode()
    return body
