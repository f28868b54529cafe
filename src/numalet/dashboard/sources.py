"""The views that the dashboard shows, and the interfaces of its sources.

Sizes are in bytes; times have a zone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import Enum
from pathlib import Path
from types import MappingProxyType
from typing import Final, Protocol

from numalet.core.cluster.cluster import Cluster
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.model.pod import ContainerKey, Pod
from numalet.core.model.value import Value
from numalet.core.node.node import Node
from numalet.core.workload.run import Exit
from numalet.insight.maps import node_map
from numalet.insight.maps.node_map import NodeMap


class SourceKind(Enum):
    ENFORCING = "enforcing"
    OBSERVING = "observing"
    SIMULATED = "simulated"


class Level(Enum):
    GOOD = "good"
    WARNING = "warning"
    BAD = "bad"


class Note(Value):
    level: Level
    code: str
    text: str
    fix: str = ""


_GOOD: Final = frozenset({"Running", "Completed", "Succeeded", "Terminating", "Observed"})
_WAITING: Final = frozenset(
    {"Pending", "ContainerCreating", "PodInitializing", "NotReady", "Stale"}
)


class ContainerRow(Value, kw_only=True):
    """One container: its allocation, and the kernel's values if they were read."""

    name: str
    state: str
    restarts: int | None
    """Unknown next to a kubelet."""
    last_exit: Exit | None = None
    """The end of its last attempt that ended."""
    started_at: datetime | None = None
    """The start of its last attempt."""
    promised_cpus: str
    promised_nodes: tuple[int, ...]
    promised_bytes: Mapping[str, int]
    devices: Mapping[str, tuple[str, ...]]
    actual_bytes: Mapping[int, int] | None = None
    misplaced_bytes: int | None = None
    stray_cpus: str = ""
    stray_nodes: tuple[int, ...] = ()

    @property
    def last_end(self) -> str:
        """``exit code 3, Error``."""
        ended = self.last_exit
        return "" if ended is None else f"exit code {ended.code}, {ended.reason.value}"


class PodRow(Value, kw_only=True):
    """One pod. Of a rejected one, ``reason`` and ``message`` are the kubelet's."""

    pod: Pod
    status: str
    """The STATUS of ``kubectl get pods``, or ``Rejected``.

    For a kubelet's pod: ``Running`` if a container was seen to run; ``Stale`` if the kubelet does
    not know the pod any more; else ``Observed``. A pod of state files alone has no namespace.
    """
    containers: tuple[ContainerRow, ...] = ()
    created_at: datetime | None = None
    reason: str = ""
    message: str = ""
    why: str = ""
    """numalet's sentence for a rejection."""
    cause: str = ""
    """What was needed then and the best that there was, if known."""

    @property
    def is_rejected(self) -> bool:
        return self.status == "Rejected"

    @property
    def title(self) -> str:
        return node_map.pod_title(self.pod.namespace, self.pod.name, self.pod.uid)

    @property
    def level(self) -> Level:
        """Good: runs, ends or has completed. Warning: waits. Bad: crashes or has failed."""
        if self.status in _GOOD:
            return Level.GOOD
        # Init:1/2 waits for init containers; Init:Error, Init:CrashLoopBackOff do not.
        waits = self.status in _WAITING or re.fullmatch(r"Init:\d+/\d+", self.status)
        return Level.WARNING if waits else Level.BAD


class EventRow(Value, kw_only=True):
    at: datetime
    is_warning: bool
    reason: str
    message: str
    pod: str = ""
    count: int = 1


class NodeView(Value, kw_only=True):
    """A node at one time. ``rows`` are in the order of acceptance, events oldest first.

    ``revision`` grows with every change. ``node`` and ``config`` allow to explain a rejection, or
    to try another pod.
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


ELSEWHERE: Final = -1


class Happened(Enum):
    BEGAN = "began"
    ADMITTED = "admitted"
    REJECTED = "rejected"
    CRASHED = "crashed"
    RESTARTED = "restarted"
    ENDED = "ended"
    REMOVED = "removed"


class HistoryEvent(Value):
    """What happened to a pod, or to the dashboard's server if ``pod`` is empty."""

    at: datetime
    what: Happened
    pod: str
    words: str = ""


class HistoryPoint(Value):
    """Figures at one time, and the events since the point before.

    ``used`` and ``free`` are amounts by NUMA node and resource: CPUs in thousandths, sizes in
    bytes; ``ELSEWHERE`` stands for devices of several NUMA nodes. ``admitted`` and
    ``rejected_by_reason`` count pods since the point before.
    """

    at: datetime
    admitted: int
    rejected_by_reason: Mapping[str, int]
    used: Mapping[tuple[int, str], int]
    free: Mapping[tuple[int, str], int]
    misplaced_bytes: int
    events: tuple[HistoryEvent, ...] = ()


class NodeSource(Protocol):
    """A node to show. All calls come from the event loop of the dashboard."""

    def view(self) -> NodeView:
        """Return the current view; the same object as long as nothing changes."""

    async def changed(self) -> None:
        """Wait until there is another view."""

    def history(self) -> Sequence[HistoryPoint]:
        """Return figures of the last hours, oldest first; empty without a history."""

    def log_path(self, key: ContainerKey) -> Path | None:
        """Return the file with the output of a container, if there is one."""


class OutOfDate(Value):
    """Since when the shown cluster may be outdated, and why."""

    since: datetime
    why: str


class FleetSource(Protocol):
    def cluster(self) -> Cluster:
        """Return the current cluster; the same object as long as nothing changes."""

    async def changed(self) -> None:
        """Wait until the cluster changes, or starts or stops being out of date."""

    @property
    def out_of_date(self) -> OutOfDate | None:
        """Set while the cluster is outdated; the same object until that ends."""

    @property
    def is_live(self) -> bool:
        """False for a dump."""

    @property
    def name(self) -> str:
        """Return the name of the cluster, or of the files that describe it."""

    @property
    def made_at(self) -> datetime | None:
        """Return when the newest of its files was written; None for a cluster that is followed."""
