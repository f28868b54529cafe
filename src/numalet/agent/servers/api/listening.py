"""Serves the API on a Unix socket with mode 0600.

A client can start programs as the agent's user, so the folder and an existing socket must belong to
that user.
"""

from __future__ import annotations

import contextlib
import os
import socket
import stat
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from numalet.agent.servers.endpoints import LONGEST_PATH_BYTES
from numalet.core.model import input_error
from numalet.core.model.findings import BadInput, Location
from numalet.io import os_problem
from numalet.shared.web.accepting import MOST_WAITING
from numalet.shared.web.serving import serving


@contextlib.asynccontextmanager
async def opened(app: Any, path: Path) -> AsyncIterator[None]:
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
