"""The fields of KubeletConfiguration v1beta1: those that are honoured, and the names of the rest.

The rest is listed so that a field of the kubelet that decides nothing here is passed over, while a
misspelt one is noticed.
"""

from __future__ import annotations

from enum import Enum
from typing import Final


class Shape(Enum):
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
    "cpuManagerPolicy": ("cpu_manager_policy", Shape.TEXT),
    "cpuManagerPolicyOptions": ("cpu_manager_policy_options", Shape.TEXT_MAP),
    "memoryManagerPolicy": ("memory_manager_policy", Shape.TEXT),
    "reservedMemory": ("reserved_memory", Shape.RESERVED_MEMORY),
    "topologyManagerPolicy": ("topology_manager_policy", Shape.TEXT),
    "topologyManagerScope": ("topology_manager_scope", Shape.TEXT),
    "topologyManagerPolicyOptions": ("topology_manager_policy_options", Shape.TEXT_MAP),
    "kubeReserved": ("kube_reserved", Shape.TEXT_MAP),
    "systemReserved": ("system_reserved", Shape.TEXT_MAP),
    "reservedSystemCPUs": ("reserved_system_cpus", Shape.TEXT),
    "kubeReservedCgroup": ("kube_reserved_cgroup", Shape.TEXT),
    "systemReservedCgroup": ("system_reserved_cgroup", Shape.TEXT),
    "enforceNodeAllocatable": ("enforce_node_allocatable", Shape.TEXTS),
    "cgroupsPerQOS": ("cgroups_per_qos", Shape.BOOLEAN),
    "evictionHard": ("eviction_hard", Shape.TEXT_MAP),
    "featureGates": ("feature_gates", Shape.BOOLEAN_MAP),
    "maxPods": ("max_pods", Shape.INTEGER),
    "podsPerCore": ("pods_per_core", Shape.INTEGER),
    "port": ("port", Shape.INTEGER),
    "healthzPort": ("healthz_port", Shape.INTEGER),
    "readOnlyPort": ("read_only_port", Shape.INTEGER),
    "cpuCFSQuota": ("cpu_cfs_quota", Shape.BOOLEAN),
    "cpuCFSQuotaPeriod": ("cpu_cfs_quota_period_ns", Shape.DURATION),
    "podPidsLimit": ("pod_pids_limit", Shape.LONG),
    "singleProcessOOMKill": ("single_process_oom_kill", Shape.BOOLEAN),
    "memorySwap": ("swap_behavior", Shape.SWAP),
    "memoryThrottlingFactor": ("memory_throttling_factor", Shape.NUMBER),
    "failSwapOn": ("fail_swap_on", Shape.BOOLEAN),
    "containerRuntimeEndpoint": ("container_runtime_endpoint", Shape.TEXT),
    "evictionSoft": ("eviction_soft", Shape.TEXT_MAP),
    "evictionSoftGracePeriod": ("eviction_soft_grace_period", Shape.TEXT_MAP),
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
