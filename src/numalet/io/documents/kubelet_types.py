"""The Go types of KubeletConfiguration v1beta1, and Go's error for a value of another type.

The kubelet v1.32 reads its configuration with Go's ``encoding/json``. A complaint names the
innermost struct whose field is being read, and the names of the fields on the way down, without
places in lists and keys of maps. Types that read themselves complain in their own way: a duration
is read as a text, a quantity from whatever stands there.
Kubelet: ``decodeState.addErrorContext`` of ``encoding/json``, Go 1.23.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from numalet.core.model.value import Value


class Scalar(Value):
    """A text, a boolean or a number: ``kind`` is the Go type below ``name``."""

    name: str
    kind: str
    words: str


_LISTS: Final = {"[]string": "a list of texts", "[]int32": "a list of whole numbers"}


class Listed(Value):
    """A slice."""

    name: str
    element: GoType

    @property
    def words(self) -> str:
        """As messages name it."""
        return _LISTS.get(self.name, "a list of mappings")


class Mapped(Value):
    """A map with texts as keys."""

    name: str
    element: GoType

    @property
    def words(self) -> str:
        """As messages name it."""
        element = self.element
        return "a mapping of texts to " + (
            {"string": "texts", "bool": "true or false"}.get(element.name, "lists of texts")
            if isinstance(element, Scalar | Listed)
            else "quantities"
        )


class Struct(Value):
    """A struct; ``short`` is its name without the package."""

    name: str
    fields: Mapping[str, GoType]

    @property
    def words(self) -> str:
        """As messages name it."""
        return "a mapping with " + ", ".join(self.fields)

    @property
    def short(self) -> str:
        """The name as complaints about its fields have it."""
        return self.name.rpartition(".")[2]


class Anything(Value):
    """A type that reads itself: it accepts a value or refuses it with its own error."""


_Checked: TypeAlias = Scalar | Listed | Mapped | Struct
GoType: TypeAlias = _Checked | Anything


class Mismatch(Value):
    """A value of another type: Go's complaint, and what would be right."""

    go_text: str
    expected: str
    value: object


def mismatches(config: Mapping[str, object]) -> dict[str, Mismatch]:
    """Every value of another type, by its path in the document (``reservedMemory[0].limits``)."""
    return dict(_of_struct(CONFIGURATION, config, "", ()))


def _of_struct(
    struct: Struct, value: Mapping[Any, object], path: str, names: tuple[str, ...]
) -> Iterator[tuple[str, Mismatch]]:
    for name, expected in struct.fields.items():
        given = value.get(name)
        if given is not None:
            at = f"{path}.{name}" if path else name
            yield from _of_value(expected, given, at, _Context(struct.short, (*names, name)))


class _Context(Value):
    struct: str
    names: tuple[str, ...]


def _of_value(
    expected: GoType, value: object, path: str, context: _Context
) -> Iterator[tuple[str, Mismatch]]:
    match expected, value:
        case (Anything(), _) | (_, None):
            return
        case Struct(), dict():
            yield from _of_struct(expected, value, path, context.names)
        case Listed(_, element), list():
            for at, each in enumerate(value):
                yield from _of_value(element, each, f"{path}[{at}]", context)
        case Mapped(_, element), dict():
            for key, each in value.items():
                yield from _of_value(element, each, f"{path}.{key}", context)
        case Scalar(_, kind), _ if _is_of(kind, value):
            return
        case _:
            text = (
                f"json: cannot unmarshal {_described(expected, value)} into Go struct field"
                f" {context.struct}.{'.'.join(context.names)} of type {expected.name}"
            )
            yield path, Mismatch(text, expected.words, value)


_RANGES: Final[Mapping[str, range]] = {
    "int32": range(-(2**31), 2**31),
    "int64": range(-(2**63), 2**63),
    "uint32": range(2**32),
}


def _is_of(kind: str, value: object) -> bool:
    if isinstance(value, bool):
        return kind == "bool"
    if isinstance(value, str):
        return kind == "string"
    if isinstance(value, int):
        return kind == "float64" or value in _RANGES.get(kind, ())
    return isinstance(value, float) and kind == "float64"


