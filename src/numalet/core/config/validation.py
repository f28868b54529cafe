"""The kubelet's checks of a configuration before it examines the machine.

The kubelet joins all findings into one text, so the order is its order. The managers check policy
names and policy options. Taints, hidden metrics and logging options are not checked. Kubelet v1.32:
``ValidateKubeletConfiguration``; rules of releases guard later checks.
"""

from __future__ import annotations

import posixpath
from itertools import chain
from typing import Final

from numalet.core.config import default_pod_sysctls, feature_gates, field_checks, memory_qos
from numalet.core.config.feature_gates import FeatureGates
from numalet.core.config.field_checks import (
    Check,
    Checked,
    at_least,
    conflict,
    gate,
    in_range,
    needs_gate,
    not_negative,
    one_of,
    rule,
    value,
)
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.config.releases.release import ReleaseRules
from numalet.core.findings.config import ConfigTracingRate
from numalet.core.model.findings import Finding
from numalet.core.model.go_text import MILLISECOND_NS, SECOND_NS

TOPOLOGY_POLICIES: Final = ("none", "best-effort", "restricted", "single-numa-node")
TOPOLOGY_SCOPES: Final = ("container", "pod")

_BLOCK_OF_IDS: Final = 1 << 16
_HIGHEST_ID: Final = (1 << 32) - 1
_HIGHEST_PORT: Final = 65535


def validate(
    config: KubeletConfig, rules: ReleaseRules, gates: FeatureGates
) -> tuple[Finding, ...]:
    """Return all findings of the kubelet's own validation, in its order."""
    of = Checked(config, rules, gates)
    return tuple(chain.from_iterable(check(of) for check in _CHECKS))


def _has_shutdown_periods(of: Checked) -> bool:
    return bool(of("shutdownGracePeriod") > 0 or of(_CRITICAL) > 0)


def _is_short(period_ns: int) -> bool:
    return period_ns < 0 or 0 < period_ns < SECOND_NS


def _verifies_images(of: Checked) -> bool:
    is_on = of.gates.enabled(feature_gates.VERIFIED_IMAGES)
    return of.rules.image_verification_is_checked and is_on


def _log_query_text(of: Checked) -> str:
    named = "enableSystemLogQuery" if of.rules.log_query_is_named else "enableSystemLogHandler"
    return f"NodeLogQuery feature gate is required for {named}"


def _is_log_query_gate_off(of: Checked) -> bool:
    # Builds differ in the gate's default, so only a gate that is switched off counts.
    is_off = of.config.feature_gates.get(feature_gates.NODE_LOG_QUERY) is False
    return bool(of("enableSystemLogQuery")) and is_off


def _clean(path: str) -> str:
    """Return the path like Go's ``filepath.Clean``; Python keeps a double slash at the start."""
    clean = posixpath.normpath(path)
    return clean[1:] if clean.startswith("//") else clean


