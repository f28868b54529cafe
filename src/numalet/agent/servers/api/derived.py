"""The agent's collections: of pods and events, and of objects computed from its view.

The agent records the changes of pods and events. No source announces changes of the node, of
namespaces and of a kubelet's pods, so each request compares them with the last result.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias, TypeVar

from numalet.agent.servers.api.collection import Collection, WatchedChange, key_of
from numalet.agent.servers.api.forms import Shown, shown
from numalet.agent.servers.api.served import OWN_GROUP, Served, namespace_of
from numalet.agent.servers.door import (
    AgentView,
    ChangeKind,
    Door,
    EventChange,
    PodChange,
    RequestRefusal,
    RequestRefused,
)
from numalet.core.model.value import Value, replace
from numalet.core.workload.records import PodRecord

C = TypeVar("C", PodChange, EventChange)

Make: TypeAlias = Callable[[AgentView], Iterable[Mapping[str, Any]]]
"""Makes the objects of a view, without resource versions."""

_KEPT: Final = 1024


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


class Derived:
    """Computed objects of one kind, and their changes since the agent's start.

    A watch compares after every change of the view. A change never has a version from before it
    happened.
    """

    def __init__(self, door: Door, make: Make) -> None:
        self._door = door
        self._make = make
        self._made: dict[str, Mapping[str, Any]] = {}
        self._shown: dict[str, Shown] = {}
        self._past: deque[WatchedChange] = deque()
        self._seen: AgentView | None = None
        self._forgotten = door.view().resource_version
        self._version = self._forgotten
        self._refresh()
        self._past.clear()

    def collection(self, kind: str, api_version: str) -> Collection:
        return Collection(
            kind=kind,
            api_version=api_version,
            now=self._now,
            past=self._past_of,
            door=self._door,
            since=self._since,
        )

    def item(self, key: str) -> Shown | None:
        self._refresh()
        return self._shown.get(key)

    def _now(self) -> tuple[int, list[tuple[str, Shown]]]:
        self._refresh()
        return self._version, [*self._shown.items()]

    def _past_of(self, version: int) -> Sequence[WatchedChange] | RequestRefused:
        self._refresh()
        return self._refused(version) or self._after(version)

    def _since(self, version: int) -> AsyncIterator[WatchedChange] | RequestRefused:
        self._refresh()
        return self._refused(version) or self._follow(version)

    async def _follow(self, version: int) -> AsyncIterator[WatchedChange]:
        while version >= self._forgotten:
            self._refresh()
            for step in self._after(version):
                yield step
                version = step.resource_version
            if self._seen is self._door.view():
                await self._door.changed()

    def _after(self, version: int) -> list[WatchedChange]:
        return [each for each in self._past if each.resource_version > version]

    def _refused(self, version: int) -> RequestRefused | None:
        if version < self._forgotten:
            fields = {"asked": str(version), "oldest": str(self._forgotten)}
            return RequestRefused(RequestRefusal.TOO_OLD, fields)
        if version > self._version:
            fields = {"asked": str(version), "current": str(self._version)}
            return RequestRefused(RequestRefusal.TOO_NEW, fields)
        return None

    def _refresh(self) -> None:
        """Compare with the last result and record the changes."""
        view = self._door.view()
        if view is self._seen:
            return
        self._seen = view
        made = {key_of(each): each for each in self._make(view)}
        changed = [key for key, each in made.items() if self._made.get(key) != each]
        changed += [key for key in self._made if key not in made]
        # Each change has its own version, so that a client that received only some resumes with the
        # rest.
        first = max(self._version, view.resource_version - len(changed)) + 1
        for version, key in enumerate(sorted(changed), first):
            self._change(key, made.get(key), min(version, view.resource_version))
        self._made, self._version = made, view.resource_version
        # Clients with an older version get 410 and list again.
        while len(self._past) > _KEPT:
            self._forgotten = self._past.popleft().resource_version

    def _change(self, key: str, after: Mapping[str, Any] | None, version: int) -> None:
        before = self._shown.pop(key, None)
        value = after if after is not None else self._made[key]
        metadata = {**value["metadata"], "resourceVersion": str(version)}
        item = shown({**value, "metadata": metadata})
        if after is None:
            kind = ChangeKind.DELETED
        else:
            self._shown[key] = item
            kind = ChangeKind.ADDED if before is None else ChangeKind.MODIFIED
        self._past.append(WatchedChange(kind, key, item, version, before))
