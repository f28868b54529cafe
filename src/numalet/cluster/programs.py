"""Common parts of this package's programs: addresses, durations, signals, refusals of the API."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import signal
import socket
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, Final

from numalet.core.model import go_text, input_error
from numalet.core.model.findings import Location
from numalet.core.model.value import Value
from numalet.io.kube_api.answers import ApiRefused, ApiUnreachable
from numalet.shared.web import accepting

_HIGHEST_PORT: Final = 65_535
_LOCALHOST: Final = "localhost"

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


class ListenAddress(Value):
    """A host, as a name or an address, and a port; port 0 is any free one."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        if self.host == _LOCALHOST:
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def listen_address(option: str, text: str, default_host: str = "") -> ListenAddress:
    """Parse ``HOST:PORT``, or ``PORT`` if there is a default host. Raises ``BadInput``.

    An IPv6 address is in brackets.
    """
    host, _, port = text.rpartition(":")
    bare = host.removeprefix("[").removesuffix("]") if host.startswith("[") else host
    is_port = port.isascii() and port.isdecimal() and int(port[:6]) <= _HIGHEST_PORT
    if not is_port or not (bare or default_host) or (":" in bare and bare == host):
        raise input_error.Invalid(
            f"invalid address {text!r}",
            expected="HOST:PORT, with an IPv6 address in brackets",
            where=Location(option),
        ).bad_input()
    return ListenAddress(bare or default_host, int(port))


def bound(address: ListenAddress) -> socket.socket:
    """Return a listening socket. Raises ``BadInput`` if listening fails."""
    try:
        return accepting.tcp_listener(address.host, address.port)
    except OSError as error:
        problem = error.strerror or str(error)
        raise input_error.Unavailable(
            f"cannot listen on {str(address)!r}: {problem}"
        ).bad_input() from None


async def until_signal(work: Coroutine[Any, Any, None]) -> None:
    """Do the work until it ends; SIGINT and SIGTERM end it without an error."""
    loop = asyncio.get_running_loop()
    task = asyncio.create_task(work)
    is_asked = False

    def end() -> None:
        nonlocal is_asked
        is_asked = True
        task.cancel()

    # Without a handler SIGTERM does not end the first process of a container.
    for number in _SIGNALS:
        loop.add_signal_handler(number, end)
    try:
        await task
    except asyncio.CancelledError:
        if not is_asked:
            raise
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)


class Refusals:
    """Refusals of an API server, logged once for each verb and kind of objects.

    A fleet repeats the same request thousands of times; the first refusal describes all of them.
    ``say`` gets one line for each missing permission of these credentials.
    """

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._said: set[str] = set()

    @contextlib.contextmanager
    def noted(self) -> Iterator[None]:
        """Run a request that may fail; a missing permission is only logged."""
        try:
            yield
        except ApiRefused as refused:
            self.note(refused)
        except ApiUnreachable:
            pass

    def note(self, refused: ApiRefused) -> None:
        """Log a refusal for lack of permission; the caller handles the others."""
        if not refused.status.is_forbidden:
            return
        # The text before it names a single object.
        what = refused.status.message.partition(" is forbidden: ")[2] or refused.status.message
        if what not in self._said:
            self._said.add(what)
            self._say(f"the API server refuses: {what}")


def duration_seconds(option: str, text: str) -> float:
    """Parse ``5s`` or ``1m30s`` into seconds. Raises ``BadInput`` unless it is above 0."""
    length_seconds = go_text.duration_seconds_of(text)
    if not length_seconds:
        raise input_error.Invalid(
            f"invalid duration {text!r}",
            expected="more than 0, such as 5s, 500ms or 2m",
            where=Location(option),
        ).bad_input()
    return length_seconds
