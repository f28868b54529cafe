"""A door without an agent: decisions are made and kept in memory, programs are only told of."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, Generic, TypeVar

from numalet.agent.servers.door import (
    AgentView,
    ChangeKind,
    EventChange,
    Foreseen,
    PodChange,
    RequestRefusal,
    RequestRefused,
)
from numalet.agent.telemetry import admission_counts
from numalet.agent.telemetry.metrics import Counts
from numalet.core.admission.decision import Collector
from numalet.core.model.pod import ContainerKey
from numalet.core.node.node import Node
from numalet.core.workload.records import EventKind, NodeEvent, PodRecord
from numalet.core.workload.run import ContainerPhase, ContainerRun, Deletion, PodRun, Verdict
from numalet.core.workload.spec import Workload
from numalet.wording import kubelet
from servers import views

C = TypeVar("C", PodChange, EventChange)


class Past(Generic[C]):
    """All changes, and whoever waits for more of them."""

    def __init__(self) -> None:
        self.changes: list[C] = []
        self.forgotten = 0
        self._more = asyncio.Event()
        self.is_over = False

    def add(self, change: C) -> None:
        self.changes.append(change)
        self.wake()

    def wake(self) -> None:
        more, self._more = self._more, asyncio.Event()
        more.set()

    def since(self, version: int) -> AsyncIterator[C] | RequestRefused:
        return self._too_old(version) or self._follow(version)

    def past(self, version: int) -> list[C] | RequestRefused:
        after = [each for each in self.changes if each.resource_version > version]
        return self._too_old(version) or after

    def _too_old(self, version: int) -> RequestRefused | None:
        if version >= self.forgotten:
            return None
        fields = {"asked": str(version), "oldest": str(self.forgotten)}
        return RequestRefused(RequestRefusal.TOO_OLD, fields)

    async def _follow(self, version: int) -> AsyncIterator[C]:
        at = 0
        while not self.is_over:
            more = self._more
            while at < len(self.changes):
                if self.changes[at].resource_version > version:
                    yield self.changes[at]
                at += 1
            await more.wait()


class MemoryDoor:
    """Implements ``Door``. Made inside an event loop."""

    def __init__(self, node: Node | None = None, /, **changes: Any) -> None:
        self._view = views.view(node, **changes)
        self._news = asyncio.Event()
        self.pods: Past[PodChange] = Past()
        self.events: Past[EventChange] = Past()
        self.logs: dict[tuple[ContainerKey, bool], Path] = {}
        self.refusal: RequestRefused | None = None
        self.meanwhile: list[Callable[[], object]] = []

    def counts(self) -> Counts:
        return self.view().counts

    def view(self) -> AgentView:
        return self._view

    def change(self, **changes: Any) -> None:
        """Let the view be otherwise."""
        self._view = replace(self._view, **changes)
        news, self._news = self._news, asyncio.Event()
        news.set()

    async def cordon(self, *, unschedulable: bool) -> RequestRefused | None:
        if self.refusal is not None:
            return self.refusal
        version = self._view.resource_version + 1
        self.change(unschedulable=unschedulable, resource_version=version)
        return None

    async def changed(self) -> None:
        await self._news.wait()

    async def create(self, workload: Workload) -> PodRecord | RequestRefused:
        view, pod = self._view, workload.pod
        if self.refusal is not None:
            return self.refusal
        for record in view.records.values():
            there = record.workload.pod
            if (there.namespace, there.name) == (pod.namespace, pod.name):
                return RequestRefused(RequestRefusal.ALREADY_EXISTS)
        recording = Collector()
        node, decision = view.node.admit(pod, recording)
        counts = admission_counts.after_admission(
            view.counts, node.rules, decision, recording.events, 0.0
        )
        verdict = Verdict(
            decision.admitted,
            kubelet.reason(decision.rejection),
            kubelet.message(decision.rejection),
        )
        version = view.resource_version + 1
        now = views.later(version)
        runs = {
            spec.name: ContainerRun(
                name=spec.name, phase=ContainerPhase.RUNNING, attempt=1, started_at=now
            )
            for spec in workload.containers
            if decision.admitted
        }
        run = PodRun(accepted_at=now, verdict=verdict, decided_at=now, containers=runs)
        self.change(node=node, counts=counts)
        if not decision.admitted:
            self._tell_event(workload, verdict, now)
        return self.put(PodRecord(workload, run), ChangeKind.ADDED)

    async def revise(
        self, before: Workload, after: Workload, *, version: int | None = None
    ) -> PodRecord | RequestRefused:
        if self.refusal is not None:
            return self.refusal
        record = self.named(before.pod.name)
        if self.meanwhile:
            self.meanwhile.pop()()
        if record is not self.named(before.pod.name):
            return RequestRefused(RequestRefusal.CONFLICT)
        return self.put(replace(record, workload=after))

    def foresee_create(self, workload: Workload) -> Foreseen | RequestRefused:
        return self._foreseen(self._view.node, workload)

    def _foreseen(self, before: Node, workload: Workload) -> Foreseen | RequestRefused:
        if self.refusal is not None:
            return self.refusal
        node, decision = before.without_plugins().admit(workload.pod)
        verdict = Verdict(decision.admitted, kubelet.reason(decision.rejection))
        run = PodRun(accepted_at=views.later(0), verdict=verdict)
        return Foreseen(PodRecord(workload, run), node)

    def foresee_alone(self, workload: Workload) -> Foreseen | RequestRefused:
        node = self._view.node
        for uid in self._view.records:
            node = node.remove(uid)
        return self._foreseen(node.release_stale(), workload)

    def foresee_delete(
        self, namespace: str, name: str, *, grace_seconds: float | None, uid: str | None = None
    ) -> Foreseen | RequestRefused:
        record = self.named(name)
        deletion = Deletion(views.later(0), grace_seconds or 0.0)
        return Foreseen(
            replace(record, run=replace(record.run, deletion=deletion)), self._view.node
        )

    def put(self, record: PodRecord, kind: ChangeKind = ChangeKind.MODIFIED) -> PodRecord:
        """Let a record be as this one, under a new resource version."""
        version = self._view.resource_version + 1
        record = replace(record, resource_version=version)
        before = self._view.records.get(record.uid)
        records = self._view.records.with_record(record)
        self.change(records=records, resource_version=version)
        self.pods.add(PodChange(kind, record, version, before))
        return record

    def update(self, name: str, change: Callable[[PodRun], PodRun]) -> PodRecord:
        """Let something happen to a pod."""
        record = self.named(name)
        return self.put(replace(record, run=change(record.run)))

    def named(self, name: str) -> PodRecord:
        for record in self._view.records.values():
            if record.workload.pod.name == name:
                return record
        raise KeyError(name)

    async def delete(
        self, namespace: str, name: str, *, grace_seconds: float | None, uid: str | None = None
    ) -> PodRecord | RequestRefused:
        if self.refusal is not None:
            return self.refusal
        record = self.named(name)
        grace = record.workload.grace_period_seconds if grace_seconds is None else grace_seconds
        deletion = Deletion(views.later(0), float(grace))
        record = self.update(name, lambda run: replace(run, deletion=deletion))
        if grace_seconds == 0:
            self.remove(name)
        return record

    def remove(self, name: str) -> None:
        """Let a pod be gone."""
        record = self.named(name)
        version = self._view.resource_version + 1
        records = self._view.records.without(record.uid)
        node = self._view.node.remove(record.uid)
        self.change(records=records, resource_version=version, node=node)
        self.pods.add(PodChange(ChangeKind.DELETED, record, version, record))

    def pod_changes(self, since: int) -> AsyncIterator[PodChange] | RequestRefused:
        return self._too_new(since) or self.pods.since(since)

    def event_changes(self, since: int) -> AsyncIterator[EventChange] | RequestRefused:
        return self._too_new(since) or self.events.since(since)

    def past_pod_changes(self, since: int) -> Sequence[PodChange] | RequestRefused:
        return self._too_new(since) or self.pods.past(since)

    def past_event_changes(self, since: int) -> Sequence[EventChange] | RequestRefused:
        return self._too_new(since) or self.events.past(since)

    def _too_new(self, version: int) -> RequestRefused | None:
        current = self._view.resource_version
        if version <= current:
            return None
        return RequestRefused(
            RequestRefusal.TOO_NEW, {"asked": str(version), "current": str(current)}
        )

    def log_path(self, key: ContainerKey, *, previous: bool = False) -> Path | None:
        return self.logs.get((key, previous))

    def _tell_event(self, workload: Workload, verdict: Verdict, now: datetime) -> None:
        version = self._view.resource_version + 1
        event = NodeEvent(
            kind=EventKind.WARNING,
            reason=verdict.reason,
            message=verdict.message,
            at=now,
            resource_version=version,
            pod_uid=workload.uid,
            pod_name=workload.pod.name,
            namespace=workload.pod.namespace,
        )
        self.change(events=(*self._view.events, event), resource_version=version)
        self.events.add(EventChange(ChangeKind.ADDED, event, version))
