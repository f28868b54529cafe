"""Real processes of the agent, killed with SIGKILL wherever they touch the world.

Each round changes the manifest folder, starts an agent that kills itself at some fault point (or
is killed when it has nothing left to do), and then looks, with another agent, whether anything
was lost, doubled or leaked. ``NUMALET_CRASHES`` says how many rounds; ``make crash`` makes 500.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest

import agent_laws
import agents
from numalet.adapters import faults
from numalet.adapters.runtime.fake import FakeRuntime
from numalet.adapters.runtime.port import Runtime
from numalet.adapters.runtime.process import ProcessRuntime
from numalet.agent import wiring
from numalet.agent.keeper import Keeper
from numalet.agent.settings import AgentSettings, RuntimeKind
from numalet.agent.wiring import RUNS, Hooks

CRASHES: Final = int(os.environ.get("NUMALET_CRASHES", "50"))
SEED: Final = int(os.environ.get("NUMALET_CRASH_SEED", "1"))
PATIENCE_SECONDS: Final = 60
LAST_PASSAGE: Final = 70
"""About so many times an agent passes a fault point in one round."""


@dataclass(slots=True)
class Rounds:
    """The world around the agents: a root folder and a folder of manifests."""

    root: Path
    manifests: Path
    chance: random.Random
    kind: RuntimeKind = RuntimeKind.FAKE
    found: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    alive: dict[str, tuple[str, int, int]] = field(default_factory=dict)
    """Manifest, attempt and process of every pod that ran at the end of the last round."""

    def play(self, count: int) -> None:
        """So many rounds, one crash each."""
        for number in range(count):
            untouched = self._change_folder()
            self._crash()
            for problem in asyncio.run(self._look(untouched)):
                self.problems.append(f"round {number}: {problem}")

    def _change_folder(self) -> set[str]:
        """Add, change and remove manifests; the uids of pods that are none of these."""
        names = [f"pod-{number}" for number in range(8)]
        touched = self.chance.sample(names, 3)
        for name in touched:
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
        return {uid for uid, (name, _, _) in self.alive.items() if name not in touched}

    def _manifest(self, name: str) -> dict[str, Any]:
        """A pod that runs until it is ended, as large as the machine has room for several."""
        if self.kind is RuntimeKind.FAKE:
            cpu, memory = self.chance.choice(["1", "2", "500m"]), self.chance.randint(1, 6)
            return agents.manifest(name, cpu, f"{memory}Gi")
        value = agents.manifest(name, "50m", f"{self.chance.randint(8, 64)}Mi")
        value["spec"]["containers"][0]["command"] = ["sleep", "100000"]
        value["spec"]["terminationGracePeriodSeconds"] = self.chance.choice([0, 1])
        return value

    def _crash(self) -> None:
        """Run one agent until it is dead."""
        passage = self.chance.randint(1, LAST_PASSAGE)
        listener = self.root.parent / "notify"
        listener.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ready:
            ready.bind(str(listener))
            ready.settimeout(0.05)
            environment = os.environ | {
                faults.VARIABLE: f"*:*:{passage}",
                "NOTIFY_SOCKET": str(listener),
            }
            command = [sys.executable, "-m", "numalet", "agent", "--v", "0"]
            command += ["--node-name", "node-a", "--root", str(self.root)]
            command += ["--manifests", str(self.manifests)]
            if self.kind is RuntimeKind.FAKE:
                command += ["--runtime", "fake", "-m", "2n8c1t", "--memory-per-node", "16Gi"]
            with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE) as agent:
                self._await_death(agent, ready)
                assert agent.stderr is not None
                said = agent.stderr.read().decode()
        if agent.returncode != -signal.SIGKILL:
            self.problems.append(f"the agent ended with {agent.returncode}: {said[-2000:]}")

    def _await_death(self, agent: subprocess.Popen[bytes], ready: socket.socket) -> None:
        for _ in range(PATIENCE_SECONDS * 20):
            try:
                said = ready.recv(100)
            except TimeoutError:
                if agent.poll() is not None:
                    self.found["at a fault point"] += 1
                    return
                continue
            if said == b"READY=1":
                # It passed fewer points; a little later it may be at work or at rest.
                try:
                    agent.wait(self.chance.random() * 0.1)
                    self.found["at a fault point"] += 1
                except subprocess.TimeoutExpired:
                    agent.kill()
                    agent.wait()
                    self.found["at any moment"] += 1
                return
        raise AssertionError("the agent neither died nor became ready")

    async def _look(self, untouched: set[str]) -> list[str]:
        """What a next agent finds, when it has nothing left to do."""
        runtime = self._runtime()
        hooks = Hooks(runtime=runtime, look_every_seconds=3600)
        async with wiring.opened(self._settings(), hooks) as keeper:
            deadline = time.monotonic() + PATIENCE_SECONDS
            while problems := self._problems(keeper, runtime):
                if time.monotonic() > deadline:
                    return problems
                with suppress(TimeoutError):
                    await asyncio.wait_for(keeper.changed(), 0.2)
                await keeper.settled()
            before, self.alive = self.alive, self._alive(keeper, runtime)
            return [
                f"{uid} was {before[uid]} and is {self.alive.get(uid)}"
                for uid in untouched
                if self.alive.get(uid) != before[uid]
            ]

    def _problems(self, keeper: Keeper, runtime: Runtime) -> list[str]:
        if not keeper.view().ready:
            return ["lost: not ready"]
        missing = self._missing(keeper)
        lost = [f"lost: {sorted(missing)}"] if missing else []
        return [*agent_laws.broken(self.root, keeper, runtime), *lost]

    def _runtime(self) -> Runtime:
        if self.kind is RuntimeKind.FAKE:
            return FakeRuntime(self.root / RUNS)
        return ProcessRuntime(self.root)

    def _missing(self, keeper: Keeper) -> set[str]:
        """Pods in the folder and not in the books, the other way round, or not gone yet."""
        there = {f"{path.stem}-node-a" for path in self.manifests.glob("*.yaml")}
        records = keeper.view().records.values()
        leaving = {each.uid for each in records if each.run.deletion is not None}
        return (there ^ {each.workload.pod.name for each in records}) | leaving

    def _alive(self, keeper: Keeper, runtime: Runtime) -> dict[str, tuple[str, int, int]]:
        pids = {Path(name).parts[-3]: ids for name, ids in agent_laws.processes(self.root).items()}
        found = {}
        for (uid, name), attempt in agent_laws.up(keeper.view()).items():
            manifest = Path(keeper.view().records[uid].workload.origin).stem
            pid = runtime.pid_of(uid, name) if isinstance(runtime, FakeRuntime) else pids[uid][0]
            found[uid] = (manifest, attempt, pid)
        return found

    def _settings(self) -> AgentSettings:
        make = agents.settings if self.kind is RuntimeKind.FAKE else agents.here
        return make(self.root, manifests=self.manifests)

    async def end(self) -> None:
        """Leave no program behind."""
        for path in self.manifests.iterdir():
            path.unlink()
        async with wiring.opened(self._settings()) as keeper:
            while keeper.view().records:
                await keeper.changed()
            await keeper.settled()


@pytest.mark.slow
@pytest.mark.timeout(120 + 12 * CRASHES)
@pytest.mark.parametrize(
    ("kind", "count"),
    [(RuntimeKind.FAKE, CRASHES * 3 // 5), (RuntimeKind.PROCESS, CRASHES - CRASHES * 3 // 5)],
)
def test_nothing_is_lost_doubled_or_leaked_however_often_the_agent_is_killed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: RuntimeKind, count: int
) -> None:
    manifests = tmp_path / "manifests"
    manifests.mkdir()
    rounds = Rounds(tmp_path / "root", manifests, random.Random(SEED), kind)
    try:
        rounds.play(count)
    finally:
        asyncio.run(rounds.end())
    assert {} == agent_laws.processes(rounds.root)
    words = Counter(_word(each) for each in rounds.problems)
    with capsys.disabled():
        sums = ", ".join(f"{words[word]} {word}" for word in ("lost", "doubled", "leaked"))
        where = ", ".join(f"{number} {place}" for place, number in sorted(rounds.found.items()))
        print(f"\n{count} crashes, {sums} (runtime {kind.value}; {where})")  # noqa: T201
    assert [] == rounds.problems
    assert count == rounds.found.total()
    assert rounds.found["at a fault point"] >= count // 3


def _word(problem: str) -> str:
    if "twice" in problem:
        return "doubled"
    return "leaked" if "left" in problem or "leak" in problem else "lost"
