"""The fields of an explanation: what ``numalet explain -o json`` prints.

``explanation_document`` and ``explanation_nodes`` build it; an agent sends it to commands.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from numalet.core.config.behaviour import Mode
from numalet.core.config.rules import Scope, TopologyPolicy
from numalet.core.model.machine_queries import NodeClass
from numalet.core.model.pod import ContainerKind, QosClass
from numalet.insight.explain.considered_sets import AnswerKind
from numalet.insight.explain.tally import Category
from numalet.insight.output.json_schema import OutputDocument
from numalet.insight.output.simulation_types import NotAskedDocument, RefusedDocument


class ReasonDocument(OutputDocument):
    """Why: a stable code, a sentence, and the figures in it by name."""

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

    ``pod_requests`` is what it asks for as a whole (spec.resources), where that counts.
    """

    namespace: str
    name: str
    uid: str
    qos_class: QosClass
    containers: list[ExplanationContainerDocument]
    pod_requests: dict[str, str] = msgspec.field(default_factory=dict)


class QueuedDocument(OutputDocument):
    """A pod that asked before it."""

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
    """CPUs of a NUMA node that a container can have for itself; ``free`` is a list of them.

    ``reserved`` is a list of those that are reserved for the system.
    """

    allocatable: int
    free: str
    reserved: str


class ExplanationDevicesDocument(OutputDocument):
    """How many devices of a resource a NUMA node has."""

    total: int
    free: int


class ExplanationNodeDocument(OutputDocument, rename={"node_class": "class"}):
    """A NUMA node before the decision; ``group`` are the nodes of its group, itself included.

    ``types`` is empty where no manager keeps account of memory, ``cpus`` null where no CPU of the
    node is given away alone.
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
    """A set of NUMA nodes: ``preferred`` is null where it is not offered, or not known.

    ``brief`` says in few words why it is not offered, and who holds it then.
    """

    nodes: list[int]
    offered: bool
    preferred: bool | None
    why_not: ReasonDocument | None = None
    brief: str | None = None
    held_by: list[ExplanationHolderDocument] | None = None


class AnswerDocument(OutputDocument):
    """What one manager answered for resources that share an answer.

    ``all_sets`` is false on machines with too many NUMA nodes to list every set.
    ``why_not_preferred`` is null where every set that is offered is preferred.
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
    """What the policy made of the hints; ``bounded`` says that the search was cut short."""

    nodes: list[int] | None
    preferred: bool
    admit: bool
    bounded: bool


class SubjectDocument(OutputDocument):
    """What was aligned as one: a container by name, or ``pod``.

    ``finalists`` are the results that the merge compared, best first; null where they are too
    many. ``wanted_size`` is how many NUMA nodes the neediest resource needs; ``by_distance`` says
    whether they are compared by distance too.
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
    """What a container got: CPUs as lists by NUMA node, device ids by resource.

    ``chosen_among`` is there if the Memory Manager chose the nodes by itself.
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
    """A change that admits or aligns the pod: where it would be, and who would be rejected for it.

    With ``start_error`` it is a change after which the kubelet would not start.
    """

    code: str
    text: str
    figures: dict[str, Any]
    nodes: list[int] | None = None
    lost: list[str] | None = None
    start_error: str | None = None


class CategoryDocument(OutputDocument):
    """One kind of change: how many were tried, and which would have admitted or aligned the pod."""

    category: Category
    tried: int
    ended_early: bool
    offers: list[OfferDocument]
    would_not_start: list[OfferDocument]


class KeptCpusDocument(OutputDocument):
    """CPUs that an init container holds, though the pod's other containers do not use them."""

    pod: str
    container: str
    cpus: str


class Explanation(OutputDocument):
    """One decision, its story, and what would have admitted or aligned the pod.

    ``first_line`` is the first line that ``numalet explain`` prints, ``cause`` what was short on
    which NUMA nodes; it is empty for a pod that is admitted and aligned.

    ``replay_refused`` are the pods of the queue that were rejected when they were asked again: if
    they run on the node, the answer is based on a state that differs from that of the node.

    ``would_admit`` is empty for an admitted pod, ``would_align`` for one that is rejected or
    aligned, ``nodes`` for one that is rejected or bound to no NUMA node. ``stranded`` are CPUs of
    pods that run. ``evicted`` are uids of pods that end for a critical one, ``not_asked``
    predicates that might have refused the pod, had more been known, ``passed_over`` extended
    resources that no node offers. ``assumed_running`` counts pods that only the state files know.
    ``contradiction`` says why the recorded reason of the pod cannot come from this configuration;
    it is empty if it can.
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


class ExplanationNotStartedDocument(OutputDocument):
    """The kubelet would not start, so there is no decision."""

    schema: Literal["numalet.explanation/2"]
    release: str
    start_error: str
    start_error_stage: str


def of(document: Any) -> Explanation:
    """Decode an explanation.

    Raises:
        msgspec.ValidationError: It is another document, or one of another release.
    """
    return msgspec.convert(document, Explanation)
