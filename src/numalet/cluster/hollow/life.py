"""Values of a hollow node's life: its state, what can happen, what is to be carried out then."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import TypeAlias

from numalet.cluster.hollow.pod import HollowPod, RunTimes
from numalet.core.config.rules import StartRefused
from numalet.core.node.node import Node
from numalet.core.workload.record import NodeEvent, PodRecord

Restart: TypeAlias = Callable[[Node], Node | StartRefused]
"""The node after its kubelet was started again, from the state files that it has now."""


@dataclass(frozen=True, slots=True)
class End:
    """When a container will have ended, and with what."""

    at: datetime
    code: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldPod:
    """One pod of a node: its record, the ends of its containers that are foreseen.

    ``due_at`` is the next moment at which something of it may be otherwise without an event.
    """

    record: PodRecord
    times: RunTimes
    ends: Mapping[str, End] = field(default_factory=lambda: MappingProxyType({}))
    due_at: datetime | None = None
    is_forgettable: bool = False
    """It was deleted and nothing of it runs: the API server may forget it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeLife:
    """A hollow node at one moment.

    ``refused`` is why its kubelet does not start again after a reboot, as some do not with the
    state files that they wrote themselves.
    """

    name: str
    node: Node
    pods: Mapping[str, HeldPod] = field(default_factory=lambda: MappingProxyType({}))
    is_up: bool = True
    refused: StartRefused | None = None

    def __repr__(self) -> str:
        return f"<NodeLife: {self.name}, pods {len(self.pods)}, {self.node!r}>"

    @property
    def due_at(self) -> datetime | None:
        """The next moment at which something may be otherwise without an event."""
        if not self.is_up:
            return None
        return min((each.due_at for each in self.pods.values() if each.due_at), default=None)


@dataclass(frozen=True, slots=True)
class PodBound:
    """A pod was bound to the node, or is to be deleted sooner than was known."""

    pod: HollowPod


@dataclass(frozen=True, slots=True)
class PodGone:
    """The API server has the pod no more."""

    uid: str


@dataclass(frozen=True, slots=True)
class MomentCame:
    """The moment has come at which something was foreseen."""


@dataclass(frozen=True, slots=True)
class WentDown:
    """The machine went down, with everything that ran on it."""


@dataclass(frozen=True, slots=True)
class CameUp:
    """The machine is up again, its kubelet starts on its state files, and these are its pods."""

    restart: Restart
    pods: tuple[HollowPod, ...]


LifeEvent: TypeAlias = PodBound | PodGone | MomentCame | WentDown | CameUp


@dataclass(frozen=True, slots=True)
class ReportPod:
    """The status of a pod is to be written; what it is then counts."""

    uid: str


@dataclass(frozen=True, slots=True)
class ReleasePod:
    """The API server is to forget a pod of which nothing runs."""

    uid: str


@dataclass(frozen=True, slots=True)
class Announce:
    """An event is to be written."""

    event: NodeEvent


Action: TypeAlias = ReportPod | ReleasePod | Announce
