"""Values of a hollow node: its pods, state, events, and actions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Final, TypeAlias

from numalet.core.config.rules import StartRefused
from numalet.core.model.pod import Pod
from numalet.core.model.value import Value, field
from numalet.core.node.node import Node
from numalet.core.workload.records import NodeEvent, PodRecord
from numalet.core.workload.spec import Workload
from numalet.shared.kubernetes import pod_resources

AT_ONCE: Final = timedelta()


class RunTimes(Value, kw_only=True):
    """How long the containers of a pod run, and how they end.

    ``app`` is the run time of each app container, forever without one, and ``exit_code`` its
    result; ``init`` is the run time of each init container. ``ending`` is how long a container runs
    after its signal, within its grace period.
    """

    app: timedelta | None = None
    init: timedelta = AT_ONCE
    ending: timedelta = AT_ONCE
    exit_code: int = 0


class ContainerBefore(Value):
    """A container that already runs when the pod is seen for the first time."""

    started_at: datetime
    restart_count: int = 0


class HollowPod(Value, kw_only=True):
    """A pod as its node gets it from the API server.

    ``running`` are the containers that run by its status: the former process of its node has ended,
    and they are not started again. ``grace_seconds`` is set for a pod that is being deleted.
    """

    workload: Workload
    times: RunTimes = field(default_factory=RunTimes)
    created_at: datetime
    running: Mapping[str, ContainerBefore] = MappingProxyType({})
    grace_seconds: float | None = None

    @property
    def uid(self) -> str:
        return self.workload.uid

    @property
    def order(self) -> tuple[datetime, str]:
        """The sort key of pods that ask for admission together: the oldest first, as in a kubelet.

        Kubelet: ``HandlePodAdditions``, which sorts by creation time alone; ties are in any order,
        and here in the order of their names.
        """
        return self.created_at, str(self.workload.pod)


Restart: TypeAlias = Callable[[Node], Node | StartRefused]
"""Restarts the kubelet of a node with its current state files."""


class End(Value):
    """The predicted end of a container, and its exit code."""

    at: datetime
    code: int


class HeldPod(Value, kw_only=True):
    """One pod of a node: its record, and the predicted ends of its containers.

    ``due_at`` is the next time at which it may change without an event.
    """

    record: PodRecord
    times: RunTimes
    ends: Mapping[str, End] = MappingProxyType({})
    due_at: datetime | None = None
    is_forgettable: bool = False
    """It was deleted and has no running container: the API server may forget it."""


class NodeLife(Value, kw_only=True):
    """A hollow node at one time.

    ``refused`` is why its kubelet does not start again after a reboot, as some do not with state
    files that they wrote themselves.
    """

    name: str
    node: Node
    pods: Mapping[str, HeldPod] = MappingProxyType({})
    is_up: bool = True
    refused: StartRefused | None = None

    @property
    def listed_uids(self) -> Set[str]:
        """The pods that ``List`` of the kubelet's PodResources API contains."""
        is_active_alone = pod_resources.lists_active_pods_alone(self.node)
        return (self.node.snapshot.pods if is_active_alone else self.pods).keys()

    @property
    def listed_pods(self) -> tuple[Pod, ...]:
        return tuple(self.pods[uid].record.workload.pod for uid in self.listed_uids)

    def __repr__(self) -> str:
        return f"<NodeLife: {self.name}, pods {len(self.pods)}, {self.node!r}>"

    @property
    def due_at(self) -> datetime | None:
        """The next time at which something may change without an event."""
        if not self.is_up:
            return None
        return min((each.due_at for each in self.pods.values() if each.due_at), default=None)


class PodBound(Value):
    """A pod was bound to the node, or its deletion became more urgent."""

    pod: HollowPod


class PodGone(Value):
    uid: str


class MomentCame(Value):
    """A predicted time has arrived."""


class WentDown(Value):
    """The machine stopped, with all its containers."""


class CameUp(Value):
    """The machine runs again, its kubelet starts with its state files, and these are its pods."""

    restart: Restart
    pods: tuple[HollowPod, ...]


LifeEvent: TypeAlias = PodBound | PodGone | MomentCame | WentDown | CameUp


class ReportPod(Value):
    uid: str


class ReleasePod(Value):
    """Let the API server forget a pod without running containers."""

    uid: str


class Announce(Value):
    event: NodeEvent


Action: TypeAlias = ReportPod | ReleasePod | Announce
