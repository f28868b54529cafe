"""Rounds of agents that are killed, and what the next agent finds.

Each round changes the manifest folder, starts an agent, and then looks, with another agent,
whether anything was lost, doubled or leaked. In two rounds of three the agent kills itself at a
fault point, and is given work until it does; in the third it is killed from outside, a moment after
it was ready. Which is which is planned, so that no run is red because it was a busy day.
"""

from __future__ import annotations

import asyncio
import json
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from numalet.agent.controller import wiring
from numalet.agent.controller.controller import Controller
from numalet.agent.controller.settings import AgentSettings, RuntimeKind
from numalet.agent.controller.wiring import RUNS, Hooks
from numalet.agent.host.runtime.enforcement import HostCapabilities, ground
from numalet.agent.host.runtime.fake import FakeRuntime
from numalet.agent.host.runtime.port import Runtime
from numalet.agent.host.runtime.process import ProcessRuntime
from running import agent_laws, agents
from running.crash_victims import AT_A_POINT, AT_ANY_MOMENT, Orders, Victim, doomed

PATIENCE_SECONDS: Final = 120.0
"""How long an agent may take until nothing is left to do; many times what it takes."""
_LAST_PASSAGE: Final = 70
"""About so many times an agent without cgroups passes a fault point in one round."""


