"""Stays connected to a container runtime, and repairs over a second short connection."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Final

from numalet.agent.nri.plugin import PinningPlugin
from numalet.io import os_problem
from numalet.io.kube_api.pace import Backoff, Pace
from numalet.io.nri import session
from numalet.io.nri.session import Handlers, RegistrationError, Session
from numalet.io.nri.wire import WireError
from numalet.wording.log_line import LogLine

NAME: Final = "numalet"
_REPAIR_NAME: Final = "numalet-repair"
_REPAIR_INDEX: Final = "99"
_PACE: Final = Pace(first_seconds=0.05, longest_seconds=5.0)
_REPAIR_SECONDS: Final = 10.0
_APPLIED_SECONDS: Final = 0.5


class RuntimeConnection:
    """``was_synchronized`` is set after each registration that the runtime completed."""

    def __init__(
        self, socket: Path, index: str, plugin: PinningPlugin, say: Callable[[LogLine], None]
    ) -> None:
        self.was_synchronized = asyncio.Event()
        self._socket = socket
        self._index = index
        self._plugin = plugin
        self._say = say
        self._session: Session | None = None

    async def stay_connected(self) -> None:
        """Connect, answer until the connection ends, and connect again, forever."""
        loop = asyncio.get_running_loop()
        plugin = self._plugin
        plugin.synchronized = lambda: loop.call_soon_threadsafe(self.was_synchronized.set)
        backoff = Backoff(_PACE)
        why_before = ""
        while True:
            plugin.is_synchronized = False
            why = await asyncio.to_thread(self._connect_once)
            if plugin.is_synchronized:
                backoff = Backoff(_PACE)
            if why != why_before or plugin.is_synchronized:
                keys = {"socket": str(self._socket), "why": why}
                self._say(LogLine("Not connected to the runtime", keys, is_error=True))
            why_before = why
            await asyncio.sleep(backoff.failed())

    def _connect_once(self) -> str:
        """Answer until the connection ends; return why it ended."""
        try:
            connection = session.connected(self._socket)
        except OSError as error:
            return os_problem.text(error)
        self._session = Session(connection, self._plugin.handlers())
        try:
            self._session.run(NAME, self._index)
        except RegistrationError as error:
            return f"the runtime refused the registration: {error}"
        except WireError as error:
            return str(error)
        except OSError as error:
            return os_problem.text(error)
        finally:
            self._session.close()
        return "the runtime closed the connection"

    def reconnect(self, why: str) -> None:
        """End the connection, so that a new one replaces it."""
        self._say(LogLine("Connecting again", {"why": why}, is_error=True))
        self.close()

    def close(self) -> None:
        if self._session is not None:
            self._session.close()

    def repair(self, given: Handlers) -> None:
        """Register a second plugin, which answers Synchronize with all changes, and end it.

        The runtime applies an answer while it holds its locks in the right order, which an
        unsolicited update does not. Blocks.
        """
        try:
            connection = session.connected(self._socket)
        except OSError:
            return
        connection.settimeout(_REPAIR_SECONDS)
        synchronize = given["Synchronize"]

        def answered(payload: bytes) -> bytes:
            # The runtime applies the answer after it has read it.
            connection.settimeout(_APPLIED_SECONDS)
            return synchronize(payload)

        second = Session(connection, {**given, "Synchronize": answered})
        with contextlib.suppress(OSError, RegistrationError, WireError):
            second.run(_REPAIR_NAME, _REPAIR_INDEX)
        second.close()
