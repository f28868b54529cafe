"""Findings about nodes of a cluster: missing and contradictory data."""

from __future__ import annotations

from numalet.core.model.findings import Finding, NoteFinding, WarningFinding


class ClusterNodeWithoutClass(Finding):
    sentence = "it has no readable NumaNode object, and its machine and configuration are unknown"
    why = (
        "A Node object has only sums. Whether a pod fits depends on NUMA nodes, CPUs and the "
        "kubelet's configuration."
    )
    fix = "run numalet publish on the node, or give its machine and configuration with --class"
    node: str


class ClusterOnlySums(Finding):
    sentence = (
        "its NodeResourceTopology has the free amounts of {zones} ({attributes}), but no CPUs, "
        "devices, groups of NUMA nodes, reserved memory or allocations of single pods"
    )
    why = "A NodeResourceTopology has too little data to predict a kubelet's admission."
    fix = "run numalet publish on the node, or give its machine and configuration with --class"
    node: str
    zones: str
    attributes: str


class ClusterClassBlank(Finding):
    sentence = "its pool {pool!r} of the class file has no {blank}"
    why = "A field without a value is not known, and numalet does not guess it."
    fix = "fill in the blank field of the class file"
    node: str
    pool: str
    blank: str


class ClusterClassUnknown(Finding):
    sentence = "its class {name} is not among the NumaNodeClasses"
    fix = "add numanodeclasses to what kubectl gets"
    node: str
    name: str


class ClusterClassDoesNotStart(Finding):
    sentence = "a kubelet of its class would not start: {problem}"
    node: str
    problem: str


class ClusterReleaseUnknown(Finding):
    sentence = (
        "its kubelet's release {version!r} is unknown to numalet, and its class does not set one"
    )
    fix = "set a release in the class file"
    node: str
    version: str


class ClusterPodRefusedNow(NoteFinding):
    sentence = "{pod} runs, but would be rejected now ({reason}); treated as having no allocation"
    why = "Pods deleted since then influenced its placement."
    pod: str
    reason: str


class ClusterAmountsDerived(NoteFinding):
    sentence = (
        "the status of some of its pods has no allocatedResources: their allocations are derived "
        "from their requests"
    )


class ClusterUnreadPods(WarningFinding):
    sentence = "{count} pods of this node could not be read; its free resources are overestimated"
    count: int


class ClusterHoldersUnknown(NoteFinding):
    sentence = "its state lists {count} unknown pods; treated as deleted, though they may be new"
    count: int


class ClusterOtherSize(WarningFinding):
    sentence = (
        "its class offers {offered} of {resource}, the Node object {allocatable}: the smaller "
        "amount counts as allocatable"
    )
    why = "The class may be that of another machine, or the configuration may be outdated."
    fix = "correct the machine or the reserved amounts of the class"
    resource: str
    offered: str
    allocatable: str


class StateFinding(WarningFinding):
    """A NumaNode contradicts its pods or its class; the node is rebuilt."""


class ClusterStateHolderElsewhere(StateFinding):
    sentence = "not trusted: its state has an allocation for {pod}, which {place}"
    pod: str
    place: str


class ClusterStateHoldsNothing(StateFinding):
    sentence = (
        "not trusted: container {container} of {pod} runs and requests {asked} of {resource}, but "
        "its state has no allocation for it"
    )
    pod: str
    container: str
    resource: str
    asked: int


class ClusterStateOtherAmount(StateFinding):
    sentence = (
        "not trusted: container {container} of {pod} requests {asked} of {resource}, but its state "
        "has {held}"
    )
    pod: str
    container: str
    resource: str
    asked: int
    held: int


class ClusterStateOverlap(StateFinding):
    sentence = "not trusted: several pods hold {resource} {what}"
    resource: str
    what: str


class ClusterStateAbsent(StateFinding):
    sentence = "not trusted: its class has no {resource} {what}"
    resource: str
    what: str


class ClusterStateSum(StateFinding):
    sentence = (
        "not trusted: {resource} of {place} does not add up: {counted} are allocated, but pods "
        "hold {held}"
    )
    resource: str
    place: str
    counted: int
    held: int


class ClusterStateCpusLost(StateFinding):
    sentence = "not trusted: CPUs {cpus} are neither in the shared pool nor allocated"
    cpus: str
