"""The interface between servers and agent: a view to read, requests to make."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from enum import Enum
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from numalet.agent.kubelet.observed import KubeletObservation
from numalet.agent.telemetry.gauges import CpuGauges
from numalet.agent.telemetry.metrics import Counts
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.enforcement.comparison import Audit, GuaranteeLevel
from numalet.core.model.pod import ContainerKey
from numalet.core.model.value import Value, field
from numalet.core.node.node import Node
from numalet.core.workload.records import NodeEvent, PodRecord, Records
from numalet.core.workload.spec import Workload
from numalet.shared.kubernetes.node_object import Unready


class OwnershipMode(Enum):
    ENFORCING = "enforcing"
    OBSERVING = "observing"
    """Another manager owns CPUs or memory: the agent only reads and reports."""
    AUDITING = "auditing"
    """A runtime plugin decides on a kubelet's pods and reports, and changes nothing."""
    PINNING = "pinning"
    """A runtime plugin pins the containers of a kubelet's pods."""


class AgentView(Value, kw_only=True):
    """The agent at one moment: immutable and consistent.

    ``records`` by uid in order of acceptance; ``events`` bounded, oldest first; ``audits`` the
    latest of each running container; ``unready`` the reason not to admit pods.
    """

    node_name: str
    node: Node
    standing: OwnershipMode
    level: GuaranteeLevel
    started_at: datetime
    node_created_at: datetime
    """First use of the root folder; survives restarts."""
    resource_version: int
    unready: Unready | None = None
    unschedulable: bool = False
    """Whether the node is cordoned."""
    records: Records = field(default_factory=Records)
    events: tuple[NodeEvent, ...] = ()
    audits: Mapping[ContainerKey, Audit] = MappingProxyType({})
    counts: Counts = field(default_factory=Counts)
    notes: tuple[str, ...] = ()
    """Codes of notes for the administrator, such as unenforceable settings."""
    config: KubeletConfig = field(default_factory=KubeletConfig)
    cpu_gauges: CpuGauges | None = None
    """Gauges of the CPU Manager that change with events, in exact mode."""
    kubelet: KubeletObservation | None = None
    """Set if a kubelet owns this node."""

    @property
    def ready(self) -> bool:
        """Whether the agent admits pods."""
        return self.unready in (None, Unready.OBSERVING)


class ChangeKind(Enum):
    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


class PodChange(Value):
    """A step of a pod watch: the record after the change, or the deleted one.

    ``before`` is unset for a new pod.
    """

    kind: ChangeKind
    record: PodRecord
    resource_version: int
    before: PodRecord | None = None


class EventChange(Value):
    """A step of an event watch. MODIFIED: counted again. DELETED: displaced by later events.

    ``before`` is unset for a new event.
    """

    kind: ChangeKind
    event: NodeEvent
    resource_version: int
    before: NodeEvent | None = None


class RequestRefusal(Enum):
    ALREADY_EXISTS = "AlreadyExists"
    NOT_FOUND = "NotFound"
    CONFLICT = "Conflict"
    TOO_OLD = "Expired"
    TOO_NEW = "Timeout"
    """A resource version that does not exist yet."""
    OBSERVING = "Observing"
    STOPPING = "Stopping"
    CORDONED = "Cordoned"
    """The node is cordoned and admits no pods from the API."""
    STORAGE = "Storage"
    """The node state cannot be written: disk full, read-only, I/O error."""


class RequestRefused(Value):
    """A refused request, with values for its message."""

    why: RequestRefusal
    fields: Mapping[str, str] = MappingProxyType({})


class Foreseen(Value):
    """The predicted record of a pod, and the node after it."""

    record: PodRecord
    node: Node


class Door(Protocol):
    """The agent for servers. Call only in the agent's event loop."""

    def view(self) -> AgentView:
        """The state on disk; a change appears here after its write."""

    def counts(self) -> Counts:
        """Counters of the agent and its other servers."""

    async def create(self, workload: Workload) -> PodRecord | RequestRefused:
        """Admit or reject a pod; returns after the decision is on disk."""

    async def revise(
        self, before: Workload, after: Workload, *, version: int | None = None
    ) -> PodRecord | RequestRefused:
        """Change a pod within ``core.workload.changes``; returns after the write.

        Refused with a conflict if the pod is no longer ``before``, or has another version.
        """

    async def delete(
        self, namespace: str, name: str, *, grace_seconds: float | None, uid: str | None = None
    ) -> PodRecord | RequestRefused:
        """Start a deletion. Default of ``grace_seconds``: the pod's own period."""

    async def cordon(self, *, unschedulable: bool) -> RequestRefused | None:
        """Cordon or uncordon; returns after the write."""

    def foresee_create(self, workload: Workload) -> Foreseen | RequestRefused:
        """Predict ``create`` without a change and without a call of plugins."""

    def foresee_alone(self, workload: Workload) -> Foreseen | RequestRefused:
        """Predict ``create`` on a node without other pods."""

    def foresee_delete(
        self, namespace: str, name: str, *, grace_seconds: float | None, uid: str | None = None
    ) -> Foreseen | RequestRefused:
        """Predict ``delete`` without a change."""

    async def changed(self) -> None:
        """Wait for another view."""

    def pod_changes(self, since: int) -> AsyncIterator[PodChange] | RequestRefused:
        """Yield changes after this version, then new ones.

        Refused if the version is forgotten or does not exist yet.
        """

    def event_changes(self, since: int) -> AsyncIterator[EventChange] | RequestRefused:
        """As ``pod_changes``, for events."""

    def past_pod_changes(self, since: int) -> Sequence[PodChange] | RequestRefused:
        """Changes after this version up to now, oldest first."""

    def past_event_changes(self, since: int) -> Sequence[EventChange] | RequestRefused:
        """As ``past_pod_changes``, for events."""

    def log_path(self, key: ContainerKey, *, previous: bool = False) -> Path | None:
        """The log of the latest or previous attempt."""
