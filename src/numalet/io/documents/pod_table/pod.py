"""The Pod, and its spec."""

from __future__ import annotations

from typing import Final

from numalet.io.documents.pod_table.containers import (
    CONTAINER,
    EPHEMERAL_CONTAINER,
    RESOURCE_REQUIREMENTS,
    RESTART_POLICY,
)
from numalet.io.documents.pod_table.kinds import (
    AMOUNTS,
    COUNT,
    DNS_LABEL,
    FLAG,
    LONG,
    TEXT,
    TEXT_MAP,
    TEXTS,
    ListOf,
    honoured,
    ignored,
    kept,
    needed,
    object_type,
    one_of,
    refused,
    since,
    warned,
)
from numalet.io.documents.pod_table.metadata import OBJECT_META
from numalet.io.documents.pod_table.references import LOCAL_OBJECT_REFERENCE
from numalet.io.documents.pod_table.scheduling import (
    AFFINITY,
    EVICTION_RESPONDER,
    POD_SCHEDULING_GATE,
    POD_SCHEDULING_GROUP,
    TOLERATION,
    TOPOLOGY_SPREAD_CONSTRAINT,
    WORKLOAD_REFERENCE,
)
from numalet.io.documents.pod_table.security import POD_SECURITY_CONTEXT
from numalet.io.documents.pod_table.status import POD_STATUS
from numalet.io.documents.pod_table.volumes import VOLUME
from numalet.io.findings.pods import PodsNoContainers
from numalet.io.findings.workloads import (
    WorkloadDeadline,
    WorkloadEphemeralContainers,
    WorkloadResourceClaims,
    WorkloadSchedulingGates,
)

IS_SO: Final = "That is how it is for every program of the host."

POD_DNS_CONFIG_OPTION: Final = object_type(
    "PodDNSConfigOption",
    name=TEXT,
    value=TEXT,
)

POD_DNS_CONFIG: Final = object_type(
    "PodDNSConfig",
    nameservers=TEXTS,
    options=ListOf(POD_DNS_CONFIG_OPTION),
    searches=TEXTS,
)

HOST_ALIAS: Final = object_type(
    "HostAlias",
    hostnames=TEXTS,
    ip=needed(TEXT),
)

POD_OS: Final = object_type(
    "PodOS",
    name=needed(one_of("linux", "windows")),
)

POD_READINESS_GATE: Final = object_type(
    "PodReadinessGate",
    conditionType=needed(TEXT),
)

POD_RESOURCE_CLAIM: Final = object_type(
    "PodResourceClaim",
    name=needed(TEXT),
    resourceClaimName=TEXT,
    resourceClaimTemplateName=TEXT,
)

POD_SPEC: Final = object_type(
    "PodSpec",
    "What is to run, and what it asks for. It is decided on once, when the pod comes.",
    activeDeadlineSeconds=refused(
        LONG, WorkloadDeadline, "The pod would not be ended at its deadline."
    ),
    affinity=honoured(
        AFFINITY,
        "Required node affinity that the node does not meet: rejected as NodeAffinity."
        " The rest is ignored.",
        rule="constraints_are_asked",
    ),
    automountServiceAccountToken=kept(FLAG),
    containers=needed(
        honoured(ListOf(CONTAINER), "They run side by side, after all initContainers."),
        PodsNoContainers,
    ),
    dnsConfig=ignored(POD_DNS_CONFIG),
    dnsPolicy=ignored(one_of("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None")),
    enableServiceLinks=kept(FLAG),
    ephemeralContainers=refused(
        ListOf(EPHEMERAL_CONTAINER), WorkloadEphemeralContainers, "They are not run."
    ),
    evictionResponders=since("1.37", ignored(ListOf(EVICTION_RESPONDER))),
    hostAliases=ignored(ListOf(HOST_ALIAS)),
    hostIPC=kept(FLAG, IS_SO),
    hostNetwork=kept(FLAG, IS_SO),
    hostPID=kept(FLAG, IS_SO),
    hostUsers=warned(FLAG, "With false: there is no user namespace."),
    hostname=ignored(DNS_LABEL),
    hostnameOverride=since("1.34", ignored(TEXT)),
    imagePullSecrets=ignored(ListOf(LOCAL_OBJECT_REFERENCE)),
    initContainers=honoured(
        ListOf(CONTAINER),
        "In order, before the containers; one with restartPolicy Always stays.",
    ),
    nodeName=honoured(TEXT, "This node, whatever is given."),
    nodeSelector=honoured(
        TEXT_MAP,
        "A pod whose labels the node has not is rejected as NodeAffinity.",
        rule="constraints_are_asked",
    ),
    os=honoured(POD_OS, "A pod for another system than linux is refused."),
    overhead=honoured(AMOUNTS, "Added to what the containers ask for."),
    preemptionPolicy=kept(one_of("Never", "PreemptLowerPriority")),
    priority=honoured(
        COUNT,
        "From 2000000000 the pod is critical: others are evicted to make room for it.",
        rule="critical_pods_evict",
    ),
    priorityClassName=honoured(
        TEXT, "With system-node-critical the pod is killed last when memory is short."
    ),
    readinessGates=ignored(ListOf(POD_READINESS_GATE)),
    resourceClaims=refused(
        ListOf(POD_RESOURCE_CLAIM),
        WorkloadResourceClaims,
        "Claims are not allotted; devices are asked for by resource name.",
    ),
    resources=kept(
        RESOURCE_REQUIREMENTS,
        "What the pod asks for as a whole; they count where the release and its feature gates say"
        " so, from v1.34 on by default, and a note says where they do not.",
    ),
    restartPolicy=honoured(RESTART_POLICY, "Always, unless something else is given."),
    runtimeClassName=ignored(TEXT),
    schedulerName=ignored(TEXT),
    schedulingGates=refused(
        ListOf(POD_SCHEDULING_GATE),
        WorkloadSchedulingGates,
        "The pod should not run yet, and nothing here removes the gates.",
    ),
    schedulingGroup=since("1.36", ignored(POD_SCHEDULING_GROUP)),
    securityContext=honoured(POD_SECURITY_CONTEXT, "For containers that say nothing themselves."),
    serviceAccount=ignored(TEXT),
    serviceAccountName=ignored(TEXT),
    setHostnameAsFQDN=kept(FLAG),
    shareProcessNamespace=kept(FLAG, IS_SO),
    subdomain=ignored(DNS_LABEL),
    terminationGracePeriodSeconds=honoured(
        LONG, "From SIGTERM to SIGKILL; 30 by default, 2147483647 at most."
    ),
    tolerations=kept(ListOf(TOLERATION), "More of them may be added while the pod lives."),
    topologySpreadConstraints=ignored(ListOf(TOPOLOGY_SPREAD_CONSTRAINT)),
    volumes=ignored(ListOf(VOLUME), "Nothing is mounted."),
    workloadRef=since("1.35", ignored(WORKLOAD_REFERENCE)),
)

POD: Final = object_type(
    "Pod",
    "Programs of the host that are started together, pinned to CPUs and memory.",
    apiVersion=honoured(one_of("v1"), "v1."),
    kind=honoured(TEXT, "Pod."),
    metadata=honoured(OBJECT_META, "Labels and annotations may change while the pod lives."),
    spec=honoured(POD_SPEC, "Only images and added tolerations may change while the pod lives."),
    status=kept(POD_STATUS, "Written by the agent."),
)
