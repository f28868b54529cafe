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
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pytest

import agent_laws
import agents
from numalet.adapters import faults
from numalet.adapters.runtime.fake import FakeRuntime
from numalet.agent.settings import AgentSettings
from numalet.agent.wiring import RUNS, Hooks
from numalet.workload.run import ContainerPhase

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
            value = agents.manifest(
                name, self.chance.choice(["1", "2", "500m"]), f"{self.chance.randint(1, 6)}Gi"
            )
            if self.chance.random() < 0.3:
                first = dict(value["spec"]["containers"][0]) | {"name": "first"}
                value["spec"]["initContainers"] = [first]
            path.write_text(json.dumps(value))
        return {uid for uid, (name, _, _) in self.alive.items() if name not in touched}

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
            command = [
                sys.executable,
                "-m",
                "numalet",
                "agent",
                "--runtime",
                "fake",
                "-m",
                "2n8c1t",
            ]
            command += ["--memory-per-node", "16Gi", "--node-name", "node-a", "--v", "0"]
            command += ["--root", str(self.root), "--manifests", str(self.manifests)]
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
        runtime = FakeRuntime(self.root / RUNS)
        hooks = Hooks(look_every_seconds=3600)
        async with agents.running(self._settings(), runtime, hooks) as agent:
            async with asyncio.timeout(PATIENCE_SECONDS):
                while True:
                    await agent.keeper.settled()
                    problems = agent_laws.broken(self.root, agent.keeper, runtime)
                    if not problems and self._missing(agent) == set():
                        break
                    try:
                        await asyncio.wait_for(agent.keeper.changed(), 5)
                    except TimeoutError:
                        return problems or [f"lost: {self._missing(agent)}"]
            before, self.alive = self.alive, self._alive(agent, runtime)
            return [
                f"{uid} was {before[uid]} and is {self.alive.get(uid)}"
                for uid in untouched
                if self.alive.get(uid) != before[uid]
            ]

    def _missing(self, agent: agents.Agent) -> set[str]:
        """Pods in the folder and not in the books, the other way round, or not gone yet."""
        there = {f"{path.stem}-node-a" for path in self.manifests.glob("*.yaml")}
        records = agent.keeper.view().records.values()
        leaving = {each.uid for each in records if each.run.deletion is not None}
        return (there ^ set(agent.names())) | leaving

    def _alive(self, agent: agents.Agent, runtime: FakeRuntime) -> dict[str, tuple[str, int, int]]:
        return {
            uid: (Path(record.workload.origin).stem, run.attempt, runtime.pid_of(uid, name))
            for uid, record in agent.keeper.view().records.items()
            for name, run in record.run.containers.items()
            if run.phase is ContainerPhase.RUNNING
        }

    def _settings(self) -> AgentSettings:
        return agents.settings(self.root, manifests=self.manifests)


@pytest.mark.slow
@pytest.mark.timeout(60 + 10 * CRASHES)
def test_nothing_is_lost_doubled_or_leaked_however_often_the_agent_is_killed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifests = tmp_path / "manifests"
    manifests.mkdir()
    rounds = Rounds(tmp_path / "root", manifests, random.Random(SEED))
    rounds.play(CRASHES)
    words = Counter(
        "doubled" if "twice" in each else "leaked" if "left" in each or "leak" in each else "lost"
        for each in rounds.problems
    )
    with capsys.disabled():
        sums = ", ".join(f"{words[word]} {word}" for word in ("lost", "doubled", "leaked"))
        where = ", ".join(f"{count} {place}" for place, count in sorted(rounds.found.items()))
        print(f"\n{CRASHES} crashes, {sums} ({where})")  # noqa: T201 - what `make crash` is for
    assert [] == rounds.problems
    assert CRASHES == rounds.found.total()
    assert rounds.found["at a fault point"] >= CRASHES // 3
