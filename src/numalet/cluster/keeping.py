"""Patch Nodes to keep pods away from them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, Final

from numalet.core.model.findings import BadInput
from numalet.insight.fleet import keeping_away
from numalet.insight.fleet.keeping_away import KeepAway
from numalet.io.kube_api import client, listing, paths
from numalet.io.kube_api.answers import ApiRefused, ApiUnreachable
from numalet.io.kube_api.client import ApiClient
from numalet.io.kube_api.listing import ApiCollection
from numalet.io.kube_api.values import Access

_MOST_ATTEMPTS: Final = 5


async def keep_away(access: Access, nodes: Iterable[str], how: KeepAway) -> list[str]:
    """Return the nodes that were changed; the others have kept pods away already.

    Raises ``BadInput`` if the server is unreachable or refuses.
    """
    return await _each(access, nodes, lambda node: keeping_away.patch(node, how))


async def undo(access: Access, nodes: Iterable[str]) -> list[str]:
    """Return the nodes with undone changes.

    Raises ``BadInput`` if the server is unreachable or refuses.
    """
    return await _each(access, nodes, keeping_away.undoing)


async def kept_away(access: Access) -> list[str]:
    """Return the names of the nodes that keep pods away because of this program.

    Raises ``BadInput`` if the server is unreachable or refuses.
    """
    try:
        async with client.opened(access, "numalet-fleet") as api:
            listed = await listing.listed(api, ApiCollection(paths.NODES), _name_if_kept_away)
    except (ApiRefused, ApiUnreachable) as no:
        raise BadInput([no.finding]) from None
    return sorted(listed.items.values())


def _name_if_kept_away(content: bytes) -> str | None:
    node = json.loads(content)
    return None if keeping_away.undoing(node) is None else str(node["metadata"]["name"])


async def _each(
    access: Access,
    nodes: Iterable[str],
    patch: Callable[[dict[str, Any]], dict[str, Any] | None],
) -> list[str]:
    try:
        async with client.opened(access, "numalet-fleet") as api:
            changed = [name for name in nodes if await _one(api, name, patch)]
    except (ApiRefused, ApiUnreachable) as no:
        raise BadInput([no.finding]) from None
    return changed


async def _one(
    api: ApiClient, name: str, patch: Callable[[dict[str, Any]], dict[str, Any] | None]
) -> bool:
    """Return whether the node was changed; rebuild the patch if another client changed it."""
    path = paths.node(name)
    for attempt in range(1, _MOST_ATTEMPTS + 1):
        body = patch(json.loads(await api.get(path)))
        if body is None:
            return False
        try:
            await api.patch(path, body)
        except ApiRefused as refused:
            if not refused.status.is_conflict or attempt == _MOST_ATTEMPTS:
                raise
        else:
            return True
    raise AssertionError("unreachable")
