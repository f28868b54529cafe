"""The status of a pod, as servers write it."""

from __future__ import annotations

from typing import Final

from numalet.io.documents.pod_table.containers import RESOURCE_REQUIREMENTS
from numalet.io.documents.pod_table.kinds import (
    AMOUNTS,
    COUNT,
    FLAG,
    LONG,
    MOMENT,
    QUANTITY,
    TEXT,
    TEXT_MAP,
    TEXTS,
    ListOf,
    kept,
    needed,
    object_type,
    one_of,
    since,
    written_by_servers,
)
from numalet.io.findings.pods import PodsPhase, PodsQosClass

PHASES: Final = ("Failed", "Pending", "Running", "Succeeded", "Unknown")

POD_CONDITION: Final = object_type(
    "PodCondition",
    lastProbeTime=MOMENT,
    lastTransitionTime=MOMENT,
    message=TEXT,
    observedGeneration=since("1.33", LONG),
    reason=TEXT,
    status=needed(TEXT),
    type=needed(TEXT),
)

RESOURCE_HEALTH: Final = object_type(
    "ResourceHealth",
    health=TEXT,
    message=since("1.36", TEXT),
    resourceID=needed(TEXT),
)

RESOURCE_STATUS: Final = object_type(
    "ResourceStatus",
    name=needed(TEXT),
    resources=ListOf(RESOURCE_HEALTH),
)

CONTAINER_STATE_RUNNING: Final = object_type(
    "ContainerStateRunning",
    startedAt=MOMENT,
)

CONTAINER_STATE_TERMINATED: Final = object_type(
    "ContainerStateTerminated",
    containerID=TEXT,
    exitCode=needed(COUNT),
    finishedAt=MOMENT,
    message=TEXT,
    reason=TEXT,
    signal=COUNT,
    startedAt=MOMENT,
)

CONTAINER_STATE_WAITING: Final = object_type(
    "ContainerStateWaiting",
    message=TEXT,
    reason=TEXT,
)

CONTAINER_STATE: Final = object_type(
    "ContainerState",
    running=CONTAINER_STATE_RUNNING,
    terminated=CONTAINER_STATE_TERMINATED,
    waiting=CONTAINER_STATE_WAITING,
)

LINUX_CONTAINER_USER: Final = object_type(
    "LinuxContainerUser",
    gid=needed(LONG),
    supplementalGroups=ListOf(LONG),
    uid=needed(LONG),
)

CONTAINER_USER: Final = object_type(
    "ContainerUser",
    linux=LINUX_CONTAINER_USER,
)

IMAGE_VOLUME_STATUS: Final = object_type(
    "ImageVolumeStatus",
    imageRef=since("1.36", needed(TEXT)),
)

VOLUME_STATUS: Final = object_type(
    "VolumeStatus",
    image=since("1.36", IMAGE_VOLUME_STATUS),
)

VOLUME_MOUNT_STATUS: Final = object_type(
    "VolumeMountStatus",
    mountPath=needed(TEXT),
    name=needed(TEXT),
    readOnly=FLAG,
    recursiveReadOnly=TEXT,
    volumeStatus=since("1.36", VOLUME_STATUS),
)

CONTAINER_STATUS: Final = object_type(
    "ContainerStatus",
    allocatedResources=AMOUNTS,
    allocatedResourcesStatus=ListOf(RESOURCE_STATUS),
    containerID=TEXT,
    image=needed(TEXT),
    imageID=needed(TEXT),
    lastState=CONTAINER_STATE,
    name=needed(TEXT),
    ready=needed(FLAG),
    resources=RESOURCE_REQUIREMENTS,
    restartCount=needed(COUNT),
    started=FLAG,
    state=CONTAINER_STATE,
    stopSignal=since("1.33", TEXT),
    user=CONTAINER_USER,
    volumeMounts=ListOf(VOLUME_MOUNT_STATUS),
)

HOST_IP: Final = object_type(
    "HostIP",
    ip=needed(TEXT),
)

POD_IP: Final = object_type(
    "PodIP",
    ip=needed(TEXT),
)

