"""Builds the agent's view from node state, dependencies and condition."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from numalet.agent.controller.dependencies import ControllerDependencies
from numalet.agent.controller.node_state import NodeState
from numalet.agent.controller.worker import Worker
from numalet.agent.servers.door import AgentView, OwnershipMode
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.enforcement.audit import Audit
from numalet.core.model.pod import ContainerKey
from numalet.shared.findings import agent
from numalet.shared.kubernetes.node_object import Unready


@dataclass(slots=True, kw_only=True)
class Condition:
    """``problem`` says why the state cannot be written."""

    started_at: datetime
    audits: Mapping[ContainerKey, Audit] = field(default_factory=dict)
    """Replaced by the loop after each resync."""
    problem: str = ""
    """Set by a failed write, cleared by the next success."""
    stopping: bool = False
    """Set once, by ``stop`` or at the end of the loop."""
    unschedulable: bool = False
    """Set by ``cordon`` after its write."""


def condition(dependencies: ControllerDependencies) -> Condition:
    return Condition(started_at=dependencies.clock(), unschedulable=dependencies.unschedulable)


def view(
    dependencies: ControllerDependencies, state: NodeState, condition: Condition, worker: Worker
) -> AgentView:
    return AgentView(
        node_name=dependencies.node_name,
        node=state.node,
        standing=dependencies.standing,
        level=dependencies.runtime.capabilities().level,
        started_at=condition.started_at,
        unschedulable=condition.unschedulable,
        node_created_at=dependencies.node_created_at or condition.started_at,
        resource_version=state.resource_version,
        unready=_unready(dependencies, state, condition),
        records=state.records,
        events=state.events,
        audits=condition.audits,
        counts=state.counts,
        config=_config(dependencies, state),
        kubelet=state.kubelet,
        cpu_gauges=state.cpu_gauges,
        notes=tuple(_notes(dependencies, state, condition, worker)),
    )


def _config(dependencies: ControllerDependencies, state: NodeState) -> KubeletConfig:
    """The configuration in force; a kubelet may change its own."""
    observation = state.kubelet
    theirs = None if observation is None else observation.evidence.settings
    return dependencies.config if theirs is None else theirs


def _unready(
    dependencies: ControllerDependencies, state: NodeState, condition: Condition
) -> Unready | None:
    if condition.stopping:
        return Unready.STOPPING
    if condition.problem:
        return Unready.STATE_UNWRITABLE
    if not state.node.snapshot.sources_ready:
        return Unready.STARTING
    return Unready.OBSERVING if dependencies.standing is OwnershipMode.OBSERVING else None


def _notes(
    dependencies: ControllerDependencies, state: NodeState, condition: Condition, worker: Worker
) -> list[str]:
    notes = [*dependencies.notes, *dependencies.also_noted()]
    if any(each.run.causes for each in state.records.values()):
        notes.append(agent.AgentPodsUnpromised.code)
    if condition.problem:
        notes.append(agent.AgentNodeStateUnwritable.code)
    if dependencies.store.journal_problem:
        notes.append(agent.AgentJournalUnwritable.code)
    if worker.problem:
        notes.append(agent.AgentRuntimeFailed.code)
    if worker.not_held:
        notes.append(agent.AgentDriftNotCorrected.code)
    return notes
