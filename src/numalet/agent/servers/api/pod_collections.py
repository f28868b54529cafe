"""Pods and events as collections with their changes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Final, TypeVar

from numalet.agent.servers.api.collection import Collection, key_of
from numalet.agent.servers.api.objects import Shown
from numalet.agent.servers.api.served import OWN_GROUP, Served, namespace_of
from numalet.agent.servers.api.watching import WatchedChange
from numalet.agent.servers.door import ChangeKind, EventChange, PodChange, RequestRefused
from numalet.core.model.value import Value, replace
from numalet.core.workload.records import PodRecord

C = TypeVar("C", PodChange, EventChange)


class RecordKind(Value):
    """A kind of object that a pod record is converted to."""

    kind: str
    api_version: str
    make: Callable[[Served, PodRecord], Shown]


POD: Final = RecordKind("Pod", "v1", Served.pod)
PLACEMENT: Final = RecordKind("PodPlacement", OWN_GROUP, Served.placement)


def of_records(served: Served, namespace: str | None, kind: RecordKind) -> Collection:
    def now() -> tuple[int, list[tuple[str, Shown]]]:
        items = [kind.make(served, record) for record in served.records(namespace)]
        return served.door.view().resource_version, [(key_of(each.value), each) for each in items]

    def step(change: PodChange) -> WatchedChange | None:
        record = change.record
        if namespace not in (None, record.workload.pod.namespace):
            return None
        if change.kind is ChangeKind.DELETED:
            # A deletion has its own version, after the record's last one.
            record = replace(record, resource_version=change.resource_version)
        item = kind.make(served, record)
        before = None if change.before is None else kind.make(served, change.before)
        return WatchedChange(change.kind, key_of(item.value), item, change.resource_version, before)

    def past(version: int) -> Sequence[WatchedChange] | RequestRefused:
        changes = served.door.past_pod_changes(version)
        if isinstance(changes, RequestRefused):
            return changes
        return [each for each in map(step, changes) if each is not None]

    def since(version: int) -> AsyncIterator[WatchedChange] | RequestRefused:
        changes = served.door.pod_changes(version)
        return changes if isinstance(changes, RequestRefused) else _steps(changes, step)

    return Collection(
        kind=kind.kind,
        api_version=kind.api_version,
        now=now,
        past=past,
        door=served.door,
        since=since,
    )


def of_events(served: Served, namespace: str | None) -> Collection:
    def step(change: EventChange) -> WatchedChange | None:
        if namespace not in (None, namespace_of(change.event)):
            return None
        event = change.event
        if change.kind is ChangeKind.DELETED:
            event = replace(event, resource_version=change.resource_version)
        item = served.event(event)
        before = None if change.before is None else served.event(change.before)
        return WatchedChange(change.kind, key_of(item.value), item, change.resource_version, before)

    def past(version: int) -> Sequence[WatchedChange] | RequestRefused:
        changes = served.door.past_event_changes(version)
        if isinstance(changes, RequestRefused):
            return changes
        return [each for each in map(step, changes) if each is not None]

    def since(version: int) -> AsyncIterator[WatchedChange] | RequestRefused:
        changes = served.door.event_changes(version)
        return changes if isinstance(changes, RequestRefused) else _steps(changes, step)

    return Collection(
        kind="Event",
        api_version="v1",
        now=lambda: (served.door.view().resource_version, served.events(namespace)),
        past=past,
        door=served.door,
        since=since,
    )


async def _steps(
    changes: AsyncIterator[C], step: Callable[[C], WatchedChange | None]
) -> AsyncIterator[WatchedChange]:
    async for change in changes:
        made = step(change)
        if made is not None:
            yield made
