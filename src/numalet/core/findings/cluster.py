"""Findings about nodes of a cluster: missing and contradictory data."""

from __future__ import annotations

from numalet.core.model.findings import Finding, NoteFinding, WarningFinding


class ClusterNodeWithoutClass(Finding):
    sentence = (
        "it has no NumaNode object that can be read, and nothing says of which machine and"
        " configuration it is"
    )
    why = (
        "A Node object has sums alone. Where a pod fits depends on NUMA nodes, CPUs and the"
        " kubelet's configuration."
    )
    mend = "run numalet publish on the node, or give its machine and configuration with --class"
    node: str


class ClusterOnlySums(Finding):
    sentence = (
        "its NodeResourceTopology has what is free in {zones}"
        " ({attributes}), but neither which CPUs and devices that is nor groups of NUMA nodes,"
        " reserved memory, or who holds what"
    )
    why = "A kubelet's admission can not be worked out from what a NodeResourceTopology has."
    mend = "run numalet publish on the node, or give its machine and configuration with --class"
    node: str
    zones: str
    attributes: str


class ClusterClassUnknown(Finding):
    sentence = "its class {name} is not among the NumaNodeClasses"
    mend = "add numanodeclasses to what kubectl gets"
    node: str
    name: str


class ClusterClassDoesNotStart(Finding):
    sentence = "a kubelet of its class would not start: {problem}"
    node: str
    problem: str


class ClusterReleaseUnknown(Finding):
    sentence = "the release of its kubelet {version!r} is not known here, and its class names none"
    mend = "give a release in the class file"
    node: str
    version: str


class ClusterPodRefusedNow(NoteFinding):
    sentence = "{pod} runs, but would be refused now ({reason}); it counts as holding nothing"
    why = "What it came to find was shaped by pods that are gone."
    pod: str
    reason: str


class ClusterAmountsDerived(NoteFinding):
    sentence = (
        "the status of some of its pods has no allocatedResources: what these hold is derived from"
        " their requests"
    )


class ClusterUnreadPods(WarningFinding):
    sentence = "{count} pods of this node could not be read; it has less room than it seems"
    count: int


class ClusterHoldersUnknown(NoteFinding):
    sentence = (
        "{count} holders in its state are no pods that are known: they count as gone, though they"
        " may have come since"
    )
    count: int


class ClusterOtherSize(WarningFinding):
    sentence = "its class offers {offered} of {resource}, the Node object {allocatable}"
    why = "The class may be another machine's, or the configuration may be an older one."
    resource: str
    offered: str
    allocatable: str


class StateFinding(WarningFinding):
    """A NumaNode contradicts its pods or its class; the node is rebuilt."""


class ClusterStateHolderElsewhere(StateFinding):
    sentence = "not trusted: its state has something for {pod}, which {place}"
    pod: str
    place: str


class ClusterStateHoldsNothing(StateFinding):
    sentence = (
        "not trusted: container {container} of {pod} runs and asks for {asked} of {resource}, but"
        " has none in its state"
    )
    pod: str
    container: str
    resource: str
    asked: int


class ClusterStateOtherAmount(StateFinding):
    sentence = (
        "not trusted: container {container} of {pod} asks for {asked} of {resource}, and has {held}"
        " in its state"
    )
    pod: str
    container: str
    resource: str
    asked: int
    held: int


class ClusterStateOverlap(StateFinding):
    sentence = "not trusted: several hold {resource} {what}"
    resource: str
    what: str


class ClusterStateAbsent(StateFinding):
    sentence = "not trusted: its class has no {resource} {what}"
    resource: str
    what: str


class ClusterStateSum(StateFinding):
    sentence = (
        "not trusted: {resource} of {place} does not add up: {counted} are allocated, and {held}"
        " are held"
    )
    resource: str
    place: str
    counted: int
    held: int


class ClusterStateCpusLost(StateFinding):
    sentence = "not trusted: CPUs {cpus} are neither shared nor held"
    cpus: str
