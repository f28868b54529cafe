"""Findings on the input and the faults of hollow nodes."""

from __future__ import annotations

from numalet.core.model.findings import Finding, WarningFinding


class HollowPodRunTime(WarningFinding):
    sentence = "the annotation {name} has the value {value!r}, which is no duration such as 90s"
    why = "How long the containers of a pod on a hollow node run is said by its annotations."
    mend = "Write a duration such as 90s, 5m or 1h30m; numalet.dev/runs-for may also be 'forever'."
    name: str
    value: str


class HollowPodExitCode(WarningFinding):
    sentence = "the annotation numalet.dev/exit-code has the value {value!r}"
    why = "A container ends with a number from 0 to 255."
    mend = "Write a number from 0 to 255."
    value: str


class HollowNodesCount(Finding):
    sentence = "{value} nodes can not be made; write a number from 1 to {most}"
    mend = "Ask for fewer nodes, or run several commands with names of their own (--name-prefix)."
    value: int
    most: int


class HollowNamePrefix(Finding):
    sentence = (
        "{value!r} makes no names of nodes; write lower-case letters, digits, '-' and '.', such as"
        " 'hollow'"
    )
    why = (
        "A node's name has lower-case letters, digits, '-' and '.', and begins with one of the "
        "first two."
    )
    mend = "Write something like 'hollow'."
    value: str


class HollowPool(Finding):
    sentence = "{value!r} is no value of a label"
    mend = "Write up to 63 letters, digits, '-', '_' and '.', the first and last a letter or digit."
    value: str


class HollowFault(Finding):
    sentence = "{value!r} does not say which node fails, and when; write NODE@TIME, as hollow-7@30s"
    mend = "Write NODE@TIME, such as hollow-7@30s: the time counts from when all nodes are there."
    value: str


class HollowFaultNode(Finding):
    sentence = "{value!r}: there is no node {node!r} among {first} to {last}"
    value: str
    node: str
    first: str
    last: str


class HollowNodeExists(Finding):
    sentence = "a node {node!r} is there already, and no hollow one"
    why = "A hollow node in the place of a real one would take over its lease and its pods."
    mend = "Choose another --name-prefix."
    node: str


class HollowStartRefused(Finding):
    sentence = "a kubelet of release {release} does not start on {machine}: {why_not}"
    why = "A hollow node starts only where its kubelet would."
    mend = "Correct the configuration: 'numalet check' with the same options says more."
    release: str
    machine: str
    why_not: str


class HollowEvents(Finding):
    sentence = "{value!r} is not one of all, warnings, none"
    value: str


class HollowTime(Finding):
    sentence = "{value!r} is no time; write a duration such as 30s, 5m or 1h30m"
    mend = "Write a duration such as 30s, 5m or 1h30m."
    value: str


class HollowApi(Finding):
    sentence = "the API server refuses, or gives no answer: {problem}"
    why = "Hollow nodes are made of what it stores."
    problem: str
