"""What the kubelet checks of fields that have nothing to do with managers, in its order.

Between these checks stand those of ``validation``, which asks for each part in turn. Taints, the
versions of hidden metrics and the options of logging are not checked. Kubelet v1.32:
``ValidateKubeletConfiguration``; what later releases add is a rule of theirs.
"""

from __future__ import annotations

import posixpath
from typing import Final

from numalet.core.config import feature_gates
from numalet.core.config.feature_gates import FeatureGates
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.config.releases.release import ReleaseRules
from numalet.core.findings.housekeeping import (
    ConfigHairpinMode,
    ConfigIdsPerPod,
    ConfigImageAgeNegative,
    ConfigImageAges,
    ConfigImageAllowlist,
    ConfigImageMaximumAgeNeedsGate,
    ConfigImageThresholds,
    ConfigImageVerification,
    ConfigImageVerificationNeedsGate,
    ConfigLogFiles,
    ConfigLogInterval,
    ConfigLogQueryNeedsGate,
    ConfigLogQueryNeedsHandler,
    ConfigLogWorkers,
    ConfigMemoryReservation,
    ConfigMemoryReservationNeedsGate,
    ConfigNegativeNumber,
    ConfigNodeLease,
    ConfigNodeStatusImages,
    ConfigNumberOutsideRange,
    ConfigParallelPulls,
    ConfigParallelPullsSerialized,
    ConfigPodLogs,
    ConfigRestartPeriod,
    ConfigRestartPeriodNeedsGate,
    ConfigRunOnce,
    ConfigServingCertificateNeedsGate,
    ConfigShutdownByPriorityNeedsGate,
    ConfigShutdownNeedsGate,
    ConfigShutdownOrder,
    ConfigShutdownShort,
    ConfigShutdownTwice,
    ConfigSystemCgroups,
    ConfigTracingNeedsGate,
    ConfigTracingRate,
)
from numalet.core.model import go_duration
from numalet.core.model.findings import Findings
from numalet.core.model.go_text import GoText

_ALLOWLISTED: Final = "NeverVerifyAllowlistedImages"
_VERIFICATION_POLICIES: Final = (
    "NeverVerify",
    "NeverVerifyPreloadedImages",
    _ALLOWLISTED,
    "AlwaysVerify",
)
_HAIRPIN_MODES: Final = ("none", "hairpin-veth", "promiscuous-bridge")
_TIERED: Final = "TieredReservation"
_RESERVATION_POLICIES: Final = ("None", _TIERED)
_BLOCK_OF_IDS: Final = 1 << 16
_HIGHEST_ID: Final = (1 << 32) - 1
_MILLION: Final = 1_000_000
_LONGEST_WAIT_NS: Final = 300 * go_duration.SECOND_NS
_SHORTEST_LOG_INTERVAL_NS: Final = 3 * go_duration.SECOND_NS


def check_lease_and_events(config: KubeletConfig, findings: Findings) -> None:
    """What comes before the health port."""
    fields = config.housekeeping
    if fields.node_lease_seconds <= 0:
        where = config.where("nodeLeaseDurationSeconds")
        findings.add(ConfigNodeLease(seconds=fields.node_lease_seconds, where=where))
    if fields.system_cgroups and not fields.cgroup_root:
        findings.add(ConfigSystemCgroups(where=config.where("systemCgroups")))
    _not_negative(config, findings, "eventBurst", "--event-burst", fields.event_burst, 100)
    _not_negative(config, findings, "eventRecordQPS", "--event-qps", fields.event_record_qps, 50)


