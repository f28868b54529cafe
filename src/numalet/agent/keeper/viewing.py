"""What everybody may see of a keeper: its books, its neighbours, and why it takes no pods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from numalet.agent.keeper.books import Books
from numalet.agent.keeper.dependencies import KeeperDependencies
from numalet.agent.keeper.performer import Performer
from numalet.agent.kubernetes.node_object import Unready
from numalet.agent.servers.door import AgentView, OwnershipMode
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.enforcement.audit import Audit
from numalet.core.model.pod import ContainerKey


@dataclass(slots=True, kw_only=True)
class Condition:
    """How a keeper is. ``problem`` is why its books can not be written, empty if they can."""

    started_at: datetime
    audits: Mapping[ContainerKey, Audit] = field(default_factory=dict)
    problem: str = ""
    stopping: bool = False
    unschedulable: bool = False


def condition(around: KeeperDependencies) -> Condition:
    """How a keeper is at its begin."""
    return Condition(started_at=around.clock(), unschedulable=around.unschedulable)


def view(
    around: KeeperDependencies, books: Books, condition: Condition, performer: Performer
) -> AgentView:
    """The view of these books."""
    return AgentView(
        node_name=around.node_name,
        node=books.node,
        standing=around.standing,
        level=around.runtime.capabilities().level,
        started_at=condition.started_at,
        unschedulable=condition.unschedulable,
        node_created_at=around.node_created_at or condition.started_at,
        resource_version=books.resource_version,
        unready=_unready(around, books, condition),
        records=books.records,
        events=books.events,
        audits=condition.audits,
        counts=books.counts,
        config=_config(around, books),
        kubelet=books.kubelet,
        cpu_gauges=books.cpu_gauges,
        notes=tuple(_notes(around, books, condition, performer)),
    )


def _config(around: KeeperDependencies, books: Books) -> KubeletConfig:
    """The configuration that decides here: that of the kubelet, which may get another one."""
    look = books.kubelet
    theirs = None if look is None else look.evidence.settings
    return around.config if theirs is None else theirs


def _unready(around: KeeperDependencies, books: Books, condition: Condition) -> Unready | None:
    if condition.stopping:
        return Unready.STOPPING
    if condition.problem:
        return Unready.BOOKS
    if not books.node.snapshot.sources_ready:
        return Unready.STARTING
    return Unready.OBSERVING if around.standing is OwnershipMode.OBSERVING else None


def _notes(
    around: KeeperDependencies, books: Books, condition: Condition, performer: Performer
) -> list[str]:
    notes = [*around.notes, *around.also_noted()]
    if any(each.run.unpromised for each in books.records.values()):
        notes.append("agent/pods-unpromised")
    if condition.problem:
        notes.append("agent/books-unwritable")
    if around.store.journal_problem:
        notes.append("agent/journal-unwritable")
    if performer.problem:
        notes.append("agent/runtime-failed")
    if performer.not_held:
        notes.append("agent/drift-not-mended")
    return notes