POD_RESOURCE_CLAIM_STATUS: Final = object_type(
    "PodResourceClaimStatus",
    name=needed(TEXT),
    resourceClaimName=TEXT,
)

CONTAINER_EXTENDED_RESOURCE_REQUEST: Final = object_type(
    "ContainerExtendedResourceRequest",
    containerName=since("1.34", needed(TEXT)),
    requestName=since("1.34", needed(TEXT)),
    resourceName=since("1.34", needed(TEXT)),
)

POD_EXTENDED_RESOURCE_CLAIM_STATUS: Final = object_type(
    "PodExtendedResourceClaimStatus",
    requestMappings=since("1.34", needed(ListOf(CONTAINER_EXTENDED_RESOURCE_REQUEST))),
    resourceClaimName=since("1.34", needed(TEXT)),
)

NODE_ALLOCATABLE_MAPPED_RESOURCES: Final = object_type(
    "NodeAllocatableMappedResources",
    name=since("1.37", needed(TEXT)),
    quantity=since("1.37", needed(QUANTITY)),
)

NODE_ALLOCATABLE_OVERHEAD_RESOURCES: Final = object_type(
    "NodeAllocatableOverheadResources",
    name=since("1.37", needed(TEXT)),
    perContainer=since("1.37", QUANTITY),
    perPod=since("1.37", QUANTITY),
)

NODE_ALLOCATABLE_RESOURCE_CLAIM_STATUS: Final = object_type(
    "NodeAllocatableResourceClaimStatus",
    containers=since("1.36", TEXTS),
    mapping=since("1.37", ListOf(NODE_ALLOCATABLE_MAPPED_RESOURCES)),
    overhead=since("1.37", ListOf(NODE_ALLOCATABLE_OVERHEAD_RESOURCES)),
    resourceClaimName=since("1.36", needed(TEXT)),
    resources=since("1.36", TEXT_MAP),
)

VOLUME_HEALTH_CONDITION: Final = object_type(
    "VolumeHealthCondition",
    message=since("1.37", TEXT),
    reason=since("1.37", needed(TEXT)),
    status=since("1.37", needed(TEXT)),
)

POD_VOLUME_HEALTH: Final = object_type(
    "PodVolumeHealth",
    healthConditions=since("1.37", ListOf(VOLUME_HEALTH_CONDITION)),
    lastTransitionTime=since("1.37", MOMENT),
    name=since("1.37", needed(TEXT)),
)

POD_STATUS: Final = written_by_servers(
    object_type(
        "PodStatus",
        "What was decided, and what has happened since.",
        allocatedResources=since("1.35", AMOUNTS),
        conditions=ListOf(POD_CONDITION),
        containerStatuses=ListOf(CONTAINER_STATUS),
        ephemeralContainerStatuses=ListOf(CONTAINER_STATUS),
        extendedResourceClaimStatus=since("1.34", POD_EXTENDED_RESOURCE_CLAIM_STATUS),
        hostIP=TEXT,
        hostIPs=ListOf(HOST_IP),
        initContainerStatuses=ListOf(CONTAINER_STATUS),
        message=TEXT,
        nodeAllocatableResourceClaimStatuses=since(
            "1.36", ListOf(NODE_ALLOCATABLE_RESOURCE_CLAIM_STATUS)
        ),
        nominatedNodeName=TEXT,
        observedGeneration=since("1.33", LONG),
        phase=kept(one_of(*PHASES, finding=PodsPhase)),
        podIP=TEXT,
        podIPs=ListOf(POD_IP),
        qosClass=kept(
            one_of("BestEffort", "Burstable", "Guaranteed", finding=PodsQosClass),
            "Guaranteed pods alone get memory and CPUs of their own.",
        ),
        reason=kept(TEXT, "Why the pod was refused, such as TopologyAffinityError."),
        resize=TEXT,
        resourceClaimStatuses=ListOf(POD_RESOURCE_CLAIM_STATUS),
        resources=since("1.35", RESOURCE_REQUIREMENTS),
        startTime=MOMENT,
        volumeHealth=since("1.37", ListOf(POD_VOLUME_HEALTH)),
    )
)
