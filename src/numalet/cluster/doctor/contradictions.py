"""Nodes with an impossible published state, judged by the pods bound to them.

Collections are listed one after the other while the cluster changes, so a NumaNode that is two
seconds behind its pods seems to contradict them. Contradictory objects are therefore listed again,
once every healthy node has had time to write; the second result is reported.
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
"""Contradictions in the published state by node; nodes without any are left out."""


async def contradictions(
    api: ApiClient, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
) -> Contradictions | None:
    """Return the contradictions of the cluster, unless a needed list is forbidden.

    Raises ``ApiRefused`` and ``ApiUnreachable`` as the client does.
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
    """Return the contradictions in listed objects; only nodes with a known class are judged."""
    known = Classes(listed.classes)
    every = {
        inputs.listed.name: building.contradictions(inputs, known, listed.pods)
        for inputs in building.inputs_of(listed)
    }
    return {name: why for name, why in every.items() if why}
