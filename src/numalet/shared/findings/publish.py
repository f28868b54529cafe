"""Findings about publishing a node's objects."""

from __future__ import annotations

from numalet.core.model.findings import NoteFinding, WarningFinding


class PublishRefused(WarningFinding):
    code = "publish/refused"
    sentence = "the API server refused an object of this node: {problem}"
    problem: str
    why = "schedulers and numalet fleet continue to use the previous objects"
    fix = (
        "403: grant the verbs of packaging/kubernetes; 404: create the definitions of NumaNode,"
        " NumaNodeClass and NodeResourceTopology; numalet doctor cluster says what is missing"
    )


class PublishUnreachable(WarningFinding):
    code = "publish/unreachable"
    sentence = "the API server cannot be reached: {problem}"
    problem: str
    why = "the objects of this node are not updated until the API server answers"


class PublishCurrentAgain(NoteFinding):
    code = "publish/current-again"
    sentence = "{what} of this node is written successfully again"
    what: str


class PublishForeignZones(WarningFinding):
    code = "publish/foreign-zones"
    sentence = "another publisher writes the NodeResourceTopology of {node}: {problem}"
    node: str
    problem: str
    why = "two publishers of one object undo each other's writes, and schedulers see both in turn"
    fix = "stop the other publisher on this node, pass --take-over, or pass --no-topology"


class PublishForeignAnnotations(WarningFinding):
    code = "publish/foreign-annotations"
    sentence = "another publisher writes the annotations of KAI on {pod}: {problem}"
    pod: str
    problem: str
    why = "two publishers of one annotation undo each other's writes"
    fix = (
        "disable KAI's own exporter (numaPlacementExporter.service.enabled: false in its Config),"
        " or leave out --kai; --take-over takes over what a stopped exporter has left"
    )


class PublishReleaseUnknown(WarningFinding):
    code = "publish/release-unknown"
    sentence = (
        "the kubelet is {version}, and numalet knows only {known}: CPUs, memory and devices are"
        " published with release {release}; its state files are read by the rules of release"
        " {nearest}"
    )
    version: str
    release: str
    nearest: str
    known: str
    why = (
        "the rules of the kubelet's own release are unknown, so the scheduler extender and numalet"
        " fleet make no decision about a node of this release"
    )
    fix = "install a numalet that knows the release, on this node and for the extender"


class PublishNoPodResources(WarningFinding):
    code = "publish/no-pod-resources"
    sentence = (
        "the PodResources API of the kubelet does not answer, so devices are unknown and no"
        " NodeResourceTopology is written: {problem}"
    )
    problem: str
    why = "objects that were published before are not changed until it answers again"


class PublishEnded(WarningFinding):
    code = "publish/ended"
    sentence = "the agent publishes nothing any more; its pods are not affected"
    fix = "fix the problem in the previous message, and restart the agent"
