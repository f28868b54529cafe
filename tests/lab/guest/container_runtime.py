"""A containerd in a guest, and what the kernel says of its containers."""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final

# What a plugin imports.
import numalet.agent.nri.command
import numalet.cli.nri  # noqa: F401
from lab.guest.groups import PATIENCE_SECONDS, wait_until
from numalet.agent.host import kubelet_containers, procfs
from numalet.agent.host.cgroup_v2 import interface_files
from numalet.agent.host.cgroup_v2.tree import CgroupTree
from numalet.agent.host.procfs import AreaKind
from numalet.core.model import cpu_set
from numalet.core.model.cpu_set import CpuSet
from running import kubelet_programs
from running.agent_processes import ForkedProcess, Forks, forks_of_this_process
from running.containerd import Containerd, Limits, RunningPod
from running.runtime_plugins import Plugin

CPUS: Final = frozenset(range(os.cpu_count() or 1))
MIB: Final = 1 << 20
_TREE: Final = CgroupTree(kubelet_containers.CGROUPS / "kubepods")
# Everything takes many times as long as on a machine: the runtime waits for a plugin, too.
_LIMITS: Final = Limits(registration=300, answer=120, call=PATIENCE_SECONDS)


class Guest:
    """The whole guest is the test's."""

    cgroup = ""
    cgroups = kubelet_containers.CGROUPS

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def command(self, *words: str) -> list[str]:
        return list(words)

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(words, capture_output=True, text=True, check=False)

    def path(self, inside: str) -> Path:
        return Path(inside)


@contextmanager
def started(folder: Path) -> Iterator[Containerd]:
    """The runtime that the environment names."""
    old = Path(os.environ[kubelet_programs.RUNTIME_FOLDER])
    programs = Path(os.environ[kubelet_programs.PLUGIN_RUNTIME_FOLDER])
    runtime = Containerd(programs, old / "usr/sbin/runc", Guest(folder), _LIMITS)
    runtime.start(old / "bin/busybox")
    try:
        yield runtime
    finally:
        runtime.daemon.kill()


@contextmanager
def copies() -> Iterator[Forks]:
    """Of this process, for plugins; they begin before grpc has threads in it."""
    with forks_of_this_process(PATIENCE_SECONDS, _prepare) as made:
        yield made


def _prepare() -> None:
    """What a plugin needs is there: it is imported above."""


@contextmanager
def plugged(runtime: Containerd, forks: Forks) -> Iterator[Plugin]:
    """The plugin, whose processes are copies of one."""

    def start(words: Sequence[str], log: IO[Any]) -> ForkedProcess:
        with Path(os.devnull).open("r+b") as nothing:
            return forks.process(words, [nothing.fileno()] * 2 + [log.fileno()], os.environ)

    plugin = Plugin(runtime, start, audit_seconds=5.0, patience_seconds=PATIENCE_SECONDS)
    try:
        plugin.start()
        yield plugin
    finally:
        plugin.kill()


def holding(size_bytes: int, before: str = "true") -> tuple[str, ...]:
    """A container's command that keeps so much memory of its own."""
    source = f"(busybox head -c {size_bytes} /dev/zero; busybox sleep 1000000)"
    return ("busybox", "sh", "-c", f"{before}; {source} | busybox tail -c {size_bytes}")


def effective(container_id: str, name: str) -> CpuSet:
    """What is in force of ``cpuset.cpus`` or ``cpuset.mems``."""
    return interface_files.effective(_TREE, _path(container_id), name)


def exclusive(of: str, pods: Sequence[RunningPod]) -> bool:
    """Whether no other container may use a CPU of this one. A pod's sandbox sleeps; it may."""
    own = effective(of, "cpuset.cpus")
    sandboxes = {each.id for each in pods}
    others = kubelet_containers.paths(_TREE).keys() - sandboxes - {of}
    assert others
    return not any(own & effective(each, "cpuset.cpus") for each in others)


def mapped(container_id: str) -> Mapping[int, int]:
    """Anonymous memory of all its processes by NUMA node: ``numa_maps``."""
    found: Counter[int] = Counter()
    for pid in _TREE.processes(_path(container_id)):
        maps = procfs.read_numa_maps(pid)
        if maps is not None:
            found.update(maps.bytes_by_node(AreaKind.ANONYMOUS))
    return {node: size for node, size in found.items() if size}


def charged(container_id: str, kind: str = "anon") -> Mapping[int, int]:
    """Its memory of a kind by NUMA node: ``memory.numa_stat``."""
    stat = interface_files.read_numa_stat(_TREE.folder(_path(container_id)))
    assert stat is not None
    return {node: size for node, size in stat[kind].items() if size}


def await_held(container_id: str, size_bytes: int) -> None:
    """Wait until it has touched so much, and the kernel's figures say so."""
    what = f"{container_id} holds its memory"
    wait_until(lambda: sum(charged(container_id).values()) >= size_bytes, what)


def nodes_of(cpus: CpuSet) -> frozenset[int]:
    """The NUMA nodes of these CPUs."""
    lists = Path("/sys/devices/system/node").glob("node[0-9]*/cpulist")
    return frozenset(
        int(each.parent.name.removeprefix("node"))
        for each in lists
        if cpus & cpu_set.parse(each.read_text().strip())
    )


def _path(container_id: str) -> str:
    return kubelet_containers.paths(_TREE)[container_id]
