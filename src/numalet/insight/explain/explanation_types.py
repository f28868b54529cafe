"""The fields of an explanation, the document of ``numalet explain -o json``.

``story`` and ``explanation_document`` build it; an agent sends it to commands.
"""

from __future__ import annotations

from enum import Enum
from typing import Any, Literal

from numalet.core.config.behaviour import Mode
from numalet.core.config.rules import Scope, TopologyPolicy
from numalet.core.hints.provider import Hint, Reason
from numalet.core.model import numa_mask
from numalet.core.model.machine_queries import NodeClass
from numalet.core.model.pod import ContainerKind, QosClass
from numalet.core.model.quantity import Quantity
from numalet.core.model.value import OutputDocument, field
from numalet.insight.simulate.simulation_document import NotAskedDocument, RefusedDocument
from numalet.wording import explanations


class Category(Enum):
    """Kinds of changes, the easiest for a user first."""

    OTHER_MACHINE = "other-machine"
    FREED_PODS = "freed-pods"
    QUEUE_ORDER = "queue-order"
    POLICY_OR_SCOPE = "policy-or-scope"
    WHOLE_UNITS = "whole-units"
    FEWER_CONTAINERS = "fewer-containers"
    SMALLER_REQUEST = "smaller-request"


class AnswerKind(Enum):
    NO_PREFERENCE = "no-preference"
    IMPOSSIBLE = "impossible"
    SETS = "sets"
    NOTHING_FITS = "nothing-fits"
    """No set fits; the Memory Manager returns no hints, instead of "impossible"."""


class ReasonDocument(OutputDocument):
    """A reason: a stable code, a sentence, and the figures in it by name."""

    code: str
    text: str
    figures: dict[str, Any]


class ExplanationContainerDocument(OutputDocument):
    """A container of the pod; requests are Kubernetes quantities."""

    name: str
    kind: ContainerKind
    requests: dict[str, str]


class PodDocument(OutputDocument):
    """The pod that was decided on.

    ``pod_requests`` are its pod-level requests (spec.resources), if the release uses them.
    """

    namespace: str
    name: str
    uid: str
    qos_class: QosClass
    containers: list[ExplanationContainerDocument]
    pod_requests: dict[str, str] = field(default_factory=dict)


class QueuedDocument(OutputDocument):
    """A pod that the node decided on before this one."""

    name: str
    uid: str
    admitted: bool


class SizesDocument(OutputDocument):
    """One memory type of a NUMA node, before the decision."""

    total_bytes: int
    allocatable_bytes: int
    reserved_bytes: int
    free_bytes: int


class ExplanationCpusDocument(OutputDocument):
    """CPUs of a NUMA node: the number that containers can get exclusively, and lists of CPUs.

    ``free`` are the CPUs that no container has, ``reserved`` those reserved for the system.
    """

    allocatable: int
    free: str
    reserved: str


class ExplanationDevicesDocument(OutputDocument):
    """The numbers of devices of a resource on a NUMA node."""

    total: int
    free: int


class ExplanationNodeDocument(OutputDocument, rename={"node_class": "class"}):
    """A NUMA node before the decision; ``group`` are the nodes of its group, itself included.

    ``types`` is empty without a Memory Manager policy, ``cpus`` is null if the node has no
    exclusive CPUs.
    """

    node: int
    node_class: NodeClass
    group: list[int]
    types: dict[str, SizesDocument]
    cpus: ExplanationCpusDocument | None
    devices: dict[str, ExplanationDevicesDocument]


class HeldDocument(OutputDocument):
    """Memory that a pod holds on a set of NUMA nodes, before the decision."""

    nodes: list[int]
    pod: str
    type: str
    size_bytes: int


class ExplanationHolderDocument(OutputDocument):
    """A container that holds memory on the group that a reason is about."""

    pod: str
    container: str


class SetDocument(OutputDocument, omit_defaults=True):
    """A set of NUMA nodes: ``preferred`` is null if the set is not offered, or unknown.

    ``brief`` is a short reason why it is not offered; ``held_by`` are the containers that use it.
    """

    nodes: list[int]
    offered: bool
    preferred: bool | None
    why_not: ReasonDocument | None = None
    brief: str | None = None
    held_by: list[ExplanationHolderDocument] | None = None


class AnswerDocument(OutputDocument):
    """The answer of one manager, for all resources that share it.

    ``all_sets`` is false on machines with too many NUMA nodes to list every set.
    ``why_not_preferred`` is null if every offered set is preferred.
    """

    provider: str
    resources: list[str]
    answer: AnswerKind
    reason: ReasonDocument | None
    sets: list[SetDocument]
    all_sets: bool
    why_not_preferred: str | None


class ExplanationHintDocument(OutputDocument):
    """A set of NUMA nodes, null for any node, and whether it is preferred."""

    nodes: list[int] | None
    preferred: bool


class ExplanationMergedDocument(OutputDocument):
    """The merged hint of the policy; ``bounded``: the search stopped at its limit."""

    nodes: list[int] | None
    preferred: bool
    admit: bool
    bounded: bool


