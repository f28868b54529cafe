"""Containers, and what they ask for."""

from __future__ import annotations

from typing import Final

from numalet.core.model.value import replace
from numalet.io.documents.pod_table.kinds import (
    AMOUNTS,
    COUNT,
    DNS_LABEL,
    FLAG,
    PORT,
    TEXT,
    TEXTS,
    Field,
    ListOf,
    Whole,
    honoured,
    ignored,
    needed,
    object_type,
    one_of,
    refused,
    since,
    warned,
)
from numalet.io.documents.pod_table.probes import LIFECYCLE, PROBE
from numalet.io.documents.pod_table.references import (
    CONFIG_MAP_KEY_SELECTOR,
    FILE_KEY_SELECTOR,
    OBJECT_FIELD_SELECTOR,
    RESOURCE_FIELD_SELECTOR,
    SECRET_KEY_SELECTOR,
)
from numalet.io.documents.pod_table.security import SECURITY_CONTEXT
from numalet.io.findings.pods import PodsNameMissing
from numalet.io.findings.workloads import (
    WorkloadEnvFrom,
    WorkloadLifecycleHooks,
    WorkloadMounts,
    WorkloadResourceClaims,
    WorkloadRestartPolicy,
    WorkloadRestartRules,
    WorkloadValueFrom,
)

PULL_POLICY: Final = one_of("Always", "IfNotPresent", "Never")
RESTART_POLICY: Final = one_of("Always", "Never", "OnFailure", finding=WorkloadRestartPolicy)
NO_PROBES: Final = "A container counts as started and ready as soon as it runs."
NO_MOUNTS: Final = "The program would find the host's own files at that path."

ENV_VAR_SOURCE: Final = object_type(
    "EnvVarSource",
    configMapKeyRef=CONFIG_MAP_KEY_SELECTOR,
    fieldRef=OBJECT_FIELD_SELECTOR,
    fileKeyRef=since("1.34", FILE_KEY_SELECTOR),
    resourceFieldRef=RESOURCE_FIELD_SELECTOR,
    secretKeyRef=SECRET_KEY_SELECTOR,
)

ENV_VAR: Final = object_type(
    "EnvVar",
    "A variable of the program's environment.",
    name=needed(honoured(TEXT, "Letters, digits, _, - and ., and no digit at the beginning.")),
    value=honoured(TEXT, "$(NAME) is replaced by a variable that is defined before it."),
    valueFrom=refused(
        ENV_VAR_SOURCE,
        WorkloadValueFrom,
        "There are no config maps, secrets and fields to get a value from.",
    ),
)

CONFIG_MAP_ENV_SOURCE: Final = object_type(
    "ConfigMapEnvSource",
    name=TEXT,
    optional=FLAG,
)

SECRET_ENV_SOURCE: Final = object_type(
    "SecretEnvSource",
    name=TEXT,
    optional=FLAG,
)

ENV_FROM_SOURCE: Final = object_type(
    "EnvFromSource",
    configMapRef=CONFIG_MAP_ENV_SOURCE,
    prefix=TEXT,
    secretRef=SECRET_ENV_SOURCE,
)

CONTAINER_PORT: Final = object_type(
    "ContainerPort",
    "A port; each hostPort may be used by one pod of the node.",
    containerPort=needed(PORT),
    hostIP=TEXT,
    hostPort=honoured(
        Whole(0, 65535),
        "With hostNetwork: true, containerPort counts too.",
        rule="constraints_are_asked",
    ),
    name=TEXT,
    protocol=one_of("SCTP", "TCP", "UDP"),
)

CONTAINER_RESIZE_POLICY: Final = object_type(
    "ContainerResizePolicy",
    resourceName=needed(TEXT),
    restartPolicy=needed(one_of("NotRequired", "RestartContainer")),
)

RESOURCE_CLAIM: Final = object_type(
    "ResourceClaim",
    name=needed(TEXT),
    request=TEXT,
)

RESOURCE_REQUIREMENTS: Final = object_type(
    "ResourceRequirements",
    "CPUs, memory, huge pages and devices; a limit is also the request.",
    claims=refused(
        ListOf(RESOURCE_CLAIM),
        WorkloadResourceClaims,
        "Claims are not allotted; devices are asked for by resource name.",
    ),
    limits=honoured(
        AMOUNTS, "By resource: cpu, memory, hugepages-SIZE, or a device such as example.com/gpu."
    ),
    requests=honoured(
        AMOUNTS,
        "Those of the limits where none are given. With requests equal to limits in"
        " every container the pod is Guaranteed: whole CPUs are its own, and its memory"
        " has a place.",
    ),
)

