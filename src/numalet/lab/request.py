"""A request to the lab: one guest, and one command in it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Final

from numalet.core.model.value import Value
from numalet.lab.hugepages import ReservedPages
from numalet.lab.topology import Topology

OUT: Final = PurePosixPath("/lab/out")
"""The folder for results inside the guest, also in ``NUMALET_LAB_OUT``."""

DISK: Final = PurePosixPath("/lab/disk")
"""The folder that survives reboots inside the guest, also in ``NUMALET_LAB_DISK``."""

IN_GUEST: Final = "NUMALET_LAB_TOPOLOGY"
"""Set inside a guest, to the name of its topology."""

DEFAULT_TIMEOUT_SECONDS: Final = 600.0


class Init(Enum):
    """Process 1 of the guest: only the command, or systemd of the root."""

    NONE = "none"
    SYSTEMD = "systemd"


class Share(Value):
    """A folder of this machine that the guest sees, and writes to, at another path."""

    host: Path
    guest: PurePosixPath
    variable: str


class Terminal(Value):
    """The guest's command has this terminal."""

    kind: str
    rows: int
    columns: int


class GuestRequest(Value, kw_only=True):
    """One guest. The root is read, never written; ``folder`` is where the command starts.

    ``modules`` are kernel modules besides those of the root, ``qemu`` further arguments of QEMU
    (devices on a node, ...). Without a terminal the command has no input.
    """

    topology: Topology
    command: tuple[str, ...]
    folder: PurePosixPath
    environment: Mapping[str, str] = MappingProxyType({})
    hugepages: tuple[ReservedPages, ...] = ()
    kernel_arguments: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    shares: tuple[Share, ...] = ()
    init: Init = Init.NONE
    root: Path = Path("/")
    qemu: tuple[str, ...] = ()
    terminal: Terminal | None = None
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS


def shares(out: Path | None, disk: Path | None) -> tuple[Share, ...]:
    """Return the two usual shared folders, as far as given."""
    given = ((out, OUT, "NUMALET_LAB_OUT"), (disk, DISK, "NUMALET_LAB_DISK"))
    return tuple(
        Share(host, guest, variable) for host, guest, variable in given if host is not None
    )
