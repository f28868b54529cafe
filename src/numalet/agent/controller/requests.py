"""Messages of the controller: requests that wait for an answer, and facts.

A request that cannot be written is refused and has no effect. A fact has happened anyway, so the
controller keeps it until it is written.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final, TypeAlias

from numalet.agent.host.runtime.port import Answered, Ended, NotHeld, NotStarted, Started
from numalet.agent.kubelet.observed import KubeletObservation
from numalet.agent.servers.door import RequestRefused
from numalet.core.enforcement.comparison import Audit
from numalet.core.managers.device.inventory import Device
from numalet.core.model import resources
from numalet.core.model.findings import Finding
from numalet.core.model.pod import ContainerKey
from numalet.core.model.value import Value, field
from numalet.core.node.node import Node
from numalet.core.workload.records import PodRecord
from numalet.core.workload.spec import Workload

Answer: TypeAlias = "asyncio.Future[PodRecord | RequestRefused]"


class Create(Value, eq=False):
    workload: Workload
    answer: Answer


class Delete(Value, kw_only=True, eq=False):
    """Without ``grace_seconds``, the pod's own period applies."""

    namespace: str
    name: str
    grace_seconds: float | None
    uid: str | None
    answer: Answer


class Revise(Value, kw_only=True, eq=False):
    """Replace ``before`` by ``after``; without ``version``, any version matches."""

    before: Workload
    after: Workload
    version: int | None
    answer: Answer


class Began(Value):
    """The runtime started an attempt or failed to."""

    key: ContainerKey
    attempt: int
    result: Started | NotStarted


class Delayed(Value):
    """The host was short of something; the start is retried."""

    key: ContainerKey
    why: NotStarted


class StartWithdrawn(Value):
    """A recorded attempt was not started, because its pod is ending."""

    key: ContainerKey


class Forgotten(Value):
    """The runtime has nothing left of this pod."""

    pod_uid: str


class FolderRead(Value):
    """The manifest folder's content, and broken files by path.

    ``unreadable`` are paths whose pods stay unchanged; the folder's path covers everything in it.
    ``remarks`` by uid are for authors of accepted files.
    """

    workloads: tuple[Workload, ...]
    broken: Mapping[str, tuple[Finding, ...]] = field(default_factory=dict)
    unreadable: frozenset[str] = frozenset()
    remarks: Mapping[str, tuple[Finding, ...]] = field(default_factory=dict)


class FolderPod(Value):
    """A pod of the folder that needs a plugin."""

    workload: Workload


class ResyncResult(Value):
    """The result of one comparison of all running containers with the node state.

    ``audits`` has the findings by container. ``corrected`` has the names of the cgroup settings
    that something else had changed and that were written again; under a key without a container
    are the cgroups above the pods. ``not_held`` has the limits that the kernel refused to set
    since the last comparison.
    """

    audits: Mapping[ContainerKey, Audit]
    corrected: Mapping[ContainerKey, tuple[str, ...]]
    not_held: Mapping[ContainerKey, NotHeld] = field(default_factory=dict)


class KubeletSeen(Value):
    """An observation of the kubelet; ``node`` is unset if unknown."""

    node: Node | None
    observation: KubeletObservation

    @property
    def audits(self) -> Mapping[ContainerKey, Audit]:
        return self.observation.audits


class SourcesReady(Value):
    """All sources of pods have been read."""


class PluginReported(Value):
    resource: str
    devices: tuple[Device, ...]


class PluginStopped(Value):
    resource: str


class PluginExpired(Value):
    """The grace period of a stopped plugin ended."""

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
"""More containers are decided in a thread: each takes up to a millisecond."""


def is_large(message: Message) -> bool:
    match message:
        case Create(workload):
            return len(workload.containers) > LARGE
        case FolderRead(workloads):
            return sum(len(each.containers) for each in workloads) > LARGE
        case _:
            return False


def may_ask_a_plugin(message: Message) -> bool:
    """Whether the decision may call a plugin."""
    match message:
        case Create(workload) | FolderPod(workload):
            return bool(resources_of(workload))
        case FolderRead(workloads):
            return any(map(resources_of, workloads))
        case _:
            return False


def resources_of(workload: Workload) -> frozenset[str]:
    """Device plugin resources that a pod requests."""
    containers = workload.pod.containers()
    return frozenset(
        name for each in containers for name in each.limits if resources.is_device(name)
    )
