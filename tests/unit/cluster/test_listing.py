"""All lists of a cluster at once: what they leave behind when one is refused."""

from __future__ import annotations

import asyncio

import pytest

from numalet.cluster import listing
from numalet.core.model.findings import BadInput
from running import fake_api_server

WITHHELD = (
    "/api/v1/pods",
    "/apis/policy/v1/poddisruptionbudgets",
    "/apis/numalet.dev/v1alpha1/numanodes",
)


async def test_no_list_is_under_way_after_one_was_refused() -> None:
    async with fake_api_server.running() as server:
        server.withheld.update(WITHHELD)
        server.refused["/api/v1/nodes"] = 403
        access = server.access()

        async def left() -> set[str]:
            with pytest.raises(BadInput) as refused:
                await listing.listed(access)
            assert "403" in str(refused.value)
            own = asyncio.current_task()
            return {str(each) for each in asyncio.all_tasks() if each is not own}

        assert await asyncio.to_thread(asyncio.run, left()) == set()
