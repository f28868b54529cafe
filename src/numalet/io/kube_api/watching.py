"""One watch: events as they come, until it ends in one of its many ways."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Final

import msgspec

from numalet.io import nesting
from numalet.io.kube_api.answers import ApiRefused, ApiUnreachable, status_of
from numalet.io.kube_api.client import ApiClient
from numalet.io.kube_api.listing import ApiCollection
from numalet.io.kube_api.pace import Pace

LARGEST_EVENT_BYTES: Final = 32 * 1024 * 1024
"""An event that does not end within this is no event; etcd holds objects of 1.5 MB at most."""


class WatchEvent(msgspec.Struct, frozen=True):
    """ADDED, MODIFIED, DELETED, BOOKMARK, with the object as it was sent."""

    type: str
    object: msgspec.Raw


class HistoryGone(Exception):  # noqa: N818 - it is an answer
    """The server can not say what happened since the resource version.

    ``refusal`` is None where it just does not remember, which is usual.
    """

    def __init__(self, refusal: ApiRefused | None = None) -> None:
        super().__init__(refusal)
        self.refusal = refusal


_decoder: Final = msgspec.json.Decoder(WatchEvent)


@contextlib.asynccontextmanager
async def watch(
    api: ApiClient, collection: ApiCollection, resource_version: str, pace: Pace
) -> AsyncIterator[AsyncIterator[WatchEvent]]:
    """The events since a version, from when the watch was granted to a clean end.

    Raises:
        HistoryGone: by a status or by an event; by any event that is an error, as it is not
            known what the server left out.
        ApiRefused: by another status; nothing was left out.
        ApiUnreachable: it broke, was silent for too long, or sent what is no event.
    """
    query = {
        **collection.query,
        "watch": True,
        "resourceVersion": resource_version,
        "allowWatchBookmarks": True,
        "timeoutSeconds": pace.watch_limit_seconds(),
    }
    try:
        async with api.stream(collection.path, query, pace.silence_seconds) as pieces:
            yield _events(pieces, api.access.server)
    except ApiRefused as refused:
        if refused.status.is_gone:
            raise HistoryGone() from refused
        raise


async def _events(pieces: AsyncIterator[bytes], server: str) -> AsyncIterator[WatchEvent]:
    """The events of whole lines. What follows the last of them was cut off, and is no event."""
    rest = bytearray()
    async for piece in pieces:
        rest += piece
        if b"\n" not in piece:
            if len(rest) > LARGEST_EVENT_BYTES:
                raise ApiUnreachable(f"an event has more than {LARGEST_EVENT_BYTES} bytes", server)
            continue
        *lines, last = bytes(rest).split(b"\n")
        rest = bytearray(last)
        for line in lines:
            if line.strip():
                yield _event(line, server)


def _event(line: bytes, server: str) -> WatchEvent:
    try:
        event: WatchEvent = nesting.decode(_decoder, line)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ApiUnreachable(f"an event can not be read ({error})", server) from None
    if event.type == "ERROR":
        status = status_of(0, {}, bytes(event.object))
        raise HistoryGone(None if status.is_gone else ApiRefused(status, "watch"))
    return event
