"""The effect of each field of a pod in the agent, in the words of the documentation.

A field without a row has the use of the field that contains it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from numalet.io.documents.pods.pod_table.kinds import FieldUse, Use

_UNPROTECTED: Final = "The program runs on the host, without a container around it."
_USER: Final = (
    "The id of the user; the agent's own by default. HOME and USER come from the "
    "user's entry in the system's user database."
)
_GROUP: Final = (
    "The id of the group. By default a user has the group and the supplementary "
    "groups of its entry in the system's user database, or group 65534 without an "
    "entry. Only root has group 0 by default."
)


def honoured(words: str, *, rule: str = "") -> Use:
    return Use(FieldUse.HONOURED, words, rule)


def kept(words: str = "") -> Use:
    return Use(FieldUse.KEPT, words)


def warned(words: str) -> Use:
    return Use(FieldUse.WARNED, words)


def ignored(words: str = "") -> Use:
    return Use(FieldUse.IGNORED, words)


def refused(instead: str, words: str) -> Use:
    return Use(FieldUse.REFUSED, words, instead=instead)


_USES: Final[Mapping[str, Mapping[str, Use]]] = {
    "Pod": {
        "apiVersion": honoured("v1."),
        "kind": honoured("Pod."),
        "metadata": honoured("Labels and annotations may change while the pod lives."),
        "spec": honoured("Only images and added tolerations may change while the pod lives."),
        "status": kept("Written by the agent."),
    },
    "ObjectMeta": {
        "annotations": honoured(
            "256 KiB at most, names and values together; they may change while the pod lives."
        ),
        "creationTimestamp deletionGracePeriodSeconds deletionTimestamp": kept(
            "The agent sets it and ignores your value."
        ),
        "finalizers": kept("Deletion does not wait for them."),
        "generateName": honoured(
            "The prefix of the name that the agent generates for a pod without a name."
        ),
        "generation selfLink": kept(),
        "labels": honoured(
            "Names and values follow the rules of Kubernetes; they may change while the pod lives."
        ),
        "managedFields": kept("The agent drops it."),
        "name": honoured("Unique among the pods of a namespace."),
        "namespace": honoured("Any name, default if empty. A namespace exists while it has pods."),
        "ownerReferences": kept("The pod stays when its owner is deleted."),
        "resourceVersion": honoured(
            "Differs after each change of the pod. A change that names an older one is refused."
        ),
        "uid": honoured(
            "Your value, or a generated one. File names contain it: letters, digits, - "
            "and single ., 253 characters at most."
        ),
    },
    "PodSpec": {
        "activeDeadlineSeconds": refused(
            "a command that ends itself, for example with timeout(1)",
            "The agent does not end pods at a deadline.",
        ),
        "affinity": honoured(
            (
                "A pod whose required node affinity the node does not match is rejected as "
                "NodeAffinity. The agent ignores the rest."
            ),
            rule="constraints_are_asked",
        ),
        (
            "automountServiceAccountToken enableServiceLinks preemptionPolicy setHostnameAsFQDN"
        ): kept(),
        "containers": honoured("They run in parallel, after all initContainers."),
        (
            "dnsConfig dnsPolicy evictionResponders hostAliases hostname hostnameOverride "
            "imagePullSecrets readinessGates runtimeClassName schedulerName schedulingGroup "
            "serviceAccount serviceAccountName subdomain topologySpreadConstraints "
            "workloadRef"
        ): ignored(),
        "ephemeralContainers": refused("an ordinary container", "The agent does not run them."),
        "hostIPC hostNetwork hostPID shareProcessNamespace": kept(
            "True of every program of the host."
        ),
        "hostUsers": warned("With false: the agent does not create the user namespace."),
        "initContainers": honoured(
            "They run in order, before the containers; one with restartPolicy Always keeps running."
        ),
        "nodeName": honoured("The agent sets this node and ignores your value."),
        "nodeSelector": honoured(
            "A pod that selects labels which the node lacks is rejected as NodeAffinity.",
            rule="constraints_are_asked",
        ),
        "os": honoured("A pod for another system than Linux is rejected."),
        "overhead": honoured("Added to the requests of the containers."),
        "priority": honoured(
            "From 2000000000 on the pod is critical: the agent evicts other pods to make "
            "room for it.",
            rule="critical_pods_evict",
        ),
        "priorityClassName": honoured(
            "With system-node-critical the kernel kills the pod last when memory is short."
        ),
        "resourceClaims": refused(
            "devices by resource name under limits",
            "The agent does not allocate claims; request devices by resource name.",
        ),
        "resources": kept(
            "Requests and limits of the whole pod. They apply if the release and its "
            "feature gates allow it, by default from v1.34 on; else a note says so."
        ),
        "restartPolicy": honoured("Always by default."),
        "schedulingGates": refused(
            "a pod without gates, because nothing here removes them",
            "The pod must not run yet, and the agent never removes gates.",
        ),
        "securityContext": honoured("Applies to containers without these settings."),
        "terminationGracePeriodSeconds": honoured(
            "From SIGTERM to SIGKILL; 30 by default, 2147483647 at most."
        ),
        "tolerations": kept("You may add tolerations while the pod lives."),
        "volumes": ignored("The agent mounts nothing."),
    },
    "Container": {
        "args": honoured("Arguments after the words of command."),
        "command": honoured(
            "The program and its first arguments. A container needs command or args. "
            "$(NAME) stands for a variable of env, $$ for $."
        ),
        "env": honoured("In the order of the manifest; every variable needs a value."),
        "envFrom": refused("variables under env", "The agent has no config maps and secrets."),
        "image": ignored("Stored and shown. It may change while the pod lives."),
        (
            "imagePullPolicy resizePolicy stdin stdinOnce terminationMessagePath "
            "terminationMessagePolicy tty"
        ): ignored(),
        "lifecycle": refused(
            "a command that does the work of the hook",
            "The agent runs no hooks, so the program could not rely on them.",
        ),
        "livenessProbe readinessProbe startupProbe": warned(
            "A container is started and ready as soon as it runs."
        ),
        "name": honoured("Unique among the containers of a pod."),
        "ports": honoured(
            "A hostPort is a port of the host: a pod whose hostPort is in use is rejected.",
            rule="constraints_are_asked",
        ),
        "resources": honoured("Validated as by the API server."),
        "restartPolicy": honoured(
            "Init containers may have Always: they keep running with the others. On "
            "another container the field is refused."
        ),
        "restartPolicyRules": refused(
            "the restartPolicy of the pod", "The agent follows only the restart policy of the pod."
        ),
        "securityContext": honoured("It overrides the securityContext of the pod, field by field."),
        "volumeDevices volumeMounts": refused(
            "the path of the host in the command",
            "The program would see the host's own files at that path.",
        ),
        "workingDir": honoured("An absolute path of the host."),
    },
    "EnvVar": {
        "name": honoured("Letters, digits, _, - and ., not beginning with a digit."),
        "value": honoured("$(NAME) stands for a variable defined before this one."),
        "valueFrom": refused(
            "a value",
            "The agent has no config maps and secrets, and does not read fields.",
        ),
    },
    "ContainerPort": {
        "hostPort": honoured(
            "With hostNetwork: true, containerPort is a port of the host too.",
            rule="constraints_are_asked",
        ),
    },
    "ResourceRequirements": {
        "claims": refused(
            "devices by resource name under limits",
            "The agent does not allocate claims; request devices by resource name.",
        ),
        "limits": honoured(
            "By resource: cpu, memory, hugepages-SIZE, or a device such as example.com/gpu."
        ),
        "requests": honoured(
            "By default equal to the limits. If they equal the limits in every container, "
            "the pod is Guaranteed: it gets whole CPUs exclusively and memory on chosen "
            "NUMA nodes."
        ),
    },
    "SecurityContext": {
        (
            "allowPrivilegeEscalation appArmorProfile capabilities privileged procMount "
            "readOnlyRootFilesystem seLinuxOptions seccompProfile windowsOptions"
        ): warned(_UNPROTECTED),
        "runAsGroup": honoured(_GROUP),
        "runAsNonRoot": honoured("The agent refuses a container that would run as root."),
        "runAsUser": honoured(_USER),
    },
    "PodSecurityContext": {
        (
            "appArmorProfile fsGroup fsGroupChangePolicy seLinuxChangePolicy seLinuxOptions "
            "seccompProfile supplementalGroups supplementalGroupsPolicy sysctls "
            "windowsOptions"
        ): warned(_UNPROTECTED),
        "runAsGroup": honoured(_GROUP),
        "runAsNonRoot": honoured("The agent refuses a container that would run as root."),
        "runAsUser": honoured(_USER),
    },
    "PodStatus": {
        "phase": kept(),
        "qosClass": kept("Only Guaranteed pods get exclusive CPUs and memory."),
        "reason": kept("The reason of a rejection, such as TopologyAffinityError."),
    },
}

USES: Final[Mapping[str, Use]] = {
    f"{name}.{field}": use
    for name, uses in _USES.items()
    for fields, use in uses.items()
    for field in fields.split()
}
"""By type and field."""

WORDS: Final[Mapping[str, str]] = {
    "Pod": "Programs of the host that start together, pinned to CPUs and memory.",
    "ObjectMeta": "The name of an object, and notes about it.",
    "PodSpec": (
        "The programs and their requests. The agent decides once, when it receives the pod."
    ),
    "Affinity": "The agent checks required node affinity; the rest is for schedulers.",
    "Container": "One program of the host, without an image, network or file system of its own.",
    "EnvVar": "A variable of the program's environment.",
    "ContainerPort": "A port; only one pod of the node may use each hostPort.",
    "ResourceRequirements": "CPUs, memory, huge pages, devices; a request defaults to its limit.",
    "SecurityContext": "The user and group of the program.",
    "EphemeralContainer": "A container for inspecting the others; the agent runs none.",
    "PodSecurityContext": "The user and group of programs whose containers do not set them.",
    "Toleration": "Stored and shown; this node has no taints.",
    "PodStatus": "The decision about the pod, and its state since then.",
}
"""The purpose of each type of object for the agent."""
