"""Serves the API on a Unix socket with mode 0600, and over TLS on a TCP port.

A client can start programs as the agent's user, so the folder and an existing socket must belong to
that user. On TCP, clients need the token. Every local user can connect to loopback, so
``shared.web`` limits the cost of connections before authentication.
"""

from __future__ import annotations

import contextlib
import hmac
import os
import socket
import ssl
import stat
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, Final

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from numalet.agent.servers.api.application import application
from numalet.agent.servers.api.status import Failure
from numalet.agent.servers.dashboard import PATH, DashboardLinks
from numalet.agent.servers.door import Door
from numalet.agent.servers.endpoints import LONGEST_PATH_BYTES, Address
from numalet.core.model import input_error
from numalet.core.model.findings import BadInput, Location
from numalet.dashboard.application import ServedDashboard
from numalet.io import os_problem
from numalet.shared.web import accepting
from numalet.shared.web.accepting import MOST_WAITING
from numalet.shared.web.http_service import serving
from numalet.wording import kubernetes_api as words

_CIPHERS: Final = "ECDHE+AESGCM:ECDHE+CHACHA20"


def bound(address: Address) -> tuple[socket.socket, Address]:
    """Listen on the address; return the actual one. Raises ``BadInput``."""
    try:
        listener = accepting.tcp_listener(address.host, address.port)
    except OSError as error:
        raise input_error.Unavailable(
            f"cannot listen on port {address.port} of {address.host}: {os_problem.text(error)}",
            where=Location("--kube-api"),
        ).bad_input() from None
    return listener, Address(address.host, listener.getsockname()[1])


def tls_context(certificate: Path, key: Path) -> ssl.SSLContext:
    """Require TLS 1.2. Raises ``BadInput``."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(_CIPHERS)
    try:
        # An empty password makes OpenSSL fail on an encrypted key instead of prompting.
        context.load_cert_chain(certificate, key, password="")
    except (OSError, ValueError) as error:
        problem = getattr(error, "reason", None) or getattr(error, "strerror", None) or str(error)
        raise input_error.Invalid(
            f"cannot use the certificate with its key: {problem}", where=Location(str(certificate))
        ).bad_input() from None
    return context


@contextlib.asynccontextmanager
async def on_tcp(
    door: Door,
    listener: socket.socket,
    tls: ssl.SSLContext,
    token: str,
    report_bug: Callable[[Exception], None] = lambda bug: None,
    dashboard: ServedDashboard | None = None,
    links: DashboardLinks | None = None,
) -> AsyncIterator[None]:
    """Serve during the block, then close the listener."""
    app: ASGIApp = Guard(application(door, report_bug, links), token)
    if dashboard is not None:
        app = BesideApi(dashboard.app, app)
    async with serving(app, listener, tls):
        yield


class Guard:
    """Requires the bearer token; answers 401 without it."""

    def __init__(self, behind: ASGIApp, token: str) -> None:
        self._behind = behind
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not self._knows(scope):
            response = Failure(401, words.UNAUTHORIZED).response()
            response.headers["WWW-Authenticate"] = "Bearer"
            await response(scope, receive, send)
            return
        await self._behind(scope, receive, send)

    def _knows(self, scope: Any) -> bool:
        scheme, _, token = Headers(scope=scope).get("authorization", "").partition(" ")
        said = token.strip().encode("utf-8", "surrogateescape")
        # Constant time: the duration must not reveal how much of the token is correct.
        return scheme.lower() == "bearer" and hmac.compare_digest(said, self._token)


class BesideApi:
    """Routes ``/ui`` to the dashboard, which has sessions, and the rest to the API."""

    def __init__(self, dashboard: ASGIApp, api: ASGIApp) -> None:
        self._dashboard = dashboard
        self._api = api

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        if path != PATH and not path.startswith(f"{PATH}/"):
            await self._api(scope, receive, send)
            return
        if path == PATH:
            scope = {**scope, "path": f"{PATH}/", "raw_path": f"{PATH}/".encode()}
        await self._dashboard({**scope, "root_path": PATH}, receive, send)


@contextlib.asynccontextmanager
async def on_unix_socket(app: Any, path: Path) -> AsyncIterator[None]:
    """Serve an application on this socket during the block.

    Raises ``BadInput`` if the socket cannot be created or others could replace it.
    """
    listener = _bound(path)
    try:
        async with serving(app, listener):
            yield
    finally:
        _remove(path)


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()


def _bound(path: Path) -> socket.socket:
    if len(os.fsencode(path)) > LONGEST_PATH_BYTES - len(".new."):
        raise _unusable(path, f"the name is longer than {LONGEST_PATH_BYTES} bytes")
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    fresh = path.with_name(f".{path.name}.new")
    try:
        _check_owner(path)
        fresh.unlink(missing_ok=True)
        # The mode must be right at bind: a later chmod leaves a window for other users.
        before = os.umask(0o177)
        try:
            listener.bind(os.fspath(fresh))
        finally:
            os.umask(before)
        listener.listen(MOST_WAITING)
        # Clients never see a socket that does not listen yet.
        fresh.rename(path)
    except OSError as error:
        listener.close()
        raise _unusable(path, os_problem.text(error)) from None
    except BadInput:
        listener.close()
        raise
    return listener


def _check_owner(path: Path) -> None:
    """Refuse a folder or socket that another user owns or may write."""
    folder = path.parent.stat()
    if folder.st_uid not in (os.geteuid(), 0):
        raise _unusable(path, f"its folder belongs to user {folder.st_uid}")
    # In a sticky folder such as /tmp, others cannot rename the socket.
    if folder.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not folder.st_mode & stat.S_ISVTX:
        raise _unusable(path, "other users can write to its folder")
    try:
        there = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(there.st_mode):
        raise _unusable(path, "a file that is not a socket has its name")
    if there.st_uid != os.geteuid():
        raise _unusable(path, f"a socket of user {there.st_uid} has its name")


def _unusable(path: Path, problem: str) -> BadInput:
    return input_error.Unavailable(
        f"cannot serve the API on this socket: {problem}", where=Location(str(path))
    ).bad_input()