@dataclass(slots=True, kw_only=True)
class Rounds:
    """The world around the agents: a root folder and a folder of manifests below ``folder``.

    ``start`` is how an agent comes to be a process.
    """

    folder: Path
    kind: RuntimeKind
    chance: random.Random
    start: Callable[[Orders], Victim]
    patience_seconds: float = PATIENCE_SECONDS
    last_passage: int = _LAST_PASSAGE
    log: Path | None = None
    """Gets a line for each round, for whoever waits or wonders where the time went."""
    pods: int = 8
    touched: int = 3
    found: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    alive: dict[str, tuple[str, int, int]] = field(default_factory=dict)
    """Manifest, attempt and process of every pod that ran at the end of the last round."""
    ground: HostCapabilities = field(default_factory=ground)
    _touched: list[str] = field(default_factory=list)

    @property
    def root(self) -> Path:
        """The agents' root folder."""
        return self.folder / "root"

    @property
    def manifests(self) -> Path:
        """What the agents are to run."""
        return self.folder / "manifests"

    def play(self, count: int) -> None:
        """So many rounds, one crash each; nothing is left running afterwards."""
        self.manifests.mkdir(parents=True)
        try:
            for number in range(count):
                begun = time.monotonic()
                untouched = self._change_folder()
                self._crash(number)
                dead = time.monotonic()
                for problem in asyncio.run(self._look(untouched)):
                    self.problems.append(f"{self.kind.value} {number}: {problem}")
                self._note(number, dead - begun, time.monotonic() - dead)
        finally:
            asyncio.run(self._end())
        left = [*agent_laws.processes(self.root), *agent_laws.shims(self.root)]
        left += [] if self.ground.tree is None else agent_laws.pod_cgroups(self.ground.tree)
        if left:
            self.problems.append(f"left at the end: {left}")

    def _note(self, number: int, life_seconds: float, poll_seconds: float) -> None:
        if self.log is not None:
            with self.log.open("a") as file:
                file.write(
                    f"round {number}: lived {life_seconds:.1f} s, seen after {poll_seconds:.1f} s,"
                    f" {len(self.alive)} running, problems so far: {self.problems}\n"
                )

    def _change_folder(self) -> set[str]:
        """Add, change and remove manifests; the uids of pods that are none of these."""
        names = [f"pod-{number}" for number in range(self.pods)]
        self._touched = self.chance.sample(names, self.touched)
        self._touch()
        return {uid for uid, (name, _, _) in self.alive.items() if name not in self._touched}

    def _touch(self) -> None:
        for name in self._touched:
            path = self.manifests / f"{name}.yaml"
            if path.exists() and self.chance.random() < 0.4:
                path.unlink()
                continue
            value = self._manifest(name)
            if self.chance.random() < 0.3:
                first = dict(value["spec"]["containers"][0])
                first |= {"name": "first", "command": ["true"]}
                value["spec"]["initContainers"] = [first]
            path.write_text(json.dumps(value))

    def _manifest(self, name: str) -> dict[str, Any]:
        """A pod that runs until it is ended, as large as the machine has room for several."""
        if self.kind is RuntimeKind.FAKE:
            cpu, memory = self.chance.choice(["1", "2", "500m"]), self.chance.randint(1, 6)
            return agents.manifest(name, cpu, f"{memory}Gi")
        # Where there are cgroups, CPUs come and go from under those who share the others.
        cpu = "50m" if self.ground.tree is None else self.chance.choice(["50m", "50m", "1"])
        value = agents.manifest(name, cpu, f"{self.chance.randint(8, 64)}Mi")
        value["spec"]["containers"][0]["command"] = ["sleep", "100000"]
        value["spec"]["terminationGracePeriodSeconds"] = self.chance.choice([0, 1])
        return value

    def _crash(self, number: int) -> None:
        """Run one agent until it is dead."""
        words = ["agent", "--v", "0", "--node-name", "node-a", "--root", str(self.root)]
        words += ["--manifests", str(self.manifests), "--runtime", self.kind.value]
        if self.kind is RuntimeKind.FAKE:
            words += ["-m", "2n8c1t", "--memory-per-node", "16Gi"]
        passage = self.chance.randint(1, self.last_passage) if _is_at_a_point(number) else None
        errors = self.folder / "errors"
        with doomed(self.folder, passage, self.patience_seconds) as fate:
            settings = replace(self._settings(), verbosity=0)
            victim = self.start(Orders(words, settings, fate.environment, errors))
            if passage is None:
                fate.death_at_any_moment(victim, self.chance.random() * 0.1)
                self.found[AT_ANY_MOMENT] += 1
            else:
                fate.death_at_a_point(victim, self._touch)
                self.found[AT_A_POINT] += 1
        if victim.status != -signal.SIGKILL:
            said = errors.read_text(errors="replace")[-2000:]
            self.problems.append(f"lost: the agent ended with {victim.status}: {said}")

    async def _look(self, untouched: set[str]) -> list[str]:
        """What a next agent finds, when it has nothing left to do."""
        runtime = self._runtime()
        hooks = Hooks(runtime=runtime, resync_seconds=3600)
        async with wiring.opened(self._settings(), hooks) as controller:
            deadline = time.monotonic() + self.patience_seconds
            while problems := await self._problems(controller, runtime):
                if time.monotonic() > deadline:
                    return problems
                with suppress(TimeoutError):
                    # Shims and the kernel tell nobody when they are done.
                    await asyncio.wait_for(controller.changed(), 0.2)
            before, self.alive = self.alive, self._alive(controller, runtime)
            return [
                f"lost: {uid} was {before[uid]} and is {self.alive.get(uid)}"
                for uid in untouched
                if self.alive.get(uid) != before[uid]
            ]

    async def _problems(self, controller: Controller, runtime: Runtime) -> list[str]:
        """What does not hold yet, seen while nothing is being done."""
        try:
            await asyncio.wait_for(controller.settled(), self.patience_seconds)
        except TimeoutError:
            return ["lost: the agent does not come to rest"]
        if not controller.view().ready:
            return ["lost: not ready"]
        missing = self._missing(controller)
        lost = [f"lost: {sorted(missing)}"] if missing else []
        return [*agent_laws.broken(self.root, controller, runtime, self.ground.tree), *lost]

    def _runtime(self) -> Runtime:
        if self.kind is RuntimeKind.FAKE:
            return FakeRuntime(self.root / RUNS)
        return ProcessRuntime(self.root, on=self.ground, patience_seconds=self.patience_seconds)

    def _missing(self, controller: Controller) -> set[str]:
        """Pods in the folder and not in the node state, the other way round, or not gone yet."""
        there = {f"{path.stem}-node-a" for path in self.manifests.glob("*.yaml")}
        records = controller.view().records.values()
        leaving = {each.uid for each in records if each.run.deletion is not None}
        return (there ^ {each.workload.pod.name for each in records}) | leaving

    def _alive(self, controller: Controller, runtime: Runtime) -> dict[str, tuple[str, int, int]]:
        """Every pod whose own program runs; what runs before it ends by itself."""
        pids = {
            Path(name).parts[-3:-1]: ids for name, ids in agent_laws.processes(self.root).items()
        }
        found = {}
        for (uid, name), attempt in agent_laws.up(controller.view()).items():
            if name != "main":
                continue
            manifest = Path(controller.view().records[uid].workload.origin).stem
            pid = (
                runtime.pid_of(uid, name)
                if isinstance(runtime, FakeRuntime)
                else pids[uid, name][0]
            )
            found[uid] = (manifest, attempt, pid)
        return found

    def _settings(self) -> AgentSettings:
        make = agents.settings if self.kind is RuntimeKind.FAKE else agents.here
        return make(self.root, manifests=self.manifests)

    async def _end(self) -> None:
        """Leave no program behind."""
        for path in self.manifests.iterdir():
            path.unlink()
        async with asyncio.timeout(self.patience_seconds):
            hooks = Hooks(runtime=self._runtime())
            async with wiring.opened(self._settings(), hooks) as controller:
                while controller.view().records:
                    await controller.changed()
                await controller.settled()


def _is_at_a_point(number: int) -> bool:
    """Whether the agent of this round is to die at a fault point."""
    return number % 3 != 2


def summary(played: list[Rounds]) -> str:
    """One line about all crashes."""
    words = Counter(_word(problem) for each in played for problem in each.problems)
    sums = ", ".join(f"{words[word]} {word}" for word in ("lost", "doubled", "leaked"))
    places: Counter[str] = sum((each.found for each in played), Counter())
    kinds = ", ".join(f"{each.found.total()} with runtime {each.kind.value}" for each in played)
    where = ", ".join(f"{number} {place}" for place, number in sorted(places.items()))
    return f"{places.total()} crashes, {sums} ({kinds}; {where})"


def _word(problem: str) -> str:
    if "twice" in problem:
        return "doubled"
    return "leaked" if "left" in problem or "leak" in problem else "lost"
