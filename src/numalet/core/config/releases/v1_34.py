"""Kubernetes v1.34, as the difference to v1.33.

Source of the gates: the table of versioned gates of a v1.34 patch release.
"""

from __future__ import annotations

from typing import Final

from numalet.core.config.releases.gate_tables import gates
from numalet.core.config.releases.release import Maturity, When, later
from numalet.core.config.releases.v1_33 import V1_33

_GATES: Final = gates(
    alpha="""
        ClearingNominatedNodeNameAfterBinding ContainerRestartRules DRAConsumableCapacity
        DRADeviceBindingConditions DRAExtendedResource EnvFiles HostnameOverride
        InPlacePodVerticalScalingExclusiveMemory NominatedNodeNameForExpectation
        PodCertificateRequest RelaxedServiceNameValidation
    """,
    beta="""
        DRAAdminAccess DRAPrioritizedList DRASchedulerFilterTimeout DetectCacheInconsistency
        ExternalServiceAccountTokenSigner KubeletPSI KubeletPodResourcesDynamicResources
        KubeletPodResourcesGet KubeletServiceAccountTokenForCredentialProviders
        ListFromCacheSnapshot MatchLabelKeysInPodTopologySpreadSelectorMerge
        PodLevelResources PodObservedGenerationTracking PreferSameTrafficDistribution
        PreventStaticPodAPIReferences SizeBasedListCostEstimate
        StatefulSetSemanticRevisionComparison
        StructuredAuthenticationConfigurationEgressSelector
        TokenRequestServiceAccountUIDValidation WatchList WindowsGracefulNodeShutdown
    """,
    beta_off="""
        MutableCSINodeAllocatableCount MutatingAdmissionPolicy SchedulerAsyncAPICalls
    """,
    ga="""
        DisableAllocatorDualWrite DynamicResourceAllocation VolumeAttributesClass
    """,
    ga_locked="""
        APIServerTracing AnonymousAuthConfigurableEndpoints AuthorizeNodeWithSelectors
        AuthorizeWithSelectors ConsistentListFromCache JobPodReplacementPolicy
        KubeletCgroupDriverFromCRI KubeletTracing MultiCIDRServiceAllocator NodeSwap
        OrderedNamespaceDeletion PodLifecycleSleepAction PodLifecycleSleepActionAllowZero
        ProbeHostPodSecurityStandards RecoverVolumeExpansionFailure
        RelaxedDNSSearchValidation RelaxedEnvironmentVariableValidation
        ResilientWatchCacheInitialization SchedulerQueueingHints
        SeparateTaintEvictionController StreamingCollectionEncodingToJSON
        StreamingCollectionEncodingToProtobuf StructuredAuthenticationConfiguration WinDSR
        WinOverlay
    """,
    deprecated_on="""
        KubeletPodResourcesListUseActivePods
    """,
    gone="""
        DevicePluginCDIDevices ElasticIndexedJob LegacySidecarContainers
        PodDisruptionConditions StatefulSetStartOrdinal
    """,
)

V1_34: Final = later(
    V1_33,
    "1.34",
    gates=_GATES,
    cpu_options={
        "prefer-align-cpus-by-uncorecache": Maturity.BETA,
    },
    claim_versions={"v1": True, "v1alpha3": None},
    rules={
        "containers_have_pod_level_pages": When(on=("PodLevelResources",)),
        "pod_resources_list_active_pods": When(on=("KubeletPodResourcesListUseActivePods",)),
        "pod_level_pods_are_passed_over": When(on=("PodLevelResources",)),
        "pod_level_pods_are_refused": When(off=("PodLevelResources",)),
    },
)
