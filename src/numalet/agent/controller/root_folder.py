"""Checks that a folder may be a root folder: empty, or with an agent's files only.

An agent closes its folder to others and removes unknown files below ``runs``; in ``/etc`` that
would be a disaster. The lock file marks a former root folder.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from numalet.agent.controller import journal, store_files
from numalet.core.model import input_error
from numalet.core.model.findings import BadInput, Finding, Location
from numalet.dashboard import history
from numalet.io.agent_client.places import KUBECONFIG, PLUGIN_FOLDER, SOCKET_NAME
from numalet.io.agent_client.root import LOCK as LOCK
from numalet.io.files import state_directory, trust

_OLDER_LOCK: Final = "books.lock"
MODE: Final = 0o700
_OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH
_KNOWN: Final = frozenset(
    {
        *state_directory.FILE_NAMES,
        state_directory.DEVICE_PLUGINS,
        store_files.RECORD_FILE,
        store_files.QUARANTINE,
        store_files.NODE_FILE,
        journal.FILE_NAME,
        journal.OLDER_NAME,
        KUBECONFIG,
        SOCKET_NAME,
        history.FILE_NAME,
        PLUGIN_FOLDER,
        # An administrator may create these before the first start.
        "manifests",
        "lost+found",
    }
)
_NAMED: Final = 3


def check(root: Path) -> None:
    """Raise ``BadInput`` if the folder contains foreign files."""
    try:
        if any((root / name).exists() for name in (LOCK, _OLDER_LOCK)):
            return
        others = sorted(each.name for each in root.iterdir() if each.name not in _KNOWN)
    except FileNotFoundError:
        return
    if others:
        raise input_error.Conflict(
            f"{root} is not the root folder of an agent and contains other files "
            f"({_listed(others)}); choose a new or empty folder",
            where=Location(str(root)),
        ).bad_input()


def claim(root: Path, folders: Iterable[str] = ()) -> None:
    """Make the root folder and ``folders``, private to this user. Raises ``OSError``.

    Raises ``BadInput`` if another user owns it, can write in it or above, or has files in it.
    """
    check(root)
    for each in (root, *(root / name for name in folders)):
        finding = _not_private(each) or trust.doubt(each)
        if finding is not None:
            raise BadInput([finding])
        each.mkdir(mode=MODE, parents=True, exist_ok=True)
        # Check after mkdir: files of others may be older than the present mode.
        others = trust.of_others(each)
        if others:
            raise input_error.Forbidden(
                f"{each} has files of other users ({_listed(others)}); remove them, or choose "
                "another --root",
                where=Location(str(each)),
            ).bad_input()


def _not_private(folder: Path) -> Finding | None:
    try:
        status = folder.stat()
    except FileNotFoundError:
        return None
    if status.st_uid == os.geteuid() and not status.st_mode & _OTHERS_WRITE:
        return None
    return input_error.Forbidden(
        f"the root folder belongs to user {status.st_uid} and has mode "
        f"{stat.S_IMODE(status.st_mode):04o}, but it must belong to user {os.geteuid()} with mode "
        "0700; run chown and chmod 0700, or choose another --root",
        where=Location(str(folder)),
    )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:_NAMED]) + (", ..." if len(names) > _NAMED else "")
