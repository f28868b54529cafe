"""Findings about fields of a kubelet configuration that do not concern the managers."""

from __future__ import annotations

from typing import Final

from numalet.core.model.findings import Finding
from numalet.core.model.go_text import GoText

_INVALID: Final = "invalid configuration: "
_IMAGES: Final = "The kubelet deletes unused images by disk usage and age, within these ranges."
_PULLS: Final = "The kubelet pulls images one after the other, or several in parallel."
_SHUTDOWN: Final = (
    "Part of the shutdown grace period is for critical pods; each is 0 s, or 1 s or more."
)
_LOGS: Final = "The kubelet rotates the logs of containers."
_VERIFICATION: Final = (
    "The kubelet can verify that a pod may use an image that is already on the node."
)
_TRACING: Final = "The sampling rate of traces is per million requests."
_LOG_QUERY: Final = "Clients query system logs through the kubelet's log handler."


class ConfigNegativeNumber(Finding):
    why = "Rates and limits cannot be negative."
    mend = "set {field} to {default}, the default"
    sentence = kubelet_text = _INVALID + "{field} ({flag}) {value} must not be a negative number"
    field: str
    flag: str
    value: int
    default: int


class ConfigNumberOutsideRange(Finding):
    why = "The value is outside the field's range."
    mend = "set {field} to {default}, the default"
    sentence = kubelet_text = (
        _INVALID + "{field} ({flag}) {value} must be between {lowest} and {highest}, inclusive"
    )
    field: str
    flag: str
    value: int
    lowest: int
    highest: int
    default: int


class ConfigNodeLease(Finding):
    why = "The duration of the node's lease must be positive."
    mend = "set nodeLeaseDurationSeconds to 40, the default"
    sentence = kubelet_text = _INVALID + "nodeLeaseDurationSeconds must be greater than 0"
    seconds: int


class ConfigSystemCgroups(Finding):
    why = "The cgroup of system processes is below cgroupRoot, which must be set."
    mend = "remove systemCgroups, or set cgroupRoot"
    sentence = kubelet_text = (
        _INVALID + "systemCgroups (--system-cgroups) was specified and cgroupRoot "
        "(--cgroup-root) was not specified"
    )


class ConfigImageThresholds(Finding):
    why = _IMAGES
    mend = "set imageGCLowThresholdPercent below imageGCHighThresholdPercent"
    sentence = kubelet_text = (
        _INVALID + "imageGCLowThresholdPercent (--image-gc-low-threshold) {low} must be less than "
        "imageGCHighThresholdPercent (--image-gc-high-threshold) {high}"
    )
    low: int
    high: int


class ConfigImageMaximumAgeNeedsGate(Finding):
    why = _IMAGES
    mend = "set featureGates.ImageMaximumGCAge to true, or remove imageMaximumGCAge"
    sentence = kubelet_text = (
        _INVALID + "ImageMaximumGCAge feature gate is required for Kubelet configuration option "
        "imageMaximumGCAge"
    )


class ConfigImageAgeNegative(Finding):
    why = _IMAGES
    mend = "remove {field}"
    sentence = kubelet_text = _INVALID + "{field} {age} must not be negative"
    field: str
    age: str


class ConfigImageAges(Finding):
    why = _IMAGES
    mend = "set imageMaximumGCAge above {minimum}"
    sentence = kubelet_text = (
        _INVALID + "imageMaximumGCAge {maximum} must be greater than imageMinimumGCAge {minimum}"
    )
    maximum: str
    minimum: str


class ConfigNodeStatusImages(Finding):
    why = "A node's status lists at most this number of images; -1 lists all."
    mend = "set nodeStatusMaxImages to 50, the default"
    sentence = kubelet_text = (
        _INVALID + "nodeStatusMaxImages (--node-status-max-images) {count} must be -1 or greater"
    )
    count: int


class ConfigParallelPulls(Finding):
    why = _PULLS
    mend = "remove maxParallelImagePulls"
    sentence = kubelet_text = _INVALID + "maxParallelImagePulls {count} must be a positive number"
    count: int


