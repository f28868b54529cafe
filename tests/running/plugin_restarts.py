"""A device plugin that is ended and started anew, again and again, against one agent.

Plugins are ended in each way in which plugins end: asked to, killed, and only after the next one
has registered already, as in a rolling update. While they come and go one pod keeps its device,
and others come, get a device of the new plugin, and go.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from numalet.io.agent_client.client import AgentClient
from numalet.io.pod_resources_client import JsonAnswer, PodResourcesClient
from running.agent_load import RunningAgent
from servers.pods import pod

GPU: Final = "example.com/gpu"
OFFERED: Final = {"gpu0": 0, "gpu1": 1, "gpu2": 0}
"""The plugin's devices, and the NUMA node of each."""

PODS_PATH: Final = "/api/v1/namespaces/default/pods"
WARM_UP: Final = 3
"""After so many restarts the agent has the threads that it needs, whatever comes."""
POOL: Final = min(32, (os.cpu_count() or 1) + 4)
"""So many threads an event loop keeps for what blocks, and it makes them one by one."""
_PATIENCE_SECONDS: Final = 200.0
_ENDINGS: Final = ("asked", "killed", "replaced")


def eventually(holds: Callable[[], bool], what: str) -> None:
    """Return as soon as it holds."""
    until = time.monotonic() + _PATIENCE_SECONDS
    while not holds():
        assert time.monotonic() < until, what
        threading.Event().wait(0.005)


def with_device(name: str) -> dict[str, Any]:
    """A pod that wants one device."""
    found = pod(name, "64Mi", "1")
    found["spec"]["containers"][0]["resources"]["limits"][GPU] = "1"
    return found


def started(root: Path, devices: Mapping[str, int]) -> subprocess.Popen[str]:
    """A plugin in a process of its own, once it is registered; devices with their NUMA nodes."""
    words = [word for name, at in devices.items() for word in ("--device", f"{name}@{at}")]
    command = [sys.executable, "-u", "-m", "numalet", "sample-device-plugin", *words]
    plugin = subprocess.Popen(
        [*command, "--root", str(root)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert plugin.stdout is not None
    assert plugin.stdout.readline() == f"registered {GPU}\n"
    return plugin


def end(plugin: subprocess.Popen[str]) -> None:
    """End a plugin, if it has not ended; it must not end in confusion."""
    if plugin.poll() is None:
        plugin.terminate()
    said, _ = plugin.communicate(timeout=_PATIENCE_SECONDS)
    assert "Traceback" not in said, said


@dataclass(frozen=True)
class Footprint:
    """What the agent's process has open."""

    threads: int
    descriptors: int
    sockets: int


def footprint(pid: int) -> Footprint:
    """The footprint of a process."""
    process = Path(f"/proc/{pid}")
    links = []
    for descriptor in (process / "fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            links.append(str(descriptor.readlink()))
    sockets = sum(each.startswith("socket:") for each in links)
    return Footprint(len([*(process / "task").iterdir()]), len(links), sockets)


@dataclass
class Restarts:
    """The rounds of one agent. ``endings`` counts how plugins were ended."""

    agent: RunningAgent
    root: Path
    endings: Counter[str] = field(default_factory=Counter)
    slowest_seconds: float = 0.0
    begin: Footprint | None = None

    def play(self, count: int) -> None:
        """Restart the plugin so often; what is wrong is an ``AssertionError``."""
        plugin = started(self.root, OFFERED)
        try:
            self._is_healthy()
            with self._client() as client:
                client.post(PODS_PATH, with_device("stays"))
            held = self.held()
            assert list(held) == ["stays"], held
            for number in range(count):
                if number == WARM_UP:
                    self.begin = footprint(self.agent.pid)
                began = time.monotonic()
                plugin = self._restarted(plugin, _ENDINGS[number % len(_ENDINGS)])
                self._is_healthy()
                self.slowest_seconds = max(self.slowest_seconds, time.monotonic() - began)
                assert self.held() == held
                if number % 5 == 0:
                    self._one_comes_and_goes(f"passes-{number}", held)
        finally:
            end(plugin)
        self._is_gone()

    def _restarted(self, before: subprocess.Popen[str], ending: str) -> subprocess.Popen[str]:
        self.endings[ending] += 1
        if ending == "replaced":
            after = started(self.root, OFFERED)
            end(before)
            return after
        if ending == "killed":
            before.kill()
        end(before)
        self._is_gone()
        return started(self.root, OFFERED)

    def _is_healthy(self) -> None:
        eventually(lambda: self.offered() == OFFERED, f"{self.offered()} are not all devices")

    def _is_gone(self) -> None:
        eventually(lambda: self.offered() == {}, f"{self.offered()} outlive their plugin")

    def _one_comes_and_goes(self, name: str, held: dict[str, str]) -> None:
        with self._client() as client:
            made = client.post(PODS_PATH, with_device(name))
            assert made["status"]["phase"] != "Failed", made["status"]
            assert self.held().keys() == {"stays", name}
            client.delete(f"{PODS_PATH}/{name}", {"gracePeriodSeconds": 0})
            eventually(lambda: self.held() == held, f"{name} outlives its end")

    def offered(self) -> dict[str, int]:
        """The healthy devices, and the NUMA node of each."""
        document = _answered(self._pod_resources().allocatable())
        entries = document.get("devices", ())
        named = [each["deviceIds"][0] for each in entries]
        assert len(named) == len(set(named)), entries
        nodes = [int(each["topology"]["nodes"][0].get("ID", "0")) for each in entries]
        return dict(zip(named, nodes, strict=True))

    def held(self) -> dict[str, str]:
        """Which device each pod has."""
        pods = _answered(self._pod_resources().list_pods()).get("podResources", ())
        found = {
            each["name"]: device["deviceIds"][0]
            for each in pods
            for device in each["containers"][0].get("devices", ())
        }
        assert len(found) == len(set(found.values())), found
        return found

    def checkpoint(self) -> dict[str, Any]:
        """What the agent's checkpoint of devices says."""
        path = self.root / "device-plugins" / "kubelet_internal_checkpoint"
        found: dict[str, Any] = json.loads(path.read_text())["Data"]
        return found

    def registrations(self) -> int:
        """How often a plugin registered, by the agent's own count."""
        with self._client() as client:
            text = client.text("/metrics")
        line = f'kubelet_device_plugin_registration_total{{resource_name="{GPU}"}} '
        return round(float(text.partition(line)[2].split()[0]))

    def has_not_grown(self) -> bool:
        """Whether the agent has no more open than when it was warm."""
        assert self.begin is not None
        now = footprint(self.agent.pid)
        return (
            now.threads <= self.begin.threads + POOL
            and now.descriptors <= self.begin.descriptors
            and now.sockets <= self.begin.sockets
        )

    @contextlib.contextmanager
    def _client(self) -> Iterator[AgentClient]:
        with AgentClient(self.agent.socket) as client:
            yield client

    def _pod_resources(self) -> PodResourcesClient:
        return PodResourcesClient(self.root / "pod-resources" / "kubelet.sock")


def _answered(answer: object) -> dict[str, Any]:
    assert isinstance(answer, JsonAnswer), answer
    return dict(answer.document)
