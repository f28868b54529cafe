"""Addresses to listen on, as they are written on the command line."""

from __future__ import annotations

import ipaddress
import socket
from typing import Final

from numalet.core.model import input_error
from numalet.core.model.findings import Location
from numalet.core.model.value import Value
from numalet.shared.web import accepting

_HIGHEST_PORT: Final = 65_535
_LOCALHOST: Final = "localhost"


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
        form = "[HOST:]PORT" if default_host else "HOST:PORT"
        raise input_error.Invalid(
            f"invalid address {text!r}",
            expected=f"{form}, with an IPv6 address in brackets",
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
