"""Notifies systemd about the agent's state; see ``sd_notify(3)``."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from typing import Final

_VARIABLE: Final = "NOTIFY_SOCKET"


def send(state: str) -> None:
    """Send a state such as ``READY=1``, if systemd set a socket."""
    address = os.environ.get(_VARIABLE, "")
    if not address.startswith(("/", "@")):
        return
    # "@" stands for an abstract socket, which has a leading zero byte.
    if address.startswith("@"):
        address = "\0" + address[1:]
    with (
        suppress(OSError),
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender,
    ):
        sender.connect(address)
        sender.sendall(state.encode())
