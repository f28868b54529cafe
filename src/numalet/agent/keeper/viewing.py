"""The view of a keeper: its node state, what it works with, and why it admits no pods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from numalet.agent.keeper.dependencies import KeeperDependencies
from numalet.agent.keeper.node_state import NodeState
from numalet.agent.keeper.performer import Performer
from numalet.agent.kubernetes.node_object import Unready
from numalet.agent.servers.door import AgentView, OwnershipMode
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.enforcement.audit import Audit
from numalet.core.model.pod import ContainerKey


@dataclass(slots=True, kw_only=True)
class Condition:
    """How a keeper is. ``problem`` is why its state can not be written, empty if it can."""

    started_at: datetime
    audits: Mapping[ContainerKey, Audit] = field(default_factory=dict)
    problem: str = ""
    stopping: bool = False
    unschedulable: bool = False


def condition(around: KeeperDependencies) -> Condition:
    """How a keeper is at its begin."""
    return Condition(started_at=around.clock(), unschedulable=around.unschedulable)


def view(
    around: KeeperDependencies, state: NodeState, condition: Condition, performer: Performer
) -> AgentView:
    """The view of this node state."""
    return AgentView(
        node_name=around.node_name,
        node=state.node,
        standing=around.standing,
        level=around.runtime.capabilities().level,
        started_at=condition.started_at,
        unschedulable=condition.unschedulable,
        node_created_at=around.node_created_at or condition.started_at,
        resource_version=state.resource_version,
        unready=_unready(around, state, condition),
        records=state.records,
        events=state.events,
        audits=condition.audits,
        counts=state.counts,
        config=_config(around, state),
        kubelet=state.kubelet,
        cpu_gauges=state.cpu_gauges,
        notes=tuple(_notes(around, state, condition, performer)),
    )


def _config(around: KeeperDependencies, state: NodeState) -> KubeletConfig:
    """The configuration that decides here: that of the kubelet, which may get another one."""
    observation = state.kubelet
    theirs = None if observation is None else observation.evidence.settings
    return around.config if theirs is None else theirs


def _unready(around: KeeperDependencies, state: NodeState, condition: Condition) -> Unready | None:
    if condition.stopping:
        return Unready.STOPPING
    if condition.problem:
        return Unready.STATE_UNWRITABLE
    if not state.node.snapshot.sources_ready:
        return Unready.STARTING
    return Unready.OBSERVING if around.standing is OwnershipMode.OBSERVING else None


def _notes(
    around: KeeperDependencies, state: NodeState, condition: Condition, performer: Performer
) -> list[str]:
    notes = [*around.notes, *around.also_noted()]
    if any(each.run.unpromised for each in state.records.values()):
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
