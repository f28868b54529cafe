"""Lets in who knows the token. Everybody else gets a 401, before anything of theirs is read.

``known`` is called with the address of each client that was let in.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from numalet.agent.servers.api.status import Failure
from numalet.wording import kubernetes_api as words

_SCHEME: Final = "bearer"
Peer: TypeAlias = tuple[str, int]
"""The address and port of a client."""


class Guard:
    """An application behind a bearer token."""

    def __init__(
        self, behind: ASGIApp, token: str, known: Callable[[Peer], None] = lambda peer: None
    ) -> None:
        self._behind = behind
        self._token = token.encode()
        self._known = known

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or have it answered."""
        if scope["type"] != "http" or not self._knows(scope):
            response = Failure(401, words.UNAUTHORIZED).response()
            response.headers["WWW-Authenticate"] = "Bearer"
            await response(scope, receive, send)
            return
        client = scope.get("client")
        if client is not None:
            self._known((client[0], client[1]))
        await self._behind(scope, receive, send)

    def _knows(self, scope: Any) -> bool:
        scheme, _, token = Headers(scope=scope).get("authorization", "").partition(" ")
        said = token.strip().encode("utf-8", "surrogateescape")
        # The comparison takes as long wherever the two differ.
        return scheme.lower() == _SCHEME and hmac.compare_digest(said, self._token)
