"""The interface between the agent and a runtime.

The agent is the only caller, from one task. It records a start before it calls ``start``, so after
a crash it may start an attempt twice; the second answer must equal the first. A runtime keeps its
own records below its folder.
"""

from __future__ import annotations

import errno
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Final, Protocol

from numalet.core.enforcement.cgroup_settings import CgroupSettings, ContainerSettings
from numalet.core.enforcement.comparison import GuaranteeLevel
from numalet.core.enforcement.comparison import Reality as Reality
from numalet.core.model.findings import Finding
from numalet.core.model.pod import ContainerKey
from numalet.core.model.value import Value
from numalet.core.workload.run import Exit
from numalet.core.workload.spec import ContainerSpec, Runner

TRANSIENT_ERRORS: Final = frozenset(
    {errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.ENOBUFS}
)
"""Temporary shortages of the host: processes, memory, open files."""


class Launch(Value, kw_only=True):
    """One attempt to start. ``environment`` is added to the container's own.

    With a ``runner``, the runtime only prepares; that process starts the program.
    """

    key: ContainerKey
    attempt: int
    spec: ContainerSpec
    settings: ContainerSettings
    environment: Mapping[str, str] = MappingProxyType({})
    runner: Runner | None = None


class Started(Value):
    """``shortfalls`` are codes of settings that could not be enforced."""

    at: datetime
    pid: int
    level: GuaranteeLevel
    shortfalls: tuple[str, ...] = ()


class NotStarted(Value):
    """``is_transient``: the host was short of something, and the same attempt may be repeated."""

    why: Finding
    is_transient: bool = False


class Offered(Value):
    """The attempt is prepared for its runner; an ``Answered`` follows."""


class NotHeld(Value):
    """The kernel does not enforce the settings of a cgroup."""

    why: Finding


class Arranged(Value):
    """Paths whose settings were written, and those that the kernel rejected."""

    written: tuple[str, ...] = ()
    not_held: Mapping[str, NotHeld] = MappingProxyType({})


class Ended(Value):
    key: ContainerKey
    attempt: int
    exit: Exit


class Answered(Value):
    """The runner's answer to an ``Offered`` attempt."""

    key: ContainerKey
    attempt: int
    result: Started | NotStarted


class Observed(Value):
    """A container of the runtime; it runs while it has no ``exit``."""

    key: ContainerKey
    attempt: int
    started_at: datetime | None
    exit: Exit | None
    level: GuaranteeLevel | None = None


class Capabilities(Value):
    """``shortfalls`` are codes of settings that cannot be enforced."""

    level: GuaranteeLevel
    shortfalls: tuple[str, ...] = ()


class Runtime(Protocol):
    def capabilities(self) -> Capabilities:
        """The guarantees on this host."""

    async def open(self) -> Sequence[Observed]:
        """Find the containers of an earlier agent, running or ended, and monitor them.

        Called once, before any other method.
        """

    async def close(self) -> None:
        """Stop monitoring; programs continue."""

    async def arrange(self, tree: Mapping[str, CgroupSettings]) -> Arranged:
        """Make the cgroups above the containers, by path below the root; "" is the root.

        Settings that already match are not in the result.
        """

    async def start(self, launch: Launch) -> Started | NotStarted | Offered:
        """Start one attempt; all settings are in force before its first instruction."""

    async def stop(self, key: ContainerKey, grace_seconds: float) -> None:
        """Send SIGTERM, and SIGKILL after the grace period.

        Returns at once; an ``Ended`` follows. A second call can only shorten the period.
        """

    async def settle(
        self, settings: ContainerSettings, key: ContainerKey
    ) -> Sequence[str] | NotHeld:
        """Correct the settings of a running container; return the names of those written."""

    async def reality(self, key: ContainerKey) -> Reality | None:
        """The kernel's view of a running container."""

    async def forget(self, pod_uid: str) -> None:
        """Remove cgroups, logs and records of a pod; kill what still runs."""

    async def pods(self) -> Sequence[str]:
        """Uids of pods with any record."""

    def news(self) -> AsyncIterator[Ended | Answered]:
        """Yield ends and answers to offers. One reader only."""

    def log_path(self, key: ContainerKey, attempt: int) -> Path | None:
        """The log of an attempt, if there is one."""
