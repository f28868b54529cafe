"""Kubernetes v1.36, as the difference to v1.35.

Source of the gates: ``oracle gates`` of v1.36.3.
"""

from __future__ import annotations

from typing import Final

from numalet.core.config.releases.gate_tables import gates, needs
from numalet.core.config.releases.release import ALWAYS, Maturity, When, later
from numalet.core.config.releases.v1_35 import V1_35

_GATES: Final = gates(
    alpha="""
        CRIListStreaming ControllerManagerReleaseLeaderElectionLockOnExit
        DRAListTypeAttributes DRANodeAllocatableResources DRAResourcePoolStatus
        DRAWorkloadResourceClaims ImageVolumeWithDigest
        ManifestBasedAdmissionControlConfig NativeHistograms
        PersistentVolumeClaimUnusedSinceTime PodLevelResourceManagers PodsAPI
        ShardedListAndWatch TopologyAwareWorkloadScheduling WorkloadAwarePreemption
        WorkloadWithJob
    """,
    beta="""
        AtomicFIFO CRDObservedGenerationTracking ClientsAllowCARotation ClientsAllowTLSCacheGC
        ComponentFlagz ComponentStatusz ConstrainedImpersonation DRAConsumableCapacity
        DRADeviceBindingConditions DRADeviceTaints DRAExtendedResource
        DRAPartitionableDevices DRAResourceClaimGranularStatusAuthorization
        DeclarativeValidationBeta ExtendWebSocketsToKubelet
        InPlacePodLevelResourcesVerticalScaling InPlacePodVerticalScalingInitContainers
        MutablePodResourcesForSuspendedJobs MutableSchedulingDirectivesForSuspendedJobs
        NodeDeclaredFeatures PLEGOnDemandRelist RelaxedServiceNameValidation
        ReloadKubeletClientCAFile ResourceHealthStatus ResourceHealthStatusMessage
        RestartAllContainersOnContainerExits StaleControllerConsistencyDaemonSet
        StaleControllerConsistencyJob StaleControllerConsistencyReplicaSet
        StaleControllerConsistencyStatefulSet StrictIPCIDRValidation
        UnknownVersionInteroperabilityProxy UnlockWhileProcessingFIFO
        WatchCacheInitializationPostStartHook
    """,
    beta_off="""
        DRADeviceTaintRules
    """,
    ga="""
        AllowServiceExternalIPs CustomCPUCFSQuotaPeriod DRAPrioritizedList
        MutatingAdmissionPolicy
    """,
    ga_locked="""
        CSIServiceAccountTokenSecrets DRAAdminAccess DeclarativeValidation
        ExternalServiceAccountTokenSigner ImageVolume InOrderInformers
        KubeletFineGrainedAuthz KubeletPSI KubeletPodResourcesDynamicResources
        KubeletPodResourcesGet MutableCSINodeAllocatableCount NodeLogQuery ProcMountType
        SELinuxChangePolicy SELinuxMountReadWriteOncePod TopologyManagerPolicyOptions
        UserNamespacesSupport VolumeAttributesClass
    """,
    deprecated_off="""
        DeclarativeValidationTakeover
    """,
    deprecated_on="""
        DisableCPUQuotaWithExclusiveCPUs ServiceCIDRStatusFieldWiping
    """,
    deprecated_off_locked="""
        GitRepoVolumeDriver SeparateCacheWatchRPC
    """,
    deprecated_on_locked="""
        DisableNodeKubeProxyVersion
    """,
    gone="""
        CSIMigrationPortworx HonorPVReclaimPolicy InPlacePodVerticalScalingAllocatedStatus
        InTreePluginPortworxUnregister MemoryManager ServiceTrafficDistribution
        StructuredAuthorizationConfiguration TopologyAwareHints
        WatchFromStorageWithoutResourceVersion
    """,
)
_NEEDS: Final = needs("""
    DRAListTypeAttributes: DynamicResourceAllocation
    DRANodeAllocatableResources: DynamicResourceAllocation
    DRAResourceClaimGranularStatusAuthorization:
        DRAResourceClaimDeviceStatus DynamicResourceAllocation
    DRAResourcePoolStatus: DynamicResourceAllocation
    DRAWorkloadResourceClaims: DynamicResourceAllocation GenericWorkload
    DeclarativeValidationBeta: DeclarativeValidation
    ExtendWebSocketsToKubelet: NodeDeclaredFeatures
    ImageVolumeWithDigest: ImageVolume
    InPlacePodVerticalScalingExclusiveMemory: InPlacePodVerticalScaling
    InPlacePodVerticalScalingInitContainers: InPlacePodVerticalScaling NodeDeclaredFeatures
    PodLevelResourceManagers: PodLevelResources
    ResourceHealthStatusMessage: ResourceHealthStatus
    StaleControllerConsistencyDaemonSet: AtomicFIFO
    StaleControllerConsistencyJob: AtomicFIFO
    StaleControllerConsistencyReplicaSet: AtomicFIFO
    StaleControllerConsistencyStatefulSet: AtomicFIFO
    TopologyAwareWorkloadScheduling: GenericWorkload
    UserNamespacesHostNetworkSupport: NodeDeclaredFeatures UserNamespacesSupport
    WindowsCPUAndMemoryAffinity:
    WorkloadAwarePreemption: GangScheduling
    WorkloadWithJob: GenericWorkload
""")

V1_36: Final = later(
    V1_35,
    "1.36",
    gates=_GATES,
    needs=_NEEDS,
    cpu_options={
        "prefer-align-cpus-by-uncorecache": Maturity.STABLE,
    },
    fields=("memoryReservationPolicy", "tlsCurvePreferences"),
    rules={
        "sources_of_allocations_are_counted": When(on=("PodLevelResourceManagers",)),
        "memory_is_kept_by_policy": ALWAYS,
        "minimum_image_age_is_checked": ALWAYS,
        "memory_reservation_policy_is_checked": ALWAYS,
        "run_once_is_refused": ALWAYS,
        "device_hints_over_device_nodes": ALWAYS,
        "memory_checksum_zero_is_accepted": ALWAYS,
        "memory_type_has_a_version": ALWAYS,
        "oldest_cpu_format_is_tried_last": ALWAYS,
        "pod_level_pods_are_passed_over": When(off=("PodLevelResourceManagers",)),
        "pod_level_pods_are_placed_whole": When(on=("PodLevelResourceManagers",)),
        "state_files_have_pods": When(on=("PodLevelResourceManagers",)),
    },
)
