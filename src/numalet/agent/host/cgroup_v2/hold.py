"""A lock on the cgroup tree: one agent exclusively, or several ``numalet run`` together.

Two agents would each take the other's cgroups for leftovers and kill their programs.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from numalet.core.model.findings import BadInput, Location
from numalet.shared.findings.runtime import CgroupHeld


@contextmanager
def alone(folder: Path | None) -> Iterator[None]:
    """Lock the tree exclusively.

    Raises ``BadInput`` if it is locked; without a folder, do nothing.
    """
    with _held(folder, fcntl.LOCK_EX):
        yield


@contextmanager
def with_others(folder: Path | None) -> Iterator[None]:
    """Share the tree with other commands. Raises ``BadInput`` if an agent has locked it."""
    with _held(folder, fcntl.LOCK_SH):
        yield


@contextmanager
def _held(folder: Path | None, how: int) -> Iterator[None]:
    if folder is None:
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            # The kernel releases a flock when the process ends, so a crash leaves no stale lock.
            fcntl.flock(descriptor, how | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BadInput([CgroupHeld(path=str(folder), where=Location(str(folder)))]) from None
        yield
    finally:
        os.close(descriptor)
