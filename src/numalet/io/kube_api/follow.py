"""Keeps a collection current: a list, then watches, whatever happens to them.

The order of events from a server is that of its changes, and every watch begins at the version
of the last event that was seen, so that nothing is missed between two of them:

- a watch that ends or breaks is begun again at that version; half an event counts as none;
- a server that does not remember that version (410, as a status or as an event), that answers
  with another error, or whose version is lower than one that was seen (a store restored from
  a backup), is asked for the whole list;
- what a list says replaces everything at once, so that what was deleted in between goes too.

An event that leaves the caller's value as it was is no change and is not passed on.
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
    """Everything that there is, after a list; the mapping is the receiver's own.

    Items that are equal to those before are the same objects as before.
    """

    items: Mapping[str, T]


class Changed(Value, Generic[T]):
    """There is a new item, or another one in the place of the old."""

    key: str
    item: T


class Deleted(Value):
    """The item is gone, or is no longer of interest."""

    key: str


class Disconnected(Value):
    """What is known may be old from now on. ``status`` is there if the server refused."""

    why: str
    retry_in_seconds: float
    status: ApiStatus | None = None


class Connected(Value):
    """What is known is current again; after ``Disconnected`` alone."""


News = Replaced[T] | Changed[T] | Deleted | Disconnected | Connected


async def follow(
    api: ApiClient,
    collection: ApiCollection,
    decode: Decode[T],
    key: Callable[[ObjectMeta], str] = qualified_name,
    pace: Pace = PACE,
) -> AsyncGenerator[News[T], None]:
    """The news of a collection, without end; the first that is no failure is ``Replaced``.

    Close the iterator (``contextlib.aclosing``) to end the watch. ``decode`` must not raise.

    Raises:
        BadInput: the credentials can not be read, and never could.
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
            # A server that has too much to do is not asked for a whole list on top.
            copy.is_old |= not refused.status.is_temporary
            failure = refused
        if has_news or pace.clock.now_seconds() - began_seconds >= _LASTED_SECONDS:
            backoff.succeeded()
        status = failure.status if isinstance(failure, ApiRefused) else None
        wait_seconds = backoff.failed(status.retry_after_seconds if status else None)
        if failure is not None:
            is_connected = False
            yield Disconnected(str(failure), wait_seconds, status)
        await pace.clock.sleep(wait_seconds)


class _Copy(Generic[T]):
    """What is known of the collection, and since which version."""

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
        """Whether only a list says what there is."""

    async def list_again(self, api: ApiClient) -> Replaced[T]:
        result = await listed(
            api, self._collection, self._decode, self._key, self._items, self._pace.page_items
        )
        self._items = result.items
        self.version = result.resource_version
        self.is_old = False
        return Replaced(dict(self._items))

    async def is_ahead_of(self, api: ApiClient) -> bool:
        """Whether the server knows less than was seen, as after a backup was restored."""
        self.is_old = _is_before(await current_version(api, self._collection), self.version)
        return self.is_old

    def after(self, event: WatchEvent) -> Changed[T] | Deleted | None:
        """What an event changes; None for nothing."""
        content = bytes(event.object)
        meta = head_decoder.decode(content).metadata
        if _is_before(meta.resource_version, self.version):
            self.is_old = True
            return None
        self.version = meta.resource_version or self.version
        if event.type == "BOOKMARK":
            return None
        key = self._key(meta)
        item = None if event.type == "DELETED" else self._decode(content)
        if item is None:
            return Deleted(key) if self._items.pop(key, None) is not None else None
        if self._items.get(key) == item:
            return None
        self._items[key] = item
        return Changed(key, item)


def _is_before(version: str, other: str) -> bool:
    """Whether it is an earlier version; those that are no numbers have no order."""
    return version.isdecimal() and other.isdecimal() and int(version) < int(other)
