"""``numalet nri`` with a real containerd: containers through the CRI, CPUs by the kernel."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import grpc
import pytest

from running import machine_of_its_own, suites
from running.containerd import Containerd
from running.kubelet_programs import KubeletPrograms
from running.server_programs import PATIENCE_SECONDS, ServerProgram

CONFIG = """\
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cpuManagerPolicy: static
memoryManagerPolicy: Static
topologyManagerPolicy: restricted
reservedSystemCPUs: "0"
kubeReserved: {memory: 924Mi}
reservedMemory:
- {numaNode: 0, limits: {memory: 1Gi}}
"""
ALL = frozenset(range(os.cpu_count() or 1))
OWN = frozenset({1})
SHARED = ALL - OWN


class Plugin:
    """The plugin's process; it reads ``config`` and answers on the runtime's socket."""

    def __init__(self, runtime: Containerd) -> None:
        config = runtime.own.folder / "numalet.yaml"
        config.write_text(CONFIG)
        self.runtime = runtime
        self.metrics = runtime.run_folder / "metrics"
        self.log = runtime.own.folder / "plugin.log"
        words = (
            *("nri", "--mode", "enforce", "-c", str(config), "--socket", "/run/nri.sock"),
            *("--root", "/var/lib/numalet", "--audit-seconds", "0.5"),
        )
        self.process = ServerProgram(
            "numalet nri",
            runtime.own.command(sys.executable, "-m", "numalet", *words),
            self.log,
            self._is_registered,
        )
        self._registrations = 0

    def start(self) -> None:
        self._registrations = self._count()
        self.process.start()

    def _is_registered(self) -> bool:
        return self._count() > self._registrations

    def _count(self) -> int:
        return self.log.read_text().count("Registered") if self.log.exists() else 0

    def says(self, text: str) -> bool:
        return text in self.log.read_text()


@pytest.fixture
def runtime(programs: KubeletPrograms, folder: Path) -> Iterator[Containerd]:
    newer = os.environ.get("NUMALET_PLUGIN_RUNTIME", "")
    if not newer:
        suites.can_not_run("KUBELET", "NUMALET_PLUGIN_RUNTIME names no containerd with plugins")
    if len(ALL) < 2:
        suites.can_not_run("KUBELET", "one CPU for the system and one for a container are needed")
    with machine_of_its_own.opened(folder, None) as own:
        runtime = Containerd(Path(newer), programs.runc, own)
        runtime.start(programs.busybox)
        try:
            yield runtime
        finally:
            runtime.daemon.kill()


@pytest.fixture
def plugin(runtime: Containerd) -> Iterator[Plugin]:
    plugin = Plugin(runtime)
    plugin.start()
    try:
        yield plugin
    finally:
        plugin.process.kill()


def until(is_so: Callable[[], bool], plugin: Plugin) -> None:
    last = time.monotonic() + PATIENCE_SECONDS
    while not is_so():
        assert time.monotonic() < last, plugin.log.read_text()
        time.sleep(0.05)


def test_containers_get_cpus_of_their_own_and_the_pool_follows(
    runtime: Containerd, plugin: Plugin
) -> None:
    web = runtime.run(runtime.run_pod("web", "burstable"))
    assert runtime.allowed(web) == ALL
    pod = runtime.run_pod("db")
    db = runtime.run(pod, cpu=1)
    assert runtime.allowed(db) == OWN
    assert runtime.allowed(web) == SHARED
    second = runtime.run_pod("second")
    with pytest.raises(grpc.RpcError, match="numalet: no room for default/second"):
        runtime.run(second, cpu=1)
    runtime.stop(db)
    assert runtime.allowed(runtime.run(pod, cpu=1, attempt=1)) == OWN
    runtime.remove_pod(pod)
    until(lambda: runtime.allowed(web) == ALL, plugin)
    assert runtime.allowed(runtime.run(second, cpu=1, attempt=1)) == OWN


def test_a_container_that_started_without_the_plugin_is_found_and_pinned(
    runtime: Containerd, plugin: Plugin
) -> None:
    web = runtime.run(runtime.run_pod("web", "burstable"))
    plugin.process.kill()
    db = runtime.run(runtime.run_pod("db"), cpu=1)
    assert runtime.allowed(db) == ALL
    plugin.start()
    until(lambda: runtime.allowed(db) == OWN and runtime.allowed(web) == SHARED, plugin)
    assert plugin.says("started unpinned while numalet was not connected")


def test_a_plugin_that_was_held_finds_what_started_meanwhile(
    runtime: Containerd, plugin: Plugin
) -> None:
    pod = runtime.run_pod("db")
    held = int(runtime.own.run("pgrep", "-f", "numalet nri").stdout.split()[-1])
    runtime.own.run("kill", f"-{signal.SIGSTOP}", str(held))
    # The runtime waits for two seconds, and goes on without the plugin.
    db = runtime.run(pod, cpu=1)
    assert runtime.allowed(db) == ALL
    runtime.own.run("kill", f"-{signal.SIGCONT}", str(held))
    until(lambda: runtime.allowed(db) == OWN, plugin)


def test_a_restarted_runtime_gets_the_plugin_again(runtime: Containerd, plugin: Plugin) -> None:
    db = runtime.run(runtime.run_pod("db"), cpu=1)
    registered = plugin.log.read_text().count("Registered")
    runtime.daemon.kill()
    runtime.daemon.start()
    until(lambda: plugin.log.read_text().count("Registered") > registered, plugin)
    assert runtime.allowed(db) == OWN
    with pytest.raises(grpc.RpcError, match="no room"):
        runtime.run(runtime.run_pod("second"), cpu=1)
