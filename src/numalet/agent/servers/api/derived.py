"""Objects computed from the agent's view: the node, namespaces, a kubelet's pods.

No source announces their changes, so each request compares them with the last result; a watch
compares after every change of the view. A change never has a version from before it happened.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from numalet.agent.servers.api.collection import Collection, key_of
from numalet.agent.servers.api.objects import Shown, shown
from numalet.agent.servers.api.watching import WatchedChange
from numalet.agent.servers.door import AgentView, ChangeKind, Door, RequestRefusal, RequestRefused

Make: TypeAlias = Callable[[AgentView], Iterable[Mapping[str, Any]]]
"""Makes the objects of a view, without resource versions."""

_KEPT: Final = 1024


class Derived:
    """Objects of one kind, and their changes since the agent's start."""

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
