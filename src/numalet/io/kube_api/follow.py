"""Keeps a copy of a collection up to date: a list, then watches.

The server sends events in the order of its changes, and each watch starts at the version of the
last event, so that nothing is missed in between:

- a watch that ends or breaks is started again at that version; an incomplete event is ignored;
- the list is read again if the server no longer has that version (410, as a status or an event),
  answers with another error, or has a lower version than before (a store restored from a backup);
- a list replaces everything at once, so that deletions in between take effect too.

An event that leaves the caller's value unchanged is not passed on.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Final, Generic, TypeVar

from numalet.core.model.value import Value
from numalet.io.kube_api.answers import ApiRefused, ApiStatus, ApiUnreachable
from numalet.io.kube_api.client import ApiClient
from numalet.io.kube_api.listing import (
    ApiCollection,
    Decode,
    ObjectMeta,
    current_version,
    head_decoder,
    listed,
    qualified_name,
)
from numalet.io.kube_api.pace import PACE, Backoff, Pace
from numalet.io.kube_api.watching import HistoryGone, WatchEvent, watch

__all__ = [
    "ApiCollection",
    "Changed",
    "Connected",
    "Deleted",
    "Disconnected",
    "News",
    "Replaced",
    "follow",
    "qualified_name",
]

T = TypeVar("T")

_LASTED_SECONDS: Final = 10.0


class Replaced(Value, Generic[T]):
    """All items, after a list; unchanged items are the same objects as before."""

    items: Mapping[str, T]


class Changed(Value, Generic[T]):
    key: str
    item: T


class Deleted(Value):
    """The item is deleted, or no longer of interest."""

    key: str


class Disconnected(Value):
    """The copy may be outdated from now on. ``status`` is set if the server refused."""

    why: str
    retry_in_seconds: float
    status: ApiStatus | None = None


class Connected(Value):
    """The copy is current again; only follows ``Disconnected``."""


News = Replaced[T] | Changed[T] | Deleted | Disconnected | Connected


async def follow(
    api: ApiClient,
    collection: ApiCollection,
    decode: Decode[T],
    key: Callable[[ObjectMeta], str] = qualified_name,
    pace: Pace = PACE,
) -> AsyncGenerator[News[T], None]:
    """The changes of a collection, without end; the first one apart from failures is ``Replaced``.

    Close the iterator (``contextlib.aclosing``) to end the watch. ``decode`` must not raise.

    Raises:
        BadInput: the first read of the credentials fails.
    """
    backoff = Backoff(pace)
    copy = _Copy(collection, decode, key, pace)
    is_connected = True
    while True:
        began_seconds = pace.clock.now_seconds()
        failure: ApiRefused | ApiUnreachable | None = None
        has_news = False
        try:
            if copy.is_old:
                yield await copy.list_again(api)
            # A server that was restored from a backup may not have this version yet, and a watch
            # from there could miss events. The check costs one request per reconnection.
            elif not is_connected and await copy.is_ahead_of(api):
                continue
            async with watch(api, collection, copy.version, pace) as events:
                if not is_connected:
                    is_connected = True
                    yield Connected()
                async for event in events:
                    has_news = True
                    if (news := copy.after(event)) is not None:
                        yield news
                    if copy.is_old:
                        break
        except HistoryGone as gone:
            copy.is_old = True
            failure = gone.refusal
        except ApiUnreachable as unreachable:
            failure = unreachable
        except ApiRefused as refused:
            # An overloaded server should not have to send a whole list on top.
            copy.is_old |= not refused.status.is_temporary
            failure = refused
        # Reset the backoff only after a watch that worked, or else it would never grow.
        if has_news or pace.clock.now_seconds() - began_seconds >= _LASTED_SECONDS:
            backoff.succeeded()
        status = failure.status if isinstance(failure, ApiRefused) else None
        wait_seconds = backoff.failed(status.retry_after_seconds if status else None)
        if failure is not None:
            is_connected = False
            yield Disconnected(str(failure), wait_seconds, status)
        await pace.clock.sleep(wait_seconds)


class _Copy(Generic[T]):
    def __init__(
        self,
        collection: ApiCollection,
        decode: Decode[T],
        key: Callable[[ObjectMeta], str],
        pace: Pace,
    ) -> None:
        self._collection = collection
        self._decode = decode
        self._key = key
        self._pace = pace
        self._items: dict[str, T] = {}
        self.version = ""
        self.is_old = True
        """Whether only a new list can correct the copy."""

    async def list_again(self, api: ApiClient) -> Replaced[T]:
        result = await listed(
            api, self._collection, self._decode, self._key, self._items, self._pace.page_items
        )
        self._items = result.items
        self.version = result.resource_version
        self.is_old = False
        # A copy, because the receiver may change it.
        return Replaced(dict(self._items))

    async def is_ahead_of(self, api: ApiClient) -> bool:
        """Whether the server is behind this copy, as after a restored backup."""
        self.is_old = _is_before(await current_version(api, self._collection), self.version)
        return self.is_old

    def after(self, event: WatchEvent) -> Changed[T] | Deleted | None:
        content = bytes(event.object)
        meta = head_decoder.decode(content).metadata
        if _is_before(meta.resource_version, self.version):
            self.is_old = True
            return None
        self.version = meta.resource_version or self.version
        # A bookmark only carries a newer version.
        if event.type == "BOOKMARK":
            return None
        key = self._key(meta)
        # An object that changes so that the caller does not need it any more counts as deleted.
        item = None if event.type == "DELETED" else self._decode(content)
        if item is None:
            return Deleted(key) if self._items.pop(key, None) is not None else None
        if self._items.get(key) == item:
            return None
        self._items[key] = item
        return Changed(key, item)


def _is_before(version: str, other: str) -> bool:
    """Whether a version is earlier; versions that are not numbers have no order."""
    return version.isdecimal() and other.isdecimal() and int(version) < int(other)
