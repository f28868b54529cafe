"""Lists a collection page by page; only what the caller decodes stays in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Final, Generic, TypeVar

import msgspec

from numalet.core.model.value import Value, field
from numalet.io import nesting
from numalet.io.kube_api.answers import ApiRefused, ApiUnreachable
from numalet.io.kube_api.client import ApiClient, Query

T = TypeVar("T")

PAGE_ITEMS: Final = 500
_ATTEMPTS_IN_PAGES: Final = 3
_PAGE_GROWTH: Final = 4


class ApiCollection(Value):
    """Objects at a path such as ``/api/v1/pods``, all or those that match the selectors."""

    path: str
    label_selector: str = ""
    field_selector: str = ""

    @property
    def query(self) -> dict[str, str | int | bool | None]:
        return {
            "labelSelector": self.label_selector or None,
            "fieldSelector": self.field_selector or None,
        }


class ObjectMeta(msgspec.Struct, rename="camel"):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class ObjectHead(msgspec.Struct):
    """The part of an object that identifies it."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)


def qualified_name(meta: ObjectMeta) -> str:
    """``namespace/name``, or just the name without a namespace."""
    return f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name


def uid(meta: ObjectMeta) -> str:
    """Unique in time: a later object with the same name has another uid."""
    return meta.uid


Decode = Callable[[bytes], T | None]
"""The caller's value of an object's JSON; None leaves the object out."""


class ListedItems(Value, Generic[T]):
    """All items at one moment, which is ``resource_version``."""

    items: dict[str, T] = field(default_factory=dict)
    resource_version: str = ""


class _ListMeta(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    continues: str = msgspec.field(default="", name="continue")


class _Page(msgspec.Struct):
    metadata: _ListMeta = msgspec.field(default_factory=_ListMeta)
    items: list[msgspec.Raw] | None = None


_page_decoder: Final = msgspec.json.Decoder(_Page)
head_decoder: Final = msgspec.json.Decoder(ObjectHead)


async def listed(
    api: ApiClient,
    collection: ApiCollection,
    decode: Decode[T],
    key: Callable[[ObjectMeta], str] = qualified_name,
    known: Mapping[str, T] | None = None,
    page_items: int = PAGE_ITEMS,
) -> ListedItems[T]:
    """All items of the collection at one moment.

    An item equal to the one in ``known`` is the same object.

    Raises:
        ApiRefused, ApiUnreachable: like the client.
    """
    limit: int | None = page_items
    for attempt in range(_ATTEMPTS_IN_PAGES + 1):
        # If a list outlives the server's history (410), start over with larger pages, at last
        # without pages.
        limit = None if attempt == _ATTEMPTS_IN_PAGES else page_items * _PAGE_GROWTH**attempt
        # Pages of different attempts are from different moments and must not mix.
        result: ListedItems[T] = ListedItems()
        try:
            async for page in _pages(api, collection, limit):
                result = ListedItems(result.items, page.metadata.resource_version)
                for raw in page.items or ():
                    content = bytes(raw)
                    item = decode(content)
                    if item is not None:
                        name = key(head_decoder.decode(content).metadata)
                        # The old object is kept, so that callers can detect changes by identity and
                        # cached results stay valid.
                        old = known.get(name) if known else None
                        result.items[name] = old if old is not None and old == item else item
        except ApiRefused as refused:
            if not refused.status.is_gone or limit is None:
                raise
        else:
            return result
    raise AssertionError("the last attempt has no pages")


async def current_version(api: ApiClient, collection: ApiCollection) -> str:
    """The current resource version of the collection; transfers at most one item."""
    # No resourceVersion: the server then answers with its newest state, not from a cache that may
    # be older.
    content = await api.get(collection.path, {**collection.query, "limit": 1})
    return _decoded(api, content).metadata.resource_version


async def _pages(
    api: ApiClient, collection: ApiCollection, limit: int | None
) -> AsyncIterator[_Page]:
    continues: str | None = None
    while continues != "":
        query: Query = {**collection.query, "limit": limit, "continue": continues}
        page = _decoded(api, await api.get(collection.path, query))
        yield page
        continues = page.metadata.continues


def _decoded(api: ApiClient, content: bytes) -> _Page:
    try:
        page: _Page = nesting.decode(_page_decoder, content)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ApiUnreachable(f"its answer is no list ({error})", api.access.server) from None
    return page
