"""A plugin's handlers, called as a runtime calls them; no process and no socket."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from numalet.agent.nri.auditing import Repairs
from numalet.agent.nri.choices import NriEvent, PinningChoice
from numalet.agent.nri.kubelet_devices import NO_DEVICES
from numalet.agent.nri.plugin import PinningPlugin
from numalet.agent.nri.pod_annotations import Permissions
from numalet.agent.nri.seen import Sets
from numalet.core.config.behaviour import NATIVE
from numalet.core.model.pod import Pod
from numalet.core.model.value import replace
from numalet.core.node import node as nodes
from numalet.core.node.node import Node
from numalet.io.documents.kubelet import kubelet_config
from numalet.io.rpc import nri_v1alpha1_pb2 as nri
from numalet.wording.log_line import LogLine
from running import agents
from running.fake_runtime import GUARANTEED, container, event, request, sandbox

EVERY_CPU = "0-15"


def empty_node() -> Node:
    """Two NUMA nodes with 8 CPUs and 16Gi each; CPU 0 and 1Gi of node 0 are reserved."""
    config = kubelet_config.decode(
        {
            "cpuManagerPolicy": "static",
            "memoryManagerPolicy": "Static",
            "topologyManagerPolicy": "restricted",
            "reservedSystemCPUs": "0",
            "kubeReserved": {"memory": "924Mi"},
            "reservedMemory": [{"numaNode": 0, "limits": {"memory": "1Gi"}}],
        },
        "kubelet.yaml",
    )
    behaviour = replace(NATIVE, predicates_are_asked=False, constraints_are_asked=False)
    started = nodes.start(config, agents.SHAPE.open().info, behaviour=behaviour)
    assert isinstance(started, Node), started
    return started


class PluginRuntime:
    """A plugin's handlers, called as a runtime calls them, and the sets of every container."""

    def __init__(self, choice: PinningChoice, manifests: dict[str, Pod] | None = None) -> None:
        self.manifests = manifests or {}
        self.lines: list[LogLine] = []
        self.told: list[str] = []
        self.choice = choice
        self.devices = NO_DEVICES
        self.sandboxes: dict[str, nri.PodSandbox] = {}
        self.containers: dict[str, nri.Container] = {}
        self.begin()

    @property
    def said(self) -> list[str]:
        return [each.message for each in self.lines]

    def begin(self) -> None:
        """Start a plugin that knows nothing yet."""
        node = empty_node()
        self.plugin = PinningPlugin(
            node, node.snapshot, self.choice, lambda: self.manifests,
            self.lines.append,
            lambda pod, text, reason: self.told.append(f"{reason.value} {pod}: {text}"),
        )  # fmt: skip
        self.plugin.devices = lambda: self.devices
        self.handlers = self.plugin.handlers()
        self.repairs = Repairs(self.plugin)

    def sandbox(self, name: str, parent: str = GUARANTEED, **annotations: str) -> nri.PodSandbox:
        made = sandbox(name, parent, **annotations)
        self.sandboxes[made.id] = made
        self.handlers["StateChange"](
            event(NriEvent.RUN_POD_SANDBOX.value, made).SerializeToString()
        )
        return made

    def create(self, of: nri.PodSandbox, name: str = "app", **given: Any) -> nri.Container:
        """Create a container; raises ``CallError`` if the plugin refuses."""
        made = container(of, name, **given, created_at=len(self.containers))
        payload = self.handlers["CreateContainer"](request(of, made).SerializeToString())
        answer = nri.CreateContainerResponse.FromString(payload)
        self._apply(made, answer.adjust.linux.resources)
        made.annotations.update(answer.adjust.annotations)
        self.containers[made.id] = made
        self.update(answer.update)
        return made

    def stop(self, stopped: nri.Container) -> None:
        of = self.sandboxes[stopped.pod_sandbox_id]
        del self.containers[stopped.id]
        payload = self.handlers["StopContainer"](request(of, stopped).SerializeToString())
        self.update(nri.UpdatesResponse.FromString(payload).update)

    def remove(self, of: nri.PodSandbox) -> None:
        for each in [each for each in self.containers.values() if each.pod_sandbox_id == of.id]:
            self.stop(each)
        del self.sandboxes[of.id]
        self.handlers["StateChange"](event(NriEvent.STOP_POD_SANDBOX.value, of).SerializeToString())

    def synchronize(self) -> None:
        asked = nri.SynchronizeRequest(
            pods=self.sandboxes.values(), containers=self.containers.values()
        )
        payload = self.handlers["Synchronize"](asked.SerializeToString())
        self.update(nri.SynchronizeResponse.FromString(payload).update)

    def repair(self, found: dict[str, Sets] | None = None) -> None:
        """Let the second connection's Synchronize bring the changes."""
        asked = nri.SynchronizeRequest(
            pods=self.sandboxes.values(), containers=self.containers.values()
        )
        handlers = self.repairs.handlers(lambda: found or {})
        payload = handlers["Synchronize"](asked.SerializeToString())
        self.update(nri.SynchronizeResponse.FromString(payload).update)

    def update(self, updates: Iterable[nri.ContainerUpdate]) -> None:
        for each in updates:
            assert each.ignore_failure
            self._apply(self.containers[each.container_id], each.linux.resources)

    def _apply(self, to: nri.Container, resources: nri.LinuxResources) -> None:
        cpu = to.linux.resources.cpu
        cpu.cpus = resources.cpu.cpus or cpu.cpus
        cpu.mems = resources.cpu.mems or cpu.mems

    def sets(self, of: nri.Container) -> tuple[str, str]:
        cpu = self.containers[of.id].linux.resources.cpu
        return cpu.cpus, cpu.mems


def permitting(**values: list[str]) -> Permissions:
    """Permit values of annotations in every namespace."""
    permits = {name.replace("_", "-"): frozenset(each) for name, each in values.items()}
    return Permissions({"*": permits})
