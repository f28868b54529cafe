"""A followed cluster for the dashboard: the latest value, and its changes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from numalet.cluster.following import FollowedView
from numalet.core.cluster.cluster import Cluster
from numalet.core.model.findings import BadInput
from numalet.core.model.value import Mutable, Value, field, replace
from numalet.dashboard.sources import OutOfDate


class FollowedFleet(Mutable):
    """The cluster of the latest view; absent before the first one.

    While the connection is lost it stays unchanged, and ``out_of_date`` says since when.
    """

    is_live: bool = True
    out_of_date: OutOfDate | None = None
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    _cluster: Cluster | None = None
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    async def receive(self, view: FollowedView) -> None:
        """Show a view from now on. Raises ``BadInput`` if the cluster could never be listed."""
        if view.opened is None:
            if view.problems:
                raise BadInput(view.problems)
            return
        cluster, out_of_date = view.opened.cluster, self._out_of_date(view)
        if cluster is not self._cluster or out_of_date != self.out_of_date:
            self._cluster, self.out_of_date = cluster, out_of_date
            self._news.set()
            self._news = asyncio.Event()

    def _out_of_date(self, view: FollowedView) -> OutOfDate | None:
        if not view.age_seconds:
            return None
        why = "; ".join(map(str, view.problems))
        if self.out_of_date is not None:
            return replace(self.out_of_date, why=why)
        return OutOfDate(self.clock() - timedelta(seconds=view.age_seconds), why)

    async def first(self) -> None:
        while self._cluster is None:
            await self.changed()

    def cluster(self) -> Cluster:
        """Return the current cluster; the same value as long as nothing changes."""
        return self._cluster or Cluster()

    async def changed(self) -> None:
        """Wait until the cluster changes, or starts or stops being out of date."""
        await self._news.wait()


class StillFleet(Value):
    """A constant cluster: a dump or a fleet file."""

    known: Cluster
    is_live: bool = False
    out_of_date: None = None

    def cluster(self) -> Cluster:
        return self.known

    async def changed(self) -> None:
        await asyncio.Event().wait()
