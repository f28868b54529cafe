"""The client of the agent's API."""

from __future__ import annotations

import contextlib
import errno
import http.client
import json
import re
import socket
import struct
from collections.abc import Generator, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode

from numalet.core.model.findings import BadInput
from numalet.io.findings.clients import (
    AgentUnanswering,
    ClientBrokenOff,
    ClientNoAgent,
    ClientNotAllowed,
    ClientTimeout,
)

TIMEOUT_SECONDS: Final = 60.0
_CONNECT_TIMEOUT: Final = struct.pack("ll", 10, 0)
_JSON: Final = "application/json"
_REFUSED: Final = 400
_PIECE_BYTES: Final = 1 << 16

Query = Mapping[str, str | int | bool | None]


class AgentRefused(Exception):  # noqa: N818 - it is an answer
    """The agent answered with an error ``Status``; ``causes`` are the texts of its details."""

    def __init__(self, code: int, reason: str, message: str, causes: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.causes = tuple(causes)
        self.code = code
        self.reason = reason
        self.message = message


class AgentClient:
    """A client with one connection, which stays open until ``close``.

    Every method raises ``BadInput`` if the agent does not answer, and ``AgentRefused`` if it
    refuses.
    """

    def __init__(self, path: Path, timeout_seconds: float | None = TIMEOUT_SECONDS) -> None:
        self.path = path
        self._timeout_seconds = timeout_seconds
        self._connection: _UnixConnection | None = None
        self.warnings: tuple[str, ...] = ()
        """The ``Warning`` headers of the latest answer."""

    def __enter__(self) -> AgentClient:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def get(self, path: str, query: Query | None = None) -> Any:
        return json.loads(self._ask("GET", path, query))

    def text(self, path: str, query: Query | None = None) -> str:
        return self._ask("GET", path, query).decode("utf-8", "replace")

    def post(self, path: str, value: object, query: Query | None = None) -> Any:
        return json.loads(self._ask("POST", path, query, json.dumps(value).encode()))

    def delete(self, path: str, options: Mapping[str, Any]) -> Any:
        return json.loads(self._ask("DELETE", path, None, json.dumps(options).encode()))

    def stream(self, path: str, query: Query | None = None) -> Generator[bytes, None, None]:
        """Yield the lines of a stream as they arrive, without a timeout, until the agent ends it.

        Raises ``BadInput`` after the last line if the connection broke before the end.
        """
        connection = _UnixConnection(self.path, None)
        with contextlib.closing(connection):
            response = self._send(connection, "GET", _url(path, query), None)
            if response.status >= _REFUSED:
                raise _refused(response.status, response.read())
            yield from self._lines(response)

    def _lines(self, response: http.client.HTTPResponse) -> Iterator[bytes]:
        rest = b""
        while piece := self._piece(response):
            *lines, rest = (rest + piece).split(b"\n")
            yield from (line + b"\n" for line in lines)
        if rest:
            yield rest

    def _piece(self, response: http.client.HTTPResponse) -> bytes:
        try:
            # Empty at a regular end. If the connection breaks, ``http.client`` raises.
            return response.read1(_PIECE_BYTES)
        except (http.client.HTTPException, OSError) as error:
            raise _unanswered(self.path, error) from None

    def _ask(self, method: str, path: str, query: Query | None, body: bytes | None = None) -> bytes:
        url = _url(path, query)
        # A failed request leaves its connection unusable, so it is stored again only after success.
        kept, self._connection = self._connection, None
        connection = kept or _UnixConnection(self.path, self._timeout_seconds)
        try:
            response = self._send(connection, method, url, body)
            content = response.read()
        except (http.client.HTTPException, OSError) as error:
            connection.close()
            raise _unanswered(self.path, error) from None
        except BadInput:
            connection.close()
            # The agent closes idle connections, so sending on a stored one may fail. Only a GET is
            # safe to repeat.
            if kept is None or method != "GET":
                raise
            return self._ask(method, path, query, body)
        self._connection = connection
        self.warnings = tuple(map(_warned, response.headers.get_all("Warning", ())))
        if response.status >= _REFUSED:
            raise _refused(response.status, content)
        return content

    def _send(
        self, connection: _UnixConnection, method: str, url: str, body: bytes | None
    ) -> http.client.HTTPResponse:
        headers = {"Accept": _JSON} | ({} if body is None else {"Content-Type": _JSON})
        try:
            connection.request(method, url, body, headers)
            return connection.getresponse()
        except (http.client.HTTPException, OSError) as error:
            raise _unanswered(self.path, error) from None


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: Path, timeout_seconds: float | None) -> None:
        super().__init__("localhost", timeout=timeout_seconds)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        # A full backlog makes connect() on a non-blocking socket fail with EAGAIN at once, and
        # Python's timeouts make sockets non-blocking. So the socket blocks here, and SO_SNDTIMEO
        # limits the wait.
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, _CONNECT_TIMEOUT)
        try:
            self.sock.connect(str(self._path))
        except OSError as error:
            # Python's own error: the path is too long for an address.
            if error.errno is None:
                raise FileNotFoundError(errno.ENAMETOOLONG, str(error)) from None
            raise
        self.sock.settimeout(self.timeout)


def segment(name: str) -> str:
    """A name as one segment of a path; slashes are escaped too."""
    return quote(name, safe="")


def _url(path: str, query: Query | None) -> str:
    given = {name: _text(value) for name, value in (query or {}).items() if value is not None}
    return f"{path}?{urlencode(given)}" if given else path


def _text(value: str | int | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _warned(header: str) -> str:
    """The text of a ``Warning`` header: ``299 - "text"``."""
    _, _, quoted = header.partition('"')
    return re.sub(r"\\(.)", r"\1", quoted.removesuffix('"'))


def _unanswered(path: Path, error: Exception) -> BadInput:
    match error:
        case FileNotFoundError() | NotADirectoryError() | ConnectionRefusedError():
            finding: type[AgentUnanswering] = ClientNoAgent
        case PermissionError():
            finding = ClientNotAllowed
        case TimeoutError() | BlockingIOError():
            finding = ClientTimeout
        case _:
            finding = ClientBrokenOff
    problem = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return BadInput([finding(path=str(path), problem=problem)])


def _refused(code: int, content: bytes) -> AgentRefused:
    try:
        status = json.loads(content)
        causes = (status.get("details") or {}).get("causes") or ()
        texts = [f"{each.get('field', '')}: {each['message']}" for each in causes]
        return AgentRefused(code, str(status["reason"]), str(status["message"]), texts)
    # A proxy or another server on the socket answers without a Status.
    except (ValueError, KeyError, TypeError, AttributeError):
        said = content[:200].decode("utf-8", "replace")
        return AgentRefused(code, http.client.responses.get(code, ""), said)
