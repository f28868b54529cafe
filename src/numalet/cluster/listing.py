"""The relevant objects of a cluster, listed once from its API server, page by page."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any

from numalet.cluster import object_kinds
from numalet.cluster.object_kinds import OBJECT_KINDS, OLD_BUDGETS, ObjectKind
from numalet.core.cluster.objects import ClusterObjects
from numalet.core.model.findings import BadInput
from numalet.io.documents.cluster import cluster_decoder
from numalet.io.documents.cluster.cluster_decoder import ObjectDecoder
from numalet.io.documents.text.typed import Place
from numalet.io.kube_api import client, listing
from numalet.io.kube_api.answers import ApiRefused, ApiUnreachable
from numalet.io.kube_api.client import ApiClient
from numalet.io.kube_api.values import Access
from numalet.io.tasks import together


async def listed(access: Access, user_agent: str = "numalet-fleet") -> ClusterObjects:
    """Return the current objects.

    Missing collections are left out: budgets of a server before 1.21 have an older version, and the
    definitions of the others may be missing. Raises ``BadInput`` if the server is unreachable or
    refuses.
    """
    try:
        async with client.opened(access, user_agent) as api:
            return await objects(api)
    except (ApiRefused, ApiUnreachable) as no:
        raise BadInput([no.finding]) from None


async def objects(api: ApiClient) -> ClusterObjects:
    """Return the current objects, over an existing client.

    Raises ``ApiRefused`` and ``ApiUnreachable`` as the client does.
    """
    # A decoder per kind, so that notes on objects always have the same order.
    decoders = {each.name: ObjectDecoder() for each in OBJECT_KINDS}
    async with together() as group:
        lists = {
            each.name: group.create_task(_items(api, each, decoders[each.name]))
            for each in OBJECT_KINDS
        }
    return cluster_decoder.of_kinds(
        {name: each.result() for name, each in lists.items()},
        decoders["Pod"].unread_pods(),
        chain.from_iterable(each.notes() for each in decoders.values()),
    )


async def _items(api: ApiClient, kind: ObjectKind, decoder: ObjectDecoder) -> Mapping[str, Any]:
    def decoded(content: bytes) -> Any:
        made = decoder.decode(kind.name, content, Place(kind.path))
        return None if made is None else made[1]

    try:
        return (await listing.listed(api, kind.collection, decoded, kind.key)).items
    except ApiRefused as refused:
        if kind.is_needed or not refused.status.is_absent:
            raise
    return await _items(api, OLD_BUDGETS, decoder) if object_kinds.has_older(kind) else {}
