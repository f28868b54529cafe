"""What is to be said of nodes of a cluster: what they lack, and what contradicts itself."""

from __future__ import annotations

from numalet.core.model.findings import Finding, NoteFinding, WarningFinding


class ClusterNodeWithoutClass(Finding):
    code = "cluster/node-without-class"
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
    code = "cluster/only-sums"
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
    code = "cluster/class-unknown"
    sentence = "its class {name} is not among the NumaNodeClasses"
    mend = "add numanodeclasses to what kubectl gets"
    node: str
    name: str


class ClusterClassDoesNotStart(Finding):
    code = "cluster/class-does-not-start"
    sentence = "a kubelet of its class would not start: {problem}"
    node: str
    problem: str


class ClusterReleaseUnknown(Finding):
    code = "cluster/release-unknown"
    sentence = "the release of its kubelet {version!r} is not known here, and its class names none"
    mend = "give a release in the class file"
    node: str
    version: str


class ClusterPodRefusedNow(NoteFinding):
    code = "cluster/pod-refused-now"
    sentence = "{pod} runs, but would be refused now ({reason}); it counts as holding nothing"
    why = "What it came to find was shaped by pods that are gone."
    pod: str
    reason: str


class ClusterAmountsDerived(NoteFinding):
    code = "cluster/amounts-derived"
    sentence = (
        "the status of some of its pods has no allocatedResources: what these hold is derived from"
        " their requests"
    )


class ClusterUnreadPods(WarningFinding):
    code = "cluster/unread-pods"
    sentence = "{count} pods of this node could not be read; it has less room than it seems"
    count: int


class ClusterHoldersUnknown(NoteFinding):
    code = "cluster/holders-unknown"
    sentence = (
        "{count} holders in its state are no pods that are known: they count as gone, though they"
        " may have come since"
    )
    count: int


class ClusterOtherSize(WarningFinding):
    code = "cluster/other-size"
    sentence = "its class offers {offered} of {resource}, the Node object {allocatable}"
    why = "The class may be another machine's, or the configuration may be an older one."
    resource: str
    offered: str
    allocatable: str


class StateFinding(WarningFinding):
    """Something in a NumaNode that its pods or its class contradict; the node is rebuilt."""


class ClusterStateHolderElsewhere(StateFinding):
    code = "cluster/state-holder-elsewhere"
    sentence = "not trusted: its state has something for {pod}, which {place}"
    pod: str
    place: str


class ClusterStateHoldsNothing(StateFinding):
    code = "cluster/state-holds-nothing"
    sentence = (
        "not trusted: container {container} of {pod} runs and asks for {asked} of {resource}, but"
        " has none in its state"
    )
    pod: str
    container: str
    resource: str
    asked: int


class ClusterStateOtherAmount(StateFinding):
    code = "cluster/state-other-amount"
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
    code = "cluster/state-overlap"
    sentence = "not trusted: several hold {resource} {what}"
    resource: str
    what: str


class ClusterStateAbsent(StateFinding):
    code = "cluster/state-absent"
    sentence = "not trusted: its class has no {resource} {what}"
    resource: str
    what: str


class ClusterStateSum(StateFinding):
    code = "cluster/state-sum"
    sentence = (
        "not trusted: {resource} of {place} does not add up: {counted} are allocated, and {held}"
        " are held"
    )
    resource: str
    place: str
    counted: int
    held: int


class ClusterStateCpusLost(StateFinding):
    code = "cluster/state-cpus-lost"
    sentence = "not trusted: CPUs {cpus} are neither shared nor held"
    cpus: str
