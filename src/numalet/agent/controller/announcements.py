"""Announces root folders in use on this machine, through abstract sockets.

Two root folders do not know each other's allocations, so two users could get the same CPUs. Every
user can list abstract names; the kernel removes a name with its process and reports its owner. So
no file of another user is read. A user may announce a folder falsely, but can also simply use CPUs.
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
"""Environment variable for a separate set of announcements."""
_LONGEST_NAME: Final = 107
"""Limit for an abstract name: ``sun_path`` minus one."""
_CUT_OFF: Final = "..."
_BACKLOG: Final = 4096
"""Connections are never accepted; clients only read the peer's credentials."""
_CREDENTIALS: Final = struct.Struct("3i")
_TURN_SECONDS: Final = 2.0
"""Listing and announcing take milliseconds; a process that needs longer hangs."""
_PAUSE_SECONDS: Final = 0.005
_NAME: Final = re.compile(r"([0-9a-f]+:[0-9]+)/([0-9]+)/(\S*)")


class Announced(Value):
    """A root folder in use. ``user`` and ``pid`` are from the kernel, if it knows them.

    ``root`` is from the other process and may be truncated.
    """

    root: str
    user: int | None
    pid: int | None


@contextmanager
def turn() -> Iterator[None]:
    """A mutex over listing and announcing; after a timeout, continue without it."""
    last = time.monotonic() + _TURN_SECONDS
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as mutex:
        # A bound abstract name exists once, and the kernel frees it when the process ends.
        while True:
            with suppress(OSError):
                mutex.bind(_prefix() + "turn")
                break
            if time.monotonic() >= last:
                break
            time.sleep(_PAUSE_SECONDS)
        yield


def announce(root: Path) -> socket.socket:
    """Announce a root folder while the socket is open. Raises ``OSError``."""
    # Pids repeat across PID namespaces, so use a random number.
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
    """Other root folders in use, each once."""
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
    """The folder's device and inode, equal for every path. Raises ``OSError``."""
    status = root.stat()
    return f"{status.st_dev:x}:{status.st_ino}"


def _names() -> Iterator[str]:
    """Names of all announcements."""
    # The kernel prints the leading zero byte as "@".
    shown = "@" + _prefix()[1:]
    with suppress(OSError):
        for line in UNIX_SOCKETS.read_text(encoding="utf-8", errors="replace").splitlines():
            words = line.split()
            if words and words[-1].startswith(shown):
                yield "\0" + words[-1][1:]


def _asked(name: str) -> tuple[int | None, int | None] | None:
    """Process and user of a name, if it still exists."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        asking.setblocking(False)
        try:
            asking.connect(name)
        except ConnectionRefusedError:
            return None
        except OSError:
            # The backlog is full, so the socket exists.
            return None, None
        given = asking.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid, user, _ = _CREDENTIALS.unpack(given)
    # The kernel reports 0 for a process of an invisible PID namespace.
    return pid or None, user