def _described(expected: GoType, value: object) -> str:
    """What Go calls a value; of a number it says which, where another one would do."""
    kind = go_kind(value)
    accepts_numbers = isinstance(expected, Scalar) and expected.kind in _RANGES
    return f"number {value}" if kind == "number" and accepts_numbers else kind


def go_kind(value: object) -> str:
    """What Go's JSON reader calls a value."""
    match value:
        case None:
            return "null"
        case bool():
            return "bool"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def as_json(value: object) -> str:
    """A value as it stands in JSON, which is what a type that reads itself is given."""
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


_TEXT: Final = "a text (put it in quotes)"
_WHOLE: Final = "a whole number"
_STRING: Final = Scalar("string", "string", _TEXT)
_BOOL: Final = Scalar("bool", "bool", "true or false")
_INT32: Final = Scalar("int32", "int32", _WHOLE)
_INT64: Final = Scalar("int64", "int64", _WHOLE)
_FLOAT64: Final = Scalar("float64", "float64", "a number")
# v1.Duration and v1.Time read a text, so that is what they miss.
_DURATION: Final = Scalar("string", "string", "a duration such as '100ms'")
_TIME: Final = _STRING
_QUANTITY: Final = Anything()
_STRINGS: Final = Listed("[]string", _STRING)
_STRING_MAP: Final = Mapped("map[string]string", _STRING)
_VERBOSITY: Final = Scalar("v1.VerbosityLevel", "uint32", _WHOLE)


def _named(name: str) -> Scalar:
    return Scalar(name, "string", _TEXT)


def _struct(name: str, **fields: GoType) -> Struct:
    return Struct(name, MappingProxyType(fields))


_AUTHENTICATION: Final = _struct(
    "v1beta1.KubeletAuthentication",
    x509=_struct("v1beta1.KubeletX509Authentication", clientCAFile=_STRING),
    webhook=_struct("v1beta1.KubeletWebhookAuthentication", enabled=_BOOL, cacheTTL=_DURATION),
    anonymous=_struct("v1beta1.KubeletAnonymousAuthentication", enabled=_BOOL),
)
_AUTHORIZATION: Final = _struct(
    "v1beta1.KubeletAuthorization",
    mode=_named("v1beta1.KubeletAuthorizationMode"),
    webhook=_struct(
        "v1beta1.KubeletWebhookAuthorization",
        cacheAuthorizedTTL=_DURATION,
        cacheUnauthorizedTTL=_DURATION,
    ),
)
_MODULE: Final = _struct("v1.VModuleItem", filePattern=_STRING, verbosity=_VERBOSITY)
_LOGGING: Final = _struct(
    "v1.LoggingConfiguration",
    format=_STRING,
    flushFrequency=Anything(),
    verbosity=_VERBOSITY,
    vmodule=Listed("v1.VModuleConfiguration", _MODULE),
    options=_struct(
        "v1.FormatOptions",
        text=_struct("v1.TextOptions", splitStream=_BOOL, infoBufferSize=_QUANTITY),
        json=_struct("v1.JSONOptions", splitStream=_BOOL, infoBufferSize=_QUANTITY),
    ),
)
_OF_PRIORITY: Final = _struct(
    "v1beta1.ShutdownGracePeriodByPodPriority", priority=_INT32, shutdownGracePeriodSeconds=_INT64
)
_RESERVATION: Final = _struct(
    "v1beta1.MemoryReservation", numaNode=_INT32, limits=Mapped("v1.ResourceList", _QUANTITY)
)
_TAINT: Final = _struct(
    "v1.Taint", key=_STRING, value=_STRING, effect=_named("v1.TaintEffect"), timeAdded=_TIME
)

