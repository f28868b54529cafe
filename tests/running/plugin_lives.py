"""Containers that come and go while a plugin is killed, and calls that overlap."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import combinations, cycle, product
from typing import Final, NamedTuple, TypeVar

from numalet.core.model.cpu_set import CpuSet
from running.containerd import Containerd, RunningPod
from running.runtime_plugins import Plugin

R = TypeVar("R")

_STEPS: Final = ("sandbox", "create", "start", "stop", "remove")
_ASKED_SECONDS: Final = 0.3
"""So long a held plugin is left with a question; it may also be killed before the question."""
_MOST_ALIVE: Final = 4


class Point(NamedTuple):
    """When the plugin is killed, and whether it is away until the container runs or is gone."""

    step: str
    is_during: bool
    is_long: bool


_NEVER: Final = Point("", is_during=False, is_long=False)
_POINTS: Final = [
    Point(step, is_during=during, is_long=long)
    for long, step, during in product((False, True), _STEPS, (False, True))
]


@dataclass
class Life:
    """A pod with one container, with one CPU of its own or in the shared pool."""

    name: str
    is_exclusive: bool
    pod: RunningPod | None = None
    container: str = ""
    runs: bool = False


@dataclass
class Lives:
    """``most_exclusive`` is the number of CPUs that containers can have of their own."""

    runtime: Containerd
    plugin: Plugin
    every_cpu: CpuSet
    most_exclusive: int
    alive: list[Life] = field(default_factory=list)
    is_away: bool = False
    kills: int = 0
    unpinned: set[str] = field(default_factory=set)
    """Pods whose container ran without a CPU of its own."""
    seconds: list[float] = field(default_factory=list)
    """From each return of the plugin to the settings of the plan in the kernel."""

    def come_and_go(self, count: int) -> None:
        """Kill the plugin at another point in each of so many lives."""
        chance = random.Random(count)
        points = cycle(_POINTS)
        for number in range(count):
            point = next(points)
            held = sum(each.is_exclusive for each in self.alive)
            life = Life(f"p{number}", held < self.most_exclusive and chance.random() < 0.7)
            self.alive.append(life)
            self._begin(life, point)
            if len(self.alive) >= _MOST_ALIVE:
                self._end(self.alive[0], point)
        while self.alive:
            self._end(self.alive[0], _NEVER)

    def _begin(self, life: Life, killed: Point) -> None:
        life.pod = pod = self._do("sandbox", killed, lambda: self.runtime.run_pod(life.name))
        cpu = int(life.is_exclusive)
        life.container = self._do("create", killed, lambda: self.runtime.create(pod, cpu))

        def start() -> None:
            self.runtime.start_container(life.container)
            life.runs = True

        self._do("start", killed, start)
        self._come_back()

    def _end(self, life: Life, killed: Point) -> None:
        pod = life.pod
        assert pod is not None
        life.runs = False
        self._do("stop", killed, lambda: self.runtime.stop(life.container))

        def remove() -> None:
            self.runtime.remove_pod(pod)
            self.alive.remove(life)

        self._do("remove", killed, remove)
        self._come_back()

    def _do(self, step: str, killed: Point, call: Callable[[], R]) -> R:
        if killed.step != step:
            return call()
        self.kills += 1
        self.is_away = True
        if killed.is_during:
            with ThreadPoolExecutor(1) as pool:
                self.plugin.hold()
                called = pool.submit(call)
                wait([called], _ASKED_SECONDS)
                self.plugin.kill()
                result = called.result()
        else:
            self.plugin.kill()
            result = call()
        if not killed.is_long:
            self._come_back()
        return result

    def _come_back(self) -> None:
        if not self.is_away:
            return
        own = (each for each in self._running() if each.is_exclusive)
        self.unpinned.update(each.name for each in own if len(self._cpus(each)) > 1)
        self.plugin.start()
        self.is_away = False
        self.seconds.append(self.plugin.until(self.is_as_planned))
        # The next kill must not take what the plugin is about to write.
        self.plugin.until(lambda: all(map(self.plugin.reported, self.unpinned)))

    def is_as_planned(self) -> bool:
        """Whether all have what they should have: a CPU of their own, or all that nobody has."""
        own = [self._cpus(each) for each in self._running() if each.is_exclusive]
        shared = {self._cpus(each) for each in self._running() if not each.is_exclusive}
        if len(shared) > 1 or any(len(each) != 1 for each in own):
            return False
        if any(one & other for one, other in combinations([*own, *shared], 2)):
            return False
        # A pod keeps its CPU while its container is created, or may start again.
        kept = sum(each.is_exclusive and not each.runs for each in self.alive)
        left = len(self.every_cpu) - len(own)
        return all(left - kept <= len(each) <= left for each in shared)

    def _running(self) -> list[Life]:
        return [each for each in self.alive if each.runs]

    def _cpus(self, life: Life) -> CpuSet:
        return self.runtime.cpus(life.container)


@dataclass
class Storm:
    """Creations, and updates of a running container, at the same time."""

    runtime: Containerd
    lock: threading.Lock = field(default_factory=threading.Lock)
    created: int = 0
    updates: int = 0
    slowest_seconds: float = 0.0

    def rage(self, seconds: float, web: str, meddle: Callable[[], object]) -> None:
        """Every call has an end, or fails by its deadline. ``meddle`` changes ``web`` somehow."""
        until = time.monotonic() + seconds

        def create(name: str, cpu: int) -> None:
            number = 0
            while time.monotonic() < until:
                number += 1
                began = time.monotonic()
                pod = self.runtime.run_pod(f"{name}{number}")
                self.runtime.run(pod, cpu)
                self.runtime.remove_pod(pod)
                with self.lock:
                    self.created += 1
                    self.slowest_seconds = max(self.slowest_seconds, time.monotonic() - began)

        def update() -> None:
            while time.monotonic() < until:
                self.runtime.set_cpus(web, "0")
                with suppress(OSError):
                    meddle()
                self.updates += 1

        with ThreadPoolExecutor() as pool:
            calls = [
                pool.submit(create, "own", 1),
                pool.submit(create, "shared", 0),
                pool.submit(update),
            ]
            for each in calls:
                each.result()
