"""Change histories for watches, of limited length.

A watch from before the history is refused, one that falls too far behind ends; clients then list
again.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import takewhile
from typing import Final, Generic, Protocol, TypeVar

from numalet.agent.controller.node_state import NodeState
from numalet.agent.servers.door import (
    AgentView,
    ChangeKind,
    EventChange,
    PodChange,
    RequestRefusal,
    RequestRefused,
)
from numalet.core.workload.records import NodeEvent, PodRecord

KEPT: Final = 4096
"""How many changes a watch may fall behind."""


class Versioned(Protocol):
    """Something that has a resource version."""

    @property
    def resource_version(self) -> int:
        """Later changes have higher ones."""
        ...


C = TypeVar("C", bound=Versioned)


class History(Generic[C]):
    """The latest changes; ``begin`` is the version at the start of the history.

    ``view`` returns the current version, possibly of another kind of change.
    """

    def __init__(self, view: Callable[[], AgentView], begin: int, kept: int = KEPT) -> None:
        self._view = view
        self._past: deque[C] = deque()
        self._kept = kept
        self._forgotten = begin
        """Version of the latest discarded change."""
        self._news = asyncio.Event()
        """Set at the next change and then replaced, so that every waiter wakes once."""
        self._closed = False

    def publish(self, changes: Iterable[C]) -> None:
        """Append changes, in order of version."""
        before = len(self._past)
        self._past.extend(changes)
        if len(self._past) == before:
            return
        while len(self._past) > self._kept:
            self._forgotten = self._past.popleft().resource_version
        self._wake()

    def close(self) -> None:
        """End all watches."""
        self._closed = True
        self._wake()

    def since(self, version: int) -> AsyncIterator[C] | RequestRefused:
        """Yield changes after this version, then new ones."""
        return self._refused(version) or self._follow(version)

    def past(self, version: int) -> Sequence[C] | RequestRefused:
        return self._refused(version) or self._after(version)

    def _refused(self, version: int) -> RequestRefused | None:
        if version < self._forgotten:
            fields = {"asked": str(version), "oldest": str(self._forgotten)}
            return RequestRefused(RequestRefusal.TOO_OLD, fields)
        current = self._view().resource_version
        if version > current:
            fields = {"asked": str(version), "current": str(current)}
            return RequestRefused(RequestRefusal.TOO_NEW, fields)
        return None

    async def _follow(self, version: int) -> AsyncIterator[C]:
        while version >= self._forgotten:
            # A batch may give several changes the same version, so send all of them before
            # comparing.
            changes = self._after(version)
            for change in changes:
                yield change
            if changes:
                version = max(version, changes[-1].resource_version)
                continue
            if self._closed:
                return
            await self._news.wait()

    def _after(self, version: int) -> list[C]:
        newest_first = takewhile(lambda each: each.resource_version > version, reversed(self._past))
        return [*newest_first][::-1]

    def _wake(self) -> None:
        # Replace before setting, so that a woken watch waits for the next event.
        news, self._news = self._news, asyncio.Event()
        news.set()


def of_pods(before: NodeState, after: NodeState) -> list[PodChange]:
    """Differences between two states in order of version.

    Clients identify pods by name, so a replaced pod is a DELETED and an ADDED. A deleted record has
    its last content and the version of its deletion.
    """
    changed = [after.records[uid] for uid in after.records.changed_since(before.records)]
    changed += [before.records[uid] for uid in before.records.keys() - after.records.keys()]
    names = {(each.workload.pod.namespace, each.workload.pod.name) for each in changed}
    changes = [
        change
        for name in names
        for change in _of_name(before.named(*name), after.named(*name), after)
    ]
    changes.sort(key=lambda change: change.resource_version)
    return changes


def _of_name(old: PodRecord | None, new: PodRecord | None, after: NodeState) -> Iterator[PodChange]:
    """The change of one name."""
    if old is new:
        return
    if old is not None and new is not None and old.uid == new.uid:
        yield PodChange(ChangeKind.MODIFIED, new, new.resource_version, old)
        return
    if old is not None:
        # If the old pod still ends under the same name, delete it just before the new one appears.
        latest = after.resource_version if new is None else new.resource_version - 1
        version = min(after.gone.get(old.uid, latest), latest)
        yield PodChange(ChangeKind.DELETED, old, version, old)
    if new is not None:
        yield PodChange(ChangeKind.ADDED, new, new.resource_version)


def of_events(before: NodeState, after: NodeState) -> list[EventChange]:
    """New, repeated and displaced events in order of version."""
    newest_first = takewhile(
        lambda each: each.resource_version > before.resource_version, reversed(after.events)
    )
    fresh = [*newest_first][::-1]
    if not fresh:
        return []
    counted = {identity(each) for each in fresh if each.count > 1}
    # Their pods first: an identity is made of five members, and there are thousands of events.
    pods = {pod_uid for pod_uid, *_ in counted}
    older = {identity(each): each for each in before.events if each.pod_uid in pods}
    changes = []
    for event in fresh:
        old = older.get(identity(event)) if event.count > 1 else None
        kind = ChangeKind.ADDED if old is None else ChangeKind.MODIFIED
        changes.append(EventChange(kind, event, event.resource_version, old))
    oldest, last = after.events[0].resource_version, fresh[-1].resource_version
    # Only the latest events are kept. A watch needs a DELETED for those that were displaced, or its
    # client would show them forever.
    no_more = takewhile(lambda each: each.resource_version < oldest, before.events)
    gone = [each for each in no_more if identity(each) not in counted]
    return changes + [EventChange(ChangeKind.DELETED, each, last, each) for each in gone]


def identity(event: NodeEvent) -> tuple[str, str, str, str, datetime]:
    """The part of an event that stays equal when it is counted again."""
    first = event.first_at or event.at
    return event.pod_uid, event.reason, event.container, event.message, first
