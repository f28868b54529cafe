"""Kubernetes v1.33, as the difference to v1.32.

Source of the gates: the table of versioned gates shortly before v1.33.0.
"""

from __future__ import annotations

from typing import Final

from numalet.core.config.releases.gate_tables import gates
from numalet.core.config.releases.release import ALWAYS, Maturity, When, later
from numalet.core.config.releases.v1_32 import V1_32

_GATES: Final = gates(
    alpha="""
        ContainerStopSignals DRADeviceTaints DRAPartitionableDevices DRAPrioritizedList
        DeploymentReplicaSetTerminatingReplicas HPAConfigurableTolerance
        KubeletEnsureSecretPulledImages KubeletPSI
        KubeletServiceAccountTokenForCredentialProviders ListFromCacheSnapshot
        MutableCSINodeAllocatableCount PodObservedGenerationTracking
        PodTopologyLabelsAdmission PreferSameTrafficDistribution
        ReduceDefaultCrashLoopBackOffDecay StorageCapacityScoring StrictIPCIDRValidation
    """,
    beta="""
        AllowParsingUserUIDFromCertAuth DRAResourceClaimDeviceStatus DeclarativeValidation
        DisableCPUQuotaWithExclusiveCPUs InOrderInformers InPlacePodVerticalScaling
        KubeletFineGrainedAuthz OrderedNamespaceDeletion PodLifecycleSleepActionAllowZero
        ProcMountType RelaxedDNSSearchValidation RemoteRequestHeaderUID SELinuxChangePolicy
        SchedulerAsyncPreemption SchedulerPopFromBackoffQ
        ServiceAccountNodeAudienceRestriction StreamingCollectionEncodingToJSON
        StreamingCollectionEncodingToProtobuf SupplementalGroupsPolicy UserNamespacesSupport
        WinDSR
    """,
    beta_off="""
        ClusterTrustBundle ClusterTrustBundleProjection CoordinatedLeaderElection
        DeclarativeValidationTakeover DisableAllocatorDualWrite ImageVolume SELinuxMount
        WatchList
    """,
    ga="""
        MultiCIDRServiceAllocator
    """,
    ga_locked="""
        AnyVolumeDataSource BtreeWatchCache CPUManagerPolicyOptions CRDValidationRatcheting
        CSIMigrationPortworx HonorPVReclaimPolicy JobBackoffLimitPerIndex JobSuccessPolicy
        MatchLabelKeysInPodAffinity NFTablesProxyMode NodeInclusionPolicyInPodTopologySpread
        RecursiveReadOnlyMounts ServiceAccountTokenNodeBinding ServiceTrafficDistribution
        SidecarContainers TopologyAwareHints
    """,
    deprecated_off="""
        GitRepoVolumeDriver InPlacePodVerticalScalingAllocatedStatus LegacySidecarContainers
        SeparateCacheWatchRPC WindowsHostNetwork
    """,
    deprecated_on="""
        AggregatedDiscoveryRemoveBetaType DisableNodeKubeProxyVersion StorageNamespaceIndex
    """,
    deprecated_off_locked="""
        WatchFromStorageWithoutResourceVersion
    """,
    gone="""
        APIListChunking AdmissionWebhookMatchConditions AggregatedDiscoveryEndpoint AppArmor
        AppArmorFields CPUManager DisableCloudProviders
        DisableKubeletCloudCredentialProviders EfficientWatchResumption JobPodFailurePolicy
        KubeProxyDrainingTerminatingNodes PDBUnhealthyPodEvictionPolicy
        PersistentVolumeLastPhaseTransitionTime RemainingItemCount VolumeCapacityPriority
        WatchBookmark
    """,
)

V1_33: Final = later(
    V1_32,
    "1.33",
    gates=_GATES,
    cpu_options={
        "full-pcpus-only": Maturity.STABLE,
        "distribute-cpus-across-numa": Maturity.BETA,
        "strict-cpu-reservation": Maturity.BETA,
    },
    fields=(
        "imagePullCredentialsVerificationPolicy",
        "mergeDefaultEvictionSettings",
        "preloadedImagesVerificationAllowlist",
        "userNamespaces",
    ),
    rules={
        "hint_lines_name_the_pod": ALWAYS,
        "checks_and_starts_are_logged": ALWAYS,
        "stale_lines_are_verbose": ALWAYS,
        "sidecars_are_forbidden": None,
        "strict_groups_need_a_runtime": ALWAYS,
        "failed_alignments_are_counted": ALWAYS,
        "containers_in_one_cache_are_counted": ALWAYS,
        "exclusive_cpus_are_shown_by_numa_node": ALWAYS,
        "shared_cpus_count_once_at_start": ALWAYS,
        "exclusive_cpus_have_no_quota": When(on=("DisableCPUQuotaWithExclusiveCPUs",)),
        "default_eviction_is_merged_if_asked": ALWAYS,
        "one_log_file_is_refused": ALWAYS,
        "image_verification_is_checked": ALWAYS,
        "user_namespace_ids_are_checked": ALWAYS,
        "odd_requests_drop_one_cpu": ALWAYS,
        "sidecar_statuses_count": When(on=("InPlacePodVerticalScaling",)),
        "topology_option_levels_are_lower_case": ALWAYS,
    },
    claim_versions={"v1beta2": False},
)
