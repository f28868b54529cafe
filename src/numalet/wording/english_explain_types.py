"""What ``kubectl explain`` says of a Pod's types and members: how they are taken here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

REFUSED: Final = "Refused: the program would do something else than its author meant."
WARNED: Final = "The pod runs, but nobody keeps what this promises; creating it warns of that."
IGNORED: Final = "Ignored: it means nothing to a program of the host."

TYPES: Final[Mapping[str, str]] = {
    "Pod": "Programs of the host that are started together, pinned to CPUs and memory.",
    "PodList": "Pods of one moment.",
    "ObjectMeta": "What an object is called, and what is noted about it.",
    "PodSpec": "What is to run, and what it asks for. It is decided on once, when the pod comes.",
    "Container": "One program of the host. It has no image, network or file system of its own.",
    "EnvVar": "A variable of the program's environment.",
    "ResourceRequirements": "CPUs, memory, huge pages and devices; a limit is also the request.",
    "SecurityContext": "As whom the program runs.",
    "PodStatus": "What was decided, and what has happened since.",
    "Object": "An object of some kind.",
    "ObjectList": "Objects of one moment.",
    "Status": "A request that came to nothing, and why.",
}

MEMBERS: Final[Mapping[tuple[str, str], str]] = {
    ("Pod", "metadata"): "Labels and annotations may change while the pod lives.",
    ("Pod", "spec"): "Only images and added tolerations may change while the pod lives.",
    ("Pod", "status"): "Written by the agent.",
    ("ObjectMeta", "name"): "One pod of a namespace has it at a time.",
    ("ObjectMeta", "generateName"): "The beginning of a name that the agent makes.",
    ("ObjectMeta", "namespace"): "Any name; namespaces are there as long as they have pods.",
    ("ObjectMeta", "uid"): "Kept if it is given, else made.",
    ("ObjectMeta", "resourceVersion"): "Another one after each change of the pod.",
    ("PodSpec", "containers"): "They run side by side, after all initContainers.",
    ("PodSpec", "initContainers"): "In order; one with restartPolicy Always stays.",
    ("PodSpec", "restartPolicy"): "Always, unless something else is given.",
    ("PodSpec", "terminationGracePeriodSeconds"): "From SIGTERM to SIGKILL; 30 by default.",
    ("PodSpec", "priorityClassName"): (
        "With system-node-critical the pod is killed last when memory is short."
    ),
    ("PodSpec", "overhead"): "Added to what the containers ask for.",
    ("PodSpec", "nodeName"): "This node, whatever is given.",
    ("PodSpec", "securityContext"): "For containers that say nothing themselves.",
    ("PodSpec", "tolerations"): "Kept and shown; more of them may be added.",
    ("Container", "command"): "Words of the program; args come behind. One of both is needed.",
    ("Container", "args"): "Words behind those of command.",
    ("Container", "env"): "Variables with a value; there is nothing else to take one from.",
    ("Container", "workingDir"): "An absolute path of the host.",
    ("Container", "restartPolicy"): "Of an init container: it stays while the others run.",
    ("Container", "image"): "Kept and shown, otherwise ignored. It may change.",
    ("ResourceRequirements", "limits"): (
        "By resource: cpu, memory, hugepages-SIZE, or a device such as example.com/gpu."
    ),
    ("ResourceRequirements", "requests"): (
        "With requests equal to limits in every container the pod is Guaranteed: whole CPUs are"
        " its own, and its memory has a place."
    ),
    ("SecurityContext", "runAsUser"): "The user's id; the agent's own by default.",
    (
        "SecurityContext",
        "runAsGroup",
    ): "The group's id; by default the one of runAsUser's entry, or the agent's own.",
    ("SecurityContext", "runAsNonRoot"): "Refuses a container that would run as root.",
    ("PodStatus", "reason"): "Why the pod was refused, such as TopologyAffinityError.",
    ("PodStatus", "qosClass"): "Guaranteed pods alone get memory and CPUs of their own.",
}
