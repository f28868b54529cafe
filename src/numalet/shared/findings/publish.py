"""Findings about publishing a node's objects."""

from __future__ import annotations

from numalet.core.model.findings import Finding, NoteFinding, WarningFinding


class PublishRefused(WarningFinding):
    code = "publish/refused"
    sentence = "the API server refused an object of this node: {problem}"
    problem: str
    why = "schedulers and numalet fleet go on with what was published before"
    fix = (
        "403: grant the verbs of packaging/kubernetes; 404: create the definitions of NumaNode,"
        " NumaNodeClass and NodeResourceTopology; numalet doctor cluster says what is missing"
    )


class PublishUnreachable(WarningFinding):
    code = "publish/unreachable"
    sentence = "the API server can not be reached: {problem}"
    problem: str
    why = "the objects of this node stay as they are, and grow old"


class PublishCurrentAgain(NoteFinding):
    code = "publish/current-again"
    sentence = "{what} of this node is written again"
    what: str


class PublishForeignZones(WarningFinding):
    code = "publish/foreign-zones"
    sentence = "another publisher writes the NodeResourceTopology of {node}: {problem}"
    node: str
    problem: str
    why = "two publishers of one object undo each other's writes, and schedulers see both in turn"
    fix = "stop the other one on this node, or give --take-over; or leave it with --no-topology"


class PublishNoConfiguration(WarningFinding):
    code = "publish/no-configuration"
    sentence = "nothing is published: the configuration of the kubelet of {root} is not known"
    root: str
    fix = "run it where the kubelet's process can be seen, or give its configuration with -c"


class PublishNotReadable(WarningFinding):
    code = "publish/not-readable"
    sentence = "nothing is published: no kubelet would start with these state files: {problem}"
    problem: str
    why = "the state of the node can not be known from them; what was published before stays"


class PublishNoPodResources(WarningFinding):
    code = "publish/no-pod-resources"
    sentence = (
        "the PodResources API of the kubelet does not answer, so devices are unknown and no"
        " NodeResourceTopology is written: {problem}"
    )
    problem: str
    why = "where it answered before, what was published then stays until it answers again"


class PublishNodeUnknown(WarningFinding):
    code = "publish/node-unknown"
    sentence = "the Node object of {node} can not be read: {problem}"
    node: str
    problem: str
    why = "what is published has no owner then, and stays when the Node is deleted"
    fix = "give the Node's name with --node-name, and the verb get for nodes"


class PublishNothing(Finding):
    code = "publish/nothing"
    sentence = "there is nothing to publish of this node yet"


class PublishMetricsAddress(Finding):
    code = "publish/metrics-address"
    sentence = "metrics can not be served at {value}: {problem}"
    value: str
    problem: str
    fix = "name a free port, as 9090 or 0.0.0.0:9090"


class PublishEnded(WarningFinding):
    code = "publish/ended"
    sentence = "the agent publishes nothing any more; its pods are not affected"
    fix = "fix what was said before, and start the agent again"
