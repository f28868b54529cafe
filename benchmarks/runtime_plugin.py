"""How long a container runtime waits for ``numalet nri`` at each creation, beside 60 containers.

    PYTHONPATH=tests python -m benchmarks.runtime_plugin

The runtime is the tests' own, at the other end of the socket. A creation changes the shared pool of
all other containers in the same answer.
"""

from __future__ import annotations

import random
import socket
import tempfile
import time
from collections import deque
from pathlib import Path
from typing import Final

from benchmarks import page

from numalet.io.rpc import nri_v1alpha1_pb2 as nri
from running.fake_runtime import BURSTABLE, GUARANTEED, FakeRuntime, container, request, sandbox
from running.said_program import SaidProgram

MACHINES: Final = {4: "4n16c1t", 36: "36n4c1t"}
ALIVE: Final = 60
CREATIONS: Final = 1000


def measured(shape: str) -> list[float]:
    """Milliseconds from each question to its answer, sorted."""
    with tempfile.TemporaryDirectory(prefix="nri") as folder, socket.socket(socket.AF_UNIX) as own:
        path = Path(folder, "nri.sock")
        own.bind(str(path))
        own.listen()
        own.settimeout(200)
        plugin = SaidProgram(
            *("nri", "--mode", "enforce", "-m", shape, "--memory-per-node", "16Gi"),
            *("--socket", str(path), "--root", f"{folder}/root", "--audit-seconds", "3600"),
        )
        try:
            end, _ = own.accept()
            with end:
                runtime = FakeRuntime(end)
                runtime.registration()
                runtime.answer("Configure", nri.ConfigureRequest(), nri.ConfigureResponse)
                runtime.answer("Synchronize", nri.SynchronizeRequest(), nri.SynchronizeResponse)
                runtime.accept()
                return sorted(_creations(runtime))
        finally:
            plugin.kill()


def _creations(runtime: FakeRuntime) -> list[float]:
    chance = random.Random(36)
    alive: deque[nri.ContainerRequest] = deque()
    waited = []
    for number in range(CREATIONS):
        pod = sandbox(f"p{number}", GUARANTEED if chance.random() < 0.5 else BURSTABLE)
        asked = request(pod, container(pod, cpu=1, created_at=number))
        began = time.perf_counter()
        runtime.answer("CreateContainer", asked, nri.CreateContainerResponse)
        waited.append(1000 * (time.perf_counter() - began))
        alive.append(asked)
        if len(alive) > ALIVE:
            ended = alive.popleft()
            runtime.answer("StopContainer", ended, nri.UpdatesResponse)
            runtime.answer("StopPodSandbox", request(ended.pod), nri.UpdatesResponse)
    return waited


def told() -> str:
    """The section of the page."""
    rows = []
    for count, shape in MACHINES.items():
        waited = measured(shape)
        figures = (waited[len(waited) * part // 100] for part in (50, 99))
        rows.append([str(count), *(f"{each:.1f}" for each in (*figures, waited[-1]))])
    heads = ["NUMA nodes", "p50 ms", "p99 ms", "longest ms"]
    return f"{page.machine()}; load {page.load()}.\n\n{page.table(heads, rows)}"


if __name__ == "__main__":
    page.command("runtime-plugin", __doc__, told)
