"""Reads that bypass the control loop: views, predictions and past changes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TypeAlias

from numalet.agent.controller import cordon, decisions, viewing
from numalet.agent.controller.changes import History
from numalet.agent.controller.decisions import Decided
from numalet.agent.controller.dependencies import ControllerDependencies
from numalet.agent.controller.node_state import NodeState
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
from numalet.core.model.pod import ContainerKey
from numalet.core.workload.spec import Workload

_Decide: TypeAlias = Callable[[NodeState, datetime], Decided]


class ControllerReads:
    """The reading half of the ``Door``; see there. ``Controller`` adds changes."""

    _view: AgentView
    """The published ``_state`` and ``_condition``."""

    def __init__(self, state: NodeState, dependencies: ControllerDependencies) -> None:
        self._state = state
        """The state on disk; replaced only by the loop, after a write."""
        self._dependencies = dependencies
        self._condition = viewing.condition(dependencies)
        """Changed by the loop, ``cordon`` and ``stop``."""
        self._pods: History[PodChange] = History(self.view, state.resource_version)
        self._events: History[EventChange] = History(self.view, state.resource_version)

    def view(self) -> AgentView:
        return self._view

    def counts(self) -> Counts:
        return self._view.counts.and_also(each() for each in self._dependencies.also_counted)

    def foresee_create(self, workload: Workload) -> Foreseen | RequestRefused:
        if not cordon.lets_in(workload, self._condition):
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
