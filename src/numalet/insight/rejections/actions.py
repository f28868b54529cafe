"""What the breaker may do, as values: each says whom it concerns, why, until when, how to undo it.

Nothing here is carried out. An action holds what makes it safe to carry out late or twice: uid and
resourceVersion of what is deleted, the uid of what is changed, the name of what is created.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, ClassVar, TypeAlias

from numalet.core.model.value import Value
from numalet.insight.rejections.owners import OwnerLink, TopOwner
from numalet.insight.rejections.rules import Measure


class Prune(Value, kw_only=True):
    """Delete this rejected pod, if it still has this uid and resourceVersion."""

    measure: ClassVar[Measure] = Measure.PRUNE
    verb: ClassVar[str] = "prune"
    undo: ClassVar[str] = "none is needed: no container of the pod ever ran"
    namespace: str
    name: str
    uid: str
    resource_version: str
    owner: TopOwner
    why: str

    @property
    def target(self) -> str:
        """What is changed."""
        return f"pod {self.namespace}/{self.name}"


class Inform(Value, kw_only=True):
    """Write a Warning event with this text about ``about``; ``reason`` is the event's reason."""

    measure: ClassVar[Measure] = Measure.INFORM
    verb: ClassVar[str] = "inform"
    undo: ClassVar[str] = "none is needed: the API server forgets events"
    reason: ClassVar[str] = "PodsRejected"
    owner: TopOwner
    about: OwnerLink
    """The top owner if it is an object, else the nearest one that is; of a bare pod the pod."""
    shape: str
    why: str
    """The event's text: why the pods are rejected, and what would work."""

    @property
    def target(self) -> str:
        """What is changed."""
        return str(self.owner)


class TaintNode(Value, kw_only=True):
    """Keep pods away from a trap node until a moment, in seconds since 1970.

    ``is_renewal``: the node has the taint, and gets a later end.
    """

    measure: ClassVar[Measure] = Measure.TAINT
    verb: ClassVar[str] = "taint"
    node: str
    shape: str
    until_seconds: float
    why: str
    owner: str = ""
    """In words, of the first storm."""
    is_renewal: bool = False

    @property
    def undo(self) -> str:
        """How to undo it."""
        return f"numalet breaker undo, or kubectl taint node {self.node} numalet.dev/trap-"

    @property
    def target(self) -> str:
        """What is changed."""
        return f"node {self.node}"


class LiftTaint(Value, kw_only=True):
    """Take the breaker's own taint off a node."""

    measure: ClassVar[Measure] = Measure.TAINT
    verb: ClassVar[str] = "lift"
    undo: ClassVar[str] = "none is needed: the taint comes again if the node rejects pods again"
    node: str
    why: str

    @property
    def target(self) -> str:
        """What is changed."""
        return f"node {self.node}"


class SuspendJob(Value, kw_only=True):
    """Suspend a Job of which no pod runs, until a moment, in seconds since 1970."""

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
        """How to undo it."""
        return (
            f"numalet breaker undo, or kubectl patch job -n {self.namespace} {self.name} "
            '-p \'{"spec":{"suspend":false}}\''
        )

    @property
    def target(self) -> str:
        """What is changed."""
        return f"job {self.namespace}/{self.name}"


class ResumeJob(Value, kw_only=True):
    """Resume a Job that the breaker suspended."""

    measure: ClassVar[Measure] = Measure.SUSPEND
    verb: ClassVar[str] = "resume"
    undo: ClassVar[str] = "none is needed: the Job is as it was"
    namespace: str
    name: str
    uid: str
    why: str

    @property
    def target(self) -> str:
        """What is changed."""
        return f"job {self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecreatePod:
    """Create a bare pod anew, under a name of its own; one of that name is this very pod."""

    measure: ClassVar[Measure] = Measure.RECREATE
    verb: ClassVar[str] = "recreate"
    namespace: str
    name: str
    """Of the new pod."""
    attempt: int
    """Counted from 1."""
    of_name: str
    of_uid: str
    of_resource_version: str
    """Of the rejected pod, which is deleted once the new one is there, and not before: one of that
    name with the annotation ``numalet.dev/recreated-from`` of this uid."""
    why: str
    manifest: Mapping[str, Any] = field(compare=False, repr=False)
    """Of the new pod, as it is to be created."""

    @property
    def undo(self) -> str:
        """How to undo it."""
        return f"kubectl delete pod -n {self.namespace} {self.name}"

    @property
    def target(self) -> str:
        """What is changed."""
        return f"pod {self.namespace}/{self.name}"


Action: TypeAlias = Prune | Inform | TaintNode | LiftTaint | SuspendJob | ResumeJob | RecreatePod


class LiftCause(Enum):
    """Why a taint is taken off, in words."""

    EXPIRED = "its time is over"
    ROOM = "the node would admit the shape now"
    CALM = "no pod of the shape waits, and none was rejected lately"
    FAR = "its end is further away than any that the breaker sets"
    CAP = "more nodes of its pool have the taint than may have it"
    UNDO = "undone on request"
