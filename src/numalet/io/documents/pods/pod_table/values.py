"""Enums, formats and bounds of fields, which the OpenAPI documents leave out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from numalet.io.documents.pods.pod_table.kinds import INT32, INT64, TextKind, Whole
from numalet.io.findings import pods
from numalet.io.findings.documents import DocumentFieldMissing, PartMissing

PHASES: Final = ("Failed", "Pending", "Running", "Succeeded", "Unknown")
_PART: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
DNS_LABEL: Final = TextKind(
    pattern=r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?",
    expected=(
        "lower-case letters, digits and '-', 63 at most, with a letter or digit at both ends"
    ),
)
"""A name without dots, 63 characters at most (RFC 1123)."""
DNS_SUBDOMAIN: Final = TextKind(
    pattern=rf"{_PART}(\.{_PART})*",
    most=253,
    expected=(
        "lower-case letters, digits, '-' and '.', 253 at most, with a letter or digit at both ends "
        "and next to every '.'"
    ),
)
"""A name with dots, 253 characters at most (RFC 1123)."""

_RESTART_POLICY: Final = TextKind(
    ("Always", "Never", "OnFailure"), expected="a restart policy: Always, Never or OnFailure"
)
_PERMISSIONS: Final = Whole(0, 0o777)
_PORT: Final = Whole(1, 65535)
_FROM_0: Final = Whole(0, INT32[1])
_FROM_1: Final = Whole(1, INT32[1])
_USER_ID: Final = Whole(0, INT32[1])

_ENUMS: Final = """
AppArmorProfile.type: Localhost RuntimeDefault Unconfined
AzureDiskVolumeSource.cachingMode: None ReadOnly ReadWrite
AzureDiskVolumeSource.kind: Dedicated Managed Shared
Container.imagePullPolicy: Always IfNotPresent Never
Container.terminationMessagePolicy: FallbackToLogsOnError File
ContainerPort.protocol: SCTP TCP UDP
ContainerResizePolicy.restartPolicy: NotRequired RestartContainer
ContainerRestartRule.action: Restart RestartAllContainers
ContainerRestartRuleOnExitCodes.operator: In NotIn
CronJob.apiVersion: batch/v1
CronJobSpec.concurrencyPolicy: Allow Forbid Replace
DaemonSet.apiVersion: apps/v1
DaemonSetUpdateStrategy.type: OnDelete RollingUpdate
Deployment.apiVersion: apps/v1
DeploymentStrategy.type: Recreate RollingUpdate
DeviceRequest.allocationMode: All ExactCount
DeviceSubRequest.allocationMode: All ExactCount
ExactDeviceRequest.allocationMode: All ExactCount
HTTPGetAction.scheme: HTTP HTTPS
HostPathVolumeSource.type: BlockDevice CharDevice Directory DirectoryOrCreate File FileOrCreate \
Socket
ImageVolumeSource.pullPolicy: Always IfNotPresent Never
Job.apiVersion: batch/v1
JobSpec.completionMode: Indexed NonIndexed
JobSpec.podReplacementPolicy: Failed TerminatingOrFailed
LabelSelectorRequirement.operator: DoesNotExist Exists In NotIn
ManagedFieldsEntry.operation: Apply Update
NodeSelectorRequirement.operator: DoesNotExist Exists Gt In Lt NotIn
PersistentVolumeClaimSpec.accessModes: ReadOnlyMany ReadWriteMany ReadWriteOnce ReadWriteOncePod
PersistentVolumeClaimSpec.volumeMode: Block Filesystem
Pod.apiVersion: v1
PodFailurePolicyOnExitCodesRequirement.operator: In NotIn
PodFailurePolicyRule.action: Count FailIndex FailJob Ignore
PodOS.name: linux windows
PodSecurityContext.fsGroupChangePolicy: Always OnRootMismatch
PodSecurityContext.seLinuxChangePolicy: MountOption Recursive
PodSecurityContext.supplementalGroupsPolicy: Merge Strict
PodSpec.dnsPolicy: ClusterFirst ClusterFirstWithHostNet Default None
PodSpec.preemptionPolicy: Never PreemptLowerPriority
ReplicaSet.apiVersion: apps/v1
ReplicationController.apiVersion: v1
SeccompProfile.type: Localhost RuntimeDefault Unconfined
SecurityContext.procMount: Default Unmasked
StatefulSet.apiVersion: apps/v1
StatefulSetPersistentVolumeClaimRetentionPolicy.whenDeleted: Delete Retain
StatefulSetPersistentVolumeClaimRetentionPolicy.whenScaled: Delete Retain
StatefulSetSpec.podManagementPolicy: OrderedReady Parallel
StatefulSetUpdateStrategy.type: OnDelete RollingUpdate
Toleration.effect: NoExecute NoSchedule PreferNoSchedule
Toleration.operator: Equal Exists Gt Lt
TopologySpreadConstraint.nodeAffinityPolicy: Honor Ignore
TopologySpreadConstraint.nodeTaintsPolicy: Honor Ignore
TopologySpreadConstraint.whenUnsatisfiable: DoNotSchedule ScheduleAnyway
VolumeMount.mountPropagation: Bidirectional HostToContainer None
VolumeMount.recursiveReadOnly: Disabled Enabled IfPossible
"""

VALUES: Final[Mapping[str, TextKind | Whole]] = {
    **{
        path: TextKind(tuple(allowed.split()))
        for path, _, allowed in (line.partition(":") for line in _ENUMS.strip().splitlines())
    },
    "ConfigMapVolumeSource.defaultMode": _PERMISSIONS,
    "Container.name": DNS_LABEL,
    "Container.restartPolicy": _RESTART_POLICY,
    "ContainerPort.containerPort": _PORT,
    "ContainerPort.hostPort": Whole(0, 65535),
    "DeviceRequest.count": Whole(1, INT64[1]),
    "DeviceSubRequest.count": Whole(1, INT64[1]),
    "DownwardAPIVolumeFile.mode": _PERMISSIONS,
    "DownwardAPIVolumeSource.defaultMode": _PERMISSIONS,
    "EmptyDirVolumeSource.mode": _PERMISSIONS,
    "ExactDeviceRequest.count": Whole(1, INT64[1]),
    "GRPCAction.port": _PORT,
    "KeyToPath.mode": _PERMISSIONS,
    "ObjectMeta.name": DNS_SUBDOMAIN,
    "ObjectMeta.namespace": DNS_LABEL,
    "PodSecurityContext.fsGroup": _USER_ID,
    "PodSecurityContext.runAsGroup": _USER_ID,
    "PodSecurityContext.runAsUser": _USER_ID,
    "PodSecurityContext.supplementalGroups": _USER_ID,
    "PodSpec.hostname": DNS_LABEL,
    "PodSpec.restartPolicy": _RESTART_POLICY,
    "PodSpec.subdomain": DNS_LABEL,
    "PodStatus.phase": TextKind(PHASES, expected=f"a pod phase: {', '.join(PHASES)}"),
    "PodStatus.qosClass": TextKind(
        ("BestEffort", "Burstable", "Guaranteed"),
        expected="a QoS class: BestEffort, Burstable or Guaranteed",
    ),
    "PreferredSchedulingTerm.weight": Whole(1, 100),
    "Probe.failureThreshold": _FROM_0,
    "Probe.initialDelaySeconds": _FROM_0,
    "Probe.periodSeconds": _FROM_0,
    "Probe.successThreshold": _FROM_0,
    "Probe.timeoutSeconds": _FROM_0,
    "ProjectedVolumeSource.defaultMode": _PERMISSIONS,
    "SecretVolumeSource.defaultMode": _PERMISSIONS,
    "SecurityContext.runAsGroup": _USER_ID,
    "SecurityContext.runAsUser": _USER_ID,
    "TopologySpreadConstraint.maxSkew": _FROM_1,
    "TopologySpreadConstraint.minDomains": _FROM_1,
    "Volume.name": DNS_LABEL,
    "WeightedPodAffinityTerm.weight": Whole(1, 100),
}
"""By type and field: the kind of its values, or of its list items."""

NEEDED: Final[Mapping[str, type[PartMissing]]] = {
    "Container.name": pods.PodsNameMissing,
    "PodSpec.containers": pods.PodsNoContainers,
    **dict.fromkeys(
        (
            *("DeviceClass.metadata", "DeviceClass.spec"),
            *("ResourceClaim.metadata", "ResourceClaim.spec"),
            *("ResourceClaimTemplate.metadata", "ResourceClaimTemplate.spec"),
            *("ResourceClaimTemplateSpec.spec", "ResourceSlice.metadata"),
        ),
        DocumentFieldMissing,
    ),
}
"""Required fields with a specific finding, or that documents of some release lack."""

OPTIONAL: Final = frozenset(
    {
        # The reader of claims reports a request without a class.
        *("DeviceSubRequest.deviceClassName", "ExactDeviceRequest.deviceClassName"),
        # Handwritten slices may omit these: a pool of one slice in its first generation.
        *("ResourcePool.generation", "ResourcePool.resourceSliceCount"),
    }
)
"""Fields that are required in the documents but optional here."""
