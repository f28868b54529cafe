"""The fields of KubeletConfiguration v1beta1 of all releases: ``name:type``.

A row with ``=`` and a default is a field that the kubelet checks at its start; with ``!`` the
default also replaces an empty text or a zero. Fields that numalet uses are attributes of
``KubeletConfig``, which has their defaults. Other fields are listed so that misspelt ones are
found. Kubelet v1.32: ``SetDefaults_KubeletConfiguration``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.model import go_text
from numalet.core.model.value import Value

_TABLE: Final = """
address:string allowedUnsafeSysctls:[]string apiVersion:string
authentication:v1beta1.KubeletAuthentication authorization:v1beta1.KubeletAuthorization
cgroupDriver:string cgroupRoot:string= cgroupsPerQOS:bool clusterDNS:[]string clusterDomain:string
configMapAndSecretChangeDetectionStrategy:v1beta1.ResourceChangeDetectionStrategy
containerLogMaxFiles:int32=5 containerLogMaxSize:string containerLogMaxWorkers:int32=1
containerLogMonitorInterval:duration=10s containerRuntimeEndpoint:string! contentType:string
cpuCFSQuota:bool cpuCFSQuotaPeriod:duration cpuManagerPolicy:string!
cpuManagerPolicyOptions:map[string]string cpuManagerReconcilePeriod:duration
crashLoopBackOff.maxContainerRestartPeriod:duration= crashLoopBackOff:v1beta1.CrashLoopBackOffConfig
defaultPodSysctls:map[string]string= enableContentionProfiling:bool
enableControllerAttachDetach:bool enableDebugFlagsHandler:bool enableDebuggingHandlers:bool
enableProfilingHandler:bool enableServer:bool enableSystemLogHandler:bool=true
enableSystemLogQuery:bool=false enforceNodeAllocatable:[]string eventBurst:int32!100
eventRecordQPS:int32=50 evictionHard:map[string]string evictionMaxPodGracePeriod:int32
evictionMinimumReclaim:map[string]string evictionPressureTransitionPeriod:duration
evictionSoft:map[string]string evictionSoftGracePeriod:map[string]string failCgroupV1:bool
failSwapOn:bool featureGates:map[string]bool fileCheckFrequency:duration
hairpinMode:string!promiscuous-bridge healthzBindAddress:string healthzPort:int32
httpCheckFrequency:duration imageGCHighThresholdPercent:int32=85 imageGCLowThresholdPercent:int32=80
imageMaximumGCAge:duration=0s imageMinimumGCAge:duration!2m0s
imagePullCredentialsVerificationPolicy:v1beta1.ImagePullCredentialsVerificationPolicy=
imageServiceEndpoint:string iptablesDropBit:int32=15 iptablesMasqueradeBit:int32=14
kernelMemcgNotification:bool kind:string kubeAPIBurst:int32!100 kubeAPIQPS:int32=50
kubeletCgroups:string kubeReserved:map[string]string kubeReservedCgroup:string
localStorageCapacityIsolation:bool logging:v1.LoggingConfiguration makeIPTablesUtilChains:bool
maxOpenFiles:int64!1000000 maxParallelImagePulls:int32= maxPods:int32! memoryManagerPolicy:string!
memoryReservationPolicy:v1beta1.MemoryReservationPolicy! memorySwap.swapBehavior:string
memorySwap:v1beta1.MemorySwapConfiguration memoryThrottlingFactor:float64
mergeDefaultEvictionSettings:bool nodeLeaseDurationSeconds:int32!40 nodeStatusMaxImages:int32=50
nodeStatusReportFrequency:duration nodeStatusUpdateFrequency:duration oomScoreAdj:int32=-999
podCIDR:string podLogsDir:string!/var/log/pods podPidsLimit:int64 podsPerCore:int32 port:int32!
preloadedImagesVerificationAllowlist:[]string= protectKernelDefaults:bool providerID:string
qosReserved:map[string]string readOnlyPort:int32 registerNode:bool registerWithTaints:[]v1.Taint
registryBurst:int32!10 registryPullQPS:int32=5 reservedMemory:[]v1beta1.MemoryReservation
reservedSystemCPUs:string resolvConf:string rotateCertificates:bool runOnce:bool=false
runtimeRequestTimeout:duration seccompDefault:bool serializeImagePulls:bool=
serverTLSBootstrap:bool=false showHiddenMetricsForVersion:string shutdownGracePeriod:duration=0s
shutdownGracePeriodByPodPriority:[]v1beta1.ShutdownGracePeriodByPodPriority=
shutdownGracePeriodCriticalPods:duration=0s singleProcessOOMKill:bool staticPodPath:string
staticPodURL:string staticPodURLHeader:map[string][]string streamingConnectionIdleTimeout:duration
syncFrequency:duration systemCgroups:string= systemReserved:map[string]string
systemReservedCgroup:string tlsCertFile:string tlsCipherSuites:[]string tlsCurvePreferences:[]int32
tlsMinVersion:string tlsPrivateKeyFile:string topologyManagerPolicy:string!
topologyManagerPolicyOptions:map[string]string topologyManagerScope:string!
tracing.samplingRatePerMillion:int32= tracing:v1.TracingConfiguration=
userNamespaces.idsPerPod:int64= userNamespaces:v1beta1.UserNamespaces volumePluginDir:string
volumeStatsAggPeriod:duration
"""
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_ATTRIBUTES: Final = {
    "cpuCFSQuotaPeriod": "cpu_cfs_quota_period_ns",
    "memorySwap.swapBehavior": "swap_behavior",
    "reservedSystemCPUs": "reserved_system_cpus",
}
_PARSERS: Final[Mapping[str, Callable[[str], Any]]] = {
    "bool": "true".__eq__,
    "duration": go_text.parse_duration_ns,
    "int32": int,
    "int64": int,
    "string": str,
}
_FLAGS: Final = {"podPidsLimit": "pod-max-pids", "reservedSystemCPUs": "reserved-cpus"}


class KubeletField(Value):
    """A field; a dot in its name leads into a mapping.

    ``type`` is the Go type as error texts name it, or ``duration``. ``attribute`` is empty for a
    field that numalet does not use. ``is_read``: its value is needed.
    """

    name: str
    type: str
    attribute: str
    default: Any
    is_defaulted_when_empty: bool
    is_read: bool

    @property
    def flag(self) -> str:
        """The flag that sets the field, without dashes."""
        return _FLAGS.get(self.name) or _snake(self.name).replace("_", "-")


def _snake(name: str) -> str:
    return _HUMP.sub("_", name).lower()


def _row(word: str, defaults: KubeletConfig) -> KubeletField:
    name, _, rest = word.partition(":")
    of_type, mark, text = re.split(r"([=!]|$)", rest, maxsplit=1)
    attribute = _ATTRIBUTES.get(name) or _snake(name)
    if attribute in KubeletConfig.__struct_fields__:
        default = getattr(defaults, attribute)
    else:
        attribute = ""
        default = _PARSERS[of_type](text) if text else None
    return KubeletField(name, of_type, attribute, default, mark == "!", bool(attribute or mark))


def _rows() -> Mapping[str, KubeletField]:
    defaults = KubeletConfig()
    order = [*KubeletConfig.__struct_fields__, ""]
    rows = (_row(word, defaults) for word in _TABLE.split())
    ordered = sorted(rows, key=lambda row: order.index(row.attribute))
    return MappingProxyType({row.name: row for row in ordered})


FIELDS: Final = _rows()
"""Every field by its name, those that numalet uses first."""
HONOURED: Final = MappingProxyType({name: row for name, row in FIELDS.items() if row.attribute})
"""The fields that numalet uses."""


def value(config: KubeletConfig, name: str) -> Any:
    row = FIELDS[name]
    return getattr(config, row.attribute) if row.attribute else config.others.get(name, row.default)