def check_images_and_rates(
    config: KubeletConfig, rules: ReleaseRules, gates: FeatureGates, findings: Findings
) -> None:
    """What comes between the period of the CPU quota and the number of pods."""
    fields = config.housekeeping
    high, low = fields.image_gc_high_threshold_percent, fields.image_gc_low_threshold_percent
    _in_range(
        config,
        findings,
        "imageGCHighThresholdPercent",
        "--image-gc-high-threshold",
        high,
        (0, 100, 85),
    )
    _in_range(
        config,
        findings,
        "imageGCLowThresholdPercent",
        "--image-gc-low-threshold",
        low,
        (0, 100, 80),
    )
    if low >= high:
        where = config.where("imageGCLowThresholdPercent")
        findings.add(ConfigImageThresholds(low=low, high=high, where=where))
    _check_image_ages(config, rules, gates, findings)
    drop, masquerade = fields.iptables_drop_bit, fields.iptables_masquerade_bit
    _in_range(config, findings, "iptablesDropBit", "--iptables-drop-bit", drop, (0, 31, 15))
    _in_range(
        config,
        findings,
        "iptablesMasqueradeBit",
        "--iptables-masquerade-bit",
        masquerade,
        (0, 31, 14),
    )
    _not_negative(config, findings, "kubeAPIBurst", "--kube-api-burst", fields.kube_api_burst, 100)
    _not_negative(config, findings, "kubeAPIQPS", "--kube-api-qps", fields.kube_api_qps, 50)
    if fields.node_status_max_images < -1:
        where = config.where("nodeStatusMaxImages")
        findings.add(ConfigNodeStatusImages(count=fields.node_status_max_images, where=where))
    files = fields.max_open_files
    _not_negative(config, findings, "maxOpenFiles", "--max-open-files", files, 1_000_000)


def _check_image_ages(
    config: KubeletConfig, rules: ReleaseRules, gates: FeatureGates, findings: Findings
) -> None:
    maximum, minimum = "imageMaximumGCAge", "imageMinimumGCAge"
    fields = config.housekeeping
    maximum_ns, minimum_ns = fields.image_maximum_gc_age_ns, fields.image_minimum_gc_age_ns
    if maximum_ns and not gates.enabled(feature_gates.IMAGE_MAXIMUM_GC_AGE):
        findings.add(ConfigImageMaximumAgeNeedsGate(where=config.where(maximum)))
    if minimum_ns < 0 and rules.minimum_image_age_is_checked:
        age = go_duration.text(minimum_ns)
        findings.add(ConfigImageAgeNegative(field=minimum, age=age, where=config.where(minimum)))
    if maximum_ns < 0:
        age = go_duration.text(maximum_ns)
        findings.add(ConfigImageAgeNegative(field=maximum, age=age, where=config.where(maximum)))
    if 0 < maximum_ns <= minimum_ns:
        findings.add(
            ConfigImageAges(
                maximum=go_duration.text(maximum_ns),
                minimum=go_duration.text(minimum_ns),
                where=config.where(maximum),
            )
        )


def check_oom_score(config: KubeletConfig, findings: Findings) -> None:
    """What comes between the number of pods and that of pods per core."""
    score = config.housekeeping.oom_score_adj
    _in_range(config, findings, "oomScoreAdj", "--oom-score-adj", score, (-1000, 1000, -999))


def check_pulls(
    config: KubeletConfig, rules: ReleaseRules, gates: FeatureGates, findings: Findings
) -> None:
    """What comes between the ports and the Topology Manager."""
    fields = config.housekeeping
    burst, rate = fields.registry_burst, fields.registry_pull_qps
    _not_negative(config, findings, "registryBurst", "--registry-burst", burst, 10)
    _not_negative(config, findings, "registryPullQPS", "--registry-qps", rate, 5)
    pulls, where = fields.max_parallel_image_pulls, config.where("maxParallelImagePulls")
    if pulls is not None and pulls < 1:
        findings.add(ConfigParallelPulls(count=pulls, where=where))
    if pulls is not None and pulls > 1 and fields.pulls_one_image_at_a_time:
        findings.add(ConfigParallelPullsSerialized(count=pulls, where=where))
    rotates = gates.enabled(feature_gates.ROTATE_KUBELET_SERVER_CERTIFICATE)
    if fields.server_tls_bootstrap and not rotates:
        findings.add(ConfigServingCertificateNeedsGate(where=config.where("serverTLSBootstrap")))
    if fields.run_once and rules.run_once_is_refused:
        findings.add(ConfigRunOnce(where=config.where("runOnce")))


