"""Kubernetes v1.37, as the difference to v1.36.

Source of the gates: ``oracle gates`` of v1.37.2.
"""

from __future__ import annotations

from typing import Final

from numalet.core.config.releases.gate_tables import gates, needs
from numalet.core.config.releases.release import ALWAYS, When, later
from numalet.core.config.releases.v1_36 import V1_36

_GATES: Final = gates(
    alpha="""
        APIServerWebhookAuthenticationToken AtomicWriteVolumeUserFields
        CompositePodGroup ConsistentListFromCacheSkipTimeoutFallback
        DRADerivedAttributes DRADeviceCompatibilityGroups DRAOptionalNodeOperations
        DRAPartitionableDevicesType DefaultPodSysctls EmptyDirVolumeMode
        EvictionRequestAPI GRPCContainerProbeTLS H2CContainerProbe
        InPlacePodVerticalScalingMemoryBackedVolumes
        InPlacePodVerticalScalingSchedulerPreemption InterPodAffinityHostnameFastPath
        KubeProxyNFTablesLocalhostNodePorts KubeletAllocatedPodsEndpoint
        NodeLifecycleConditions PodGroupPreemptionPolicy SchedulerPreQueueingHints
        StatefulSetRecreateStrategy VolumeBindMountOptions
    """,
    beta="""
        AllowUnsafeMalformedObjectDeletion ConcurrentWatchObjectDecode EtcdRangeStream
        ExcludeAdmissionWebhookVirtualResources HPAGeneration HPAOptimizedSelectorStore
        HPAScaleToZero HugepageAwareEviction KubeletInUserNamespace
        ManifestBasedAdmissionControlConfig MaxUnavailableStatefulSet MemoryQoS
        NFTablesNetlink NativeHistograms NodeControllerLeaseCircuitBreaker
        PersistentVolumeClaimUnusedSinceTime PodLevelResourcesFixDefaulting
        PodLevelResourcesFixKubeletQOSClass PodsAPI StaleControllerConsistencyHPA
        StorageCapacityScoring VolumeLimitScaling WatchListCompression
        WebhookRoundTripLoadBalancing
    """,
    beta_off="""
        DRAFractionalCapacityRange DRAWorkloadResourceClaims GenericWorkload
        PodAndContainerStatsFromCRI PodLevelResourceManagers
    """,
    ga="""
        ClusterTrustBundle ClusterTrustBundleProjection DRADeviceTaintRules
        DRADeviceTaints PodCertificateRequest SELinuxMount StorageVersionMigrator
    """,
    ga_locked="""
        DRAExtendedResource DRAPrioritizedList DRAResourceClaimDeviceStatus
        HPAConfigurableTolerance HostnameOverride
        InPlacePodVerticalScalingInitContainers NodeDeclaredFeatures PLEGOnDemandRelist
        PodReadyToStartContainersCondition RelaxedServiceNameValidation
        WatchCacheInitializationPostStartHook
    """,
    deprecated_on="""
        KubeProxyIPVS
    """,
    deprecated_off_locked="""
        DeclarativeValidationTakeover
    """,
    deprecated_on_locked="""
        DisableCPUQuotaWithExclusiveCPUs
    """,
    gone="""
        APIServerTracing AnonymousAuthConfigurableEndpoints AnyVolumeDataSource
        AuthorizeNodeWithSelectors AuthorizeWithSelectors BtreeWatchCache
        ConsistentListFromCache GangScheduling JobBackoffLimitPerIndex
        JobPodReplacementPolicy JobSuccessPolicy LogarithmicScaleDown
        OrderedNamespaceDeletion PodLifecycleSleepAction
        PodLifecycleSleepActionAllowZero PreventStaticPodAPIReferences
        RelaxedDNSSearchValidation ResilientWatchCacheInitialization RetryGenerateName
        SchedulerQueueingHints SidecarContainers StreamingCollectionEncodingToJSON
        StreamingCollectionEncodingToProtobuf StructuredAuthenticationConfiguration
        WorkloadAwarePreemption
    """,
)
_NEEDS: Final = needs("""
    CompositePodGroup: GenericWorkload TopologyAwareWorkloadScheduling
    DRADerivedAttributes: DynamicResourceAllocation
    DRADeviceCompatibilityGroups: DRAPartitionableDevices DynamicResourceAllocation
    DRAFractionalCapacityRange: DRAConsumableCapacity
    DRAOptionalNodeOperations: DynamicResourceAllocation NodeDeclaredFeatures
    DRAPartitionableDevicesType:
        DRAPartitionableDevices DRAResourcePoolStatus DynamicResourceAllocation
    EventedPLEG: PLEGOnDemandRelist
    H2CContainerProbe: NodeDeclaredFeatures
    InPlacePodVerticalScalingMemoryBackedVolumes: InPlacePodVerticalScaling NodeDeclaredFeatures
    InPlacePodVerticalScalingSchedulerPreemption: InPlacePodVerticalScaling
    KubeletAllocatedPodsEndpoint: InPlacePodVerticalScaling
    NodeControllerLeaseCircuitBreaker: AtomicFIFO
    PodCertificateRequest:
    PodGroupPreemptionPolicy: GenericWorkload
    PodLevelResourcesFixDefaulting: PodLevelResources
    PodLevelResourcesFixKubeletQOSClass: PodLevelResources
    StaleControllerConsistencyHPA: AtomicFIFO
    StructuredAuthenticationConfigurationEgressSelector:
    StructuredAuthenticationConfigurationJWKSMetrics:
""")

V1_37: Final = later(
    V1_36,
    "1.37",
    gates=_GATES,
    needs=_NEEDS,
    fields=("defaultPodSysctls",),
    rules={
        "sources_of_allocations_are_counted": None,
        "allocation_metrics_have_the_prefix": When(on=("PodLevelResourceManagers",)),
        "pod_level_admissions_are_counted": When(on=("PodLevelResources",)),
        "pod_resources_show_whole_pods": When(on=("PodLevelResourceManagers",)),
        "pod_sysctls_are_checked": ALWAYS,
        "throttling_has_no_default": ALWAYS,
        "whole_pods_are_throttled": When(on=("MemoryQoS",)),
        "state_files_have_data": ALWAYS,
        "state_files_have_baselines": When(on=("InPlacePodVerticalScalingExclusiveCPUs",)),
        "first_cpu_format_is_gone": ALWAYS,
        "cpu_set_is_in_capitals": ALWAYS,
        "kept_cpus_may_break_cores": ALWAYS,
        "one_socket_is_preferred": ALWAYS,
        "no_memory_is_skipped": ALWAYS,
        "qos_class_is_of_each_container": ALWAYS,
        "empty_pod_resources_are_best_effort": When(
            on=("PodLevelResources",), off=("PodLevelResourcesFixKubeletQOSClass",)
        ),
        "pod_level_limits_are_filled_in": When(on=("PodLevelResourcesFixDefaulting",)),
        "reserved_cpu_is_in_thousandths": ALWAYS,
    },
)
