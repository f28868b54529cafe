"""The messages in a controller's inbox: requests that wait for an answer, and facts.

A request that can not be written to the disk is refused, and nothing has happened. A fact has
happened whether it can be written or not, so the controller holds on to it until it can.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final, TypeAlias

from numalet.agent.host.runtime.port import Answered, Ended, NotHeld, NotStarted, Started
from numalet.agent.kubelet.observed import KubeletObservation
from numalet.agent.servers.door import RequestRefused
from numalet.core.enforcement.audit import Audit
from numalet.core.managers.device.inventory import Device
from numalet.core.model.findings import Finding
from numalet.core.model.pod import ContainerKey
from numalet.core.model.value import Value, field
from numalet.core.node.node import Node
from numalet.core.workload.record import PodRecord
from numalet.core.workload.spec import Workload

Answer: TypeAlias = "asyncio.Future[PodRecord | RequestRefused]"


class Create(Value, eq=False):
    """Run this pod."""

    workload: Workload
    answer: Answer


class Delete(Value, kw_only=True, eq=False):
    """Delete this pod; ``grace_seconds`` None is the pod's own grace period."""

    namespace: str
    name: str
    grace_seconds: float | None
    uid: str | None
    answer: Answer


class Revise(Value, kw_only=True, eq=False):
    """Replace ``before`` by ``after``; ``version`` None is any version."""

    before: Workload
    after: Workload
    version: int | None
    answer: Answer


class Began(Value):
    """The runtime started an attempt, or could not."""

    key: ContainerKey
    attempt: int
    result: Started | NotStarted


class Delayed(Value):
    """The host lacked something for a start, which is tried again."""

    key: ContainerKey
    why: NotStarted


class StartWithdrawn(Value):
    """An attempt that was recorded was not asked for: its pod is over."""

    key: ContainerKey


class Forgotten(Value):
    """The runtime has nothing of this pod any more."""

    pod_uid: str


class FolderRead(Value):
    """What the manifest folder holds, and what is wrong in it by path.

    ``unreadable`` are the paths whose pods are not known now: they are left as they are. The
    path of the folder stands for all that may be in it.
    ``remarks``, by uid, are what the author of a file should know though its pod is accepted.
    """

    workloads: tuple[Workload, ...]
    broken: Mapping[str, tuple[Finding, ...]] = field(default_factory=dict)
    unreadable: frozenset[str] = frozenset()
    remarks: Mapping[str, tuple[Finding, ...]] = field(default_factory=dict)


class FolderPod(Value):
    """A pod of the manifest folder whose decision needs a plugin."""

    workload: Workload


class ResyncResult(Value):
    """The result of a resync: audits of running containers, settings that were corrected.

    ``corrected`` are names of settings by container; the key of a cgroup above has no container.
    ``not_held`` is what the kernel does not hold a cgroup to and was not known before.
    """

    audits: Mapping[ContainerKey, Audit]
    corrected: Mapping[ContainerKey, tuple[str, ...]]
    not_held: Mapping[ContainerKey, NotHeld] = field(default_factory=dict)


class KubeletSeen(Value):
    """An observation of the kubelet that owns this node; ``node`` is None if unknown."""

    node: Node | None
    observation: KubeletObservation

    @property
    def audits(self) -> Mapping[ContainerKey, Audit]:
        """Of the kubelet's containers."""
        return self.observation.audits


class SourcesReady(Value):
    """Every source of pods has been read since the start."""


class PluginReported(Value):
    """A device plugin says which devices it has."""

    resource: str
    devices: tuple[Device, ...]


class PluginStopped(Value):
    """A device plugin went."""

    resource: str


class PluginExpired(Value):
    """A device plugin went, and did not come back in time."""

    resource: str


PluginNews: TypeAlias = PluginReported | PluginStopped | PluginExpired
Request: TypeAlias = Create | Revise | Delete
Fact: TypeAlias = (
    Began
    | Answered
    | Delayed
    | StartWithdrawn
    | Ended
    | Forgotten
    | FolderRead
    | FolderPod
    | ResyncResult
    | KubeletSeen
    | SourcesReady
    | PluginNews
)
Message: TypeAlias = Request | Fact


LARGE: Final = 50
"""So many containers make a pod one that is not decided on in the event loop: each takes up to a
millisecond."""


def is_large(message: Message) -> bool:
    """Whether the decision takes long enough to delay others."""
    match message:
        case Create(workload):
            return len(workload.containers) > LARGE
        case FolderRead(workloads):
            return sum(len(each.containers) for each in workloads) > LARGE
        case _:
            return False


def may_ask_a_plugin(message: Message) -> bool:
    """Whether the decision may wait for a plugin, which only pods with devices do."""
    match message:
        case Create(workload) | FolderPod(workload):
            return bool(resources_of(workload))
        case FolderRead(workloads):
            return any(map(resources_of, workloads))
        case _:
            return False


def resources_of(workload: Workload) -> frozenset[str]:
    """The resources of device plugins that a pod asks for."""
    containers = workload.pod.containers()
    return frozenset(name for each in containers for name in each.limits if "/" in name)
