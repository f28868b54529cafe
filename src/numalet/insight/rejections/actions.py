"""The actions of the breaker as values, each with its object, reason, end, and undo.

An action is safe to perform late or twice: it contains the uid and resourceVersion of a deleted
object, the uid of a changed one, the name of a created one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, ClassVar, TypeAlias

from numalet.core.model.value import Value
from numalet.insight.rejections.rejected_pod import OwnerLink, TopOwner
from numalet.insight.rejections.rules import Measure


class Prune(Value, kw_only=True):
    """Delete this rejected pod, if it still has this uid and resourceVersion."""

    measure: ClassVar[Measure] = Measure.PRUNE
    verb: ClassVar[str] = "prune"
    undo: ClassVar[str] = "not needed: no container of the pod ever ran"
    namespace: str
    name: str
    uid: str
    resource_version: str
    owner: TopOwner
    why: str

    @property
    def target(self) -> str:
        return f"pod {self.namespace}/{self.name}"


class Inform(Value, kw_only=True):
    """Write a Warning event about ``about``; ``why`` is its text, ``reason`` its reason."""

    measure: ClassVar[Measure] = Measure.INFORM
    verb: ClassVar[str] = "inform"
    undo: ClassVar[str] = "not needed: the API server deletes events"
    reason: ClassVar[str] = "PodsRejected"
    owner: TopOwner
    about: OwnerLink
    """The top owner if it is an object, else the nearest object above; for a bare pod the pod."""
    shape: str
    why: str
    """Why the pods are rejected, and what would work."""

    @property
    def target(self) -> str:
        return str(self.owner)


class TaintNode(Value, kw_only=True):
    """Keep pods away from a trap node until a time, in seconds since 1970.

    ``is_renewal``: the node has the taint, and gets a later end. ``owner`` is that of the first
    storm, as a text.
    """

    measure: ClassVar[Measure] = Measure.TAINT
    verb: ClassVar[str] = "taint"
    node: str
    shape: str
    until_seconds: float
    why: str
    owner: str = ""
    is_renewal: bool = False

    @property
    def undo(self) -> str:
        return f"numalet breaker undo, or kubectl taint node {self.node} numalet.dev/trap-"

    @property
    def target(self) -> str:
        return f"node {self.node}"


class LiftTaint(Value, kw_only=True):
    """Remove the breaker's own taint from a node."""

    measure: ClassVar[Measure] = Measure.TAINT
    verb: ClassVar[str] = "lift"
    undo: ClassVar[str] = "not needed: the taint returns if the node rejects pods again"
    node: str
    why: str

    @property
    def target(self) -> str:
        return f"node {self.node}"


class SuspendJob(Value, kw_only=True):
    """Suspend a Job without running pods until a time, in seconds since 1970."""

    measure: ClassVar[Measure] = Measure.SUSPEND
    verb: ClassVar[str] = "suspend"
    namespace: str
    name: str
    uid: str
    shape: str
    owner: TopOwner
    until_seconds: float
    why: str

    @property
    def undo(self) -> str:
        return (
            f"numalet breaker undo, or kubectl patch job -n {self.namespace} {self.name} "
            '-p \'{"spec":{"suspend":false}}\''
        )

    @property
    def target(self) -> str:
        return f"job {self.namespace}/{self.name}"


class ResumeJob(Value, kw_only=True):
    """Resume a Job that the breaker suspended."""

    measure: ClassVar[Measure] = Measure.SUSPEND
    verb: ClassVar[str] = "resume"
    undo: ClassVar[str] = "not needed: the Job is unchanged"
    namespace: str
    name: str
    uid: str
    why: str

    @property
    def target(self) -> str:
        return f"job {self.namespace}/{self.name}"


class HoldController(Value, kw_only=True):
    """Let the API server refuse new pods of a controller until a time, in seconds since 1970."""

    measure: ClassVar[Measure] = Measure.HOLD
    verb: ClassVar[str] = "hold"
    undo: ClassVar[str] = "numalet breaker undo"
    controller: OwnerLink
    until_seconds: float
    why: str

    @property
    def target(self) -> str:
        return f"controller {self.controller.text}"


class ReleaseController(Value, kw_only=True):
    """Let a held controller create pods again; an undo knows only its uid."""

    measure: ClassVar[Measure] = Measure.HOLD
    verb: ClassVar[str] = "release"
    undo: ClassVar[str] = "not needed: the controller is held again if its pods are rejected again"
    controller: OwnerLink
    why: str

    @property
    def target(self) -> str:
        known = self.controller.text if self.controller.kind else self.controller.uid
        return f"controller {known}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecreatePod:
    """Create a bare pod again under a new name, which identifies the attempt.

    ``attempt`` counts from 1. ``name`` and ``manifest`` are those of the new pod.
    """

    measure: ClassVar[Measure] = Measure.RECREATE
    verb: ClassVar[str] = "recreate"
    namespace: str
    name: str
    attempt: int
    of_name: str
    of_uid: str
    of_resource_version: str
    """The rejected pod's version.

    It is deleted only after the new pod, with this uid in its annotation
    ``numalet.dev/recreated-from``, was created.
    """
    why: str
    manifest: Mapping[str, Any] = field(compare=False, repr=False)

    @property
    def undo(self) -> str:
        return f"kubectl delete pod -n {self.namespace} {self.name}"

    @property
    def target(self) -> str:
        return f"pod {self.namespace}/{self.name}"


Action: TypeAlias = (
    Prune
    | Inform
    | TaintNode
    | LiftTaint
    | SuspendJob
    | ResumeJob
    | HoldController
    | ReleaseController
    | RecreatePod
)


class LiftCause(Enum):
    """Why a taint is removed, in words."""

    EXPIRED = "its time is over"
    ROOM = "the node would admit the shape now"
    CALM = "no pod of the shape waits or was rejected recently"
    FAR = "its end is further away than any that the breaker sets"
    CAP = "more nodes of its pool have the taint than may have it"
    UNDO = "undone on request"
