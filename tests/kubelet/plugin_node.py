"""``numalet nri`` beside a real containerd, and a node of both with a real kubelet."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final

import httpx
import yaml

from kubelet.node_pods import container, pod, static
from numalet.cli.agent_client import OWN_API
from numalet.core.model.cpu_set import CpuSet
from numalet.io.agent_client.client import AgentClient
from numalet.io.agent_client.places import SOCKET_NAME
from running import kubelet_programs, machine_of_its_own, suites
from running.containerd import Containerd
from running.kubelet_programs import KubeletPrograms
from running.real_kubelet import NODE, ROOT, RealKubelet
from running.runtime_plugins import SOCKET, Plugin
from running.server_programs import PATIENCE_SECONDS, free_port

ALL: Final = frozenset(range(os.cpu_count() or 1))
OWN: Final = frozenset({1})
"""What the plugin gives to a container with one CPU of its own: CPU 0 is reserved."""
SHARED: Final = ALL - OWN
RUNTIMES: Final = os.environ.get(kubelet_programs.PLUGIN_RUNTIME_FOLDER, "").split(":")
"""Folders of .ci/container-runtime with releases of Debian whose containerd has plugins."""
_SETTINGS: Final = {
    "containerRuntimeEndpoint": "unix:///run/c.sock",
    "cpuManagerReconcilePeriod": "1s",
    # Without an API server, events are in the log of the kubelet.
    "logging": {"verbosity": 3},
}
STATIC: Final = {
    "cpuManagerPolicy": "static",
    # Not the CPU that the plugin reserves, so that both differ about every container.
    "reservedSystemCPUs": "1",
}
OWN_OF_STATIC: Final = frozenset({0})


def newer(folder: str) -> Path:
    """One of ``RUNTIMES``; skips or fails where there is none, or too few CPUs."""
    if not folder:
        missing = f"{kubelet_programs.PLUGIN_RUNTIME_FOLDER} names no containerd with plugins"
        suites.can_not_run("KUBELET", missing)
    if len(ALL) < 2:
        suites.can_not_run("KUBELET", "one CPU for the system and one for a container are needed")
    return Path(folder)


@contextmanager
def plugged(runtime: Containerd, socket: str, *options: str) -> Iterator[Plugin]:
    """A plugin that enforces."""

    def start(words: Sequence[str], log: IO[Any]) -> subprocess.Popen[bytes]:
        command = runtime.own.command(sys.executable, "-m", "numalet", *words)
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    plugin = Plugin(runtime, start, 0.5, PATIENCE_SECONDS, socket, options)
    try:
        plugin.start()
        yield plugin
    finally:
        plugin.kill()


class PluginNode:
    """The kubelet, the runtime and the plugin of one node, and static pods."""

    def __init__(
        self, kubelet: RealKubelet, runtime: Containerd, plugin: Plugin, metrics_port: int
    ) -> None:
        self.kubelet = kubelet
        self.runtime = runtime
        self.plugin = plugin
        self._metrics = f"http://127.0.0.1:{metrics_port}/metrics"
        self._managers: Mapping[str, str] = {}
        self._made = 0

    def begin(self) -> None:
        """Let a kubelet without managers run, and an enforcing plugin beside it."""
        if self._managers:
            self.restart_kubelet({})
            self.restart_plugin()

    def restart_plugin(self) -> None:
        self.plugin.kill()
        self.plugin.start()

    def restart_kubelet(self, managers: Mapping[str, str]) -> None:
        """Restart the kubelet with these managers, as an administrator changes them."""
        self.kubelet.kubelet.kill()
        before = yaml.safe_load(self.kubelet.config.read_text())
        others = {name: each for name, each in before.items() if name not in self._managers}
        self.kubelet.config.write_text(yaml.safe_dump({**others, **managers}))
        self._managers = managers
        # A kubelet does not start with the state of another policy.
        self.kubelet.own.path(f"{ROOT}/cpu_manager_state").unlink()
        self.kubelet.kubelet.start()

    def add(self, name: str, *amounts: str) -> None:
        """Give the kubelet a static pod with one container."""
        self._made += 1
        asked = static(pod(name, container("app", *amounts)), self._made)
        written = self.kubelet.own.folder / f"{name}.json"
        written.write_text(json.dumps(asked))
        written.rename(self.kubelet.manifests / f"{name}.json")

    def remove(self, name: str) -> None:
        (self.kubelet.manifests / f"{name}.json").unlink()

    def remove_all(self) -> None:
        """Remove all pods, and wait until their resources are free."""
        for each in self.kubelet.manifests.iterdir():
            each.unlink()
        self.until(lambda: not self.kubelet.pods() and not self.listed())

    def status(self, name: str) -> dict[str, Any]:
        """The status of the pod's container, empty before there is one."""
        for each in self.kubelet.pods():
            if each["metadata"]["name"] == f"{name}-{NODE}":
                (status,) = each["status"].get("containerStatuses") or ({},)
                return dict(status)
        return {}

    def cpus(self, name: str) -> CpuSet:
        """The CPUs on which the kernel lets the pod's container run; empty if it does not run."""
        status = self.status(name)
        if "running" not in status.get("state", {}):
            return frozenset()
        return self.runtime.cpus(status["containerID"].partition("://")[2])

    def listed(self) -> dict[str, dict[str, Any]]:
        """The pods that the plugin serves, as ``numalet ps`` lists them, by name."""
        with AgentClient(self.kubelet.own.path("/var/lib/numalet") / SOCKET_NAME) as client:
            items = client.get(f"{OWN_API}/podplacements")["items"]
        return {each["metadata"]["name"].removesuffix(f"-{NODE}"): each for each in items}

    def metric(self, name: str) -> float:
        """The value of a series of the plugin; a process begins with 0."""
        lines = httpx.get(self._metrics, trust_env=False).text.splitlines()
        found = dict(each.rsplit(" ", 1) for each in lines if not each.startswith("#"))
        return float(found[f"numalet_nri_{name}"])

    def until(self, is_so: Callable[[], bool]) -> None:
        """Wait until this is so; fail with the ends of all logs after a long time."""
        self.plugin.until(is_so, self._logs)

    def until_cpus(self, **cpus: CpuSet) -> None:
        """Wait until the kernel lets each pod's container run on these CPUs."""
        self.until(lambda: {name: self.cpus(name) for name in cpus} == cpus)

    def _logs(self) -> str:
        programs = (self.kubelet.kubelet, self.runtime.daemon)
        others = "\n".join(f"--- {each.name}\n{each.last_lines()}" for each in programs)
        return f"--- numalet nri\n{self.plugin.end_of_log()}\n{others}"


@contextmanager
def opened(programs: KubeletPrograms, folder: Path) -> Iterator[PluginNode]:
    """The node, with the first of ``RUNTIMES``."""
    packages = newer(RUNTIMES[0])
    with machine_of_its_own.opened(folder, None) as own:
        kubelet = RealKubelet(programs, own, _SETTINGS, None)
        runtime = Containerd(packages, programs.runc, own)
        port = free_port()
        try:
            runtime.start(programs.busybox)
            kubelet.kubelet.start()
            with plugged(runtime, SOCKET, "--metrics", str(port)) as plugin:
                yield PluginNode(kubelet, runtime, plugin, port)
        finally:
            kubelet.kubelet.kill()
            runtime.daemon.kill()
