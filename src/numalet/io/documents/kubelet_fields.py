"""The fields of KubeletConfiguration v1beta1: those that are honoured, and the names of the rest.

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
}

DEFAULTED_WHEN_EMPTY: Final = frozenset(
    {
        "cpuManagerPolicy",
        "memoryManagerPolicy",
        "topologyManagerPolicy",
        "topologyManagerScope",
        "maxPods",
        "containerRuntimeEndpoint",
        "port",
    }
)
"""Fields whose empty text or zero the kubelet replaces by the default."""

_PASSED_OVER: Final = """
address allowedUnsafeSysctls apiVersion authentication authorization cgroupDriver cgroupRoot
clusterDNS clusterDomain configMapAndSecretChangeDetectionStrategy containerLogMaxFiles
containerLogMaxSize containerLogMaxWorkers containerLogMonitorInterval
contentType cpuManagerReconcilePeriod crashLoopBackOff
enableContentionProfiling enableControllerAttachDetach enableDebugFlagsHandler
enableDebuggingHandlers enableProfilingHandler enableServer enableSystemLogHandler
enableSystemLogQuery eventBurst eventRecordQPS evictionMaxPodGracePeriod evictionMinimumReclaim
evictionPressureTransitionPeriod failCgroupV1
fileCheckFrequency hairpinMode healthzBindAddress httpCheckFrequency imageGCHighThresholdPercent
imageGCLowThresholdPercent imageMaximumGCAge imageMinimumGCAge imageServiceEndpoint
iptablesDropBit iptablesMasqueradeBit kernelMemcgNotification kind kubeAPIBurst kubeAPIQPS
kubeletCgroups localStorageCapacityIsolation logging makeIPTablesUtilChains maxOpenFiles
maxParallelImagePulls nodeLeaseDurationSeconds nodeStatusMaxImages nodeStatusReportFrequency
nodeStatusUpdateFrequency oomScoreAdj podCIDR podLogsDir protectKernelDefaults
providerID qosReserved registerNode registerWithTaints registryBurst registryPullQPS resolvConf
rotateCertificates runOnce runtimeRequestTimeout seccompDefault serializeImagePulls
serverTLSBootstrap showHiddenMetricsForVersion shutdownGracePeriod
shutdownGracePeriodByPodPriority shutdownGracePeriodCriticalPods
staticPodPath staticPodURL staticPodURLHeader streamingConnectionIdleTimeout syncFrequency
systemCgroups tlsCertFile tlsCipherSuites tlsMinVersion tlsPrivateKeyFile tracing volumePluginDir
volumeStatsAggPeriod
"""
PASSED_OVER: Final = frozenset(_PASSED_OVER.split())
