"""A whole node agent in the guest, a process of its own, and what the kernel says of its pods.

    with NodeAgent(forks, root) as agent:
        agent.apply(pod("a", {"cpu": "1", "memory": "64Mi"}))
        agent.await_status("a", "Running")
        agent.container("a").effective("cpuset.mems")

Commands are those of ``numalet``, in the process of the test, and agents are copies of one: to load
Python's modules once more takes a guest without hardware virtualization half a minute.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from typer.testing import CliRunner, Result

from lab.guest import touching
from lab.guest.groups import wait_until
from numalet.agent.host import procfs
from numalet.agent.host.procfs import AreaKind
from numalet.cli.main import app
from numalet.core.model.findings import BadInput
from numalet.io.agent_client.client import AgentClient, AgentRefused
from running.agent_processes import Forks

TREE = Path("/sys/fs/cgroup/numalet")
PATIENCE_SECONDS = 900.0
PLACEMENTS = "/apis/numalet.dev/v1alpha1/podplacements"
MIB = 1 << 20
TOUCHED = 32 * MIB
"""What the only container of a pod touches, in bytes."""


def pod(
    name: str, limits: dict[str, str] | None = None, requests: dict[str, str] | None = None
) -> dict[str, Any]:
    """A pod with one container ``main``, which touches memory and stays."""
    amounts = {"limits": limits, "requests": requests}
    container = {
        "name": "main",
        "command": list(touching.command(TOUCHED)),
        "resources": {kind: each for kind, each in amounts.items() if each is not None},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [container], "terminationGracePeriodSeconds": 0},
    }


def numalet(*words: str) -> Result:
    """What a command of ours answers; refusals are told as on a terminal."""
    return CliRunner().invoke(app(), list(words))


@dataclass(frozen=True)
class Container:
    """A container as the kernel sees it."""

    group: Path

    def pids(self) -> list[int]:
        """Its processes."""
        return [int(word) for word in (self.group / "cgroup.procs").read_text().split()]

    def effective(self, name: str) -> str:
        """What is in force of ``cpuset.cpus`` or ``cpuset.mems``."""
        return (self.group / f"{name}.effective").read_text().strip()

    def allowed(self) -> tuple[frozenset[int], frozenset[int]]:
        """CPUs and NUMA nodes that its first process may use."""
        found = procfs.read_status(self.pids()[0])
        assert found is not None
        return found.cpus, found.nodes

    def memory_nodes(self) -> set[int]:
        """Where the memory is that it touched, once it touched all of it."""
        (pid,) = self.pids()
        wait_until(lambda: sum(_pages(pid).values()) >= TOUCHED, f"{pid} touched", PATIENCE_SECONDS)
        return set(_pages(pid))


def _pages(pid: int) -> dict[int, int]:
    maps = procfs.read_numa_maps(pid)
    assert maps is not None
    return dict(maps.bytes_by_node(AreaKind.ANONYMOUS))


class Seen:
    """An agent that somebody started: its API, its node state, its cgroups."""

    def __init__(self, root: Path, tree: Path = TREE) -> None:
        self.root = root
        self.tree = tree
        self.api = AgentClient(root / "agent.sock", PATIENCE_SECONDS)

    def close(self) -> None:
        """Let go of the connection to it."""
        self.api.close()

    def is_ready(self) -> bool:
        """Whether it has heard all sources of pods."""
        try:
            return self.api.text("/readyz").strip() == "ok"
        except (AgentRefused, BadInput):
            return False

    def command(self, *words: str) -> str:
        """What a command answers that asks this agent, and is answered."""
        result = numalet(*words, "--root", str(self.root))
        assert result.exit_code == 0, result.output
        return result.output

    def row(self, name: str) -> list[str]:
        """The columns of a pod as ``numalet ps`` shows them."""
        rows = [re.split(r"\s{2,}", line) for line in self.command("ps").splitlines()]
        return next(row for row in rows if row[0] == name)

    def apply(self, *pods: dict[str, Any]) -> Result:
        """``numalet apply``, which answers after the decisions."""
        manifest = self.root.parent / "manifest.yaml"
        manifest.write_text("\n---\n".join(json.dumps(each) for each in pods))
        return numalet("apply", "--root", str(self.root), "-f", str(manifest))

    def delete(self, *names: str) -> None:
        """``numalet delete``, and wait until they are gone."""
        self.command("delete", *names)
        wait_until(
            lambda: not set(names) & self.pods().keys(), f"no {names} any more", PATIENCE_SECONDS
        )

    def pods(self) -> dict[str, dict[str, Any]]:
        """What the agent says of each pod, by name."""
        return {each["metadata"]["name"]: each for each in self.api.get(PLACEMENTS)["items"]}

    def await_running(self, *names: str) -> None:
        """Wait until these pods run."""
        wait_until(
            lambda: all(self.pods()[name]["ready"] == "1/1" for name in names),
            f"{names} run",
            PATIENCE_SECONDS,
        )

    def await_audit(self, name: str) -> bool:
        """Whether the kernel has a pod where it was promised; waits until that was looked at."""
        wait_until(
            lambda: self.pods()[name]["aligned"] is not None, f"{name} seen", PATIENCE_SECONDS
        )
        return bool(self.pods()[name]["aligned"])

    def container(self, name: str) -> Container:
        """The only container of a pod."""
        uid = self.pods()[name]["metadata"]["uid"]
        (group,) = self.tree.rglob(f"pod{uid}/main")
        return Container(group)

    def metric(self, name: str) -> dict[str, float]:
        """Values of a metric by the text of their labels."""
        lines = self.api.text("/metrics").splitlines()
        pairs = (line.rsplit(" ", 1) for line in lines if re.match(rf"{name}[{{ ]", line))
        return {text.removeprefix(name): float(value) for text, value in pairs}

    def drift(self) -> dict[str, float]:
        """How often which setting was corrected."""
        return self.metric("numalet_drift_corrected_total")

    def node_state(self) -> tuple[str, dict[str, tuple[str, str]]]:
        """The shared CPUs, and what each container holds, as in the state files."""
        cpu = json.loads((self.root / "cpu_manager_state").read_text())
        memory = json.loads((self.root / "memory_manager_state").read_text())
        held = {}
        for uid, containers in cpu.get("entries", {}).items():
            blocks = memory["entries"][uid]
            for name, cpus in containers.items():
                nodes = sorted({node for each in blocks[name] for node in each["numaAffinity"]})
                held[f"{uid}/{name}"] = (cpus, ",".join(map(str, nodes)))
        return cpu["defaultCpuSet"], held

    def kernel(self) -> tuple[str, dict[str, tuple[str, str]]]:
        """The same as the kernel has it: of a Burstable pod, and of the Guaranteed ones."""
        (burstable,) = self.tree.glob("burstable/pod*/main")
        held = {
            f"{each.parent.name.removeprefix('pod')}/{each.name}": (
                Container(each).effective("cpuset.cpus"),
                Container(each).effective("cpuset.mems"),
            )
            for each in self.tree.glob("pod*/main")
        }
        return Container(burstable).effective("cpuset.cpus"), held


class NodeAgent(Seen):
    """``numalet agent`` as a process of its own; killed at the end, with all its pods."""

    def __init__(self, forks: Forks, root: Path, *words: str) -> None:
        super().__init__(root)
        command = ["agent", "--root", str(root), *words]
        self._log = root.parent / f"{root.name}.log"
        with self._log.open("ab") as log:
            self.process = forks.process(command, [log.fileno()], os.environ)

    def said(self) -> str:
        """Its log, and that of those before it."""
        return self._log.read_text()

    def await_ready(self) -> None:
        """Wait until it is ready; fails if it ends."""

        def is_ready() -> bool:
            assert self.process.poll() is None, self.said()
            return self.is_ready()

        try:
            wait_until(is_ready, "the agent is ready", PATIENCE_SECONDS)
        except AssertionError as error:
            error.add_note(self.said())
            raise

    def kill(self) -> None:
        """SIGKILL."""
        self.process.kill()
        self.process.wait()
        self.close()

    def __enter__(self) -> Self:
        self.await_ready()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()


def empty(tree: Path = TREE) -> None:
    """End everything that runs in the tree of an agent."""
    (tree / "cgroup.kill").write_text("1")
