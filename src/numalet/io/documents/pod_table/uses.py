"""The use of the fields of a pod: what the agent does with each, in the words of the documentation.

A field without a row has the use of the field that contains it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from numalet.core.model.findings import Finding
from numalet.io.documents.pod_table.kinds import FieldUse, Use
from numalet.io.findings import workloads

_UNPROTECTED: Final = "The program runs on the host without a container around it."
_USER: Final = (
    "The id of the user; that of the agent if none is given. HOME and USER are set "
    "from its entry in the system's user database."
)
_GROUP: Final = (
    "The id of the group. Without it a user has the group and the supplementary "
    "groups of its entry in the system's user database, without an entry group "
    "65534, and never group 0 (root itself excepted)."
)


def honoured(words: str, *, rule: str = "") -> Use:
    return Use(FieldUse.HONOURED, words, rule)


def kept(words: str = "") -> Use:
    return Use(FieldUse.KEPT, words)


def warned(words: str) -> Use:
    return Use(FieldUse.WARNED, words)


def ignored(words: str = "") -> Use:
    return Use(FieldUse.IGNORED, words)


def refused(finding: type[Finding], words: str) -> Use:
    return Use(FieldUse.REFUSED, words, finding=finding)


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
            "256 KiB of names and texts together; they may change while the pod lives."
        ),
        "creationTimestamp deletionGracePeriodSeconds deletionTimestamp": kept(
            "Written by the agent, whatever is given."
        ),
        "finalizers": kept("Nothing waits for them."),
        "generateName": honoured(
            "The beginning of a name that the agent makes, where there is no name."
        ),
        "generation selfLink": kept(),
        "labels": honoured(
            "By the rules of Kubernetes for their names and values; they may change while "
            "the pod lives."
        ),
        "managedFields": kept("Not kept, whatever is given."),
        "name": honoured("One pod of a namespace has it at a time."),
        "namespace": honoured(
            "Any name, default if there is none; namespaces are there as long as they have pods."
        ),
        "ownerReferences": kept("Nothing is deleted with its owner."),
        "resourceVersion": honoured(
            "Another one after each change of the pod. In a change it says which pod is meant."
        ),
        "uid": honoured(
            "Kept if it is given, else made. It becomes part of file names: letters, "
            "digits, - and single ., 253 at most."
        ),
    },
    "PodSpec": {
        "activeDeadlineSeconds": refused(
            workloads.WorkloadDeadline, "The pod would not be ended at its deadline."
        ),
        "affinity": honoured(
            (
                "Required node affinity that the node does not meet: rejected as NodeAffinity. "
                "The rest is ignored."
            ),
            rule="constraints_are_asked",
        ),
        (
            "automountServiceAccountToken enableServiceLinks preemptionPolicy setHostnameAsFQDN"
        ): kept(),
        "containers": honoured("They run side by side, after all initContainers."),
        (
            "dnsConfig dnsPolicy evictionResponders hostAliases hostname hostnameOverride "
            "imagePullSecrets readinessGates runtimeClassName schedulerName schedulingGroup "
            "serviceAccount serviceAccountName subdomain topologySpreadConstraints "
            "workloadRef"
        ): ignored(),
        "ephemeralContainers": refused(workloads.WorkloadEphemeralContainers, "They are not run."),
        "hostIPC hostNetwork hostPID shareProcessNamespace": kept(
            "That is how it is for every program of the host."
        ),
        "hostUsers": warned("With false: there is no user namespace."),
        "initContainers": honoured(
            "In order, before the containers; one with restartPolicy Always stays."
        ),
        "nodeName": honoured("This node, whatever is given."),
        "nodeSelector": honoured(
            "A pod whose labels the node has not is rejected as NodeAffinity.",
            rule="constraints_are_asked",
        ),
        "os": honoured("A pod for another system than linux is refused."),
        "overhead": honoured("Added to what the containers ask for."),
        "priority": honoured(
            "From 2000000000 the pod is critical: others are evicted to make room for it.",
            rule="critical_pods_evict",
        ),
        "priorityClassName": honoured(
            "With system-node-critical the pod is killed last when memory is short."
        ),
        "resourceClaims": refused(
            workloads.WorkloadResourceClaims,
            "Claims are not allotted; devices are asked for by resource name.",
        ),
        "resources": kept(
            "What the pod asks for as a whole; they count where the release and its feature "
            "gates say so, from v1.34 on by default, and a note says where they do not."
        ),
        "restartPolicy": honoured("Always, unless something else is given."),
        "schedulingGates": refused(
            workloads.WorkloadSchedulingGates,
            "The pod should not run yet, and nothing here removes the gates.",
        ),
        "securityContext": honoured("For containers that say nothing themselves."),
        "terminationGracePeriodSeconds": honoured(
            "From SIGTERM to SIGKILL; 30 by default, 2147483647 at most."
        ),
        "tolerations": kept("More of them may be added while the pod lives."),
        "volumes": ignored("Nothing is mounted."),
    },
    "Container": {
        "args": honoured("Words behind those of command."),
        "command": honoured(
            "Words of the program; args come behind. One of both is needed. $(NAME) is "
            "replaced by a variable of env, $$ by $."
        ),
        "env": honoured("In the order of the manifest; variables need a value."),
        "envFrom": refused(
            workloads.WorkloadEnvFrom, "There are no config maps and secrets to get variables from."
        ),
        "image": ignored("Kept and shown. It may change while the pod lives."),
        (
            "imagePullPolicy resizePolicy stdin stdinOnce terminationMessagePath "
            "terminationMessagePolicy tty"
        ): ignored(),
        "lifecycle": refused(
            workloads.WorkloadLifecycleHooks,
            "No hook is run, so the program would begin or end otherwise than it expects.",
        ),
        "livenessProbe readinessProbe startupProbe": warned(
            "A container counts as started and ready as soon as it runs."
        ),
        "name": honoured("Every container of a pod has a name of its own."),
        "ports": honoured(
            "A port of the host is requested: a pod whose hostPort is in use is rejected.",
            rule="constraints_are_asked",
        ),
        "resources": honoured("By the rules of the API server."),
        "restartPolicy": honoured(
            "Of an init container, Always: it stays while the others run. Of another "
            "container it is refused."
        ),
        "restartPolicyRules": refused(
            workloads.WorkloadRestartRules, "Only the restart policy of the pod is followed."
        ),
        "securityContext": honoured("What it does not say is as the pod says."),
        "volumeDevices volumeMounts": refused(
            workloads.WorkloadMounts, "The program would find the host's own files at that path."
        ),
        "workingDir": honoured("An absolute path of the host."),
    },
    "EnvVar": {
        "name": honoured("Letters, digits, _, - and ., and no digit at the beginning."),
        "value": honoured("$(NAME) is replaced by a variable that is defined before it."),
        "valueFrom": refused(
            workloads.WorkloadValueFrom,
            "There are no config maps, secrets and fields to get a value from.",
        ),
    },
    "ContainerPort": {
        "hostPort": honoured(
            "With hostNetwork: true, containerPort counts too.", rule="constraints_are_asked"
        ),
    },
    "ResourceRequirements": {
        "claims": refused(
            workloads.WorkloadResourceClaims,
            "Claims are not allotted; devices are asked for by resource name.",
        ),
        "limits": honoured(
            "By resource: cpu, memory, hugepages-SIZE, or a device such as example.com/gpu."
        ),
        "requests": honoured(
            "Those of the limits where none are given. With requests equal to limits in "
            "every container the pod is Guaranteed: whole CPUs are its own, and its memory "
            "has a place."
        ),
    },
    "SecurityContext": {
        (
            "allowPrivilegeEscalation appArmorProfile capabilities privileged procMount "
            "readOnlyRootFilesystem seLinuxOptions seccompProfile windowsOptions"
        ): warned(_UNPROTECTED),
        "runAsGroup": honoured(_GROUP),
        "runAsNonRoot": honoured("A container that would run as root is refused."),
        "runAsUser": honoured(_USER),
    },
    "PodSecurityContext": {
        (
            "appArmorProfile fsGroup fsGroupChangePolicy seLinuxChangePolicy seLinuxOptions "
            "seccompProfile supplementalGroups supplementalGroupsPolicy sysctls "
            "windowsOptions"
        ): warned(_UNPROTECTED),
        "runAsGroup": honoured(_GROUP),
        "runAsNonRoot": honoured("A container that would run as root is refused."),
        "runAsUser": honoured(_USER),
    },
    "PodStatus": {
        "phase": kept(),
        "qosClass": kept("Guaranteed pods alone get memory and CPUs of their own."),
        "reason": kept("Why the pod was refused, such as TopologyAffinityError."),
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
    "Pod": "Programs of the host that are started together, pinned to CPUs and memory.",
    "ObjectMeta": "What an object is called, and what is noted about it.",
    "PodSpec": ("What is to run, and what it asks for. It is decided on once, when the pod comes."),
    "Affinity": "Required node affinity is asked; everything else is for schedulers.",
    "Container": "One program of the host. It has no image, network or file system of its own.",
    "EnvVar": "A variable of the program's environment.",
    "ContainerPort": "A port; each hostPort may be used by one pod of the node.",
    "ResourceRequirements": "CPUs, memory, huge pages and devices; a limit is also the request.",
    "SecurityContext": "As whom the program runs.",
    "EphemeralContainer": "A container that is added to inspect the others; none is run here.",
    "PodSecurityContext": "As whom the programs run whose containers say nothing themselves.",
    "Toleration": "Kept and shown; this node has no taints.",
    "PodStatus": "What was decided, and what has happened since.",
}
"""By type: what such an object is for the agent."""
