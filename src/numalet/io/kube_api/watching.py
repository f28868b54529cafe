"""One watch: the events until it ends."""

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
"""The limit of one event; etcd stores objects up to 1.5 MB."""


class WatchEvent(msgspec.Struct, frozen=True):
    """ADDED, MODIFIED, DELETED or BOOKMARK, with the object's JSON."""

    type: str
    object: msgspec.Raw


class HistoryGone(Exception):  # noqa: N818 - it is an answer
    """The server no longer has the changes since the resource version.

    ``refusal`` is set for errors other than the usual expiry.
    """

    def __init__(self, refusal: ApiRefused | None = None) -> None:
        super().__init__(refusal)
        self.refusal = refusal


_decoder: Final = msgspec.json.Decoder(WatchEvent)


@contextlib.asynccontextmanager
async def watch(
    api: ApiClient, collection: ApiCollection, resource_version: str, pace: Pace
) -> AsyncIterator[AsyncIterator[WatchEvent]]:
    """The events since a version; the context is entered once the server accepts the watch.

    Raises:
        HistoryGone: after 410, or after any error event, as events may be missing.
        ApiRefused: after another status; no event is missing.
        ApiUnreachable: the connection broke, was silent for too long, or sent an invalid event.
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
    """The events in complete lines; an incomplete last line is dropped."""
    rest = bytearray()
    async for piece in pieces:
        rest += piece
        # Split only at line ends: splitting for every piece would be quadratic for a large event.
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
        raise ApiUnreachable(f"an event cannot be read ({error})", server) from None
    if event.type == "ERROR":
        status = status_of(0, {}, bytes(event.object))
        raise HistoryGone(None if status.is_gone else ApiRefused(status, "watch"))
    return event
