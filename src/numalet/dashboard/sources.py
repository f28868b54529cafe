"""What the dashboard shows, as values; and who gives it.

``NodeView`` is what pages of one node are made of. The agent makes it of its own view, ``numalet
dashboard -m`` of a simulated node, and beside a kubelet it is made of what was observed. Sizes in
bytes; moments have their zone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import Enum
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from numalet.core.cluster.cluster import Cluster
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.model.pod import ContainerKey, Pod
from numalet.core.model.value import Value
from numalet.core.node.node import Node
from numalet.insight.maps.node_map import NodeMap


class SourceKind(Enum):
    """What a source is to its node."""

    ENFORCING = "enforcing"
    OBSERVING = "observing"
    SIMULATED = "simulated"


class Level(Enum):
    """How much attention a note needs."""

    GOOD = "good"
    WARNING = "warning"
    BAD = "bad"


class Note(Value):
    """One thing that an administrator should know: a sentence, its code, and what mends it."""

    level: Level
    code: str
    text: str
    mend: str = ""


class ContainerRow(Value, kw_only=True):
    """One container: what it was promised, and what the kernel says; None where that is unread."""

    name: str
    state: str
    restarts: int | None
    """None where they are not known, as beside a kubelet."""
    promised_cpus: str
    promised_nodes: tuple[int, ...]
    promised_bytes: Mapping[str, int]
    devices: Mapping[str, tuple[str, ...]]
    actual_bytes: Mapping[int, int] | None = None
    misplaced_bytes: int | None = None
    stray_cpus: str = ""
    stray_nodes: tuple[int, ...] = ()


class PodRow(Value, kw_only=True):
    """One pod, admitted or rejected; then ``reason`` and ``message`` are the kubelet's."""

    pod: Pod
    status: str
    """``Running``, ``Pending``, ``Succeeded``, ``Failed``, or ``Rejected``.

    Of a kubelet's pod ``Running`` where a container was seen to run; ``Stale`` where the kubelet
    does not know the pod any more; else ``Observed``.
    """
    containers: tuple[ContainerRow, ...] = ()
    created_at: datetime | None = None
    reason: str = ""
    message: str = ""
    why: str = ""
    """Our own sentence for a rejection."""

    @property
    def is_rejected(self) -> bool:
        """Whether it was refused admission."""
        return self.status == "Rejected"


class EventRow(Value, kw_only=True):
    """One event, in the words of Kubernetes."""

    at: datetime
    is_warning: bool
    reason: str
    message: str
    pod: str = ""
    count: int = 1


class NodeView(Value, kw_only=True):
    """A node at one moment, whole. ``rows`` are in the order of acceptance, events oldest first.

    ``revision`` grows with every change. ``node`` and ``config`` are what questions are asked of:
    why a pod was rejected, where another would go.
    """

    title: str
    kind: SourceKind
    revision: int
    at: datetime
    node: Node
    config: KubeletConfig
    chart: NodeMap
    rows: tuple[PodRow, ...] = ()
    events: tuple[EventRow, ...] = ()
    notes: tuple[Note, ...] = ()
    is_ready: bool = True
    by_uid: Mapping[str, PodRow] = MappingProxyType({})


class HistoryPoint(Value):
    """Figures of one moment. Bytes are by NUMA node and memory type.

    ``admitted`` and ``refused_by_reason`` count pods since the point before.
    """

    at: datetime
    admitted: int
    refused_by_reason: Mapping[str, int]
    reserved_bytes: Mapping[tuple[int, str], int]
    free_bytes: Mapping[tuple[int, str], int]
    misplaced_bytes: int


class NodeSource(Protocol):
    """A node that can be shown. All calls come from the event loop of the dashboard."""

    def view(self) -> NodeView:
        """The node as it is now; the same value as long as nothing changes."""

    async def changed(self) -> None:
        """Wait until there is another view."""

    def history(self) -> Sequence[HistoryPoint]:
        """Figures of the last hours, oldest first; empty where none are kept."""

    def log_path(self, key: ContainerKey) -> Path | None:
        """Where the output of a container is kept; None where it is not."""


class OutOfDate(Value):
    """Since when a cluster may have changed without being seen to, and why."""

    since: datetime
    why: str


class FleetSource(Protocol):
    """A cluster that can be shown."""

    def cluster(self) -> Cluster:
        """The cluster as it is known now; the same value as long as nothing changes."""

    async def changed(self) -> None:
        """Wait until there is another cluster, or it begins or ends to be out of date."""

    @property
    def out_of_date(self) -> OutOfDate | None:
        """None while what is known is current; the same value as long as it is not."""

    @property
    def is_live(self) -> bool:
        """Whether it follows a cluster, and is no dump."""