def check_shutdown(config: KubeletConfig, gates: FeatureGates, findings: Findings) -> None:
    """What comes between the Topology Manager and swap."""
    fields = config.housekeeping
    period_ns = fields.shutdown_grace_period_ns
    critical_ns = fields.shutdown_grace_period_critical_pods_ns
    periods = {
        "shutdownGracePeriod": period_ns,
        "shutdownGracePeriodCriticalPods": critical_ns,
    }
    where = config.where("shutdownGracePeriodCriticalPods")
    if gates.enabled(feature_gates.GRACEFUL_NODE_SHUTDOWN):
        if critical_ns > period_ns:
            critical, period = go_duration.text(critical_ns), go_duration.text(period_ns)
            findings.add(ConfigShutdownOrder(critical=critical, period=period, where=where))
        for name, given_ns in periods.items():
            if given_ns < 0 or 0 < given_ns < go_duration.SECOND_NS:
                text = go_duration.text(given_ns)
                findings.add(ConfigShutdownShort(field=name, period=text, where=config.where(name)))
    elif period_ns > 0 or critical_ns > 0:
        findings.add(ConfigShutdownNeedsGate(where=config.where("shutdownGracePeriod")))
    if not fields.shutdown_is_by_priority:
        return
    where = config.where("shutdownGracePeriodByPodPriority")
    if not gates.enabled(feature_gates.GRACEFUL_NODE_SHUTDOWN_BY_PRIORITY):
        findings.add(ConfigShutdownByPriorityNeedsGate(where=where))
    elif period_ns > 0 or critical_ns > 0:
        findings.add(ConfigShutdownTwice(where=where))


def check_restart_period(config: KubeletConfig, gates: FeatureGates, findings: Findings) -> None:
    """What comes between swap and the enforcement of node allocatable."""
    period_ns = config.housekeeping.max_container_restart_period_ns
    if period_ns is None:
        return
    where = config.where("crashLoopBackOff.maxContainerRestartPeriod")
    if not gates.enabled(feature_gates.KUBELET_CRASH_LOOP_BACK_OFF_MAX):
        findings.add(ConfigRestartPeriodNeedsGate(where=where))
    elif not go_duration.SECOND_NS <= period_ns <= _LONGEST_WAIT_NS:
        seconds = repr(period_ns / go_duration.SECOND_NS).removesuffix(".0")
        findings.add(ConfigRestartPeriod(seconds=seconds, where=where))


def check_verification(
    config: KubeletConfig, rules: ReleaseRules, gates: FeatureGates, findings: Findings
) -> None:
    """What comes between the enforcement of node allocatable and reserved CPUs."""
    mode = config.housekeeping.hairpin_mode
    if mode not in _HAIRPIN_MODES:
        findings.add(ConfigHairpinMode(mode=GoText(mode), where=config.where("hairpinMode")))
    if not rules.image_verification_is_checked:
        return
    policy = config.housekeeping.image_verification_policy
    names = "imagePullCredentialsVerificationPolicy", "preloadedImagesVerificationAllowlist"
    policy_at, allowlist_at = (config.where(name) for name in names)
    has_allowlist = bool(config.housekeeping.image_verification_allowlist)
    if not gates.enabled(feature_gates.VERIFIED_IMAGES):
        if policy:
            findings.add(ConfigImageVerificationNeedsGate(field=names[0], where=policy_at))
        if has_allowlist:
            findings.add(ConfigImageVerificationNeedsGate(field=names[1], where=allowlist_at))
        return
    if policy and policy not in _VERIFICATION_POLICIES:
        findings.add(ConfigImageVerification(policy=GoText(policy), where=policy_at))
    if has_allowlist and policy != _ALLOWLISTED:
        findings.add(ConfigImageAllowlist(where=allowlist_at))


def check_user_namespaces(config: KubeletConfig, rules: ReleaseRules, findings: Findings) -> None:
    """What comes between reserved memory and tracing."""
    count = config.housekeeping.user_namespace_ids_per_pod
    if count is None or not rules.user_namespace_ids_are_checked:
        return
    if count < _BLOCK_OF_IDS:
        rule = f"not be less than {_BLOCK_OF_IDS}"
    elif count % _BLOCK_OF_IDS:
        rule = f"be a multiple of {_BLOCK_OF_IDS}"
    elif count > _HIGHEST_ID:
        rule = f"not be more than {_HIGHEST_ID}"
    else:
        return
    where = config.where("userNamespaces.idsPerPod")
    findings.add(ConfigIdsPerPod(count=count, rule=rule, where=where))


