"""Which nodes publish what can not be theirs, by the pods that are bound to them.

Objects are listed one kind after the other while nodes go on, so a NumaNode that is two seconds
behind its pods seems to contradict them. What contradicts is therefore listed once more, after a
time in which every node that is well has written; what is said then is meant.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from numalet.cluster import listing
from numalet.core.cluster import building
from numalet.core.cluster.building import Classes
from numalet.core.cluster.objects import ClusterObjects
from numalet.core.model.findings import Finding
from numalet.io.kube_api.answers import ApiRefused
from numalet.io.kube_api.client import ApiClient

SETTLE_SECONDS: Final = 5.0
"""A node writes within a second of a change, or two seconds after the write before."""

Contradictions = Mapping[str, tuple[Finding, ...]]
"""Why what a node publishes can not be its own, by node; nodes without any are left out."""


async def contradictions(
    api: ApiClient, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
) -> Contradictions | None:
    """Those of the cluster; None if not everything may be listed that they are known by.

    Raises:
        ApiRefused, ApiUnreachable: as the client does.
    """
    try:
        first = of_objects(await listing.objects(api))
        if not first:
            return first
        await sleep(SETTLE_SECONDS)
        again = of_objects(await listing.objects(api))
    except ApiRefused as refused:
        if refused.status.is_forbidden:
            return None
        raise
    return {name: again[name] for name in first if name in again}


def of_objects(listed: ClusterObjects) -> Contradictions:
    """Those in objects that were listed; only nodes whose class is there are judged."""
    known = Classes(listed.classes)
    every = {
        inputs.listed.name: building.contradictions(inputs, known, listed.pods)
        for inputs in building.inputs_of(listed)
    }
    return {name: why for name, why in every.items() if why}
