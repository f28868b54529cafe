"""Bytes of an NRI connection as messages, and messages as bytes. Pure.

Each frame has the number of a connection, its length, and part of a ttrpc message: 8 bytes of
header, big-endian. Each ttrpc message has its length, a stream, a kind and flags: 10 bytes. A
message may span frames.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

LARGEST_FRAME_BYTES: Final = 4096
"""The largest frame to a runtime. Its reader closes the connection after a larger one."""
LARGEST_MESSAGE_BYTES: Final = 4 << 20

TO_PLUGIN: Final = 1
"""Connection of the runtime's calls, and of the plugin's answers."""
TO_RUNTIME: Final = 2
"""Connection of the plugin's calls, and of the runtime's answers."""

REQUEST: Final = 1
RESPONSE: Final = 2

_FRAME: Final = struct.Struct(">II")
_MESSAGE: Final = struct.Struct(">IIBB")


class WireError(Exception):
    """The peer sent bytes that are no frame or message; the connection is unusable."""


class Message(NamedTuple):
    connection: int
    stream: int
    kind: int
    payload: bytes


def packed(message: Message) -> bytes:
    """Return the frames of a message. Raises ``WireError`` if it is too large."""
    payload = message.payload
    if len(payload) > LARGEST_MESSAGE_BYTES:
        raise WireError(f"a message of {len(payload)} bytes exceeds {LARGEST_MESSAGE_BYTES}")
    whole = _MESSAGE.pack(len(payload), message.stream, message.kind, 0) + payload
    parts = (
        whole[at : at + LARGEST_FRAME_BYTES] for at in range(0, len(whole), LARGEST_FRAME_BYTES)
    )
    return b"".join(_FRAME.pack(message.connection, len(part)) + part for part in parts)


class Unpacker:
    """Collects received bytes, and yields each message when it is complete."""

    def __init__(self) -> None:
        self._received = bytearray()
        self._streams: dict[int, bytearray] = {}

    def feed(self, data: bytes) -> Iterator[Message]:
        """Yield the messages that these bytes complete. Raises ``WireError``."""
        self._received += data
        while len(self._received) >= _FRAME.size:
            connection, size = _FRAME.unpack_from(self._received)
            if size > LARGEST_MESSAGE_BYTES + _MESSAGE.size:
                raise WireError(f"a frame of {size} bytes")
            end = _FRAME.size + size
            if len(self._received) < end:
                return
            part = self._received[_FRAME.size : end]
            del self._received[:end]
            yield from self._complete(connection, part)

    def _complete(self, connection: int, part: bytearray) -> Iterator[Message]:
        stream = self._streams.setdefault(connection, bytearray())
        stream += part
        while len(stream) >= _MESSAGE.size:
            size, number, kind, _ = _MESSAGE.unpack_from(stream)
            if size > LARGEST_MESSAGE_BYTES:
                raise WireError(f"a message of {size} bytes")
            end = _MESSAGE.size + size
            if len(stream) < end:
                return
            payload = bytes(stream[_MESSAGE.size : end])
            del stream[:end]
            yield Message(connection, number, kind, payload)
