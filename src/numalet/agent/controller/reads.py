"""Reads that bypass the control loop: the agent's view, predictions and past changes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, TypeAlias

from numalet.agent.controller import decisions
from numalet.agent.controller.changes import History
from numalet.agent.controller.decisions import Decided
from numalet.agent.controller.dependencies import ControllerDependencies
from numalet.agent.controller.node_state import NodeState
from numalet.agent.controller.worker import Worker
from numalet.agent.servers.door import (
    AgentView,
    EventChange,
    Foreseen,
    OwnershipMode,
    PodChange,
    RequestRefusal,
    RequestRefused,
)
from numalet.agent.telemetry.metrics import Counts
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.enforcement.comparison import Audit
from numalet.core.model.pod import ContainerKey
from numalet.core.workload.spec import Workload, WorkloadSource
from numalet.shared.findings import agent
from numalet.shared.kubernetes.node_object import UNSCHEDULABLE_TAINT, Unready


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


def starting_condition(dependencies: ControllerDependencies) -> Condition:
    return Condition(started_at=dependencies.clock(), unschedulable=dependencies.unschedulable)


def make_view(
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


def admits(workload: Workload, condition: Condition) -> bool:
    """Whether the agent admits the pod; a cordoned node needs a toleration.

    Clients of the API do without a scheduler, so the agent checks tolerations. Manifest files and
    foreground commands never pass a scheduler either.
    """
    if not condition.unschedulable or workload.source is not WorkloadSource.API:
        return True
    given = workload.manifest.get("spec", {}).get("tolerations") or ()
    return any(map(_tolerates, given))


def _tolerates(toleration: Mapping[str, Any]) -> bool:
    """Kubernetes v1.32: ``core/v1.Toleration.ToleratesTaint``."""
    if toleration.get("effect") not in (None, "", "NoSchedule"):
        return False
    key, operator = toleration.get("key"), toleration.get("operator") or "Equal"
    if key not in (None, "", UNSCHEDULABLE_TAINT):
        return False
    return operator == "Exists" or (bool(key) and not toleration.get("value"))


_Decide: TypeAlias = Callable[[NodeState, datetime], Decided]


class ControllerReads:
    """The reading half of the ``Door``; see there. ``Controller`` adds changes."""

    _view: AgentView
    """The published ``_state`` and ``_condition``."""

    def __init__(self, state: NodeState, dependencies: ControllerDependencies) -> None:
        self._state = state
        """The state on disk; replaced only by the loop, after a write."""
        self._dependencies = dependencies
        self._condition = starting_condition(dependencies)
        """Changed by the loop, ``cordon`` and ``stop``."""
        self._pods: History[PodChange] = History(self.view, state.resource_version)
        self._events: History[EventChange] = History(self.view, state.resource_version)

    def view(self) -> AgentView:
        return self._view

    def counts(self) -> Counts:
        return self._view.counts.and_also(each() for each in self._dependencies.also_counted)

    def foresee_create(self, workload: Workload) -> Foreseen | RequestRefused:
        if not admits(workload, self._condition):
            return RequestRefused(RequestRefusal.CORDONED)
        return self._foreseen(
            lambda state, now: decisions.create(state, workload, now, self._dependencies.stopwatch)
        )

    def foresee_alone(self, workload: Workload) -> Foreseen | RequestRefused:
        return self._foreseen(
            lambda old, now: decisions.create(
                old.emptied(), workload, now, self._dependencies.stopwatch
            )
        )

    def foresee_delete(
        self, namespace: str, name: str, *, grace_seconds: float | None, uid: str | None = None
    ) -> Foreseen | RequestRefused:
        return self._foreseen(
            lambda state, now: decisions.delete(
                state, namespace, name, grace_seconds=grace_seconds, uid=uid, now=now
            )
        )

    def _foreseen(self, decide: _Decide) -> Foreseen | RequestRefused:
        closed = self._closed()
        if closed is not None:
            return closed
        # A prediction must not call plugins.
        state = self._state.at(self._state.node.without_plugins())
        decided = decide(state, self._dependencies.clock())
        if isinstance(decided.answer, RequestRefused):
            return decided.answer
        return Foreseen(decided.answer, decided.state.node)

    def pod_changes(self, since: int) -> AsyncIterator[PodChange] | RequestRefused:
        return self._pods.since(since)

    def event_changes(self, since: int) -> AsyncIterator[EventChange] | RequestRefused:
        return self._events.since(since)

    def past_pod_changes(self, since: int) -> Sequence[PodChange] | RequestRefused:
        return self._pods.past(since)

    def past_event_changes(self, since: int) -> Sequence[EventChange] | RequestRefused:
        return self._events.past(since)

    def log_path(self, key: ContainerKey, *, previous: bool = False) -> Path | None:
        record = self._state.records.get(key.pod_uid)
        attempt = 0 if record is None else record.run.of(key.container).attempt
        attempt -= previous
        return self._dependencies.runtime.log_path(key, attempt) if attempt > 0 else None

    def _closed(self) -> RequestRefused | None:
        if self._dependencies.standing is OwnershipMode.OBSERVING:
            return RequestRefused(RequestRefusal.OBSERVING)
        return RequestRefused(RequestRefusal.STOPPING) if self._condition.stopping else None