class ConfigParallelPullsSerialized(Finding):
    why = _PULLS
    mend = "set serializeImagePulls to false, or remove maxParallelImagePulls"
    sentence = kubelet_text = (
        _INVALID + "maxParallelImagePulls cannot be larger than 1 unless SerializeImagePulls "
        "(--serialize-image-pulls) is set to false"
    )
    count: int


class ConfigServingCertificateNeedsGate(Finding):
    why = "Requesting and rotating a serving certificate requires a feature gate."
    mend = "remove serverTLSBootstrap, or set featureGates.RotateKubeletServerCertificate to true"
    sentence = kubelet_text = (
        _INVALID + "serverTLSBootstrap true requires feature gate RotateKubeletServerCertificate"
    )


class ConfigRunOnce(Finding):
    why = "The kubelet no longer supports runOnce."
    mend = "remove runOnce"
    sentence = kubelet_text = (
        _INVALID + "runOnce (--runOnce) true, Runonce mode has been deprecated and should not be "
        "set"
    )


class ConfigShutdownOrder(Finding):
    why = _SHUTDOWN
    mend = "set shutdownGracePeriodCriticalPods to {period} at most"
    sentence = kubelet_text = (
        _INVALID + "shutdownGracePeriodCriticalPods {{{critical}}} must be <= shutdownGracePeriod "
        "{{{period}}}"
    )
    critical: str
    period: str


class ConfigShutdownShort(Finding):
    why = _SHUTDOWN
    mend = "set {field} to 0s, or to 1s and more"
    sentence = kubelet_text = (
        _INVALID + "{field} {{{period}}} must be either zero or otherwise >= 1 sec"
    )
    field: str
    period: str


class ConfigShutdownNeedsGate(Finding):
    why = _SHUTDOWN
    mend = "remove both fields, or set featureGates.GracefulNodeShutdown to true"
    sentence = kubelet_text = (
        _INVALID + "specifying shutdownGracePeriod or shutdownGracePeriodCriticalPods requires "
        "feature gate GracefulNodeShutdown"
    )


class ConfigShutdownTwice(Finding):
    why = _SHUTDOWN
    mend = "remove shutdownGracePeriodByPodPriority, or the two periods"
    sentence = kubelet_text = (
        _INVALID + "Cannot specify both shutdownGracePeriodByPodPriority and shutdownGracePeriod "
        "at the same time"
    )


class ConfigShutdownByPriorityNeedsGate(Finding):
    why = _SHUTDOWN
    mend = "remove it, or set featureGates.GracefulNodeShutdownBasedOnPodPriority to true"
    sentence = kubelet_text = (
        _INVALID + "Specifying shutdownGracePeriodByPodPriority requires feature gate "
        "GracefulNodeShutdownBasedOnPodPriority"
    )


class ConfigRestartPeriodNeedsGate(Finding):
    why = "Setting the maximum restart back-off requires a feature gate."
    mend = "remove crashLoopBackOff, or set featureGates.KubeletCrashLoopBackOffMax to true"
    sentence = kubelet_text = (
        _INVALID + "FeatureGate KubeletCrashLoopBackOffMax not enabled, "
        "CrashLoopBackOff.MaxContainerRestartPeriod must not be set"
    )


class ConfigRestartPeriod(Finding):
    why = "The maximum restart back-off is 1 s to 300 s."
    mend = "set crashLoopBackOff.maxContainerRestartPeriod to 1s to 300s"
    sentence = kubelet_text = (
        _INVALID + "CrashLoopBackOff.MaxContainerRestartPeriod (got: {seconds} seconds) must be "
        "set between 1s and 300s"
    )
    seconds: str


class ConfigHairpinMode(Finding):
    why = "hairpinMode has three values."
    mend = "remove hairpinMode"
    sentence = kubelet_text = (
        _INVALID + "option {mode:q} specified for hairpinMode (--hairpin-mode). Valid options are "
        '"none", "hairpin-veth" or "promiscuous-bridge"'
    )
    mode: GoText


class ConfigImageVerification(Finding):
    why = _VERIFICATION
    mend = "remove imagePullCredentialsVerificationPolicy"
    sentence = kubelet_text = (
        _INVALID + "option {policy:q} specified for imagePullCredentialsVerificationPolicy. Valid "
        'options are "NeverVerify", "NeverVerifyPreloadedImages", "NeverVerifyAllowlistedImages" '
        'or "AlwaysVerify"'
    )
    policy: GoText


