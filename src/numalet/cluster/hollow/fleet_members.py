"""The members of a fleet of hollow nodes: their behaviour, simulated faults, state files.

Each node has a folder of state files, as kubelets have them on their machines. With them restarted
nodes have their former allocations, not those that their pods would get today.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Final, Protocol, TypeAlias

from numalet.cluster.hollow.kinds import NodeKind
from numalet.cluster.hollow.life import NodeLife
from numalet.cluster.hollow.node_document import RENEW_SECONDS, NodeNaming
from numalet.cluster.hollow.pod_reader import WatchedPod
from numalet.core.model import go_text, input_error
from numalet.core.model.findings import BadInput, Findings, Location
from numalet.core.model.go_text import DurationError
from numalet.core.model.node_constraints import NodeIdentity
from numalet.core.model.value import Mutable, Value, field, replace
from numalet.core.node.node import Node
from numalet.core.workload.records import EventKind
from numalet.io import os_problem
from numalet.io.files import state_directory
from numalet.io.files.state_directory import StateDirectory
from numalet.io.kube_api.answers import ApiRefused
from numalet.io.kube_api.client import ApiClient


class StateFolder:
    """Reads and writes the state files of nodes below ``path``; writes only changes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[str, StateDirectory] = {}

    def read(self, name: str) -> Mapping[str, str]:
        """Return the state files of a node; empty for a new node.

        Raises ``BadInput`` if they cannot be read.
        """
        folder = self._path / name
        if not folder.is_dir():
            return {}
        known = self._known[name] = state_directory.read(folder)
        return known.files

    def write(self, name: str, files: Mapping[str, str]) -> str:
        """Write the state files of a node; return the error, or an empty text."""
        folder = self._path / name
        known = self._known.get(name) or StateDirectory(folder, {})
        try:
            folder.mkdir(parents=True, exist_ok=True)
            known.write(files)
        except (OSError, BadInput) as error:
            return f"{folder}: {os_problem.text(error)}"
        self._known[name] = known.holding(dict(files))
        return ""


class Fault(Enum):
    """A fault; its value is the annotation on a Node that requests it."""

    REBOOT = "reboot"
    """All containers end, and the node is away for a while."""
    LOSE = "lose"
    """The node is silent from then on; its containers are unknown."""
    LIE = "lie"
    """The node publishes the state of an empty one."""


class PlannedFault(Value, order=True):
    """A node fails this many seconds after all are registered."""

    after_seconds: float
    node_name: str
    fault: Fault


OPTIONS: Final = {fault: f"--{fault.value}" for fault in Fault}


def planned_faults(
    given: Iterable[tuple[Fault, str]], names: Sequence[str]
) -> tuple[PlannedFault, ...]:
    """Parse faults such as ``hollow-7@30s``; the earliest first.

    Raises ``BadInput`` with everything that is wrong in them.
    """
    findings = Findings()
    known = frozenset(names)
    faults: list[PlannedFault] = []
    for fault, text in given:
        option = OPTIONS[fault]
        name, at, moment = text.rpartition("@")
        try:
            after_ns = go_text.parse_duration_ns(moment) if at and name else -1
        except DurationError:
            after_ns = -1
        if after_ns < 0:
            findings.add(
                input_error.Invalid(
                    f"invalid fault {text!r}",
                    expected="NODE@TIME, such as hollow-7@30s, with the time since all nodes exist",
                    where=Location(option),
                )
            )
        elif name not in known:
            findings.add(
                input_error.NotFound(
                    f"{text!r}: unknown node {name!r}",
                    expected=f"{names[0]} to {names[-1]}",
                    where=Location(option),
                )
            )
        else:
            faults.append(PlannedFault(after_ns / go_text.SECOND_NS, name, fault))
    findings.raise_errors()
    return tuple(sorted(faults, key=lambda each: (each.after_seconds, each.node_name)))


def of_annotation(text: str) -> Fault | None:
    return next((fault for fault in Fault if fault.value == text.strip()), None)


class StatePublisher(Protocol):
    """Publishes the state of nodes."""

    def changed(self, name: str) -> None: ...

    def pods_changed(self, name: str) -> None:
        """A pod of the node has come further, and holds what it held."""
        ...

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
            # Down until its pods are known: a kubelet that starts without them would release their
            # allocations.
            member.life = replace(member.life, is_up=False)
