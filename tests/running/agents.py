"""Short ways to run an agent on the fake runtime inside a test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from numalet.agent.controller import settings as agent_settings
from numalet.agent.controller import wiring
from numalet.agent.controller.controller import Controller
from numalet.agent.controller.settings import AgentOptions, AgentSettings, RuntimeKind
from numalet.agent.controller.wiring import Hooks
from numalet.agent.host.runtime.fake import FakeRuntime
from numalet.core.model.findings import Findings
from numalet.core.workload.records import PodRecord
from numalet.core.workload.spec import Workload
from numalet.io.documents.pods import workload as workloads
from numalet.io.documents.pods.workload import WorkloadOptions
from numalet.io.documents.text.typed import Place
from numalet.io.machines import MachineChoice

SHAPE = MachineChoice("2n8c1t", "16Gi")
PATIENCE_SECONDS = 200.0
NO_HOOKS = Hooks()


def settings(root: Path, **given: Any) -> AgentSettings:
    """An agent of the fake runtime on two NUMA nodes with 8 CPUs and 16Gi each."""
    options = AgentOptions(
        root=root, runtime=RuntimeKind.FAKE, machine=SHAPE, node_name="node-a", **given
    )
    return agent_settings.resolve(options)


def here(root: Path, **given: Any) -> AgentSettings:
    """An agent that starts real programs on this machine."""
    options = AgentOptions(root=root, runtime=RuntimeKind.PROCESS, node_name="node-a", **given)
    return agent_settings.resolve(options)


def manifest(name: str, cpu: str = "2", memory: str = "2Gi", **spec: Any) -> dict[str, Any]:
    """A Guaranteed pod with one container."""
    amounts = {"cpu": cpu, "memory": memory}
    container = {
        "name": "main",
        "command": ["serve"],
        "resources": {"limits": amounts, "requests": amounts},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [container], **spec},
    }


def workload(value: dict[str, Any], uid: str = "") -> Workload:
    """The workload of a manifest."""
    findings = Findings()
    name = value["metadata"]["name"]
    options = WorkloadOptions(uid=uid or f"uid-{name}", node_name="node-a")
    found = workloads.decode_workload(value, Place("test"), options, findings)
    assert found is not None, findings.all
    return found


def pod(name: str, cpu: str = "2", memory: str = "2Gi", **spec: Any) -> Workload:
    """The workload of a Guaranteed pod with one container."""
    return workload(manifest(name, cpu, memory, **spec))


@dataclass(slots=True)
class Agent:
    """A running agent and its runtime."""

    controller: Controller
    runtime: FakeRuntime

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until it holds of the agent's view."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not condition():
                await self.controller.changed()

    def record(self, name: str) -> PodRecord:
        """The record of the pod of this name."""
        for record in self.controller.view().records.values():
            if record.workload.pod.name == name:
                return record
        raise KeyError(name)

    def phase(self, name: str, container: str = "main") -> str:
        """Where a container is."""
        return self.record(name).run.of(container).phase.value

    def names(self) -> list[str]:
        """The names of all pods."""
        return [each.workload.pod.name for each in self.controller.view().records.values()]


@asynccontextmanager
async def running(
    given: AgentSettings, runtime: FakeRuntime | None = None, hooks: Hooks = NO_HOOKS
) -> AsyncIterator[Agent]:
    """An agent that has heard all sources of pods."""
    there = runtime or FakeRuntime(given.root / wiring.RUNS)
    async with wiring.opened(given, replace(hooks, runtime=there)) as controller:
        agent = Agent(controller, there)
        await agent.until(lambda: controller.view().ready)
        yield agent
