"""Kubernetes v1.32: the release that numalet's documentation describes.

All feature gates are listed, by stage and default. The kubelet shares one list with the other
components, so most of them do nothing in it. They matter because an unknown gate stops the start
and a known one does not. Source: v1.32's table of versioned gates; for gates of client-go and
component-base, their documentation.
"""

from __future__ import annotations

from typing import Final

from numalet.core.config.releases.gate_tables import gates
from numalet.core.config.releases.release import Maturity, Release, When, later

_GATES: Final = gates(
    alpha="""
        APIServingWithRoutine AllAlpha AllowUnsafeMalformedObjectDeletion
        CBORServingAndStorage CPUManagerPolicyAlphaOptions CSIVolumeHealth ClientsAllowCBOR
        ClientsPreferCBOR CloudControllerManagerWebhook ClusterTrustBundle
        ClusterTrustBundleProjection ComponentFlagz ComponentStatusz
        CoordinatedLeaderElection CrossNamespaceVolumeDataSource CustomCPUCFSQuotaPeriod
        DRAAdminAccess DRAResourceClaimDeviceStatus DisableAllocatorDualWrite EventedPLEG
        ExternalServiceAccountTokenSigner HPAScaleToZero ImageVolume
        InPlacePodVerticalScaling InPlacePodVerticalScalingAllocatedStatus
        InPlacePodVerticalScalingExclusiveCPUs InTreePluginPortworxUnregister
        InformerResourceVersion KubeletCrashLoopBackOffMax KubeletFineGrainedAuthz
        KubeletInUserNamespace KubeletPodResourcesDynamicResources KubeletPodResourcesGet
        LoggingAlphaOptions MaxUnavailableStatefulSet MemoryQoS MutatingAdmissionPolicy
        PodAndContainerStatsFromCRI PodLevelResources PodLifecycleSleepActionAllowZero
        PodLogsQuerySplitStreams QOSReserved RelaxedDNSSearchValidation
        RemoteRequestHeaderUID ResourceHealthStatus RuntimeClassInImageCriApi
        SELinuxChangePolicy SELinuxMount SchedulerAsyncPreemption StorageVersionAPI
        StorageVersionMigrator SupplementalGroupsPolicy TopologyManagerPolicyAlphaOptions
        UnknownVersionInteroperabilityProxy UserNamespacesPodSecurityStandards
        VolumeCapacityPriority WinDSR WindowsCPUAndMemoryAffinity
        WindowsGracefulNodeShutdown
    """,
    alpha_on="""
        WindowsHostNetwork
    """,
    beta="""
        APIResponseCompression APIServerIdentity APIServerTracing
        AnonymousAuthConfigurableEndpoints AnyVolumeDataSource AuthorizeNodeWithSelectors
        AuthorizeWithSelectors BtreeWatchCache CPUManagerPolicyBetaOptions
        CPUManagerPolicyOptions CRDValidationRatcheting CSIMigrationPortworx
        ConsistentListFromCache ContainerCheckpoint ContextualLogging GracefulNodeShutdown
        GracefulNodeShutdownBasedOnPodPriority HonorPVReclaimPolicy ImageMaximumGCAge
        JobBackoffLimitPerIndex JobManagedBy JobPodReplacementPolicy JobSuccessPolicy
        KubeletCgroupDriverFromCRI KubeletSeparateDiskGC KubeletTracing LoggingBetaOptions
        MatchLabelKeysInPodAffinity MatchLabelKeysInPodTopologySpread NFTablesProxyMode
        NodeInclusionPolicyInPodTopologySpread NodeSwap OpenAPIEnums PodDeletionCost
        PodLifecycleSleepAction PodReadyToStartContainersCondition PortForwardWebsockets
        RecoverVolumeExpansionFailure RecursiveReadOnlyMounts
        RelaxedEnvironmentVariableValidation ReloadKubeletServerCertificateFile
        ResilientWatchCacheInitialization RotateKubeletServerCertificate
        SELinuxMountReadWriteOncePod SchedulerQueueingHints SeparateCacheWatchRPC
        SeparateTaintEvictionController ServiceAccountTokenNodeBinding
        ServiceTrafficDistribution SidecarContainers StorageNamespaceIndex
        StorageVersionHash StructuredAuthenticationConfiguration SystemdWatchdog
        TopologyAwareHints TopologyManagerPolicyBetaOptions
        TranslateStreamCloseWebsocketRequests UnauthenticatedHTTP2DOSMitigation WatchList
        WinOverlay
    """,
    beta_off="""
        AllBeta ConcurrentWatchObjectDecode DynamicResourceAllocation
        LocalStorageCapacityIsolationFSQuotaMonitoring MultiCIDRServiceAllocator
        NodeLogQuery OrderedNamespaceDeletion ProcMountType
        ServiceAccountNodeAudienceRestriction UserNamespacesSupport VolumeAttributesClass
        WatchCacheInitializationPostStartHook WatchFromStorageWithoutResourceVersion
        WatchListClient
    """,
    ga="""
        ExecProbeTimeout TopologyManagerPolicyOptions
    """,
    ga_locked="""
        APIListChunking AdmissionWebhookMatchConditions AggregatedDiscoveryEndpoint AppArmor
        AppArmorFields CPUManager ComponentSLIs CronJobsScheduledAnnotation
        CustomResourceFieldSelectors DevicePluginCDIDevices DisableCloudProviders
        DisableKubeletCloudCredentialProviders EfficientWatchResumption ElasticIndexedJob
        JobPodFailurePolicy KubeProxyDrainingTerminatingNodes LoadBalancerIPMode
        LogarithmicScaleDown MemoryManager PDBUnhealthyPodEvictionPolicy
        PersistentVolumeLastPhaseTransitionTime PodDisruptionConditions PodIndexLabel
        PodSchedulingReadiness RemainingItemCount RetryGenerateName ServiceAccountTokenJTI
        ServiceAccountTokenNodeBindingValidation ServiceAccountTokenPodNodeInfo
        SizeMemoryBackedVolumes StatefulSetAutoDeletePVC StatefulSetStartOrdinal
        StrictCostEnforcementForVAP StrictCostEnforcementForWebhooks
        StructuredAuthorizationConfiguration WatchBookmark
    """,
    deprecated_off="""
        AllowDNSOnlyNodeCSR AllowInsecureKubeletCertificateSigningRequests
        AllowOverwriteTerminationGracePeriodSeconds DisableNodeKubeProxyVersion KMSv1
        KubeletRegistrationGetOnExistsOnly
    """,
    deprecated_off_locked="""
        AllowServiceLBStatusOnNonLB
    """,
)

V1_32: Final = later(
    Release(name="", gates={}, cpu_options={}, topology_options={}),
    "1.32",
    gates=_GATES,
    cpu_options={
        "full-pcpus-only": Maturity.BETA,
        "distribute-cpus-across-numa": Maturity.ALPHA,
        "align-by-socket": Maturity.ALPHA,
        "distribute-cpus-across-cores": Maturity.ALPHA,
        "strict-cpu-reservation": Maturity.ALPHA,
        "prefer-align-cpus-by-uncorecache": Maturity.ALPHA,
    },
    topology_options={
        "prefer-closest-numa-nodes": Maturity.STABLE,
        "max-allowable-numa-nodes": Maturity.BETA,
    },
    claim_versions={"v1alpha3": False, "v1beta1": False},
    rules={
        "sidecars_are_forbidden": When(off=("SidecarContainers",)),
        "pod_resources_answer_get": When(on=("KubeletPodResourcesGet",)),
        "allocated_resources_count": When(on=("InPlacePodVerticalScaling",)),
        "pod_level_resources_count": When(on=("PodLevelResources",)),
        "empty_pod_resources_are_best_effort": When(on=("PodLevelResources",)),
    },
)
