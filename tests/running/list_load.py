"""List calls at a fixed rate while pods come and go, each answer held against the truth.

One thread creates and deletes pods and writes down which pods there may be: before it asks for a
change, the pods after it, and when the change is done, that nothing before it may be seen any
more. So a call that began and ended at known moments may have seen only what there was between
the two. Answers of equal bytes say the same and are taken apart once.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

import grpc

from numalet.io.agent_client.client import AgentClient, AgentRefused
from numalet.io.rpc import methods
from numalet.io.rpc import pod_resources_v1_pb2 as v1
from running.agent_load import RunningAgent
from running.plugin_restarts import GPU, PODS_PATH, eventually
from servers.pods import pod

CLIENTS: Final = 4
DEVICES: Final = {f"gpu{number}": number % 2 for number in range(16)}
MOST_PODS: Final = 20
_MEMORY_BYTES: Final = 8 << 30
_CPUS: Final = 2
_NODE_BYTES: Final = 128 << 30

Held: TypeAlias = tuple[frozenset[int], tuple[tuple[int, tuple[int, ...]], ...], frozenset[str]]
"""What a pod holds: CPUs, sizes of memory with their NUMA nodes, devices."""


@dataclass
class Truth:
    """Which pods there may be: ``states[known:]`` are possible now."""

    states: list[frozenset[str]] = field(default_factory=lambda: [frozenset()])
    known: int = 0

    def may_become(self, names: frozenset[str]) -> None:
        self.states.append(names)

    def is_now(self) -> None:
        self.known = len(self.states) - 1


@dataclass
class ListLoad:
    """The load on one agent, and what was seen. ``wrong`` says what should not be."""

    agent: RunningAgent
    socket: Path
    rate: int = 1000
    truth: Truth = field(default_factory=Truth)
    calls: int = 0
    took_seconds: float = 0.0
    agent_cpu_seconds: float = 0.0
    slowest_seconds: float = 0.0
    wrong: list[str] = field(default_factory=list)
    _read: dict[bytes, frozenset[str]] = field(default_factory=dict)
    _placed: dict[str, Held] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _over: threading.Event = field(default_factory=threading.Event)

    @property
    def achieved(self) -> float:
        """Calls a second."""
        return self.calls / self.took_seconds

    @property
    def possible(self) -> float:
        """Calls a second that the agent can answer on a CPU of its own, whoever else runs here."""
        return self.calls / self.agent_cpu_seconds

    @property
    def distinct(self) -> int:
        """How many different answers there were."""
        return len(self._read)

    def __str__(self) -> str:
        return (
            f"{self.calls} List calls in {self.took_seconds:.1f} s, {self.achieved:.0f}/s"
            f" ({self.possible:.0f}/s on a CPU of the agent's own), the slowest"
            f" {self.slowest_seconds * 1e3:.0f} ms, {self.distinct} different answers;"
            f" {len(self.truth.states) - 1} changes of pods"
        )

    def run(self, seconds: float) -> None:
        """Ask for so long, and change pods meanwhile."""
        changer = threading.Thread(target=self._told, args=(self._change,))
        askers = [
            threading.Thread(target=self._told, args=(self._ask, number, seconds))
            for number in range(CLIENTS)
        ]
        began, cpu_seconds = time.perf_counter(), self.agent.cpu_seconds()
        for thread in (changer, *askers):
            thread.start()
        for thread in askers:
            thread.join()
        self.took_seconds = time.perf_counter() - began
        self.agent_cpu_seconds = self.agent.cpu_seconds() - cpu_seconds
        self._over.set()
        changer.join()

    def _told(self, work: Any, *given: Any) -> None:
        try:
            work(*given)
        except Exception as error:
            self.wrong.append(repr(error))
            self._over.set()

    def _change(self) -> None:
        chance, names, made = random.Random(1), frozenset[str](), 0
        with AgentClient(self.agent.socket) as client:
            while not self._over.is_set():
                if names and chance.random() < len(names) / MOST_PODS:
                    name = chance.choice(sorted(names))
                    names -= {name}
                    self.truth.may_become(names)
                    path = f"{PODS_PATH}/{name}"
                    client.delete(path, {"gracePeriodSeconds": 0})
                    eventually(partial(_is_gone, client, path), f"{name} stays")
                else:
                    name, made = f"pod-{made}", made + 1
                    names |= {name}
                    self.truth.may_become(names)
                    client.post(PODS_PATH, _manifest(name, with_device=made % 3 == 0))
                self.truth.is_now()

    def _ask(self, number: int, seconds: float) -> None:
        calls, slowest = round(self.rate * seconds / CLIENTS), 0.0
        options = (*methods.OPTIONS, ("grpc.use_local_subchannel_pool", 1))
        with grpc.insecure_channel(f"unix:{self.socket}", options=options) as channel:
            ask: Any = channel.unary_unary(methods.LIST.path)
            began = time.perf_counter() + number / self.rate
            for turn in range(calls):
                wait = began + turn * CLIENTS / self.rate - time.perf_counter()
                if wait > 0:
                    threading.Event().wait(wait)
                if self._over.is_set():
                    return
                first, asked = self.truth.known, time.perf_counter()
                answer = ask(b"", timeout=120)
                slowest = max(slowest, time.perf_counter() - asked)
                self._check(answer, self.truth.states[first:])
        with self._lock:
            self.calls += calls
            self.slowest_seconds = max(self.slowest_seconds, slowest)

    def _check(self, answer: bytes, possible: list[frozenset[str]]) -> None:
        names = self._read.get(answer)
        if names is None:
            with self._lock:
                names = self._read[answer] = self._taken_apart(answer)
        if names not in possible:
            self.wrong.append(f"{sorted(names)} was none of {[sorted(p) for p in possible]}")

    def _taken_apart(self, answer: bytes) -> frozenset[str]:
        pods = v1.ListPodResourcesResponse.FromString(answer).pod_resources
        names = Counter(each.name for each in pods)
        held = {each.name: _held(each) for each in pods}
        for name, has in held.items():
            if self._placed.setdefault(name, has) != has:
                self.wrong.append(f"{name} moved from {self._placed[name]} to {has}")
        things = Counter(thing for cpus, _, devices in held.values() for thing in (*cpus, *devices))
        twice = [each for each, count in (names + things).items() if count > 1]
        if twice:
            self.wrong.append(f"{twice} are there twice")
        self.wrong += [
            f"node {node} gave {size_bytes} bytes"
            for node, size_bytes in _given(held).items()
            if size_bytes > _NODE_BYTES
        ]
        return frozenset(names)


def _is_gone(client: AgentClient, path: str) -> bool:
    try:
        client.get(path)
    except AgentRefused as refused:
        return refused.code == 404
    return False


def _manifest(name: str, *, with_device: bool) -> dict[str, Any]:
    found = pod(name, str(_MEMORY_BYTES), str(_CPUS))
    if with_device:
        found["spec"]["containers"][0]["resources"]["limits"][GPU] = "1"
    return found


def _held(entry: v1.PodResources) -> Held:
    (container,) = entry.containers
    cpus, devices = [*container.cpu_ids], [each.device_ids[0] for each in container.devices]
    memory = [(each.size, tuple(n.ID for n in each.topology.nodes)) for each in container.memory]
    # In its own entry too nothing may be there twice.
    assert len(cpus) == len({*cpus}) == _CPUS, entry
    assert len(devices) == len({*devices}) <= 1, entry
    assert sum(size for size, _ in memory) == _MEMORY_BYTES, entry
    return frozenset(cpus), tuple(memory), frozenset(devices)


def _given(held: dict[str, Held]) -> Counter[int]:
    """Bytes by NUMA node; what spans several counts for the first of them."""
    given: Counter[int] = Counter()
    for _, memory, _ in held.values():
        for size, nodes in memory:
            given[nodes[0]] += size
    return given
