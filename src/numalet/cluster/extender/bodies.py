"""Reads the bodies of requests, and bounds what they take.

The largest body that a scheduler sends is that of one which is not ``nodeCacheCapable``: 14 kB and
some 330 values for each node. What a body takes when it is decoded depends on its values more than
on its bytes. All that is being read at one moment is bounded too, except for small bodies: those of
a ``nodeCacheCapable`` scheduler are read whatever others send.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from starlette.requests import Request

LARGEST_BODY_BYTES: Final = 80 * 1024 * 1024
MOST_VALUES: Final = 2_000_000
"""Counted as commas. A value takes at most 220 bytes before the nodes are counted."""
_SMALL: Final = 320
"""Of the largest body, this part is small: 256 KiB."""
_DROPPED_FOR_ONE: Final = 4
"""Times the largest body: so much of one that is refused is read."""


class BodyRefusedError(Exception):
    """A body that is not read to its end; ``status`` is what is answered."""

    def __init__(self, status: HTTPStatus, text: str) -> None:
        super().__init__(text)
        self.status: Final = status


class BodyReader:
    """Reads bodies of at most ``largest_bytes``, of all requests together twice as much."""

    def __init__(self, largest_bytes: int = LARGEST_BODY_BYTES) -> None:
        self._largest_bytes = largest_bytes
        self._most_bytes = 2 * largest_bytes
        self._under_way_bytes = 0

    async def read(self, request: Request) -> bytes:
        """The whole body.

        Raises:
            BodyRefusedError: it is too large, or too much comes at once.
            ClientDisconnect: the client has gone.
        """
        refused: BodyRefusedError | None = None
        parts: list[bytes] = []
        size = kept = 0
        try:
            async for part in request.stream():
                size += len(part)
                if refused is None:
                    kept += len(part)
                    self._under_way_bytes += len(part)
                    parts.append(part)
                    refused = self._why_not(size)
                if refused is not None:
                    # What is left is read and dropped: who is still sending sees no answer.
                    parts.clear()
                    if size > _DROPPED_FOR_ONE * self._largest_bytes:
                        break
        finally:
            self._under_way_bytes -= kept
        if refused is not None:
            raise refused
        body = b"".join(parts)
        if body.count(b",") > MOST_VALUES:
            text = f"a body has at most {MOST_VALUES} values"
            raise BodyRefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, text)
        return body

    def _why_not(self, size: int) -> BodyRefusedError | None:
        if size > self._largest_bytes:
            text = f"a body has at most {self._largest_bytes} bytes"
            return BodyRefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, text)
        if size > self._largest_bytes // _SMALL and self._under_way_bytes > self._most_bytes:
            text = "too many large requests at once"
            return BodyRefusedError(HTTPStatus.SERVICE_UNAVAILABLE, text)
        return None