_QUOTA: Final = "cpuCFSQuotaPeriod (--cpu-cfs-quota-period) {{{cpuCFSQuotaPeriod}}} "
_IDS: Final = "userNamespaces.idsPerPod"
_RATE: Final = "tracing.samplingRatePerMillion"
_SWAP: Final = "memorySwap.swapBehavior"
_WAIT: Final = "crashLoopBackOff.maxContainerRestartPeriod"
_POLICY: Final = "imagePullCredentialsVerificationPolicy"
_ALLOWLIST: Final = "preloadedImagesVerificationAllowlist"
_VERIFIED: Final = "NeverVerifyAllowlistedImages"
_CRITICAL: Final = "shutdownGracePeriodCriticalPods"
_BY_PRIORITY: Final = "shutdownGracePeriodByPodPriority"
_CHECKS: Final[tuple[Check, ...]] = (
    at_least("nodeLeaseDurationSeconds", 1, "nodeLeaseDurationSeconds must be greater than 0"),
    conflict(
        "systemCgroups",
        "cgroupRoot",
        lambda of: bool(of("systemCgroups")) and not of("cgroupRoot"),
        "systemCgroups (--system-cgroups) was specified and cgroupRoot (--cgroup-root) was not "
        "specified",
    ),
    not_negative("eventBurst", "--event-burst"),
    not_negative("eventRecordQPS", "--event-qps"),
    # The kubelet's text is silent about the 0 that switches the health check off.
    in_range("healthzPort", "--healthz-port", 0, _HIGHEST_PORT, shown=1),
    needs_gate(
        "cpuCFSQuotaPeriod",
        feature_gates.CUSTOM_CPU_CFS_QUOTA_PERIOD,
        _QUOTA + "requires feature gate CustomCPUCFSQuotaPeriod",
        is_set=lambda of: of("cpuCFSQuotaPeriod") != 100 * MILLISECOND_NS,
    ),
    value(
        "cpuCFSQuotaPeriod",
        lambda period_ns: not MILLISECOND_NS <= period_ns <= SECOND_NS,
        _QUOTA + "must be between 1ms and 1sec, inclusive",
        when=gate(feature_gates.CUSTOM_CPU_CFS_QUOTA_PERIOD),
    ),
    in_range("imageGCHighThresholdPercent", "--image-gc-high-threshold", 0, 100),
    in_range("imageGCLowThresholdPercent", "--image-gc-low-threshold", 0, 100),
    conflict(
        "imageGCLowThresholdPercent",
        "imageGCHighThresholdPercent",
        lambda of: of("imageGCLowThresholdPercent") >= of("imageGCHighThresholdPercent"),
        "imageGCLowThresholdPercent (--image-gc-low-threshold) {imageGCLowThresholdPercent} must "
        "be less than imageGCHighThresholdPercent (--image-gc-high-threshold) "
        "{imageGCHighThresholdPercent}",
    ),
    needs_gate(
        "imageMaximumGCAge",
        feature_gates.IMAGE_MAXIMUM_GC_AGE,
        "ImageMaximumGCAge feature gate is required for Kubelet configuration option "
        "imageMaximumGCAge",
    ),
    *default_pod_sysctls.CHECKS,
    at_least(
        "imageMinimumGCAge",
        0,
        "imageMinimumGCAge {imageMinimumGCAge} must not be negative",
        when=rule("minimum_image_age_is_checked"),
    ),
    at_least("imageMaximumGCAge", 0, "imageMaximumGCAge {imageMaximumGCAge} must not be negative"),
    conflict(
        "imageMaximumGCAge",
        "imageMinimumGCAge",
        lambda of: 0 < of("imageMaximumGCAge") <= of("imageMinimumGCAge"),
        "imageMaximumGCAge {imageMaximumGCAge} must be greater than imageMinimumGCAge "
        "{imageMinimumGCAge}",
    ),
    in_range("iptablesDropBit", "--iptables-drop-bit", 0, 31),
    in_range("iptablesMasqueradeBit", "--iptables-masquerade-bit", 0, 31),
    not_negative("kubeAPIBurst", "--kube-api-burst"),
    not_negative("kubeAPIQPS", "--kube-api-qps"),
    at_least(
        "nodeStatusMaxImages",
        -1,
        "nodeStatusMaxImages (--node-status-max-images) {nodeStatusMaxImages} must be -1 or "
        "greater",
    ),
    not_negative("maxOpenFiles", "--max-open-files"),
    not_negative("maxPods", "--max-pods"),
    in_range("oomScoreAdj", "--oom-score-adj", -1000, 1000),
    not_negative("podsPerCore", "--pods-per-core"),
    in_range("port", "--port", 1, _HIGHEST_PORT),
    in_range("readOnlyPort", "--read-only-port", 0, _HIGHEST_PORT),
    not_negative("registryBurst", "--registry-burst"),
    not_negative("registryPullQPS", "--registry-qps"),
    at_least(
        "maxParallelImagePulls",
        1,
        "maxParallelImagePulls {maxParallelImagePulls} must be a positive number",
    ),
    conflict(
        "maxParallelImagePulls",
        "serializeImagePulls",
        lambda of: bool(of("serializeImagePulls")) and (of("maxParallelImagePulls") or 0) > 1,
        "maxParallelImagePulls cannot be larger than 1 unless SerializeImagePulls "
        "(--serialize-image-pulls) is set to false",
    ),
    needs_gate(
        "serverTLSBootstrap",
        feature_gates.ROTATE_KUBELET_SERVER_CERTIFICATE,
        "serverTLSBootstrap true requires feature gate RotateKubeletServerCertificate",
    ),
    value(
        "runOnce",
        bool,
        "runOnce (--runOnce) true, Runonce mode has been deprecated and should not be set",
        when=rule("run_once_is_refused"),
    ),
    one_of(
        "topologyManagerPolicy",
        TOPOLOGY_POLICIES,
        "topologyManagerPolicy (--topology-manager-policy) {topologyManagerPolicy:q} must be one "
        'of: ["none" "best-effort" "restricted" "single-numa-node"]',
    ),
    one_of(
        "topologyManagerScope",
        TOPOLOGY_SCOPES,
        "topologyManagerScope (--topology-manager-scope) {topologyManagerScope:q} must be one of: "
        '"container", or "pod"',
    ),
    conflict(
        _CRITICAL,
        "shutdownGracePeriod",
        lambda of: of(_CRITICAL) > of("shutdownGracePeriod"),
        "shutdownGracePeriodCriticalPods {{{shutdownGracePeriodCriticalPods}}} must be <= "
        "shutdownGracePeriod {{{shutdownGracePeriod}}}",
        when=gate(feature_gates.GRACEFUL_NODE_SHUTDOWN),
    ),
    *(
        value(
            name,
            _is_short,
            f"{name} {{{{{{{name}}}}}}} must be either zero or otherwise >= 1 sec",
            when=gate(feature_gates.GRACEFUL_NODE_SHUTDOWN),
        )
        for name in ("shutdownGracePeriod", _CRITICAL)
    ),
    needs_gate(
        "shutdownGracePeriod",
        feature_gates.GRACEFUL_NODE_SHUTDOWN,
        "specifying shutdownGracePeriod or shutdownGracePeriodCriticalPods requires feature gate "
        "GracefulNodeShutdown",
        is_set=_has_shutdown_periods,
    ),
    needs_gate(
        _BY_PRIORITY,
        feature_gates.GRACEFUL_NODE_SHUTDOWN_BY_PRIORITY,
        "Specifying shutdownGracePeriodByPodPriority requires feature gate "
        "GracefulNodeShutdownBasedOnPodPriority",
    ),
    conflict(
        _BY_PRIORITY,
        "shutdownGracePeriod",
        lambda of: bool(of(_BY_PRIORITY)) and _has_shutdown_periods(of),
        "Cannot specify both shutdownGracePeriodByPodPriority and shutdownGracePeriod at the same "
        "time",
        when=gate(feature_gates.GRACEFUL_NODE_SHUTDOWN_BY_PRIORITY),
    ),
    needs_gate(
        _SWAP,
        feature_gates.NODE_SWAP,
        "memorySwap.swapBehavior cannot be set when NodeSwap feature flag is disabled",
    ),
    one_of(
        _SWAP,
        ("", "LimitedSwap", "NoSwap"),
        lambda of: (
            f'memorySwap.swapBehavior {of[_SWAP]:q} must be one of: "", "LimitedSwap" or "NoSwap"'
        ),
        when=gate(feature_gates.NODE_SWAP),
    ),
    needs_gate(
        _WAIT,
        feature_gates.KUBELET_CRASH_LOOP_BACK_OFF_MAX,
        "FeatureGate KubeletCrashLoopBackOffMax not enabled, "
        "CrashLoopBackOff.MaxContainerRestartPeriod must not be set",
        is_set=lambda of: of(_WAIT) is not None,
    ),
    value(
        _WAIT,
        lambda period_ns: not SECOND_NS <= period_ns <= 300 * SECOND_NS,
        lambda of: (
            "CrashLoopBackOff.MaxContainerRestartPeriod (got: "
            f"{repr(of(_WAIT) / SECOND_NS).removesuffix('.0')} seconds) must be set between 1s and "
            "300s"
        ),
        when=gate(feature_gates.KUBELET_CRASH_LOOP_BACK_OFF_MAX),
    ),
    field_checks.enforcement,
    one_of(
        "hairpinMode",
        ("none", "hairpin-veth", "promiscuous-bridge"),
        "option {hairpinMode:q} specified for hairpinMode (--hairpin-mode). Valid options are "
        '"none", "hairpin-veth" or "promiscuous-bridge"',
    ),
    *(
        needs_gate(
            name,
            feature_gates.VERIFIED_IMAGES,
            f"`{name}` must not be set if KubeletEnsureSecretPulledImages feature gate is not "
            "enabled",
            when=rule("image_verification_is_checked"),
        )
        for name in (_POLICY, _ALLOWLIST)
    ),
    one_of(
        _POLICY,
        ("", "NeverVerify", "NeverVerifyPreloadedImages", _VERIFIED, "AlwaysVerify"),
        "option {imagePullCredentialsVerificationPolicy:q} specified for "
        'imagePullCredentialsVerificationPolicy. Valid options are "NeverVerify", '
        '"NeverVerifyPreloadedImages", "NeverVerifyAllowlistedImages" or "AlwaysVerify"',
        when=_verifies_images,
    ),
    conflict(
        _ALLOWLIST,
        _POLICY,
        lambda of: bool(of(_ALLOWLIST)) and of(_POLICY) != _VERIFIED,
        "can't set `preloadedImagesVerificationAllowlist` if "
        '`imagePullCredentialsVertificationPolicy` is not "NeverVerifyAllowlistedImages"',
        when=_verifies_images,
    ),
    field_checks.reserved_cpus,
    field_checks.reserved_memory,
    *(
        value(
            _IDS,
            is_wrong,
            f"userNamespaces.idsPerPod must {text}",
            when=rule("user_namespace_ids_are_checked"),
        )
        for is_wrong, text in (
            (lambda count: count < _BLOCK_OF_IDS, f"not be less than {_BLOCK_OF_IDS}"),
            (
                lambda count: count > _BLOCK_OF_IDS and count % _BLOCK_OF_IDS > 0,
                f"be a multiple of {_BLOCK_OF_IDS}",
            ),
            (
                lambda count: count > _HIGHEST_ID and count % _BLOCK_OF_IDS == 0,
                f"not be more than {_HIGHEST_ID}",
            ),
        )
    ),
    needs_gate(
        "tracing",
        feature_gates.KUBELET_TRACING,
        "tracing should not be configured if KubeletTracing feature flag is disabled.",
    ),
    value(
        _RATE,
        lambda rate: rate < 0,
        lambda of: f"{of(_RATE)}: sampling rate must be positive",
        when=gate(feature_gates.KUBELET_TRACING),
        made=ConfigTracingRate,
    ),
    value(
        _RATE,
        lambda rate: rate > 1_000_000,
        lambda of: (
            f"{of(_RATE)}: sampling rate per million must be less than or equal to one million"
        ),
        when=gate(feature_gates.KUBELET_TRACING),
        made=ConfigTracingRate,
    ),
    *memory_qos.CHECKS,
    needs_gate(
        "enableSystemLogQuery",
        feature_gates.NODE_LOG_QUERY,
        _log_query_text,
        is_set=_is_log_query_gate_off,
    ),
    conflict(
        "enableSystemLogQuery",
        "enableSystemLogHandler",
        lambda of: bool(of("enableSystemLogQuery")) and not of("enableSystemLogHandler"),
        "enableSystemLogHandler is required for enableSystemLogQuery",
    ),
    at_least(
        "containerLogMaxWorkers", 1, "containerLogMaxWorkers must be greater than or equal to 1"
    ),
    at_least(
        "containerLogMonitorInterval",
        3 * SECOND_NS,
        "containerLogMonitorInterval must be a positive time duration greater than or equal to 3s",
    ),
    at_least(
        "containerLogMaxFiles",
        2,
        "containerLogMaxFiles must be greater than 1",
        when=rule("one_log_file_is_refused"),
    ),
    *(
        value("podLogsDir", is_wrong, f"pod logs path {{podLogsDir:q}} {text}")
        for is_wrong, text in (
            (lambda folder: not posixpath.isabs(folder), "must be absolute path"),
            (lambda folder: _clean(folder) != folder, "must be normalized"),
            (lambda folder: not folder.isascii(), "mut contains ASCII characters only"),
        )
    ),
)
