"""Reads that do not pass through the control loop: views, forecasts and past changes."""

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
    """The reading half of the ``Door`` of ``servers``; ``Controller`` changes what is read here."""

    _view: AgentView
    """What clients see: ``_state`` and ``_condition`` as they were last published."""

    def __init__(self, state: NodeState, dependencies: ControllerDependencies) -> None:
        self._state = state
        """The state that is safe on the disk. Replaced by the loop alone, after a write."""
        self._dependencies = dependencies
        """What the controller was made with; never replaced."""
        self._condition = viewing.condition(dependencies)
        """Whether it can write and does not stop. Changed by the loop, ``cordon`` and ``stop``."""
        self._pods: History[PodChange] = History(self.view, state.resource_version)
        """Changes of pods for watchers; the loop publishes, clients read."""
        self._events: History[EventChange] = History(self.view, state.resource_version)
        """Changes of events, likewise."""

    def view(self) -> AgentView:
        """The agent's current state, as far as it is on disk."""
        return self._view

    def counts(self) -> Counts:
        """Everything that is counted, by the agent and by its other servers."""
        return self._view.counts.and_also(each() for each in self._dependencies.also_counted)

    def foresee_create(self, workload: Workload) -> Foreseen | RequestRefused:
        """Predict ``create``, without keeping anything or calling a plugin."""
        if not cordon.lets_in(workload, self._condition):
            return RequestRefused(RequestRefusal.CORDONED)
        return self._foreseen(
            lambda state, now: decisions.create(state, workload, now, self._dependencies.stopwatch)
        )

    def foresee_alone(self, workload: Workload) -> Foreseen | RequestRefused:
        """Predict ``create`` on a node without other pods."""
        return self._foreseen(
            lambda old, now: decisions.create(
                old.emptied(), workload, now, self._dependencies.stopwatch
            )
        )

    def foresee_delete(
        self, namespace: str, name: str, *, grace_seconds: float | None, uid: str | None = None
    ) -> Foreseen | RequestRefused:
        """Predict ``delete``, without keeping anything."""
        return self._foreseen(
            lambda state, now: decisions.delete(
                state, namespace, name, grace_seconds=grace_seconds, uid=uid, now=now
            )
        )

    def _foreseen(self, decide: _Decide) -> Foreseen | RequestRefused:
        closed = self._closed()
        if closed is not None:
            return closed
        state = self._state.at(self._state.node.without_plugins())
        decided = decide(state, self._dependencies.clock())
        if isinstance(decided.answer, RequestRefused):
            return decided.answer
        return Foreseen(decided.answer, decided.state.node)

    def pod_changes(self, since: int) -> AsyncIterator[PodChange] | RequestRefused:
        """All changes after this resource version, then those to come."""
        return self._pods.since(since)

    def event_changes(self, since: int) -> AsyncIterator[EventChange] | RequestRefused:
        """All events after this resource version, then those to come."""
        return self._events.since(since)

    def past_pod_changes(self, since: int) -> Sequence[PodChange] | RequestRefused:
        """The changes between this resource version and now, oldest first."""
        return self._pods.past(since)

    def past_event_changes(self, since: int) -> Sequence[EventChange] | RequestRefused:
        """The changes of events between this resource version and now, oldest first."""
        return self._events.past(since)

    def log_path(self, key: ContainerKey, *, previous: bool = False) -> Path | None:
        """Where the output of a container's latest (or previous) attempt is kept."""
        record = self._state.records.get(key.pod_uid)
        attempt = 0 if record is None else record.run.of(key.container).attempt
        attempt -= previous
        return self._dependencies.runtime.log_path(key, attempt) if attempt > 0 else None

    def _closed(self) -> RequestRefused | None:
        if self._dependencies.standing is OwnershipMode.OBSERVING:
            return RequestRefused(RequestRefusal.OBSERVING)
        return RequestRefused(RequestRefusal.STOPPING) if self._condition.stopping else None
