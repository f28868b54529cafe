"""What the agent asks of a runtime.

The agent is the only caller, from one task. Whatever a runtime needs to find its containers
again after the agent was killed it keeps itself, below the folder that it is given; ``open``
returns it. A start is recorded by the agent before ``start`` is called, so a runtime may be asked
to start an attempt that it has already started: it then answers as it did the first time.
"""

from __future__ import annotations

import errno
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Final, Protocol

from numalet.core.enforcement.levels import GuaranteeLevel
from numalet.core.enforcement.reality import Reality as Reality
from numalet.core.enforcement.settings import CgroupSettings, ContainerSettings
from numalet.core.model.findings import Finding
from numalet.core.model.pod import ContainerKey
from numalet.core.model.value import Value
from numalet.core.workload.run import Exit
from numalet.core.workload.spec import ContainerSpec, Runner

TRANSIENT_ERRORS: Final = frozenset(
    {errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.ENOBUFS}
)
"""What a host lacks for a moment: processes, memory, open files."""


class Launch(Value, kw_only=True):
    """One attempt to start. ``environment`` comes on top of the container's own.

    With a ``runner`` the runtime prepares everything and leaves the start to that process.
    """

    key: ContainerKey
    attempt: int
    spec: ContainerSpec
    settings: ContainerSettings
    environment: Mapping[str, str] = MappingProxyType({})
    runner: Runner | None = None


class Started(Value):
    """It runs, since when, held how; ``shortfalls`` are codes of what could not be enforced."""

    at: datetime
    pid: int
    level: GuaranteeLevel
    shortfalls: tuple[str, ...] = ()


class NotStarted(Value):
    """It does not run, and why.

    ``is_transient`` says that the host lacked something at this moment and nothing is wrong with
    the container: the same attempt may be asked for again.
    """

    why: Finding
    is_transient: bool = False


class Offered(Value):
    """All is prepared for the runner; what comes of it follows as an ``Answered``."""


class NotHeld(Value):
    """The kernel does not enforce a cgroup's settings, and why."""

    why: Finding


class Arranged(Value):
    """The paths whose settings have been written, and those that the kernel refused."""

    written: tuple[str, ...] = ()
    not_held: Mapping[str, NotHeld] = MappingProxyType({})


class Ended(Value):
    """An attempt ended."""

    key: ContainerKey
    attempt: int
    exit: Exit


class Answered(Value):
    """A runner started the attempt that was offered to it, or did not."""

    key: ContainerKey
    attempt: int
    result: Started | NotStarted


class Observed(Value):
    """A container of the runtime: running if ``exit`` is None, else ended."""

    key: ContainerKey
    attempt: int
    started_at: datetime | None
    exit: Exit | None
    level: GuaranteeLevel | None = None


class Capabilities(Value):
    """What the runtime can enforce; ``shortfalls`` are codes of what it cannot."""

    level: GuaranteeLevel
    shortfalls: tuple[str, ...] = ()


class Runtime(Protocol):
    """Starts, watches and ends the programs of containers."""

    def capabilities(self) -> Capabilities:
        """What can be enforced here."""

    async def open(self) -> Sequence[Observed]:
        """Find what an earlier agent left: every container of ours, running or ended.

        Called once, before anything else. From here on the runtime watches them.
        """

    async def close(self) -> None:
        """Stop watching. What runs goes on running."""

    async def arrange(self, tree: Mapping[str, CgroupSettings]) -> Arranged:
        """Make the cgroups above the containers (by path below the root; "" is the root).

        What was as wanted is not in the answer.
        """

    async def start(self, launch: Launch) -> Started | NotStarted | Offered:
        """Start one attempt, with all its settings in force before its first instruction."""

    async def stop(self, key: ContainerKey, grace_seconds: float) -> None:
        """Ask the container to end, and kill all of it after the grace period.

        Returns at once; the end comes as an ``Ended``. Called again with a shorter period it
        shortens the wait. Nothing happens if the container is not running.
        """

    async def settle(
        self, settings: ContainerSettings, key: ContainerKey
    ) -> Sequence[str] | NotHeld:
        """Bring a running container's settings to what is wanted.

        Returns the names of the settings that were not as wanted and have been written, or what
        the kernel does not hold the container to.
        """

    async def reality(self, key: ContainerKey) -> Reality | None:
        """What the kernel reports of a running container; None if it is not running."""

    async def forget(self, pod_uid: str) -> None:
        """Remove everything of a pod whose containers have ended: cgroups, logs, records.

        Also kills what may be left in its cgroups.
        """

    async def pods(self) -> Sequence[str]:
        """The uids of all pods of which this runtime still has anything."""

    def news(self) -> AsyncIterator[Ended | Answered]:
        """Ends of containers as they happen, and answers to offers; one reader."""

    def log_path(self, key: ContainerKey, attempt: int) -> Path | None:
        """Where the output of an attempt is; None if it is not kept."""
