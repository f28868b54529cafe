"""Processes that lead by a Lease of a real API server."""

from __future__ import annotations

import asyncio

import pytest

from numalet.cluster.leading import LeaseCandidate, LeaseName, LeaseTiming
from numalet.io.kube_api import access, client
from numalet.io.tasks import ended
from running.control_plane import ControlPlane

PATIENCE_SECONDS = 200.0
QUICK = LeaseTiming(duration_seconds=3, deadline_seconds=2.0, retry_seconds=0.2)


@pytest.mark.slow
async def test_another_leads_after_the_first_is_gone(plane: ControlPlane) -> None:
    name = LeaseName(plane.namespace(), "numalet-breaker")
    async with (
        client.opened(access.of(plane.kubeconfig)) as api,
        asyncio.timeout(PATIENCE_SECONDS),
    ):
        first = LeaseCandidate(api, name, identity="first", timing=QUICK)
        second = LeaseCandidate(api, name, identity="second", timing=QUICK)
        leading = asyncio.create_task(first.run())
        waiting = None
        try:
            await first.wait_until_leader()
            waiting = asyncio.create_task(second.run())
            await asyncio.sleep(2 * QUICK.duration_seconds)
            assert not second.is_leader
            await ended(leading)
            await second.wait_until_leader()
            assert not first.is_leader
            assert plane.get(name.path)["spec"]["leaseTransitions"] >= 1
        finally:
            await ended(*(each for each in (leading, waiting) if each is not None))
    assert plane.get(name.path)["spec"]["holderIdentity"] == ""
