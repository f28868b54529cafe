"""Which root folders are in use on this machine: one socket for each process that pins from one.

The state stores of two root folders do not know each other, so two users, or one user with two
folders, would be given the same CPUs. A process that pins therefore holds a socket with an abstract
name, which says the root folder. Every user of the network namespace can list such names; the
kernel removes a name with its process, and reports to a client whose socket it is. So nothing is
read that another user wrote, and no folder has to be made that all users share.

A user can claim to use a root folder without doing so, as they could take all CPUs by using them.
"""

from __future__ import annotations

import os
import re
import secrets
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote

from numalet.core.model.value import Value

UNIX_SOCKETS: Final = Path("/proc/net/unix")
SCOPE: Final = "NUMALET_SCOPE"
"""The variable that names another set of announcements; those of different sets do not meet."""
_LONGEST_NAME: Final = 107
"""Of an abstract socket, its leading zero byte included: ``sun_path`` less one."""
_CUT_OFF: Final = "..."
_BACKLOG: Final = 4096
"""Nothing ever accepts: a client that connects waits here and only asks whose the socket is."""
_CREDENTIALS: Final = struct.Struct("3i")
_TURN_SECONDS: Final = 2.0
"""Listing and announcing take milliseconds; a process that holds the turn for longer hangs."""
_PAUSE_SECONDS: Final = 0.005
_NAME: Final = re.compile(r"([0-9a-f]+:[0-9]+)/([0-9]+)/(\S*)")


class Announced(Value):
    """A root folder in use. ``user`` and ``pid`` come from the kernel; None if it can not know.

    ``root`` is what the other process announced, and may be cut off at its end.
    """

    root: str
    user: int | None
    pid: int | None


@contextmanager
def turn() -> Iterator[None]:
    """A mutex over listing and announcing; a process that waits too long for it goes on."""
    last = time.monotonic() + _TURN_SECONDS
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as mutex:
        while True:
            with suppress(OSError):
                mutex.bind(_prefix() + "turn")
                break
            if time.monotonic() >= last:
                break
            time.sleep(_PAUSE_SECONDS)
        yield


def announce(root: Path) -> socket.socket:
    """Announce that a root folder is in use while the socket is open. Raises ``OSError``."""
    # Processes of two PID namespaces may have one number, so the name has one of its own.
    name = f"{_prefix()}{_key(root)}/{secrets.randbits(32)}/{quote(str(root))}"
    if len(name) > _LONGEST_NAME:
        name = name[: _LONGEST_NAME - len(_CUT_OFF)] + _CUT_OFF
    announced = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        announced.bind(name)
        announced.listen(_BACKLOG)
    except OSError:
        announced.close()
        raise
    return announced


def others(root: Path) -> tuple[Announced, ...]:
    """The other root folders that are in use, each once."""
    try:
        own = _key(root)
    except OSError:
        own = ""
    announced: dict[str, Announced] = {}
    for name in _names():
        parts = _NAME.fullmatch(name.removeprefix(_prefix()))
        if parts is None or parts[1] in announced or parts[1] == own:
            continue
        credentials = _asked(name)
        if credentials is not None:
            pid, user = credentials
            announced[parts[1]] = Announced(unquote(parts[3]), user, pid)
    return tuple(announced.values())


def _prefix() -> str:
    return f"\0numalet/{quote(os.environ.get(SCOPE, ''), safe='')}/"


def _key(root: Path) -> str:
    """The folder's identity, whatever its path. Raises ``OSError``."""
    status = root.stat()
    return f"{status.st_dev:x}:{status.st_ino}"


def _names() -> Iterator[str]:
    """The names of all abstract sockets that are announcements."""
    shown = "@" + _prefix()[1:]
    with suppress(OSError):
        for line in UNIX_SOCKETS.read_text(encoding="utf-8", errors="replace").splitlines():
            words = line.split()
            if words and words[-1].startswith(shown):
                yield "\0" + words[-1][1:]


def _asked(name: str) -> tuple[int | None, int | None] | None:
    """Process and user behind a name; None if it has gone meanwhile."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        asking.setblocking(False)
        try:
            asking.connect(name)
        except ConnectionRefusedError:
            return None
        except OSError:
            # So many have asked that it takes no more: it is there.
            return None, None
        given = asking.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid, user, _ = _CREDENTIALS.unpack(given)
    return pid or None, user