_BY_TYPE: Final[tuple[tuple[GoType, str], ...]] = (
    (
        _STRING,
        """address cgroupDriver cgroupRoot clusterDomain containerLogMaxSize
        containerRuntimeEndpoint contentType cpuManagerPolicy hairpinMode healthzBindAddress
        imageServiceEndpoint kubeReservedCgroup kubeletCgroups memoryManagerPolicy podCIDR
        podLogsDir providerID reservedSystemCPUs resolvConf showHiddenMetricsForVersion
        staticPodPath staticPodURL systemCgroups systemReservedCgroup tlsCertFile tlsMinVersion
        tlsPrivateKeyFile topologyManagerPolicy topologyManagerScope volumePluginDir""",
    ),
    (
        _BOOL,
        """cgroupsPerQOS cpuCFSQuota enableContentionProfiling enableControllerAttachDetach
        enableDebugFlagsHandler enableDebuggingHandlers enableProfilingHandler enableServer
        enableSystemLogHandler enableSystemLogQuery failCgroupV1 failSwapOn kernelMemcgNotification
        localStorageCapacityIsolation makeIPTablesUtilChains mergeDefaultEvictionSettings
        protectKernelDefaults registerNode rotateCertificates runOnce seccompDefault
        serializeImagePulls serverTLSBootstrap singleProcessOOMKill""",
    ),
    (
        _INT32,
        """containerLogMaxFiles containerLogMaxWorkers eventBurst eventRecordQPS
        evictionMaxPodGracePeriod healthzPort imageGCHighThresholdPercent
        imageGCLowThresholdPercent iptablesDropBit iptablesMasqueradeBit kubeAPIBurst kubeAPIQPS
        maxParallelImagePulls maxPods nodeLeaseDurationSeconds nodeStatusMaxImages oomScoreAdj
        podsPerCore port readOnlyPort registryBurst registryPullQPS""",
    ),
    (_INT64, "maxOpenFiles podPidsLimit"),
    (_FLOAT64, "memoryThrottlingFactor"),
    (
        _DURATION,
        """containerLogMonitorInterval cpuCFSQuotaPeriod cpuManagerReconcilePeriod
        evictionPressureTransitionPeriod fileCheckFrequency httpCheckFrequency imageMaximumGCAge
        imageMinimumGCAge nodeStatusReportFrequency nodeStatusUpdateFrequency runtimeRequestTimeout
        shutdownGracePeriod shutdownGracePeriodCriticalPods streamingConnectionIdleTimeout
        syncFrequency volumeStatsAggPeriod""",
    ),
    (
        _STRINGS,
        """allowedUnsafeSysctls clusterDNS enforceNodeAllocatable
        preloadedImagesVerificationAllowlist tlsCipherSuites""",
    ),
    (
        _STRING_MAP,
        """cpuManagerPolicyOptions evictionHard evictionMinimumReclaim evictionSoft
        evictionSoftGracePeriod kubeReserved qosReserved systemReserved
        topologyManagerPolicyOptions""",
    ),
)

CONFIGURATION: Final = Struct(
    "v1beta1.KubeletConfiguration",
    MappingProxyType(
        {name: of_type for of_type, names in _BY_TYPE for name in names.split()}
        | {
            "authentication": _AUTHENTICATION,
            "authorization": _AUTHORIZATION,
            "configMapAndSecretChangeDetectionStrategy": _named(
                "v1beta1.ResourceChangeDetectionStrategy"
            ),
            "crashLoopBackOff": _struct(
                "v1beta1.CrashLoopBackOffConfig", maxContainerRestartPeriod=_DURATION
            ),
            "featureGates": Mapped("map[string]bool", _BOOL),
            "imagePullCredentialsVerificationPolicy": _named(
                "v1beta1.ImagePullCredentialsVerificationPolicy"
            ),
            "logging": _LOGGING,
            "memoryReservationPolicy": _named("v1beta1.MemoryReservationPolicy"),
            "memorySwap": _struct("v1beta1.MemorySwapConfiguration", swapBehavior=_STRING),
            "registerWithTaints": Listed("[]v1.Taint", _TAINT),
            "reservedMemory": Listed("[]v1beta1.MemoryReservation", _RESERVATION),
            "shutdownGracePeriodByPodPriority": Listed(
                "[]v1beta1.ShutdownGracePeriodByPodPriority", _OF_PRIORITY
            ),
            "staticPodURLHeader": Mapped("map[string][]string", _STRINGS),
            "tlsCurvePreferences": Listed("[]int32", _INT32),
            "userNamespaces": _struct("v1beta1.UserNamespaces", idsPerPod=_INT64),
            "tracing": _struct(
                "v1.TracingConfiguration", endpoint=_STRING, samplingRatePerMillion=_INT32
            ),
        }
    ),
)
"""The whole configuration, without ``kind`` and ``apiVersion``, which are read before."""
