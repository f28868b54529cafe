"""What servers know of the agent: a view to read, and a few things to ask for."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from enum import Enum
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from numalet.agent.kubelet.observed import KubeletObservation
from numalet.agent.telemetry.cpu_gauges import CpuGauges
from numalet.agent.telemetry.metrics import Counts
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.enforcement.audit import Audit
from numalet.core.enforcement.levels import GuaranteeLevel
from numalet.core.model.pod import ContainerKey
from numalet.core.model.value import Value, field
from numalet.core.node.node import Node
from numalet.core.workload.record import NodeEvent, PodRecord
from numalet.core.workload.records import Records
from numalet.core.workload.spec import Workload
from numalet.shared.kubernetes.node_object import Unready


class OwnershipMode(Enum):
    """What the agent may do on this machine."""

    ENFORCING = "enforcing"
    OBSERVING = "observing"
    """There is another owner of CPUs or memory: the agent reads, reports and writes nothing."""


class AgentView(Value, kw_only=True):
    """The agent at one moment. Immutable, and consistent as a whole.

    ``records`` are by uid in the order of acceptance. ``events`` are bounded, oldest first.
    ``audits`` are the latest of each running container. ``unready`` is why no pods are admitted,
    None if they are.
    """

    node_name: str
    node: Node
    standing: OwnershipMode
    level: GuaranteeLevel
    started_at: datetime
    node_created_at: datetime
    """When the root folder was first used: the node is as old as that, whatever restarts."""
    resource_version: int
    unready: Unready | None = None
    unschedulable: bool = False
    """Whether the node was cordoned."""
    records: Records = field(default_factory=Records)
    events: tuple[NodeEvent, ...] = ()
    audits: Mapping[ContainerKey, Audit] = MappingProxyType({})
    counts: Counts = field(default_factory=Counts)
    notes: tuple[str, ...] = ()
    """Codes of what an administrator should know, such as what can not be enforced here."""
    config: KubeletConfig = field(default_factory=KubeletConfig)
    """The configuration that the node was started with."""
    cpu_gauges: CpuGauges | None = None
    """The gauges of the CPU Manager where they move with events: in exact mode."""
    kubelet: KubeletObservation | None = None
    """The latest observation of the kubelet that owns this node; None where the agent does."""

    @property
    def ready(self) -> bool:
        """Whether the agent admits pods: all sources are ready, and it can write its state."""
        return self.unready in (None, Unready.OBSERVING)


class ChangeKind(Enum):
    """What happened to an object, in the words of a Kubernetes watch."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


class PodChange(Value):
    """One step of a watch: the record after the change, or the last one before it went.

    ``before`` is the record before the change; None where the pod is new.
    """

    kind: ChangeKind
    record: PodRecord
    resource_version: int
    before: PodRecord | None = None


class EventChange(Value):
    """One step of a watch of events: ADDED, or MODIFIED where an equal one was counted up.

    DELETED where it made room for later ones. ``before`` is the event before the change; None
    where it is new.
    """

    kind: ChangeKind
    event: NodeEvent
    resource_version: int
    before: NodeEvent | None = None


class RequestRefusal(Enum):
    """Why a request to the agent came to nothing."""

    ALREADY_EXISTS = "AlreadyExists"
    NOT_FOUND = "NotFound"
    CONFLICT = "Conflict"
    TOO_OLD = "Expired"
    TOO_NEW = "Timeout"
    """A resource version that was never given out."""
    OBSERVING = "Observing"
    STOPPING = "Stopping"
    CORDONED = "Cordoned"
    """The node admits no more pods from the API until it is uncordoned."""
    STORAGE = "Storage"
    """The node state can not be written: disk full, read-only, an error of the disk."""


class RequestRefused(Value):
    """A request that came to nothing, and the values that its sentence shows."""

    why: RequestRefusal
    fields: Mapping[str, str] = MappingProxyType({})


class Foreseen(Value):
    """The predicted record of a pod, and the node after it."""

    record: PodRecord
    node: Node


class Door(Protocol):
    """The agent, as servers see it. All calls come from the agent's own event loop."""

    def view(self) -> AgentView:
        """The agent's current state, as far as it is on disk."""

    def counts(self) -> Counts:
        """Everything that is counted, by the agent and by its other servers."""

    async def create(self, workload: Workload) -> PodRecord | RequestRefused:
        """Decide about a pod; returns after the decision is on disk, admitted or not."""

    async def revise(
        self, before: Workload, after: Workload, *, version: int | None = None
    ) -> PodRecord | RequestRefused:
        """Let a pod be what ``core.workload.changes`` permits; returns after it is on disk.

        Refused with a conflict if the pod is not ``before`` any more, or not of this version.
        """

    async def delete(
        self, namespace: str, name: str, *, grace_seconds: float | None, uid: str | None = None
    ) -> PodRecord | RequestRefused:
        """Ask for a pod to end and go. ``grace_seconds`` None means the pod's own period."""

    async def cordon(self, *, unschedulable: bool) -> RequestRefused | None:
        """Admit no more pods from the API, or admit them again; returns after it is on disk."""

    def foresee_create(self, workload: Workload) -> Foreseen | RequestRefused:
        """Predict ``create``, without keeping anything or calling a plugin."""

    def foresee_alone(self, workload: Workload) -> Foreseen | RequestRefused:
        """Predict ``create`` on a node without other pods."""

    def foresee_delete(
        self, namespace: str, name: str, *, grace_seconds: float | None, uid: str | None = None
    ) -> Foreseen | RequestRefused:
        """Predict ``delete``, without keeping anything."""

    async def changed(self) -> None:
        """Wait until there is another view."""

    def pod_changes(self, since: int) -> AsyncIterator[PodChange] | RequestRefused:
        """All changes after this resource version, then those to come.

        Refused where the version is forgotten, or has not been given out yet.
        """

    def event_changes(self, since: int) -> AsyncIterator[EventChange] | RequestRefused:
        """All changes of events after this resource version, then those to come."""

    def past_pod_changes(self, since: int) -> Sequence[PodChange] | RequestRefused:
        """The changes between this resource version and now, oldest first."""

    def past_event_changes(self, since: int) -> Sequence[EventChange] | RequestRefused:
        """The changes of events between this resource version and now, oldest first."""

    def log_path(self, key: ContainerKey, *, previous: bool = False) -> Path | None:
        """Where the output of a container's latest (or previous) attempt is kept."""
