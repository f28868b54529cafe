"""The fields of KubeletConfiguration v1beta1 of all releases: which are honoured, and the rest.

The rest is listed so that a field of the kubelet that decides nothing here is passed over, while a
misspelt one is noticed.
"""

from __future__ import annotations

from enum import Enum
from typing import Final


class FieldShape(Enum):
    """How a field is read; its Go type stands in ``kubelet_types``."""

    TEXT = "text"
    BOOLEAN = "boolean"
    INTEGER = "integer"
    LONG = "long"
    TEXTS = "texts"
    TEXT_MAP = "text-map"
    BOOLEAN_MAP = "boolean-map"
    NUMBER = "number"
    DURATION = "duration"
    SWAP = "swap"
    RESERVED_MEMORY = "reserved-memory"
    PRESENCE = "presence"


HONOURED: Final = {
    "cpuManagerPolicy": ("cpu_manager_policy", FieldShape.TEXT),
    "cpuManagerPolicyOptions": ("cpu_manager_policy_options", FieldShape.TEXT_MAP),
    "memoryManagerPolicy": ("memory_manager_policy", FieldShape.TEXT),
    "reservedMemory": ("reserved_memory", FieldShape.RESERVED_MEMORY),
    "topologyManagerPolicy": ("topology_manager_policy", FieldShape.TEXT),
    "topologyManagerScope": ("topology_manager_scope", FieldShape.TEXT),
    "topologyManagerPolicyOptions": ("topology_manager_policy_options", FieldShape.TEXT_MAP),
    "kubeReserved": ("kube_reserved", FieldShape.TEXT_MAP),
    "systemReserved": ("system_reserved", FieldShape.TEXT_MAP),
    "reservedSystemCPUs": ("reserved_system_cpus", FieldShape.TEXT),
    "kubeReservedCgroup": ("kube_reserved_cgroup", FieldShape.TEXT),
    "systemReservedCgroup": ("system_reserved_cgroup", FieldShape.TEXT),
    "enforceNodeAllocatable": ("enforce_node_allocatable", FieldShape.TEXTS),
    "cgroupsPerQOS": ("cgroups_per_qos", FieldShape.BOOLEAN),
    "evictionHard": ("eviction_hard", FieldShape.TEXT_MAP),
    "featureGates": ("feature_gates", FieldShape.BOOLEAN_MAP),
    "maxPods": ("max_pods", FieldShape.INTEGER),
    "podsPerCore": ("pods_per_core", FieldShape.INTEGER),
    "port": ("port", FieldShape.INTEGER),
    "healthzPort": ("healthz_port", FieldShape.INTEGER),
    "readOnlyPort": ("read_only_port", FieldShape.INTEGER),
    "cpuCFSQuota": ("cpu_cfs_quota", FieldShape.BOOLEAN),
    "cpuCFSQuotaPeriod": ("cpu_cfs_quota_period_ns", FieldShape.DURATION),
    "podPidsLimit": ("pod_pids_limit", FieldShape.LONG),
    "singleProcessOOMKill": ("single_process_oom_kill", FieldShape.BOOLEAN),
    "memorySwap": ("swap_behavior", FieldShape.SWAP),
    "memoryThrottlingFactor": ("memory_throttling_factor", FieldShape.NUMBER),
    "failSwapOn": ("fail_swap_on", FieldShape.BOOLEAN),
    "containerRuntimeEndpoint": ("container_runtime_endpoint", FieldShape.TEXT),
    "evictionSoft": ("eviction_soft", FieldShape.TEXT_MAP),
    "evictionSoftGracePeriod": ("eviction_soft_grace_period", FieldShape.TEXT_MAP),
    "mergeDefaultEvictionSettings": ("merge_default_eviction_settings", FieldShape.BOOLEAN),
    "failCgroupV1": ("fail_cgroup_v1", FieldShape.BOOLEAN),
    "memoryReservationPolicy": ("memory_reservation_policy", FieldShape.TEXT),
}

