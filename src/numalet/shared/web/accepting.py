"""Accepts connections and closes others to make room.

At a limit it closes the oldest connection without a complete request, then the longest idle one,
then one whose client does not read. If all are busy, a few more are accepted for probes only, so
that strangers cannot make ``/healthz`` fail. Limits and shortages go to the loop's exception
handler.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import resource
import select
import socket
import ssl
from collections.abc import Callable
from typing import Final

from numalet.core.model.value import Mutable, field
from numalet.shared.web.connection import Connection, Rank

MOST_CONNECTIONS: Final = 4096
MOST_NEW: Final = 1024
"""A TLS connection uses up to 300 kB."""
MOST_RESERVED: Final = 16
"""Connections above the limit, for probes only."""
MOST_WAITING: Final = 4096
"""The kernel's backlog."""
SILENT_SECONDS: Final = 30
"""TCP_DEFER_ACCEPT: the kernel keeps a connection until its first byte."""
HANDSHAKE_SECONDS: Final = 30.0
PAUSE_SECONDS: Final = 1.0
AT_ONE_GO: Final = 256
"""Accepted in a row before other connections are served."""

_SHORTAGES: Final = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_BUSY: Final = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nretry-after: 1\r\n"
    b"connection: close\r\n\r\n"
)


def tcp_listener(host: str, port: int) -> socket.socket:
    """Raises ``OSError``."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With an explicit protocol, asyncio sets TCP_NODELAY.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, SILENT_SECONDS)
        listener.bind((host, port))
        listener.listen(MOST_WAITING)
    except OSError:
        listener.close()
        raise
    return listener


class _Accepted:
    def __init__(self, plug: socket.socket, protocol: Connection) -> None:
        self.plug: Final = plug
        self.protocol: Final = protocol

    def cut(self) -> None:
        """Close the connection in any state."""
        if self.protocol.transport is not None:
            self.protocol.transport.abort()
        else:
            # The transport is set after the handshake; shutdown ends the handshake.
            with contextlib.suppress(OSError):
                self.plug.shutdown(socket.SHUT_RDWR)


class Acceptor(Mutable):
    """Accepts from a listening socket. ``most`` is the limit if the file limit permits it."""

    listener: socket.socket
    make: Callable[[], Connection]
    tls: ssl.SSLContext | None = None
    most: int = MOST_CONNECTIONS
    _new: dict[_Accepted, None] = field(default_factory=dict)
    _known: dict[_Accepted, None] = field(default_factory=dict)
    _connecting: set[asyncio.Task[None]] = field(default_factory=set)
    _pause: asyncio.TimerHandle | None = None

    def start(self) -> None:
        self.listener.setblocking(False)
        asyncio.get_running_loop().add_reader(self.listener.fileno(), self._accept)

    async def stop(self) -> None:
        """Stop accepting; complete accepted plain connections and abort handshakes."""
        if self._pause is not None:
            self._pause.cancel()
        asyncio.get_running_loop().remove_reader(self.listener.fileno())
        if self.tls is not None:
            for each in self._new:
                if each.protocol.transport is None:
                    each.cut()
        while self._connecting:
            await asyncio.wait(self._connecting)

    def _accept(self) -> None:
        for _ in range(AT_ONE_GO):
            try:
                plug, _address = self.listener.accept()
            except OSError as error:
                if error.errno in _SHORTAGES and self._is_asked():
                    self._wait(error)
                # No connection is waiting, or its client has left.
                return
            plug.setblocking(False)
            self._admit(plug)

    def _is_asked(self) -> bool:
        """Whether a connection waits.

        Without free files, ``accept`` fails on an empty queue too.
        """
        poll = select.poll()
        poll.register(self.listener, select.POLLIN)
        return bool(poll.poll(0))

    def _wait(self, error: OSError) -> None:
        """Close a connection and pause: the listener stays readable, and the loop would spin."""
        loop = asyncio.get_running_loop()
        loop.call_exception_handler(
            {
                "message": "new connections have to wait",
                "exception": error,
                "socket": self.listener,
            }
        )
        self._make_room()
        loop.remove_reader(self.listener.fileno())
        self._pause = loop.call_later(PAUSE_SECONDS, self.start)

    def _admit(self, plug: socket.socket) -> None:
        room = _room(self.most)
        is_full = len(self._new) + len(self._known) >= room
        has_room = True
        if is_full or len(self._new) >= min(MOST_NEW, max(1, room * 3 // 4)):
            has_room = self._make_room()
            asyncio.get_running_loop().call_exception_handler(
                {"message": "there are too many connections: new ones replace idle ones"}
            )
        if not has_room and len(self._new) + len(self._known) >= room + MOST_RESERVED:
            with contextlib.suppress(OSError):
                if self.tls is None:
                    plug.send(_BUSY)
            plug.close()
            return
        self._make(plug, for_probes=not has_room)

    def _make(self, plug: socket.socket, *, for_probes: bool) -> None:
        accepted = _Accepted(plug, self.make())
        self._new[accepted] = None

        def lost() -> None:
            self._new.pop(accepted, None)
            self._known.pop(accepted, None)

        def requested() -> None:
            """Move the connection to the end; known ones are sorted by last request."""
            lost()
            self._known[accepted] = None

        protocol = accepted.protocol
        protocol.requested, protocol.lost, protocol.for_probes = requested, lost, for_probes
        task = asyncio.create_task(self._connect(accepted))
        self._connecting.add(task)
        task.add_done_callback(self._connecting.discard)

    async def _connect(self, accepted: _Accepted) -> None:
        protocol = accepted.protocol
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: protocol,
                accepted.plug,
                ssl=self.tls,
                ssl_handshake_timeout=None if self.tls is None else HANDSHAKE_SECONDS,
            )
        except OSError:
            # The client left, timed out, or sent an unaccepted certificate.
            protocol.lost()

    def _make_room(self) -> bool:
        """Close the least valuable connection; False if all are being answered."""
        oldest = next(iter(self._new), None)
        # The most recently used are last.
        for rank in (Rank.WAITS, Rank.STALLED):
            oldest = oldest or next(
                (each for each in self._known if each.protocol.rank is rank), None
            )
        if oldest is None:
            return False
        self._new.pop(oldest, None)
        self._known.pop(oldest, None)
        oldest.cut()
        return True


def _room(most: int) -> int:
    """Number of connections: half of the file limit is for everything else."""
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return max(1, min(most, files * most // (2 * MOST_CONNECTIONS)))
