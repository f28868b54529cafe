"""The history of a pod, container by container.

All moments are aware ``datetime`` values in UTC, from the observer of the event. The bounds of the
types apply to records that are read from a file (``io.documents.pod_record``).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import Enum
from types import MappingProxyType
from typing import Annotated, Final, Self, TypeAlias

from numalet.core.enforcement.comparison import GuaranteeLevel
from numalet.core.model.findings import Finding
from numalet.core.model.value import Meta, Value, replace
from numalet.core.workload.spec import Count

Moment: TypeAlias = Annotated[datetime, Meta(tz=True)]
Seconds: TypeAlias = Annotated[float, Meta(ge=0, le=2**31)]


class ExitReason(Enum):
    """Why a container no longer runs; the values are Kubernetes' own words."""

    COMPLETED = "Completed"
    ERROR = "Error"
    OOM_KILLED = "OOMKilled"
    START_ERROR = "StartError"
    """It never ran: the program is missing, a setting was rejected, a fork failed."""
    UNKNOWN = "ContainerStatusUnknown"
    """It disappeared without an observed end."""


class Cause(Value):
    """A cause: a code, and its values as texts.

    It is the stored form of a finding, or of a rejection's reason (see ``rejections``), and
    outlives the release that has its class.
    """

    code: str
    fields: Mapping[str, str]

    @classmethod
    def of(cls, finding: Finding) -> Self:
        return cls(finding.code, {name: str(value) for name, value in finding.fields.items()})


class Exit(Value, kw_only=True):
    """The end of one attempt. ``code`` is 128 + ``signal`` for a program ended by a signal.

    There is no ``cause`` if ``reason``, a word of Kubernetes, is enough.
    """

    code: int
    reason: ExitReason
    finished_at: Moment
    started_at: Moment | None = None
    signal: int | None = None
    cause: Cause | None = None


class ContainerPhase(Enum):
    WAITING = "waiting"
    STARTING = "starting"
    """Its start is recorded; only the runtime knows whether it succeeded."""
    RUNNING = "running"
    TERMINATED = "terminated"


class ContainerRun(Value, kw_only=True):
    """One container through its attempts.

    ``attempt`` counts the starts from 1; 0 means never started. ``last_exit`` is the end of the
    latest ended attempt. ``back_off_seconds`` is the pause before the next start. ``level`` is the
    guarantee of the running attempt, and ``shortfalls`` are the codes of settings that could not be
    enforced. ``asked_to_end``: the agent signalled the running attempt to end, and recorded an
    event.
    """

    name: str
    phase: ContainerPhase = ContainerPhase.WAITING
    attempt: Count = 0
    started_at: Moment | None = None
    last_exit: Exit | None = None
    back_off_seconds: Seconds = 0.0
    level: GuaranteeLevel | None = None
    shortfalls: tuple[str, ...] = ()
    asked_to_end: bool = False

    @property
    def restart_count(self) -> int:
        return max(0, self.attempt - 1)


EVICTED: Final = "admission/preempted"
"""The cause in the verdict on a pod that was evicted for another one."""


class Verdict(Value):
    """The result of admission.

    ``reason`` and ``message`` are the kubelet's, empty if admitted; ``cause`` is the code of our
    own reason.
    """

    admitted: bool
    reason: str = ""
    message: str = ""
    cause: str = ""


class Deletion(Value):
    """A requested deletion of the pod: the time of the request, and the grace period."""

    requested_at: Moment
    grace_seconds: Seconds


class Evicted(Value):
    """A pod that has to end for another one.

    ``name`` is its ``namespace/name``; the other pod waits for its end until ``until``.
    """

    uid: str
    name: str
    until: Moment


class PodRun(Value, kw_only=True):
    """The history of one pod. ``verdict`` is None before the decision.

    ``evicted`` are pods that were evicted, for this one or an earlier one, and had not ended at its
    admission; this pod starts after them. ``causes``: why the agent, at its start, could not admit
    this running pod with its resources, see ``rejections``; empty if it could.
    """

    accepted_at: Moment
    verdict: Verdict | None = None
    decided_at: Moment | None = None
    containers: Mapping[str, ContainerRun] = MappingProxyType({})
    deletion: Deletion | None = None
    evicted: tuple[Evicted, ...] = ()
    causes: tuple[Cause, ...] = ()

    def of(self, name: str) -> ContainerRun:
        """Return the run of a container; an unknown one was never started."""
        return self.containers.get(name) or ContainerRun(name=name)

    @property
    def has_begun(self) -> bool:
        """Whether any container was ever started."""
        return any(each.attempt for each in self.containers.values())

    def with_container(self, run: ContainerRun) -> PodRun:
        return replace(self, containers={**self.containers, run.name: run})