HOUSEKEEPING: Final = {
    "nodeLeaseDurationSeconds": ("node_lease_seconds", FieldShape.INTEGER),
    "systemCgroups": ("system_cgroups", FieldShape.TEXT),
    "cgroupRoot": ("cgroup_root", FieldShape.TEXT),
    "eventBurst": ("event_burst", FieldShape.INTEGER),
    "eventRecordQPS": ("event_record_qps", FieldShape.INTEGER),
    "imageGCHighThresholdPercent": ("image_gc_high_threshold_percent", FieldShape.INTEGER),
    "imageGCLowThresholdPercent": ("image_gc_low_threshold_percent", FieldShape.INTEGER),
    "imageMaximumGCAge": ("image_maximum_gc_age_ns", FieldShape.DURATION),
    "imageMinimumGCAge": ("image_minimum_gc_age_ns", FieldShape.DURATION),
    "iptablesDropBit": ("iptables_drop_bit", FieldShape.INTEGER),
    "iptablesMasqueradeBit": ("iptables_masquerade_bit", FieldShape.INTEGER),
    "kubeAPIBurst": ("kube_api_burst", FieldShape.INTEGER),
    "kubeAPIQPS": ("kube_api_qps", FieldShape.INTEGER),
    "nodeStatusMaxImages": ("node_status_max_images", FieldShape.INTEGER),
    "maxOpenFiles": ("max_open_files", FieldShape.LONG),
    "oomScoreAdj": ("oom_score_adj", FieldShape.INTEGER),
    "registryBurst": ("registry_burst", FieldShape.INTEGER),
    "registryPullQPS": ("registry_pull_qps", FieldShape.INTEGER),
    "maxParallelImagePulls": ("max_parallel_image_pulls", FieldShape.INTEGER),
    "serializeImagePulls": ("serialize_image_pulls", FieldShape.BOOLEAN),
    "serverTLSBootstrap": ("server_tls_bootstrap", FieldShape.BOOLEAN),
    "runOnce": ("run_once", FieldShape.BOOLEAN),
    "shutdownGracePeriod": ("shutdown_grace_period_ns", FieldShape.DURATION),
    "shutdownGracePeriodCriticalPods": (
        "shutdown_grace_period_critical_pods_ns",
        FieldShape.DURATION,
    ),
    "shutdownGracePeriodByPodPriority": ("shutdown_is_by_priority", FieldShape.PRESENCE),
    "crashLoopBackOff.maxContainerRestartPeriod": (
        "max_container_restart_period_ns",
        FieldShape.DURATION,
    ),
    "hairpinMode": ("hairpin_mode", FieldShape.TEXT),
    "imagePullCredentialsVerificationPolicy": ("image_verification_policy", FieldShape.TEXT),
    "preloadedImagesVerificationAllowlist": ("image_verification_allowlist", FieldShape.TEXTS),
    "userNamespaces.idsPerPod": ("user_namespace_ids_per_pod", FieldShape.LONG),
    "tracing": ("has_tracing", FieldShape.PRESENCE),
    "tracing.samplingRatePerMillion": ("tracing_sampling_rate", FieldShape.INTEGER),
    "enableSystemLogQuery": ("enable_system_log_query", FieldShape.BOOLEAN),
    "enableSystemLogHandler": ("enable_system_log_handler", FieldShape.BOOLEAN),
    "containerLogMaxWorkers": ("container_log_max_workers", FieldShape.INTEGER),
    "containerLogMonitorInterval": ("container_log_monitor_interval_ns", FieldShape.DURATION),
    "containerLogMaxFiles": ("container_log_max_files", FieldShape.INTEGER),
    "podLogsDir": ("pod_logs_dir", FieldShape.TEXT),
}
"""What is read because a wrong value stops the start; a dot leads into a mapping."""

DEFAULTED_WHEN_EMPTY: Final = frozenset(
    {
        "cpuManagerPolicy",
        "memoryManagerPolicy",
        "topologyManagerPolicy",
        "topologyManagerScope",
        "maxPods",
        "containerRuntimeEndpoint",
        "port",
        "memoryReservationPolicy",
        "nodeLeaseDurationSeconds",
        "eventBurst",
        "imageMinimumGCAge",
        "kubeAPIBurst",
        "maxOpenFiles",
        "registryBurst",
        "hairpinMode",
        "podLogsDir",
    }
)
"""Fields whose empty text or zero the kubelet replaces by the default."""

_PASSED_OVER: Final = """
address allowedUnsafeSysctls apiVersion authentication authorization cgroupDriver clusterDNS
clusterDomain configMapAndSecretChangeDetectionStrategy containerLogMaxSize contentType
cpuManagerReconcilePeriod crashLoopBackOff enableContentionProfiling enableControllerAttachDetach
enableDebugFlagsHandler enableDebuggingHandlers enableProfilingHandler enableServer
evictionMaxPodGracePeriod evictionMinimumReclaim evictionPressureTransitionPeriod
fileCheckFrequency healthzBindAddress httpCheckFrequency imageServiceEndpoint
kernelMemcgNotification kind kubeletCgroups localStorageCapacityIsolation logging
makeIPTablesUtilChains nodeStatusReportFrequency nodeStatusUpdateFrequency podCIDR
protectKernelDefaults providerID qosReserved registerNode registerWithTaints resolvConf
rotateCertificates runtimeRequestTimeout seccompDefault showHiddenMetricsForVersion staticPodPath
staticPodURL staticPodURLHeader streamingConnectionIdleTimeout syncFrequency tlsCertFile
tlsCipherSuites tlsCurvePreferences tlsMinVersion tlsPrivateKeyFile userNamespaces volumePluginDir
volumeStatsAggPeriod
"""
PASSED_OVER: Final = frozenset(_PASSED_OVER.split())
