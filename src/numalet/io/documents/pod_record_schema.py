"""A pod's record, member by member: ``numalet.dev/v1alpha1``, kind ``PodRecord``.

The types below are the format; the values of the core are turned into them and back by
``pod_record``, so that a change of the core changes no file. Moments are RFC 3339 with a zone;
quantities are texts. A reader passes over members that it does not know, and a member that is
missing has the default given here; so a record may be read by the release before and after.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Final, Literal, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType

from numalet.core.enforcement.levels import GuaranteeLevel
from numalet.core.model.pod import ContainerKind, QosClass
from numalet.core.workload.run import ContainerPhase, ExitReason
from numalet.core.workload.spec import RestartPolicy, WorkloadSource

API_VERSION: Final = "numalet.dev/v1alpha1"
KIND: Final = "PodRecord"

Moment: TypeAlias = Annotated[datetime, Meta(tz=True)]
Count: TypeAlias = Annotated[int, Meta(ge=0)]
Seconds: TypeAlias = Annotated[float, Meta(ge=0, le=2**31)]


class _Part(Struct, rename="camel", frozen=True, kw_only=True):
    """A part of the record."""


class ContainerPart(_Part, frozen=True, kw_only=True):
    """A container: what it asks for, and its program."""

    name: str
    kind: ContainerKind
    requests: dict[str, Any] = {}
    limits: dict[str, Any] = {}
    image: str = ""
    command: list[str] = []
    args: list[str] = []
    env: list[tuple[str, str]] = []
    working_dir: str = ""
    run_as_user: Count | None = None
    run_as_group: Count | None = None


class RunnerPart(_Part, frozen=True, kw_only=True):
    """The process that runs the pod's program itself."""

    pid: Annotated[int, Meta(gt=0)]
    ticks: Count
    boot: str = ""


class WorkloadPart(_Part, frozen=True, kw_only=True):
    """What is wanted. ``containers`` are in the order of allocation."""

    uid: str
    name: str
    namespace: str
    containers: list[ContainerPart]
    qos_class: QosClass
    overhead: dict[str, Any] = {}
    phase: str = ""
    node_name: str = ""
    labels: dict[str, str] = {}
    restart_policy: RestartPolicy = RestartPolicy.ALWAYS
    grace_period_seconds: Count = 30
    priority_class: str = ""
    source: WorkloadSource = WorkloadSource.API
    origin: str = ""
    manifest: dict[str, Any] = {}
    runner: RunnerPart | None = None


class VerdictPart(_Part, frozen=True, kw_only=True):
    """What admission said."""

    admitted: bool
    reason: str = ""
    message: str = ""
    cause: str = ""


class DeletionPart(_Part, frozen=True, kw_only=True):
    """A requested deletion of the pod."""

    requested_at: Moment
    grace_seconds: Seconds


class EvictedPart(_Part, frozen=True, kw_only=True):
    """An evicted pod whose end is waited for."""

    uid: str
    name: str
    until: Moment


class CausePart(_Part, frozen=True, kw_only=True):
    """The code of a finding or of a reason, and its values by name."""

    code: str
    fields: dict[str, str] = {}


class ExitPart(_Part, frozen=True, kw_only=True):
    """How an attempt ended. ``message`` is the cause as earlier releases wrote it; only read."""

    code: int
    reason: ExitReason
    finished_at: Moment
    started_at: Moment | None = None
    signal: int | None = None
    cause: CausePart | None = None
    message: str | UnsetType = UNSET


class ContainerRunPart(_Part, frozen=True, kw_only=True):
    """What has become of a container."""

    name: str
    phase: ContainerPhase
    attempt: Count
    started_at: Moment | None = None
    last_exit: ExitPart | None = None
    back_off_seconds: Seconds = 0.0
    level: GuaranteeLevel | None = None
    shortfalls: list[str] = []
    asked_to_end: bool = False


class RunPart(_Part, frozen=True, kw_only=True):
    """What has happened. ``unpromised`` is ``causes`` as earlier releases wrote them; only read."""

    accepted_at: Moment
    verdict: VerdictPart | None = None
    decided_at: Moment | None = None
    containers: list[ContainerRunPart] = []
    deletion: DeletionPart | None = None
    evicted: list[EvictedPart] = []
    causes: list[CausePart] = []
    unpromised: str | UnsetType = UNSET


class RecordDocument(_Part, frozen=True, kw_only=True):
    """The whole record."""

    api_version: Literal["numalet.dev/v1alpha1"] = API_VERSION
    kind: Literal["PodRecord"] = KIND
    resource_version: Count
    workload: WorkloadPart
    run: RunPart
