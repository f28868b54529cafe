"""The claim on the machine: only processes of one root folder pin at a time.

Two root folders do not know each other's allocations, so two users could get the same CPUs. Each
process announces its folder through an abstract socket: every user can list abstract names; the
kernel removes a name with its process and reports its owner. No file of another user is read.
A user may announce a folder falsely, but can also simply use CPUs.
"""

from __future__ import annotations

import os
import re
import secrets
import socket
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote

from numalet.agent.controller.root_folder import LOCK
from numalet.agent.findings.run import RunOtherNodeState
from numalet.core.model.findings import BadInput, Finding, Location
from numalet.core.model.value import Value
from numalet.io import os_problem
from numalet.io.agent_client import root as root_folder
from numalet.shared.findings.agent import (
    AgentOtherNodeState,
    AgentOtherRoot,
    AgentOtherUsersNodeState,
    AgentRootUnusable,
    OtherNodeState,
)

UNIX_SOCKETS: Final = Path("/proc/net/unix")
LOCKS: Final = Path("/proc/locks")
_LOCK_KEY: Final = 5
"""The column of ``/proc/locks`` with device and inode."""
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
_CLAIM_PAUSE_SECONDS: Final = 0.25
_TURN_PAUSE_SECONDS: Final = 0.005
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
            time.sleep(_TURN_PAUSE_SECONDS)
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
        # Only a listening socket can be connected to, which is how others read its owner.
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


@contextmanager
def claimed(root: Path, last: float = 0.0) -> Iterator[tuple[Finding, ...]]:
    """Announce this root folder during the block; yield findings if others are in use.

    Waits for others until ``last`` of the monotonic clock. Raises ``BadInput``.
    """
    with ExitStack() as stack:
        claim = _claim(root)
        while not isinstance(claim, socket.socket) and time.monotonic() < last:
            time.sleep(_CLAIM_PAUSE_SECONDS)
            claim = _claim(root)
        if isinstance(claim, socket.socket):
            stack.enter_context(claim)
            yield ()
        else:
            yield _findings(RunOtherNodeState, root, claim)


@contextmanager
def claimed_by_agent(root: Path) -> Iterator[tuple[Finding, ...]]:
    """Announce an agent's root folder; yield warnings. Raises ``BadInput``.

    Root's agent is not blocked by other users, who could otherwise lock it out: their commands end
    sometime, and no new ones start.
    """
    with turn():
        in_use = others(root)
        equals = [each for each in in_use if os.geteuid() != 0 or each.user in (0, None)]
        if equals:
            raise BadInput(_findings(AgentOtherNodeState, root, equals))
        announced = _announce(root)
    with announced:
        yield _findings(AgentOtherUsersNodeState, root, in_use)


def _claim(root: Path) -> socket.socket | tuple[Announced, ...]:
    # List and announce under one mutex, or two processes could both find no other.
    with turn():
        return others(root) or _announce(root)


def _announce(root: Path) -> socket.socket:
    try:
        return announce(root)
    except OSError as error:
        raise BadInput(
            [
                AgentRootUnusable(
                    path=str(root), error=os_problem.text(error), where=Location(str(root))
                )
            ]
        ) from None


def _findings(
    of: type[OtherNodeState], root: Path, in_use: Sequence[Announced]
) -> tuple[Finding, ...]:
    return tuple(
        of(
            root=str(root),
            other=each.root,
            pid="unknown" if each.pid is None else str(each.pid),
            user="unknown" if each.user is None else str(each.user),
        )
        for each in in_use
    )


def other_roots(root: Path) -> tuple[Finding, ...]:
    """Find other root folders that an agent uses; this one does not know their allocations.

    The usual places are checked: the system's folder, this user's and the sudo caller's. Locks are
    read from ``/proc/locks``, which disturbs no process.
    """
    held = _held()
    here = _inode(root)
    return tuple(
        AgentOtherRoot(root=str(root), where=Location(str(other)))
        for other in dict.fromkeys(map(Path, root_folder.usual()))
        if _inode(other) not in (None, here) and _inode(other / LOCK) in held
    )


def _inode(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _held() -> frozenset[tuple[int, int] | None]:
    """Device and inode of every locked file."""
    held = set()
    with suppress(OSError):
        for line in LOCKS.read_text(encoding="ascii", errors="replace").splitlines():
            words = line.split()
            with suppress(ValueError, IndexError):
                # A line of a waiting process has an extra "->"; another line names the holder.
                major, minor, inode = words[_LOCK_KEY].split(":")
                held.add((os.makedev(int(major, 16), int(minor, 16)), int(inode)))
    return frozenset(held)