class SubjectDocument(OutputDocument):
    """The unit of one alignment: the name of a container, or ``pod``.

    ``finalists`` are the results that the merge compared, best first; null if they are too many.
    ``wanted_size`` is the number of NUMA nodes that the neediest resource needs. ``by_distance``
    is true if sets of equal size are compared by distance.
    """

    subject: str
    answers: list[AnswerDocument]
    finalists: list[ExplanationHintDocument] | None
    wanted_size: int | None
    by_distance: bool | None
    merged: ExplanationMergedDocument


class ExplanationBlockDocument(OutputDocument):
    """Memory that was allocated."""

    nodes: list[int]
    type: str
    size_bytes: int


class AllocatedDocument(OutputDocument):
    """The allocation of a container: CPUs as lists by NUMA node, device ids by resource.

    ``chosen_among`` is set if the Memory Manager chose the nodes by itself.
    """

    container: str
    memory: list[ExplanationBlockDocument]
    cpus_by_node: dict[str, str]
    devices: dict[str, list[str]]
    chosen_among: AnswerDocument | None


class RefusalDocument(OutputDocument):
    """The allocation that was refused."""

    container: str
    provider: str
    reason: ReasonDocument
    chosen_among: AnswerDocument | None


class OfferDocument(OutputDocument, omit_defaults=True):
    """A change that admits or aligns the pod: its NUMA nodes, and the pods rejected instead.

    With ``start_error``, the kubelet would not start after the change.
    """

    code: str
    text: str
    figures: dict[str, Any]
    nodes: list[int] | None = None
    lost: list[str] | None = None
    start_error: str | None = None


class CategoryDocument(OutputDocument):
    """One kind of change: the number of tries, and the changes that admit or align the pod."""

    category: Category
    tried: int
    ended_early: bool
    offers: list[OfferDocument]
    would_not_start: list[OfferDocument]


class KeptCpusDocument(OutputDocument):
    """CPUs in the record of an ended init container that its pod does not use."""

    pod: str
    container: str
    cpus: str


class Explanation(OutputDocument):
    """One decision, its steps, and the changes that would admit or align the pod.

    ``first_line`` is the first line of ``numalet explain``. ``cause`` names the amounts that were
    missing and the NUMA nodes; it is empty for a pod that is admitted and aligned.

    ``replay_refused`` are pods of the queue that numalet rejects. If they run on the node, its
    real state differs from the state that this answer is based on.

    ``would_admit`` is empty for an admitted pod, and ``would_align`` for a rejected or aligned
    one. ``nodes`` is empty for a pod that is rejected or not bound to NUMA nodes. ``stranded``
    are unused CPUs of running pods. ``evicted`` are uids of pods that end for a critical pod.
    ``not_asked`` are predicates that numalet could not evaluate for lack of data. ``passed_over``
    are extended resources that the node does not have. ``assumed_running`` is the number of pods
    that are listed only in the state files. ``contradiction`` explains why this configuration
    cannot lead to the reason in the pod's status; it is empty if it can. ``requests`` says what
    all pods before this one request of the node, whatever NUMA nodes they are on.
    """

    schema: Literal["numalet.explanation/2"]
    pod: PodDocument
    mode: Mode
    release: str
    policy: TopologyPolicy
    scope: Scope
    queue: list[QueuedDocument]
    replay_refused: list[RefusedDocument]
    admitted: bool
    reason: str
    message: str
    why: ReasonDocument | None
    evicted: list[str]
    not_asked: list[NotAskedDocument]
    passed_over: list[str]
    nodes: list[int]
    nodes_before: list[ExplanationNodeDocument]
    held_before: list[HeldDocument]
    subjects: list[SubjectDocument]
    allocated: list[AllocatedDocument]
    refused_allocation: RefusalDocument | None
    would_admit: list[CategoryDocument]
    would_align: list[CategoryDocument]
    stranded: list[KeptCpusDocument]
    assumed_running: int
    contradiction: str
    cause: str = ""
    first_line: str = ""
    requests: str = ""


class ExplanationNotStartedDocument(OutputDocument):
    """The kubelet would not start and makes no decision."""

    schema: Literal["numalet.explanation/2"]
    release: str
    start_error: str
    start_error_stage: str


def reason_of(reason: Reason) -> ReasonDocument:
    figures = {name: _figure(name, value) for name, value in explanations.fields_of(reason).items()}
    return ReasonDocument(reason.code, explanations.of_reason(reason), figures)


def _figure(name: str, value: Any) -> Any:
    match value:
        case Hint():
            return hint_of(value)
        case Quantity():
            return str(value)
        case Reason():
            return reason_of(value)
        # Fields of reasons with these names are NUMA masks, other integers are amounts.
        case int() if name in ("mask", "group", "best", "affinity", "nodes"):
            return list(numa_mask.ids(value))
        case tuple():
            return list(value)
        case _:
            return value


def hint_of(hint: Hint) -> ExplanationHintDocument:
    nodes = None if hint.mask is None else list(numa_mask.ids(hint.mask))
    return ExplanationHintDocument(nodes, hint.preferred)
