"""Values of a hollow node's life: its state, what can happen, what is to be carried out then."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import TypeAlias

from numalet.cluster.hollow.pod import HollowPod, RunTimes
from numalet.core.config.rules import StartRefused
from numalet.core.model.value import Value
from numalet.core.node.node import Node
from numalet.core.workload.record import NodeEvent, PodRecord

Restart: TypeAlias = Callable[[Node], Node | StartRefused]
"""The node after its kubelet was started again, from the state files that it has now."""


class End(Value):
    """When a container will have ended, and with what."""

    at: datetime
    code: int


class HeldPod(Value, kw_only=True):
    """One pod of a node: its record, the ends of its containers that are foreseen.

    ``due_at`` is the next moment at which something of it may be otherwise without an event.
    """

    record: PodRecord
    times: RunTimes
    ends: Mapping[str, End] = MappingProxyType({})
    due_at: datetime | None = None
    is_forgettable: bool = False
    """It was deleted and nothing of it runs: the API server may forget it."""


class NodeLife(Value, kw_only=True):
    """A hollow node at one moment.

    ``refused`` is why its kubelet does not start again after a reboot, as some do not with the
    state files that they wrote themselves.
    """

    name: str
    node: Node
    pods: Mapping[str, HeldPod] = MappingProxyType({})
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


class PodBound(Value):
    """A pod was bound to the node, or is to be deleted sooner than was known."""

    pod: HollowPod


class PodGone(Value):
    """The API server has the pod no more."""

    uid: str


class MomentCame(Value):
    """The moment has come at which something was foreseen."""


class WentDown(Value):
    """The machine went down, with everything that ran on it."""


class CameUp(Value):
    """The machine is up again, its kubelet starts on its state files, and these are its pods."""

    restart: Restart
    pods: tuple[HollowPod, ...]


LifeEvent: TypeAlias = PodBound | PodGone | MomentCame | WentDown | CameUp


class ReportPod(Value):
    """The status of a pod is to be written; what it is then counts."""

    uid: str


class ReleasePod(Value):
    """The API server is to forget a pod of which nothing runs."""

    uid: str


class Announce(Value):
    """An event is to be written."""

    event: NodeEvent


Action: TypeAlias = ReportPod | ReleasePod | Announce
