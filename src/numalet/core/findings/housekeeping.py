"""Findings about fields of a kubelet configuration that do not concern the managers."""

from __future__ import annotations

from typing import Final

from numalet.core.model.findings import Finding
from numalet.core.model.go_text import GoText

_INVALID: Final = "invalid configuration: "
_IMAGES: Final = "Images are collected within the limits of percentages and ages."
_PULLS: Final = "Images are pulled one after the other, or several at once."
_SHUTDOWN: Final = "A part of the shutdown's time is for critical pods; each is 0 or 1 s and more."
_LOGS: Final = "The kubelet rotates the logs of containers."
_VERIFICATION: Final = "The kubelet may verify that a pod may use an image that was pulled before."
_TRACING: Final = "Requests are traced at a rate per million."
_LOG_QUERY: Final = "Logs of the system are asked for at the kubelet's log handler."


class ConfigNegativeNumber(Finding):
    why = "Rates and limits can not be negative."
    mend = "set {field} to {default}, the default"
    sentence = kubelet_text = _INVALID + "{field} ({flag}) {value} must not be a negative number"
    field: str
    flag: str
    value: int
    default: int


class ConfigNumberOutsideRange(Finding):
    why = "The field has a range."
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
    why = "The node's lease lasts some seconds."
    mend = "set nodeLeaseDurationSeconds to 40, the default"
    sentence = kubelet_text = _INVALID + "nodeLeaseDurationSeconds must be greater than 0"
    seconds: int


class ConfigSystemCgroups(Finding):
    why = "The cgroup of system processes stands below a root that has to be named."
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
    why = "A node's status lists some images, all with -1."
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
    why = "A serving certificate is requested and rotated behind a feature gate."
    mend = "remove serverTLSBootstrap, or set featureGates.RotateKubeletServerCertificate to true"
    sentence = kubelet_text = (
        _INVALID + "serverTLSBootstrap true requires feature gate RotateKubeletServerCertificate"
    )


class ConfigRunOnce(Finding):
    why = "The mode in which the kubelet runs its pods once is no more."
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
    why = "The longest wait before a restart is set behind a feature gate."
    mend = "remove crashLoopBackOff, or set featureGates.KubeletCrashLoopBackOffMax to true"
    sentence = kubelet_text = (
        _INVALID + "FeatureGate KubeletCrashLoopBackOffMax not enabled, "
        "CrashLoopBackOff.MaxContainerRestartPeriod must not be set"
    )


class ConfigRestartPeriod(Finding):
    why = "The longest wait before a restart is 1 s to 300 s."
    mend = "set crashLoopBackOff.maxContainerRestartPeriod to 1s to 300s"
    sentence = kubelet_text = (
        _INVALID + "CrashLoopBackOff.MaxContainerRestartPeriod (got: {seconds} seconds) must be "
        "set between 1s and 300s"
    )
    seconds: str


class ConfigHairpinMode(Finding):
    why = "There are three ways for a pod to reach itself through its service."
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
    why = "A pod with a user namespace has whole blocks of 65536 IDs."
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
    why = "Memory is reserved for pods in no way, or in tiers by their class."
    mend = "write None or TieredReservation"
    sentence = kubelet_text = (
        _INVALID + "option {policy:q} specified for memoryReservationPolicy. Valid options are "
        '"None" or "TieredReservation"'
    )
    policy: GoText


class ConfigMemoryReservationNeedsGate(Finding):
    why = "Memory is reserved for pods by the feature MemoryQoS."
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
    why = "The folder of the pods' logs is part of paths and of names of metrics."
    mend = "set podLogsDir to /var/log/pods, the default"
    sentence = kubelet_text = _INVALID + "pod logs path {folder:q} {rule}"
    folder: GoText
    rule: str
