"""What has happened to a pod so far, container by container.

All moments are aware ``datetime`` values in UTC, given by the observer of the event.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import Enum
from types import MappingProxyType
from typing import Self

from numalet.core.enforcement.levels import GuaranteeLevel
from numalet.core.model.findings import Finding
from numalet.core.model.value import Value, replace


class ExitReason(Enum):
    """Why a container is not running any more; the values are Kubernetes' own words."""

    COMPLETED = "Completed"
    ERROR = "Error"
    OOM_KILLED = "OOMKilled"
    START_ERROR = "StartError"
    """It never ran: the program is not there, a setting was refused, a fork failed."""
    UNKNOWN = "ContainerStatusUnknown"
    """It is gone, and its end was not observed."""


class Cause(Value):
    """Why something is as it is: a code, and the values of what it stands for as texts.

    It is what is written down of a finding, or of a reason of a rejection (see ``rejections``), and
    outlives the release that has its class.
    """

    code: str
    fields: Mapping[str, str]

    @classmethod
    def of(cls, finding: Finding) -> Self:
        """The cause that this finding is."""
        return cls(finding.code, {name: str(value) for name, value in finding.fields.items()})


class Exit(Value, kw_only=True):
    """How one attempt ended. ``code`` is 128 + ``signal`` for a program ended by a signal.

    ``cause`` is None where ``reason``, a word of Kubernetes, says it all.
    """

    code: int
    reason: ExitReason
    finished_at: datetime
    started_at: datetime | None = None
    signal: int | None = None
    cause: Cause | None = None


class ContainerPhase(Enum):
    """Where a container is."""

    WAITING = "waiting"
    STARTING = "starting"
    """It was decided and recorded that it starts; whether it did is the runtime's to know."""
    RUNNING = "running"
    TERMINATED = "terminated"


class ContainerRun(Value, kw_only=True):
    """One container through its attempts.

    ``attempt`` counts the starts from 1; 0 means that it was never started. ``last_exit`` is the
    end of the latest attempt that ended. ``back_off_seconds`` is the pause before the next start,
    0 without one. ``level`` says what holds the running attempt to its promise, and
    ``shortfalls`` are the codes of what could not be enforced. ``asked_to_end`` says that the
    attempt that runs was asked to end, and that there is an event of it.
    """

    name: str
    phase: ContainerPhase = ContainerPhase.WAITING
    attempt: int = 0
    started_at: datetime | None = None
    last_exit: Exit | None = None
    back_off_seconds: float = 0.0
    level: GuaranteeLevel | None = None
    shortfalls: tuple[str, ...] = ()
    asked_to_end: bool = False

    @property
    def restart_count(self) -> int:
        """How often it was started again."""
        return max(0, self.attempt - 1)


class Verdict(Value):
    """What admission said.

    ``reason`` and ``message`` are the kubelet's, empty if admitted; ``cause`` is the code of our
    own reason.
    """

    admitted: bool
    reason: str = ""
    message: str = ""
    cause: str = ""


class Deletion(Value):
    """A requested deletion of the pod: since when, and how long its programs may take."""

    requested_at: datetime
    grace_seconds: float


class Evicted(Value):
    """A pod that has to end for another one.

    ``name`` is its ``namespace/name``, ``until`` how long its end is waited for.
    """

    uid: str
    name: str
    until: datetime


class PodRun(Value, kw_only=True):
    """Everything that has happened to one pod. ``verdict`` is None before the decision.

    ``evicted`` are pods that were evicted, for this one or one before it, and had not ended when it
    was admitted; it begins after them. ``causes`` say why a pod that ran when the agent started
    could not be promised again what it runs with, see ``rejections``; none if it is.
    """

    accepted_at: datetime
    verdict: Verdict | None = None
    decided_at: datetime | None = None
    containers: Mapping[str, ContainerRun] = MappingProxyType({})
    deletion: Deletion | None = None
    evicted: tuple[Evicted, ...] = ()
    causes: tuple[Cause, ...] = ()

    def of(self, name: str) -> ContainerRun:
        """The run of a container; one that never started if nothing is known of it."""
        return self.containers.get(name) or ContainerRun(name=name)

    @property
    def has_begun(self) -> bool:
        """Whether any container was ever started."""
        return any(each.attempt for each in self.containers.values())

    def with_container(self, run: ContainerRun) -> PodRun:
        """The same with this container's run."""
        return replace(self, containers={**self.containers, run.name: run})
