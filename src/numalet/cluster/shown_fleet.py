"""A cluster that is followed, as the dashboard shows it: the latest value, and when it is another.

Views come from ``following``, which passes on one of a whole burst of changes.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from numalet.cluster.following import FollowedView
from numalet.core.cluster.cluster import Cluster
from numalet.core.model.findings import BadInput


@dataclass(slots=True)
class FollowedFleet:
    """The cluster of the latest view; before the first one there is none."""

    is_live: bool = True
    _cluster: Cluster | None = None
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    async def receive(self, view: FollowedView) -> None:
        """Show a view from now on.

        Raises:
            BadInput: the cluster can not be listed, and never could.
        """
        if view.opened is None:
            if view.problems:
                raise BadInput(view.problems)
            return
        if view.opened.cluster is not self._cluster:
            self._cluster = view.opened.cluster
            self._news.set()
            self._news = asyncio.Event()

    async def first(self) -> None:
        """Wait until there is a cluster."""
        while self._cluster is None:
            await self.changed()

    def cluster(self) -> Cluster:
        """The cluster as it is known now; the same value as long as nothing changes."""
        return self._cluster or Cluster()

    async def changed(self) -> None:
        """Wait until there is another cluster."""
        await self._news.wait()


@dataclass(frozen=True, slots=True)
class StillFleet:
    """A cluster that stays as it is: a dump, or a description."""

    known: Cluster
    is_live: bool = False

    def cluster(self) -> Cluster:
        """The cluster."""
        return self.known

    async def changed(self) -> None:
        """Wait for ever."""
        await asyncio.Event().wait()
