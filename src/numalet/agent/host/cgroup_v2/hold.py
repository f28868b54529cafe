"""Who works with a tree of cgroups: one agent alone, or commands of ``numalet run`` together.

Two agents with a node state each would mistake each other's cgroups for leftovers and end what runs
in them. So a process that works with the tree locks its folder; the lock goes with the process.
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
    """Hold the tree as the only one; None is no tree. Raises ``BadInput`` if others hold it."""
    with _held(folder, fcntl.LOCK_EX):
        yield


@contextmanager
def with_others(folder: Path | None) -> Iterator[None]:
    """Hold the tree beside others that do so. Raises ``BadInput`` if an agent holds it."""
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
            fcntl.flock(descriptor, how | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BadInput([CgroupHeld(path=str(folder), where=Location(str(folder)))]) from None
        yield
    finally:
        os.close(descriptor)
