"""Everything that matters of a cluster, listed once from its API server, page by page."""

from __future__ import annotations

import io
from typing import Final

import msgspec

from numalet.core.cluster.objects import ClusterObjects
from numalet.core.model.findings import BadInput
from numalet.io.documents.cluster_dump import ObjectReader
from numalet.io.kube_api import client
from numalet.io.kube_api.answers import ApiRefused, ApiUnreachable
from numalet.io.kube_api.client import ApiClient
from numalet.io.kube_api.values import Access
from numalet.io.tasks import together

_PAGE: Final = 500
_GONE: Final = 410
_NOT_THERE: Final = 404
_MOST_LISTS: Final = 5
"""So often a list is begun again when its pages are too old by the time they are asked for."""

_NEEDED: Final = ("/api/v1/nodes", "/api/v1/pods")
_OPTIONAL: Final = (
    "/apis/policy/v1/poddisruptionbudgets",
    "/apis/numalet.dev/v1alpha1/numanodeclasses",
    "/apis/numalet.dev/v1alpha1/numanodes",
    "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies",
)
_OLDER: Final = {
    "/apis/policy/v1/poddisruptionbudgets": "/apis/policy/v1beta1/poddisruptionbudgets"
}


class _ListMetadata(msgspec.Struct):
    continue_: str = msgspec.field(default="", name="continue")


class _ListHead(msgspec.Struct):
    metadata: _ListMetadata = msgspec.field(default_factory=_ListMetadata)


async def listed(access: Access, user_agent: str = "numalet-fleet") -> ClusterObjects:
    """The objects, as they are now.

    Collections that the server does not have are left out: budgets of a server before 1.21 are of
    an older version, and the definitions of the other two may be missing.

    Raises:
        BadInput: the server can not be asked, or refuses.
    """
    try:
        async with client.opened(access, user_agent) as api, together() as lists:
            every = {path: lists.create_task(_pages(api, path)) for path in (*_NEEDED, *_OPTIONAL)}
    except (ApiRefused, ApiUnreachable) as no:
        raise BadInput([no.finding]) from None
    reader = ObjectReader()
    for path, pages in every.items():
        for page in pages.result():
            reader.read(io.BytesIO(page), path)
    return reader.objects()


async def _pages(api: ApiClient, path: str) -> list[bytes]:
    try:
        return await _whole(api, path)
    except ApiRefused as refused:
        if refused.status.code != _NOT_THERE or path in _NEEDED:
            raise
    older = _OLDER.get(path)
    return [] if older is None else await _pages_or_nothing(api, older)


async def _pages_or_nothing(api: ApiClient, path: str) -> list[bytes]:
    try:
        return await _whole(api, path)
    except ApiRefused as refused:
        if refused.status.code != _NOT_THERE:
            raise
        return []


async def _whole(api: ApiClient, path: str) -> list[bytes]:
    """All pages of one version; begun again when the server has forgotten that version."""
    for attempt in range(1, _MOST_LISTS + 1):
        pages: list[bytes] = []
        token = ""
        try:
            while True:
                query: dict[str, str | int | bool | None] = {
                    "limit": _PAGE,
                    "continue": token or None,
                }
                pages.append(await api.get(path, query))
                token = msgspec.json.decode(pages[-1], type=_ListHead).metadata.continue_
                if not token:
                    return pages
        except ApiRefused as refused:
            if refused.status.code != _GONE or attempt == _MOST_LISTS:
                raise
    raise AssertionError("unreachable")
