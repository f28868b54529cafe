"""Serves the plugin's node as an agent serves its own: the same API, read-only, on the same socket.

``numalet ps``, ``describe``, ``top`` and every client of an agent work with ``--root`` of the
plugin; the publisher of an agent publishes its node. Pods come from the kubelet, so every change is
refused. The view is made from the plan between two answers to the runtime, never during one.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from numalet.agent.controller import changes
from numalet.agent.controller.changes import History
from numalet.agent.controller.node_state import NodeState
from numalet.agent.controller.settings import AgentSettings
from numalet.agent.nri import pod_records
from numalet.agent.nri.choices import EventReason
from numalet.agent.nri.following import FollowedPods
from numalet.agent.nri.plugin import PinningPlugin
from numalet.agent.nri.pod_records import PluginState
from numalet.agent.nri.seen import SeenPod
from numalet.agent.servers.api import listening
from numalet.agent.servers.api.application import application
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
from numalet.core.enforcement.comparison import Audit, GuaranteeLevel
from numalet.core.model.pod import ContainerKey
from numalet.core.workload.records import EventKind, NodeEvent
from numalet.core.workload.spec import Workload
from numalet.io.agent_client.places import SOCKET_NAME
from numalet.shared.kubernetes.node_object import Unready

_REFRESH_SECONDS: Final = 0.5
_REFUSED: Final = RequestRefused(RequestRefusal.OBSERVING)


class PluginDoor:
    """The ``Door`` of a plugin. Call only in its event loop."""

    def __init__(self, plugin: PinningPlugin, pods: FollowedPods, settings: AgentSettings) -> None:
        self._plugin = plugin
        self._pods = pods
        self._settings = settings
        self._started_at = datetime.now(UTC)
        self._state = NodeState(node=plugin.plan.node)
        self._made_from: PluginState | None = None
        self._was_synchronized = False
        self._audited_at: datetime | None = None
        self._audits: Mapping[ContainerKey, Audit] = {}
        self._changed = asyncio.Event()
        self._view = self._make(self._plugin_state())
        self._past_pods: History[PodChange] = History(lambda: self._view, 0)
        self._past_events: History[EventChange] = History(lambda: self._view, 0)

    def view(self) -> AgentView:
        self._refresh()
        return self._view

    def counts(self) -> Counts:
        return Counts()

    async def changed(self) -> None:
        await self._changed.wait()

    async def stay_current(self) -> None:
        """Notice changes of the plan, forever."""
        while True:
            await asyncio.sleep(_REFRESH_SECONDS)
            self._refresh()

    def report(self, pod: SeenPod, text: str, reason: EventReason) -> None:
        """Add an event about a pod."""
        event = NodeEvent(
            kind=EventKind.WARNING,
            reason=reason.value,
            message=text,
            at=datetime.now(UTC),
            resource_version=0,
            pod_uid=pod.uid,
            pod_name=pod.name,
            namespace=pod.namespace,
        )
        self._publish(self._state.with_event(event), self._plugin_state())

    def _plugin_state(self) -> PluginState:
        return PluginState(
            plan=self._plugin.plan,
            served=self._pods.served,
            differing=self._plugin.differing,
            misplaced=self._plugin.misplaced,
            is_enforcing=self._plugin.enforces,
        )

    def _refresh(self) -> None:
        of, old, now = self._plugin_state(), self._made_from, datetime.now(UTC)
        is_synchronized = self._plugin.is_synchronized
        if old is not None and is_synchronized == self._was_synchronized and of.is_same(old):
            return
        # Each audit brings a mapping of its own.
        if old is not None and of.differing is not old.differing:
            self._audited_at = now
        self._made_from, self._was_synchronized = of, is_synchronized
        before = self._state
        state = before.at(pod_records.whole_pods(of.plan.node))
        self._audits = pod_records.audits(of, self._audited_at or now)
        made = pod_records.records(of, self._audits, before.records, now)
        for record in made:
            known = before.records.get(record.uid)
            if known is None or (known.workload, known.run) != (record.workload, record.run):
                state = state.with_record(record)
        for uid in before.records.keys() - {each.uid for each in made}:
            state = state.without(uid)
        self._publish(state.renumbered(), of)

    def _publish(self, state: NodeState, of: PluginState) -> None:
        before, self._state = self._state, state
        self._view = self._make(of)
        self._past_pods.publish(changes.of_pods(before, state))
        self._past_events.publish(changes.of_events(before, state))
        news, self._changed = self._changed, asyncio.Event()
        news.set()

    def _make(self, of: PluginState) -> AgentView:
        state = self._state
        return AgentView(
            node_name=self._settings.node_name,
            node=state.node,
            standing=OwnershipMode.PINNING if of.is_enforcing else OwnershipMode.AUDITING,
            level=GuaranteeLevel.KERNEL if of.is_enforcing else GuaranteeLevel.NONE,
            started_at=self._started_at,
            node_created_at=self._started_at,
            resource_version=state.resource_version,
            unready=None if self._plugin.is_synchronized else Unready.STARTING,
            records=state.records,
            events=state.events,
            audits={} if self._audited_at is None else self._audits,
            config=self._settings.premises.config,
        )

    async def create(self, workload: Workload) -> RequestRefused:
        return _REFUSED

    async def revise(
        self, before: Workload, after: Workload, *, version: int | None = None
    ) -> RequestRefused:
        return _REFUSED

    async def delete(
        self, namespace: str, name: str, *, grace_seconds: float | None, uid: str | None = None
    ) -> RequestRefused:
        return _REFUSED

    async def cordon(self, *, unschedulable: bool) -> RequestRefused:
        return _REFUSED

    def foresee_create(self, workload: Workload) -> Foreseen | RequestRefused:
        return _REFUSED

    def foresee_alone(self, workload: Workload) -> Foreseen | RequestRefused:
        return _REFUSED

    def foresee_delete(
        self, namespace: str, name: str, *, grace_seconds: float | None, uid: str | None = None
    ) -> Foreseen | RequestRefused:
        return _REFUSED

    def pod_changes(self, since: int) -> AsyncIterator[PodChange] | RequestRefused:
        return self._past_pods.since(since)

    def event_changes(self, since: int) -> AsyncIterator[EventChange] | RequestRefused:
        return self._past_events.since(since)

    def past_pod_changes(self, since: int) -> Sequence[PodChange] | RequestRefused:
        return self._past_pods.past(since)

    def past_event_changes(self, since: int) -> Sequence[EventChange] | RequestRefused:
        return self._past_events.past(since)

    def log_path(self, key: ContainerKey, *, previous: bool = False) -> Path | None:
        """Logs are the kubelet's."""
        return None


@asynccontextmanager
async def served(
    door: PluginDoor, root: Path, report_bug: Callable[[Exception], None]
) -> AsyncIterator[None]:
    """Serve the API on the socket of the root folder during the block. Raises ``BadInput``."""
    app = application(door, report_bug)
    async with listening.on_unix_socket(app, root / SOCKET_NAME):
        yield
