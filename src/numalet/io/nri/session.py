"""A plugin's registered connection to a container runtime.

``Session.run`` reads and answers in the calling thread, one request at a time, as the runtime
sends them. The runtime holds a lock over all plugins during a request, so each answer delays every
pod of the node.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from google.protobuf.message import DecodeError

from numalet.io.nri import wire
from numalet.io.nri.wire import Message, Unpacker, WireError
from numalet.io.rpc import nri_v1alpha1_pb2 as nri
from numalet.io.rpc import ttrpc_pb2 as ttrpc

PLUGIN_SERVICE: Final = "nri.pkg.api.v1alpha1.Plugin"
RUNTIME_SERVICE: Final = "nri.pkg.api.v1alpha1.Runtime"
SOCKET: Final = Path("/var/run/nri/nri.sock")

INVALID_ARGUMENT: Final = 3
FAILED_PRECONDITION: Final = 9
UNIMPLEMENTED: Final = 12
INTERNAL: Final = 13

_READ_BYTES: Final = 1 << 16
_REGISTRATION: Final = 1
"""Stream of the registration. Numbers of a client's streams are odd."""


class CallError(Exception):
    """The answer to a call is an error: a gRPC code and a text.

    An error to CreateContainer fails the creation, and the kubelet reports the text.
    """

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.text = text


class RegistrationError(Exception):
    """The runtime refused the registration."""


Handlers = Mapping[str, Callable[[bytes], bytes]]
"""By method: the payload of a request to that of its answer. They may raise ``CallError``."""


class Session:
    """One connection. ``close`` may be called from any thread, and ends ``run``."""

    def __init__(self, connection: socket.socket, handlers: Handlers) -> None:
        self._socket = connection
        self._handlers = handlers
        self.is_registered = False

    def run(self, name: str, index: str) -> None:
        """Register, and answer until the connection ends.

        Raises ``RegistrationError``, ``WireError``, and ``OSError`` of the socket.
        """
        request = nri.RegisterPluginRequest(plugin_name=name, plugin_idx=index)
        call = ttrpc.Request(
            service=RUNTIME_SERVICE, method="RegisterPlugin", payload=request.SerializeToString()
        )
        payload = call.SerializeToString()
        self._send(Message(wire.TO_RUNTIME, _REGISTRATION, wire.REQUEST, payload))
        unpacker = Unpacker()
        while data := self._socket.recv(_READ_BYTES):
            for message in unpacker.feed(data):
                self._received(message)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _received(self, message: Message) -> None:
        try:
            if message.connection == wire.TO_PLUGIN and message.kind == wire.REQUEST:
                request = ttrpc.Request.FromString(message.payload)
                answer = self._answer(request).SerializeToString()
                self._send(Message(wire.TO_PLUGIN, message.stream, wire.RESPONSE, answer))
            elif message.connection == wire.TO_RUNTIME and message.stream == _REGISTRATION:
                status = ttrpc.Response.FromString(message.payload).status
                if status.code:
                    raise RegistrationError(status.message)
                self.is_registered = True
        except DecodeError as error:
            raise WireError(f"a message that cannot be decoded: {error}") from None

    def _answer(self, request: ttrpc.Request) -> ttrpc.Response:
        handler = self._handlers.get(request.method)
        if request.service != PLUGIN_SERVICE or handler is None:
            text = f"{request.service}/{request.method} is not implemented"
            return _error(UNIMPLEMENTED, text)
        try:
            return ttrpc.Response(payload=handler(request.payload))
        except DecodeError as error:
            return _error(INVALID_ARGUMENT, f"the request cannot be decoded: {error}")
        except CallError as error:
            return _error(error.code, error.text)

    def _send(self, message: Message) -> None:
        self._socket.sendall(wire.packed(message))


def _error(code: int, text: str) -> ttrpc.Response:
    return ttrpc.Response(status=ttrpc.Status(code=code, message=text))


def connected(path: Path, timeout_seconds: float = 5.0) -> socket.socket:
    """Connect to the runtime's socket. Raises ``OSError``."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(timeout_seconds)
        connection.connect(str(path))
    except OSError:
        connection.close()
        raise
    connection.settimeout(None)
    return connection
