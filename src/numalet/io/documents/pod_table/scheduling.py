"""Where a pod may be."""

from __future__ import annotations

from typing import Final

from numalet.io.documents.pod_table.kinds import (
    COUNT,
    INT32,
    LONG,
    TEXT,
    TEXTS,
    ListOf,
    Whole,
    needed,
    object_type,
    one_of,
    since,
)
from numalet.io.documents.pod_table.metadata import LABEL_SELECTOR

HONOR: Final = one_of("Honor", "Ignore")
WEIGHT: Final = Whole(1, 100)

NODE_SELECTOR_REQUIREMENT: Final = object_type(
    "NodeSelectorRequirement",
    key=needed(TEXT),
    operator=needed(one_of("DoesNotExist", "Exists", "Gt", "In", "Lt", "NotIn")),
    values=TEXTS,
)

NODE_SELECTOR_TERM: Final = object_type(
    "NodeSelectorTerm",
    matchExpressions=ListOf(NODE_SELECTOR_REQUIREMENT),
    matchFields=ListOf(NODE_SELECTOR_REQUIREMENT),
)

PREFERRED_SCHEDULING_TERM: Final = object_type(
    "PreferredSchedulingTerm",
    preference=needed(NODE_SELECTOR_TERM),
    weight=needed(WEIGHT),
)

NODE_SELECTOR: Final = object_type(
    "NodeSelector",
    nodeSelectorTerms=needed(ListOf(NODE_SELECTOR_TERM)),
)

NODE_AFFINITY: Final = object_type(
    "NodeAffinity",
    preferredDuringSchedulingIgnoredDuringExecution=ListOf(PREFERRED_SCHEDULING_TERM),
    requiredDuringSchedulingIgnoredDuringExecution=NODE_SELECTOR,
)

POD_AFFINITY_TERM: Final = object_type(
    "PodAffinityTerm",
    labelSelector=LABEL_SELECTOR,
    matchLabelKeys=TEXTS,
    mismatchLabelKeys=TEXTS,
    namespaceSelector=LABEL_SELECTOR,
    namespaces=TEXTS,
    topologyKey=needed(TEXT),
)

WEIGHTED_POD_AFFINITY_TERM: Final = object_type(
    "WeightedPodAffinityTerm",
    podAffinityTerm=needed(POD_AFFINITY_TERM),
    weight=needed(WEIGHT),
)

POD_AFFINITY: Final = object_type(
    "PodAffinity",
    preferredDuringSchedulingIgnoredDuringExecution=ListOf(WEIGHTED_POD_AFFINITY_TERM),
    requiredDuringSchedulingIgnoredDuringExecution=ListOf(POD_AFFINITY_TERM),
)

POD_ANTI_AFFINITY: Final = object_type(
    "PodAntiAffinity",
    preferredDuringSchedulingIgnoredDuringExecution=ListOf(WEIGHTED_POD_AFFINITY_TERM),
    requiredDuringSchedulingIgnoredDuringExecution=ListOf(POD_AFFINITY_TERM),
)

AFFINITY: Final = object_type(
    "Affinity",
    "Required node affinity is asked; everything else is for schedulers.",
    nodeAffinity=NODE_AFFINITY,
    podAffinity=POD_AFFINITY,
    podAntiAffinity=POD_ANTI_AFFINITY,
)

TOLERATION: Final = object_type(
    "Toleration",
    "Kept and shown; this node has no taints.",
    effect=one_of("NoExecute", "NoSchedule", "PreferNoSchedule"),
    key=TEXT,
    operator=one_of("Equal", "Exists", "Gt", "Lt"),
    tolerationSeconds=LONG,
    value=TEXT,
)

TOPOLOGY_SPREAD_CONSTRAINT: Final = object_type(
    "TopologySpreadConstraint",
    labelSelector=LABEL_SELECTOR,
    matchLabelKeys=TEXTS,
    maxSkew=needed(Whole(1, INT32[1])),
    minDomains=Whole(1, INT32[1]),
    nodeAffinityPolicy=HONOR,
    nodeTaintsPolicy=HONOR,
    topologyKey=needed(TEXT),
    whenUnsatisfiable=needed(one_of("DoNotSchedule", "ScheduleAnyway")),
)

POD_SCHEDULING_GATE: Final = object_type(
    "PodSchedulingGate",
    name=needed(TEXT),
)

WORKLOAD_REFERENCE: Final = object_type(
    "WorkloadReference",
    name=since("1.35", needed(TEXT)),
    podGroup=since("1.35", needed(TEXT)),
    podGroupReplicaKey=since("1.35", TEXT),
)

POD_SCHEDULING_GROUP: Final = object_type(
    "PodSchedulingGroup",
    podGroupName=since("1.36", TEXT),
)

EVICTION_RESPONDER: Final = object_type(
    "EvictionResponder",
    name=since("1.37", needed(TEXT)),
    priority=since("1.37", needed(COUNT)),
)
