"""The members of a fleet of hollow nodes, and their common behaviour."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeAlias

from numalet.cluster.hollow.faults import PlannedFault
from numalet.cluster.hollow.kinds import NodeKind
from numalet.cluster.hollow.life import NodeLife
from numalet.cluster.hollow.node_document import RENEW_SECONDS, NodeNaming
from numalet.cluster.hollow.pod_watch import WatchedPod
from numalet.cluster.hollow.state_folder import StateFolder
from numalet.core.model.node_constraints import NodeIdentity
from numalet.core.model.value import Mutable, Value, field, replace
from numalet.core.node.node import Node
from numalet.core.workload.records import EventKind
from numalet.io.kube_api.answers import ApiRefused
from numalet.io.kube_api.client import ApiClient


class StatePublisher(Protocol):
    """Publishes the state of nodes."""

    def changed(self, name: str) -> None: ...

    async def work(self) -> None: ...


class FleetOptions(Value, kw_only=True):
    """The common behaviour of the nodes.

    ``state`` contains state files of nodes that outlive this process. ``reboot_seconds`` is how
    long a rebooting node is away; ``heartbeat_seconds`` is how often an unchanged status is
    written.
    """

    untaints: bool = False
    events: frozenset[EventKind] = frozenset(EventKind)
    faults: tuple[PlannedFault, ...] = ()
    reboot_seconds: float = 10.0
    renew_seconds: float = RENEW_SECONDS
    heartbeat_seconds: float = 300.0
    writers: int = 12
    state: StateFolder | None = None


MakePublisher: TypeAlias = Callable[
    [ApiClient, "Mapping[str, Member]", Callable[[ApiRefused], None]], StatePublisher
]
"""Creates it for these nodes; the last argument is called with refusals of the API server."""


class Member(Mutable):
    """One node of the fleet. ``pods`` are those bound to it, by uid, also while it is down."""

    naming: NodeNaming
    kind: NodeKind
    life: NodeLife
    uid: str = ""
    boots: int = 1
    saved: Mapping[str, str] | None = None
    """State files for the next start, once its pods are known."""
    is_lost: bool = False
    lies: bool = False
    asked_fault: str = ""
    pods: dict[str, WatchedPod] = field(default_factory=dict)
    timer: asyncio.TimerHandle | None = None

    @property
    def published(self) -> Node:
        """The node whose state is published: an empty one for a node that lies."""
        return self.kind.node(self.life.node.rules.identity) if self.lies else self.life.node


def members_of(namings: Sequence[NodeNaming], kinds: Sequence[NodeKind]) -> dict[str, Member]:
    """Return the members by name, kinds in turn."""
    members: dict[str, Member] = {}
    for at, naming in enumerate(namings):
        kind = kinds[at % len(kinds)]
        labels = naming.all_labels(kind.empty)
        identity = NodeIdentity(name=naming.name, labels=labels, has_all_labels=True)
        life = NodeLife(name=naming.name, node=kind.node(identity))
        members[naming.name] = Member(naming=naming, kind=kind, life=life)
    return members


def begun_again(members: Mapping[str, Member], state: StateFolder) -> None:
    """Let nodes with existing state files start with these, once their pods are known.

    Raises ``BadInput`` if state files cannot be read.
    """
    for name, member in members.items():
        files = state.read(name)
        if files:
            member.saved = files
            member.life = replace(member.life, is_up=False)
