"""One receiver of a followed cluster: a view after each change, one for a whole burst.

    a change            a view within BETWEEN_SECONDS and the time to build it
    a burst             one view of all of it
    a slow receiver     a pause of nine times its work: a tenth of a CPU
    a connection lost   a view that says so, and again every AGAIN_SECONDS while it lasts

A view is a value. The receiver may process it in a thread while events continue to arrive.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
from collections.abc import Awaitable, Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Final

from numalet.cluster.live import LiveCluster
from numalet.core.cluster import building
from numalet.core.cluster.building import ClassRule
from numalet.core.cluster.cluster import Cluster
from numalet.core.model.findings import BadInput, Finding
from numalet.core.model.value import Mutable, Value, field, replace
from numalet.dashboard.sources import OutOfDate
from numalet.insight.usecases import clusters
from numalet.insight.usecases.clusters import ClusterSources, OpenedCluster
from numalet.io.kube_api import client
from numalet.io.kube_api.pace import PACE, Pace
from numalet.io.kube_api.values import Access
from numalet.io.tasks import together

BETWEEN_SECONDS: Final = 0.5
AGAIN_SECONDS: Final = 5.0
LONGEST_PAUSE_SECONDS: Final = 15.0
_REST_FOR_WORK: Final = 9.0


class FollowedView(Value):
    """The cluster at one time.

    ``opened`` is unset until everything was listed once. ``age_seconds`` is how long some of it may
    have been out of date, 0 while all of it is current; ``problems`` give the causes.
    """

    opened: OpenedCluster | None
    age_seconds: float = 0.0
    problems: tuple[Finding, ...] = ()


Receiver = Callable[[FollowedView], Awaitable[None]]


class FollowedClasses(Value, kw_only=True):
    """The user's classes of nodes, and the label with the name of their pool.

    ``notes`` are warnings about the class file.
    """

    rules: Iterable[ClassRule] = ()
    notes: tuple[Finding, ...] = ()
    pool_label: str = building.POOL_LABEL


def classes_of(class_file: str | None, pool_label: str | None) -> FollowedClasses:
    """Read the options --class and --pool-label. Raises ``BadInput`` for an unusable file."""
    label = pool_label or building.POOL_LABEL
    sources = ClusterSources(paths=(), class_file=class_file, pool_label=label)
    given = clusters.classes_of(sources)
    return FollowedClasses(rules=given.rules(), notes=given.notes, pool_label=label)


async def follow(
    access: Access,
    classes: FollowedClasses,
    receive: Receiver,
    pace: Pace = PACE,
    user_agent: str = "numalet-fleet",
) -> None:
    """Pass on views of a cluster forever.

    Raises:
        BadInput: the credentials cannot be used; and the errors of the receiver.
    """
    rules = tuple(classes.rules)
    live = LiveCluster(rules, classes.pool_label, pace)
    async with client.opened(access, user_agent) as api, together() as group:
        group.create_task(live.follow(api))
        group.create_task(_passed_on(live, rules, receive))


async def _passed_on(live: LiveCluster, rules: Iterable[ClassRule], receive: Receiver) -> None:
    loop = asyncio.get_running_loop()
    of_rules = clusters.specs_of(rules)
    was_ready = False
    while True:
        with contextlib.suppress(TimeoutError):
            wait_seconds = None if live.is_current or not live.is_ready else AGAIN_SECONDS
            async with asyncio.timeout(wait_seconds):
                await live.wait_for_change()
        # All changes of a burst are processed together.
        await asyncio.sleep(BETWEEN_SECONDS)
        began = loop.time()
        cluster = await live.value()
        opened = None
        if cluster is not None:
            opened = OpenedCluster(cluster, {**of_rules, **live.specs}, live.published_seconds)
        if opened is not None and not was_ready:
            was_ready = True
            # A cluster has no cycles; freezing keeps the collector from walking its objects.
            gc.freeze()
        await receive(FollowedView(opened, live.age_seconds, live.problems))
        worked_seconds = loop.time() - began
        rest_seconds = min(worked_seconds * _REST_FOR_WORK, LONGEST_PAUSE_SECONDS)
        await asyncio.sleep(max(0.0, rest_seconds - BETWEEN_SECONDS))


# For the dashboard: the latest value of a followed cluster, and its changes.


class FollowedFleet(Mutable):
    """The cluster of the latest view; absent before the first one.

    While the connection is lost it stays unchanged, and ``out_of_date`` says since when.
    """

    name: str = ""
    made_at: None = None
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
    name: str = ""
    made_at: datetime | None = None
    is_live: bool = False
    out_of_date: None = None

    def cluster(self) -> Cluster:
        return self.known

    async def changed(self) -> None:
        await asyncio.Event().wait()
