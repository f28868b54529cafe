"""Changes as they happen, for whoever watches; a bounded past.

A watcher that asks for a version from before the past that is kept is told so, and lists anew.
One that falls behind so far that what it should get next is forgotten is ended, for the same.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Final, Generic, Protocol, TypeVar

from numalet.servers.door import ChangeKind, EventChange, PodChange, Refusal, Refused
from numalet.workload.record import NodeEvent, PodRecord

KEPT: Final = 4096


class Versioned(Protocol):
    """Something that has a resource version."""

    @property
    def resource_version(self) -> int:
        """Later changes have higher ones."""
        ...


C = TypeVar("C", bound=Versioned)


class History(Generic[C]):
    """The latest changes; ``begin`` is the resource version at which the past begins."""

    def __init__(self, begin: int, kept: int = KEPT) -> None:
        self._past: deque[C] = deque()
        self._kept = kept
        self._forgotten = begin
        self._news = asyncio.Event()
        self._closed = False

    def publish(self, changes: Iterable[C]) -> None:
        """Tell of changes, which are in the order of their versions."""
        before = len(self._past)
        self._past.extend(changes)
        if len(self._past) == before:
            return
        while len(self._past) > self._kept:
            self._forgotten = self._past.popleft().resource_version
        self._wake()

    def close(self) -> None:
        """End all watchers."""
        self._closed = True
        self._wake()

    def since(self, version: int) -> AsyncIterator[C] | Refused:
        """What happened after this version, then what happens."""
        if version < self._forgotten:
            fields = {"asked": str(version), "oldest": str(self._forgotten)}
            return Refused(Refusal.TOO_OLD, fields)
        return self._follow(version)

    async def _follow(self, version: int) -> AsyncIterator[C]:
        while version >= self._forgotten:
            # Several changes may have one version: a record goes with the last change of a batch.
            found = self._after(version)
            for change in found:
                yield change
            if found:
                version = max(version, found[-1].resource_version)
                continue
            if self._closed:
                return
            await self._news.wait()

    def _after(self, version: int) -> list[C]:
        newest_first = takewhile(lambda each: each.resource_version > version, reversed(self._past))
        return [*newest_first][::-1]

    def _wake(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()


def of_pods(
    before: Mapping[str, PodRecord], after: Mapping[str, PodRecord], version: int
) -> list[PodChange]:
    """What is different between two sets of records, in the order of versions.

    A record that went has its last content, and ``version`` for its going.
    """
    changes = [
        PodChange(
            ChangeKind.MODIFIED if uid in before else ChangeKind.ADDED,
            record,
            record.resource_version,
        )
        for uid, record in after.items()
        if before.get(uid) is not record
    ]
    changes.sort(key=lambda change: change.resource_version)
    gone = [record for uid, record in before.items() if uid not in after]
    return changes + [PodChange(ChangeKind.DELETED, record, version) for record in gone]


def of_events(before: int, after: Sequence[NodeEvent]) -> list[EventChange]:
    """The events that are new, or were counted up, since this resource version."""
    fresh = takewhile(lambda event: event.resource_version > before, reversed(after))
    return [
        EventChange(
            ChangeKind.MODIFIED if event.count > 1 else ChangeKind.ADDED,
            event,
            event.resource_version,
        )
        for event in [*fresh][::-1]
    ]
