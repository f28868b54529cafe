"""Read the bodies of requests within memory limits.

The largest bodies come from a scheduler that is not ``nodeCacheCapable``: 14 kB and some 330 values
for each node. The memory of a decoded body depends more on its values than on its bytes. Small
bodies, those of a ``nodeCacheCapable`` scheduler, are always read.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from starlette.requests import Request

LARGEST_BODY_BYTES: Final = 80 * 1024 * 1024
MOST_VALUES: Final = 2_000_000
"""Counted as commas. A value takes at most 220 bytes before the nodes are counted."""
_SMALL: Final = 320
"""A body is small if it has at most this part of the largest size: 256 KiB."""
_DROPPED_FOR_ONE: Final = 4
"""Multiple of the largest size that is read of a refused body."""


class BodyRefusedError(Exception):
    """A body that is not read to its end; ``status`` is that of the answer."""

    def __init__(self, status: HTTPStatus, text: str) -> None:
        super().__init__(text)
        self.status: Final = status


class BodyReader:
    """Reads bodies of at most ``largest_bytes``, twice as much over all requests."""

    def __init__(self, largest_bytes: int = LARGEST_BODY_BYTES) -> None:
        self._largest_bytes = largest_bytes
        self._most_bytes = 2 * largest_bytes
        self._under_way_bytes = 0

    async def read(self, request: Request) -> bytes:
        """Read the whole body.

        Raises:
            BodyRefusedError: it is too large, or too much arrives at once.
            ClientDisconnect: the client closed the connection.
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
                    # The rest is read and dropped: a client that is still sending reads no answer.
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
