"""A cluster that is followed, as it is shown: the latest one, and when it is another."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from numalet.cluster.following import FollowedFleet, FollowedView, StillFleet
from numalet.core.cluster.cluster import Cluster
from numalet.core.model import input_error
from numalet.core.model.findings import BadInput
from numalet.dashboard.sources import OutOfDate
from numalet.insight.usecases.clusters import OpenedCluster


def _view(cluster: Cluster) -> FollowedView:
    return FollowedView(OpenedCluster(cluster, {}))


async def test_it_says_when_there_is_another_cluster() -> None:
    fleet, first = FollowedFleet(), Cluster()
    await fleet.receive(FollowedView(None))
    waiting = asyncio.create_task(fleet.first())
    await asyncio.sleep(0)
    assert not waiting.done()
    await fleet.receive(_view(first))
    await waiting
    assert fleet.cluster() is first
    again = asyncio.create_task(fleet.changed())
    await asyncio.sleep(0)
    await fleet.receive(_view(first))
    await asyncio.sleep(0)
    assert not again.done()
    second = Cluster()
    await fleet.receive(_view(second))
    await again
    assert fleet.cluster() is second
    assert fleet.is_live


async def test_a_lost_connection_is_said_once_and_its_end_too() -> None:
    now, cluster = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), Cluster()
    fleet = FollowedFleet(clock=lambda: now)
    lost = OpenedCluster(cluster, {})
    why = input_error.NotFound("no nodes in x")
    await fleet.receive(FollowedView(lost))
    assert fleet.out_of_date is None

    begins = asyncio.create_task(fleet.changed())
    await asyncio.sleep(0)
    await fleet.receive(FollowedView(lost, 3.0, (why,)))
    await begins
    assert fleet.out_of_date == OutOfDate(now - timedelta(seconds=3), str(why))

    again = asyncio.create_task(fleet.changed())
    await asyncio.sleep(0)
    await fleet.receive(FollowedView(lost, 8.0, (why,)))
    await asyncio.sleep(0)
    assert not again.done()
    await fleet.receive(FollowedView(lost))
    await again
    assert fleet.out_of_date is None


async def test_a_cluster_that_never_could_be_listed_is_an_error() -> None:
    why = input_error.NotFound("no nodes in x")
    with pytest.raises(BadInput):
        await FollowedFleet().receive(FollowedView(None, problems=(why,)))


async def test_a_dump_stays_as_it_is() -> None:
    fleet = StillFleet(Cluster())
    assert fleet.cluster() is fleet.known
    assert not fleet.is_live
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await fleet.changed()
