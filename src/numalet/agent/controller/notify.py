"""Notifications to systemd of how the agent is, as ``sd_notify(3)`` describes them."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from typing import Final

_VARIABLE: Final = "NOTIFY_SOCKET"


def send(state: str) -> None:
    """Send a state such as ``READY=1``, if a service manager asked for it."""
    address = os.environ.get(_VARIABLE, "")
    if not address.startswith(("/", "@")):
        return
    if address.startswith("@"):
        address = "\0" + address[1:]
    with (
        suppress(OSError),
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender,
    ):
        sender.connect(address)
        sender.sendall(state.encode())