class ConfigImageVerificationNeedsGate(Finding):
    why = _VERIFICATION
    mend = "remove {field}, or set featureGates.KubeletEnsureSecretPulledImages to true"
    sentence = kubelet_text = (
        _INVALID + "`{field}` must not be set if KubeletEnsureSecretPulledImages feature gate is "
        "not enabled"
    )
    field: str


class ConfigImageAllowlist(Finding):
    why = _VERIFICATION
    mend = "set imagePullCredentialsVerificationPolicy to NeverVerifyAllowlistedImages"
    sentence = kubelet_text = (
        _INVALID + "can't set `preloadedImagesVerificationAllowlist` if "
        '`imagePullCredentialsVertificationPolicy` is not "NeverVerifyAllowlistedImages"'
    )


class ConfigIdsPerPod(Finding):
    why = "A pod with a user namespace gets whole blocks of 65536 IDs."
    mend = "set userNamespaces.idsPerPod to 65536"
    sentence = kubelet_text = _INVALID + "userNamespaces.idsPerPod must {rule}"
    count: int
    rule: str


class ConfigTracingNeedsGate(Finding):
    why = _TRACING
    mend = "remove tracing, or set featureGates.KubeletTracing to true"
    sentence = kubelet_text = (
        _INVALID + "tracing should not be configured if KubeletTracing feature flag is disabled."
    )


class ConfigTracingRate(Finding):
    why = _TRACING
    mend = "set tracing.samplingRatePerMillion to 0 to 1000000"
    sentence = kubelet_text = "tracing.samplingRatePerMillion: Invalid value: {rate}: {rule}"
    rate: int
    rule: str


class ConfigMemoryReservation(Finding):
    why = "The kubelet reserves no memory for pods, or reserves it by QoS class."
    mend = "write None or TieredReservation"
    sentence = kubelet_text = (
        _INVALID + "option {policy:q} specified for memoryReservationPolicy. Valid options are "
        '"None" or "TieredReservation"'
    )
    policy: GoText


class ConfigMemoryReservationNeedsGate(Finding):
    why = "The feature MemoryQoS reserves memory for pods."
    mend = "remove memoryReservationPolicy, or set featureGates.MemoryQoS to true"
    sentence = kubelet_text = (
        _INVALID + "memoryReservationPolicy {policy:q} requires MemoryQoS feature gate to be "
        "enabled"
    )
    policy: GoText


class ConfigLogQueryNeedsGate(Finding):
    why = _LOG_QUERY
    mend = "remove enableSystemLogQuery, or set featureGates.NodeLogQuery to true"
    sentence = kubelet_text = _INVALID + "NodeLogQuery feature gate is required for {named}"
    named: str
    """The release's name: up to v1.34 the handler instead of the query."""


class ConfigLogQueryNeedsHandler(Finding):
    why = _LOG_QUERY
    mend = "remove enableSystemLogQuery, or set enableSystemLogHandler to true"
    sentence = kubelet_text = (
        _INVALID + "enableSystemLogHandler is required for enableSystemLogQuery"
    )


class ConfigLogWorkers(Finding):
    why = _LOGS
    mend = "set containerLogMaxWorkers to 1, the default"
    sentence = kubelet_text = _INVALID + "containerLogMaxWorkers must be greater than or equal to 1"
    count: int


class ConfigLogInterval(Finding):
    why = _LOGS
    mend = "set containerLogMonitorInterval to 10s, the default"
    sentence = kubelet_text = (
        _INVALID + "containerLogMonitorInterval must be a positive time duration greater than or "
        "equal to 3s"
    )
    interval: str


class ConfigLogFiles(Finding):
    why = _LOGS
    mend = "set containerLogMaxFiles to 5, the default"
    sentence = kubelet_text = _INVALID + "containerLogMaxFiles must be greater than 1"
    count: int


class ConfigPodLogs(Finding):
    why = "The pod log folder is part of paths and metric names."
    mend = "set podLogsDir to /var/log/pods, the default"
    sentence = kubelet_text = _INVALID + "pod logs path {folder:q} {rule}"
    folder: GoText
    rule: str
