"""Kubernetes v1.35, as the difference to v1.34.

Since v1.35 a gate may depend on others. Source of the gates: ``oracle gates`` of v1.35.6. A patch
release switched off the default of MaxUnavailableStatefulSet.
"""

from __future__ import annotations

from typing import Final

from numalet.core.config.releases.gate_tables import gates, needs
from numalet.core.config.releases.release import ALWAYS, Maturity, later
from numalet.core.config.releases.v1_34 import V1_34

_GATES: Final = gates(
    alpha="""
        CloudControllerManagerWatchBasedRoutesReconciliation ConstrainedImpersonation
        DRADeviceTaintRules GangScheduling GenericWorkload
        InPlacePodLevelResourcesVerticalScaling MutablePVNodeAffinity
        MutablePodResourcesForSuspendedJobs MutableSchedulingDirectivesForSuspendedJobs
        NodeDeclaredFeatures RestartAllContainersOnContainerExits
        TaintTolerationComparisonOperators UserNamespacesHostNetworkSupport
        VolumeLimitScaling
    """,
    beta="""
        AuthorizePodWebsocketUpgradeCreatePermission CSIServiceAccountTokenSecrets
        ClearingNominatedNodeNameAfterBinding ContainerRestartRules
        DeploymentReplicaSetTerminatingReplicas EnvFiles HPAConfigurableTolerance
        HostnameOverride ImageVolume InOrderInformersBatchProcess KubeletCrashLoopBackOffMax
        KubeletEnsureSecretPulledImages MutableCSINodeAllocatableCount
        NominatedNodeNameForExpectation OpportunisticBatching PodTopologyLabelsAdmission
        StructuredAuthenticationConfigurationJWKSMetrics WatchListClient
    """,
    beta_off="""
        CRDObservedGenerationTracking MaxUnavailableStatefulSet PodCertificateRequest
        StorageVersionMigrator
    """,
    ga="""
        InformerResourceVersion
    """,
    ga_locked="""
        DisableAllocatorDualWrite DynamicResourceAllocation ExecProbeTimeout
        ImageMaximumGCAge InPlacePodVerticalScaling JobManagedBy
        PodObservedGenerationTracking PreferSameTrafficDistribution SupplementalGroupsPolicy
        SystemdWatchdog
    """,
    deprecated_off="""
        ChangeContainerStatusOnKubeletRestart
    """,
    deprecated_off_locked="""
        AllowOverwriteTerminationGracePeriodSeconds
    """,
    deprecated_on_locked="""
        AggregatedDiscoveryRemoveBetaType
    """,
    gone="""
        AllowServiceLBStatusOnNonLB ComponentSLIs CronJobsScheduledAnnotation
        LoadBalancerIPMode PodIndexLabel ProbeHostPodSecurityStandards
        SizeMemoryBackedVolumes StatefulSetAutoDeletePVC StrictCostEnforcementForVAP
        StrictCostEnforcementForWebhooks UserNamespacesPodSecurityStandards
    """,
)
_NEEDS: Final = needs("""
    AuthorizeNodeWithSelectors: AuthorizeWithSelectors
    ClusterTrustBundleProjection: ClusterTrustBundle
    DRAAdminAccess: DynamicResourceAllocation
    DRAConsumableCapacity: DynamicResourceAllocation
    DRADeviceBindingConditions: DRAResourceClaimDeviceStatus DynamicResourceAllocation
    DRADeviceTaintRules: DRADeviceTaints
    DRADeviceTaints: DynamicResourceAllocation
    DRAExtendedResource: DynamicResourceAllocation
    DRAPartitionableDevices: DynamicResourceAllocation
    DRAPrioritizedList: DynamicResourceAllocation
    DRASchedulerFilterTimeout: DynamicResourceAllocation
    DeclarativeValidationTakeover: DeclarativeValidation
    DisableAllocatorDualWrite: MultiCIDRServiceAllocator
    GangScheduling: GenericWorkload
    GracefulNodeShutdownBasedOnPodPriority: GracefulNodeShutdown
    InPlacePodLevelResourcesVerticalScaling:
        InPlacePodVerticalScaling NodeDeclaredFeatures PodLevelResources
    InPlacePodVerticalScalingAllocatedStatus: InPlacePodVerticalScaling
    InPlacePodVerticalScalingExclusiveCPUs: InPlacePodVerticalScaling
    InPlacePodVerticalScalingExclusiveMemory: InPlacePodVerticalScaling MemoryManager
    MatchLabelKeysInPodTopologySpreadSelectorMerge: MatchLabelKeysInPodTopologySpread
    PodCertificateRequest: AuthorizeNodeWithSelectors
    PodLifecycleSleepActionAllowZero: PodLifecycleSleepAction
    ProcMountType: UserNamespacesSupport
    ResourceHealthStatus: DynamicResourceAllocation
    RestartAllContainersOnContainerExits: ContainerRestartRules NodeDeclaredFeatures
    ServiceAccountTokenNodeBinding: ServiceAccountTokenNodeBindingValidation
    StorageVersionAPI: APIServerIdentity
    StructuredAuthenticationConfigurationEgressSelector: StructuredAuthenticationConfiguration
    StructuredAuthenticationConfigurationJWKSMetrics: StructuredAuthenticationConfiguration
    UnknownVersionInteroperabilityProxy: APIServerIdentity
    UserNamespacesHostNetworkSupport: UserNamespacesSupport
    WindowsCPUAndMemoryAffinity: MemoryManager
    WindowsGracefulNodeShutdown: GracefulNodeShutdown
""")

V1_35: Final = later(
    V1_34,
    "1.35",
    gates=_GATES,
    needs=_NEEDS,
    cpu_options={
        "strict-cpu-reservation": Maturity.STABLE,
    },
    topology_options={
        "max-allowable-numa-nodes": Maturity.STABLE,
    },
    rules={
        "cgroup_v1_is_refused_unless_allowed": ALWAYS,
        "reserved_memory_flag_is_spelt_right": ALWAYS,
        "allocated_resources_count": None,
        "sidecar_statuses_count": None,
        "log_query_is_named": ALWAYS,
    },
)