def check_tracing(config: KubeletConfig, gates: FeatureGates, findings: Findings) -> None:
    """What comes between user namespaces and the throttling of memory."""
    fields, rate = config.housekeeping, config.housekeeping.tracing_sampling_rate
    if fields.has_tracing and not gates.enabled(feature_gates.KUBELET_TRACING):
        findings.add(ConfigTracingNeedsGate(where=config.where("tracing")))
    elif rate is not None and not 0 <= rate <= _MILLION:
        rule = (
            "sampling rate must be positive"
            if rate < 0
            else "sampling rate per million must be less than or equal to one million"
        )
        where = config.where("tracing.samplingRatePerMillion")
        findings.add(ConfigTracingRate(rate=rate, rule=rule, where=where))


def check_memory_reservation(
    config: KubeletConfig, rules: ReleaseRules, gates: FeatureGates, findings: Findings
) -> None:
    """What comes after the throttling of memory."""
    if not rules.memory_reservation_policy_is_checked:
        return
    policy, where = config.memory_reservation_policy, config.where("memoryReservationPolicy")
    if policy == _TIERED and not gates.enabled(feature_gates.MEMORY_QOS):
        findings.add(ConfigMemoryReservationNeedsGate(policy=GoText(policy), where=where))
    if policy not in _RESERVATION_POLICIES:
        findings.add(ConfigMemoryReservation(policy=GoText(policy), where=where))


def check_logs(
    config: KubeletConfig, rules: ReleaseRules, gates: FeatureGates, findings: Findings
) -> None:
    """The last checks."""
    fields = config.housekeeping
    if fields.enable_system_log_query:
        where = config.where("enableSystemLogQuery")
        # Builds differ in the gate's default, so only a gate that is switched off counts.
        if config.feature_gates.get(feature_gates.NODE_LOG_QUERY) is False and not gates.enabled(
            feature_gates.NODE_LOG_QUERY
        ):
            named = "enableSystemLogQuery" if rules.log_query_is_named else "enableSystemLogHandler"
            findings.add(ConfigLogQueryNeedsGate(named=named, where=where))
        if not fields.enable_system_log_handler:
            findings.add(ConfigLogQueryNeedsHandler(where=where))
    workers, files = fields.container_log_max_workers, fields.container_log_max_files
    if workers < 1:
        where = config.where("containerLogMaxWorkers")
        findings.add(ConfigLogWorkers(count=workers, where=where))
    if fields.container_log_monitor_interval_ns < _SHORTEST_LOG_INTERVAL_NS:
        interval = go_duration.text(fields.container_log_monitor_interval_ns)
        where = config.where("containerLogMonitorInterval")
        findings.add(ConfigLogInterval(interval=interval, where=where))
    if files <= 1 and rules.one_log_file_is_refused:
        findings.add(ConfigLogFiles(count=files, where=config.where("containerLogMaxFiles")))
    folder = fields.pod_logs_dir
    wrong = {
        "must be absolute path": not posixpath.isabs(folder),
        "must be normalized": _clean(folder) != folder,
        "mut contains ASCII characters only": not folder.isascii(),
    }
    where = config.where("podLogsDir")
    findings.extend(
        ConfigPodLogs(folder=GoText(folder), rule=rule, where=where)
        for rule, is_wrong in wrong.items()
        if is_wrong
    )


def _clean(path: str) -> str:
    """The path as Go's ``filepath.Clean`` writes it; POSIX keeps two slashes at the beginning."""
    clean = posixpath.normpath(path)
    return clean[1:] if clean.startswith("//") else clean


def _not_negative(
    config: KubeletConfig, findings: Findings, name: str, flag: str, value: int, default: int
) -> None:
    if value < 0:
        where = config.where(name)
        findings.add(
            ConfigNegativeNumber(field=name, flag=flag, value=value, default=default, where=where)
        )


def _in_range(
    config: KubeletConfig,
    findings: Findings,
    name: str,
    flag: str,
    value: int,
    limits: tuple[int, int, int],
) -> None:
    """A number must stand in a range; ``limits`` are its lowest, its highest, its default."""
    lowest, highest, default = limits
    if not lowest <= value <= highest:
        findings.add(
            ConfigNumberOutsideRange(
                field=name,
                flag=flag,
                value=value,
                lowest=lowest,
                highest=highest,
                default=default,
                where=config.where(name),
            )
        )
