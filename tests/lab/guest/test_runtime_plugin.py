"""``numalet nri`` and a real containerd: CPUs, NUMA nodes and pages as the kernel has them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from lab.guest import container_runtime as kernel
from lab.guest.container_runtime import CPUS, MIB
from numalet.core.model import cpu_set
from running.agent_processes import Forks
from running.containerd import Containerd, RunningPod
from running.runtime_plugins import Plugin

HELD = 16 * MIB
LAST = max(CPUS)


@pytest.fixture(scope="module")
def copies() -> Iterator[Forks]:
    with kernel.copies() as made:
        yield made


@pytest.fixture(scope="module")
def runtime(copies: Forks, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Containerd]:
    with kernel.started(tmp_path_factory.mktemp("runtime")) as runtime:
        yield runtime


@pytest.fixture(scope="module")
def plugin(runtime: Containerd, copies: Forks) -> Iterator[Plugin]:
    with kernel.plugged(runtime, copies) as plugin:
        yield plugin


@pytest.fixture(scope="module")
def web_pod(runtime: Containerd, plugin: Plugin) -> RunningPod:
    return runtime.run_pod("web", "burstable")


@pytest.fixture(scope="module")
def web(runtime: Containerd, web_pod: RunningPod) -> str:
    """A container in the shared pool."""
    return runtime.run(web_pod)


def is_placed(container_id: str) -> bool:
    """Whether its CPUs are of one NUMA node, and its memory is bound to it."""
    cpus, nodes = (kernel.effective(container_id, each) for each in ("cpuset.cpus", "cpuset.mems"))
    return len(nodes) == 1 and kernel.nodes_of(cpus) == nodes


def test_pages_are_on_planned_nodes_and_cpus_are_used_by_nobody_else(
    runtime: Containerd, plugin: Plugin, web_pod: RunningPod, web: str
) -> None:
    assert kernel.effective(web, "cpuset.cpus") == CPUS
    pods = [runtime.run_pod(name) for name in ("db", "cache")]
    placed = [
        runtime.run(pod, cpu, command=kernel.holding(HELD))
        for pod, cpu in zip(pods, (2, 1), strict=True)
    ]
    own = [kernel.effective(each, "cpuset.cpus") for each in placed]
    assert list(map(len, own)) == [2, 1]
    assert kernel.effective(web, "cpuset.cpus") == CPUS - own[0] - own[1]
    for each in placed:
        assert is_placed(each)
        assert kernel.exclusive(each, [web_pod, *pods])
        kernel.await_held(each, HELD)
        nodes = kernel.effective(each, "cpuset.mems")
        assert kernel.mapped(each).keys() == nodes
        assert kernel.charged(each).keys() == nodes
    runtime.remove_pod(pods[0])
    plugin.until(lambda: kernel.effective(web, "cpuset.cpus") == CPUS - own[1])
    runtime.remove_pod(pods[1])
    plugin.until(lambda: kernel.effective(web, "cpuset.cpus") == CPUS)
    assert not plugin.says("Unpinned")
    assert not plugin.says("MemoryMisplaced")


@pytest.fixture(scope="module")
def late(runtime: Containerd, plugin: Plugin, web: str) -> str:
    """A container that started on the last CPU while there was no plugin."""
    # The shell writes a file that no process maps, and what it starts has memory of its own.
    pin = f"busybox taskset -p {1 << LAST:x} $$"
    keep = f"{pin}; busybox head -c {8 * MIB} /dev/zero > /dev/shm/x"
    plugin.kill()
    return runtime.run(runtime.run_pod("late"), 1, command=kernel.holding(HELD, keep))


def test_memory_of_an_unpinned_start_follows_and_what_stays_is_reported(
    runtime: Containerd, plugin: Plugin, web: str, late: str
) -> None:
    far = kernel.nodes_of(frozenset({LAST}))
    kernel.await_held(late, HELD)
    # The shell itself began anywhere.
    (node,) = far
    assert kernel.charged(late)[node] >= HELD
    assert kernel.charged(late, "shmem").keys() == far
    plugin.start()
    plugin.until(lambda: is_placed(late))
    nodes = kernel.effective(late, "cpuset.mems")
    assert not nodes & far
    plugin.until(lambda: kernel.mapped(late).keys() == nodes)
    plugin.until(lambda: plugin.says("MemoryMisplaced"))
    assert plugin.says("started unpinned while numalet was not connected")
    where = f"8Mi of its memory on NUMA node {cpu_set.text(far)} instead of {cpu_set.text(nodes)}"
    plugin.until(lambda: plugin.says(where))


def test_a_held_plugin_and_a_killed_runtime_change_nothing(
    runtime: Containerd, plugin: Plugin, web: str, late: str
) -> None:
    own = kernel.effective(late, "cpuset.cpus")
    pod = runtime.run_pod("db")
    plugin.hold()
    with ThreadPoolExecutor() as pool:
        running = pool.submit(runtime.run, pod, 1)
        time.sleep(3)
        plugin.release()
        db = running.result()
    assert is_placed(db)
    before = plugin.registrations()
    runtime.daemon.kill()
    runtime.start_daemon()
    plugin.until(lambda: plugin.registrations() > before)
    other = kernel.effective(db, "cpuset.cpus")
    assert kernel.effective(late, "cpuset.cpus") == own
    assert not other & own
    assert kernel.effective(web, "cpuset.cpus") == CPUS - own - other
    runtime.remove_pod(pod)
    plugin.until(lambda: kernel.effective(web, "cpuset.cpus") == CPUS - own)