VOLUME_DEVICE: Final = object_type(
    "VolumeDevice",
    devicePath=needed(TEXT),
    name=needed(TEXT),
)

VOLUME_MOUNT: Final = object_type(
    "VolumeMount",
    bindMountOptions=since("1.37", TEXTS),
    mountPath=needed(TEXT),
    mountPropagation=one_of("Bidirectional", "HostToContainer", "None"),
    name=needed(TEXT),
    readOnly=FLAG,
    recursiveReadOnly=one_of("Disabled", "Enabled", "IfPossible"),
    subPath=TEXT,
    subPathExpr=TEXT,
)

CONTAINER_RESTART_RULE_ON_EXIT_CODES: Final = object_type(
    "ContainerRestartRuleOnExitCodes",
    operator=since("1.34", needed(one_of("In", "NotIn"))),
    values=since("1.34", ListOf(COUNT)),
)

CONTAINER_RESTART_RULE: Final = object_type(
    "ContainerRestartRule",
    action=since("1.34", needed(one_of("Restart", "RestartAllContainers"))),
    exitCodes=since("1.34", CONTAINER_RESTART_RULE_ON_EXIT_CODES),
)

CONTAINER: Final = object_type(
    "Container",
    "One program of the host. It has no image, network or file system of its own.",
    args=honoured(TEXTS, "Words behind those of command."),
    command=honoured(
        TEXTS,
        "Words of the program; args come behind. One of both is needed. $(NAME) is"
        " replaced by a variable of env, $$ by $.",
    ),
    env=honoured(ListOf(ENV_VAR), "In the order of the manifest; variables need a value."),
    envFrom=refused(
        ListOf(ENV_FROM_SOURCE),
        WorkloadEnvFrom,
        "There are no config maps and secrets to get variables from.",
    ),
    image=ignored(TEXT, "Kept and shown. It may change while the pod lives."),
    imagePullPolicy=ignored(PULL_POLICY),
    lifecycle=refused(
        LIFECYCLE,
        WorkloadLifecycleHooks,
        "No hook is run, so the program would begin or end otherwise than it expects.",
    ),
    livenessProbe=warned(PROBE, NO_PROBES),
    name=needed(
        honoured(DNS_LABEL, "Every container of a pod has a name of its own."), PodsNameMissing
    ),
    ports=honoured(
        ListOf(CONTAINER_PORT),
        "A port of the host is requested: a pod whose hostPort is in use is rejected.",
        rule="constraints_are_asked",
    ),
    readinessProbe=warned(PROBE, NO_PROBES),
    resizePolicy=ignored(ListOf(CONTAINER_RESIZE_POLICY)),
    resources=honoured(RESOURCE_REQUIREMENTS, "By the rules of the API server."),
    restartPolicy=honoured(
        RESTART_POLICY,
        "Of an init container, Always: it stays while the others run. Of another"
        " container it is refused.",
    ),
    restartPolicyRules=since(
        "1.34",
        refused(
            ListOf(CONTAINER_RESTART_RULE),
            WorkloadRestartRules,
            "Only the restart policy of the pod is followed.",
        ),
    ),
    securityContext=honoured(SECURITY_CONTEXT, "What it does not say is as the pod says."),
    startupProbe=warned(PROBE, NO_PROBES),
    stdin=ignored(FLAG),
    stdinOnce=ignored(FLAG),
    terminationMessagePath=ignored(TEXT),
    terminationMessagePolicy=ignored(one_of("FallbackToLogsOnError", "File")),
    tty=ignored(FLAG),
    volumeDevices=refused(ListOf(VOLUME_DEVICE), WorkloadMounts, NO_MOUNTS),
    volumeMounts=refused(ListOf(VOLUME_MOUNT), WorkloadMounts, NO_MOUNTS),
    workingDir=honoured(TEXT, "An absolute path of the host."),
)

EPHEMERAL_CONTAINER: Final = replace(
    CONTAINER,
    name="EphemeralContainer",
    words="A container that is added to inspect the others; none is run here.",
    fields={**CONTAINER.fields, "targetContainerName": Field(kind=TEXT)},
)
