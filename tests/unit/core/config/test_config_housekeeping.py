"""Fields that decide nothing about pods: which values stop the start, in the kubelet's words."""

from __future__ import annotations

from typing import Any

import pytest

from numalet.core.config import feature_gates, validation
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.config.releases.release import V1_32_RULES
from numalet.core.config.releases.table import BASE
from numalet.io.documents.kubelet import kubelet_config

SECOND_NS = 10**9


def texts(fields: dict[str, Any], **gates: bool) -> list[str]:
    """What the kubelet v1.32 says of these fields, without its prefix."""
    config = KubeletConfig(others=fields, feature_gates=gates)
    set_gates = feature_gates.with_settings(gates, BASE)
    found = validation.validate(config, V1_32_RULES, set_gates)
    assert all(str(finding) and finding.fix and finding.why for finding in found)
    return [finding.in_kubelet_words.removeprefix("invalid configuration: ") for finding in found]


def test_the_defaults_are_valid() -> None:
    assert texts({}) == []


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"nodeLeaseDurationSeconds": -1}, "nodeLeaseDurationSeconds must be greater than 0"),
        (
            {"systemCgroups": "/system"},
            "systemCgroups (--system-cgroups) was specified and cgroupRoot (--cgroup-root) was "
            "not specified",
        ),
        ({"eventBurst": -1}, "eventBurst (--event-burst) -1 must not be a negative number"),
        ({"eventRecordQPS": -1}, "eventRecordQPS (--event-qps) -1 must not be a negative number"),
        (
            {"imageGCHighThresholdPercent": 101},
            "imageGCHighThresholdPercent (--image-gc-high-threshold) 101 must be between 0 and "
            "100, inclusive",
        ),
        (
            {"imageGCLowThresholdPercent": 85},
            "imageGCLowThresholdPercent (--image-gc-low-threshold) 85 must be less than "
            "imageGCHighThresholdPercent (--image-gc-high-threshold) 85",
        ),
        (
            {"imageMaximumGCAge": -SECOND_NS},
            "imageMaximumGCAge -1s must not be negative",
        ),
        (
            {"imageMaximumGCAge": 60 * SECOND_NS},
            "imageMaximumGCAge 1m0s must be greater than imageMinimumGCAge 2m0s",
        ),
        (
            {"iptablesDropBit": 32},
            "iptablesDropBit (--iptables-drop-bit) 32 must be between 0 and 31, inclusive",
        ),
        (
            {"nodeStatusMaxImages": -2},
            "nodeStatusMaxImages (--node-status-max-images) -2 must be -1 or greater",
        ),
        (
            {"oomScoreAdj": -1001},
            "oomScoreAdj (--oom-score-adj) -1001 must be between -1000 and 1000, inclusive",
        ),
        ({"maxParallelImagePulls": 0}, "maxParallelImagePulls 0 must be a positive number"),
        (
            {"maxParallelImagePulls": 2, "serializeImagePulls": True},
            "maxParallelImagePulls cannot be larger than 1 unless SerializeImagePulls "
            "(--serialize-image-pulls) is set to false",
        ),
        (
            {
                "shutdownGracePeriod": 10 * SECOND_NS,
                "shutdownGracePeriodCriticalPods": 20 * SECOND_NS,
            },
            "shutdownGracePeriodCriticalPods {20s} must be <= shutdownGracePeriod {10s}",
        ),
        (
            {"shutdownGracePeriod": SECOND_NS // 2},
            "shutdownGracePeriod {500ms} must be either zero or otherwise >= 1 sec",
        ),
        (
            {"shutdownGracePeriod": SECOND_NS, "shutdownGracePeriodByPodPriority": True},
            "Cannot specify both shutdownGracePeriodByPodPriority and shutdownGracePeriod at the "
            "same time",
        ),
        (
            {"hairpinMode": "x"},
            'option "x" specified for hairpinMode (--hairpin-mode). Valid options are "none", '
            '"hairpin-veth" or "promiscuous-bridge"',
        ),
        (
            {"tracing": True, "tracing.samplingRatePerMillion": -1},
            "tracing.samplingRatePerMillion: Invalid value: -1: sampling rate must be positive",
        ),
        (
            {"tracing": True, "tracing.samplingRatePerMillion": 1_000_001},
            "tracing.samplingRatePerMillion: Invalid value: 1000001: sampling rate per million "
            "must be less than or equal to one million",
        ),
        (
            {"enableSystemLogQuery": True, "enableSystemLogHandler": False},
            "enableSystemLogHandler is required for enableSystemLogQuery",
        ),
        (
            {"containerLogMaxWorkers": 0},
            "containerLogMaxWorkers must be greater than or equal to 1",
        ),
        (
            {"containerLogMonitorInterval": 2 * SECOND_NS},
            "containerLogMonitorInterval must be a positive time duration greater than or equal "
            "to 3s",
        ),
        ({"podLogsDir": "logs"}, 'pod logs path "logs" must be absolute path'),
        ({"podLogsDir": "//var/log"}, 'pod logs path "//var/log" must be normalized'),
        ({"podLogsDir": "/var/log/"}, 'pod logs path "/var/log/" must be normalized'),
        ({"podLogsDir": "/ä"}, 'pod logs path "/ä" mut contains ASCII characters only'),
    ],
)
def test_a_wrong_value_is_refused_in_the_kubelets_words(
    fields: dict[str, Any], expected: str
) -> None:
    assert [expected] == texts(fields)


@pytest.mark.parametrize(
    ("fields", "gate", "expected"),
    [
        (
            {"imageMaximumGCAge": 600 * SECOND_NS},
            "ImageMaximumGCAge",
            "ImageMaximumGCAge feature gate is required for Kubelet configuration option "
            "imageMaximumGCAge",
        ),
        (
            {"serverTLSBootstrap": True},
            "RotateKubeletServerCertificate",
            "serverTLSBootstrap true requires feature gate RotateKubeletServerCertificate",
        ),
        (
            {"shutdownGracePeriod": SECOND_NS},
            "GracefulNodeShutdown",
            "specifying shutdownGracePeriod or shutdownGracePeriodCriticalPods requires feature "
            "gate GracefulNodeShutdown",
        ),
        (
            {"shutdownGracePeriodByPodPriority": True},
            "GracefulNodeShutdownBasedOnPodPriority",
            "Specifying shutdownGracePeriodByPodPriority requires feature gate "
            "GracefulNodeShutdownBasedOnPodPriority",
        ),
        (
            {"tracing": True},
            "KubeletTracing",
            "tracing should not be configured if KubeletTracing feature flag is disabled.",
        ),
    ],
)
def test_some_fields_need_their_gate(fields: dict[str, Any], gate: str, expected: str) -> None:
    assert texts(fields) == []
    assert [expected] == texts(fields, **{gate: False})


def test_the_longest_wait_before_a_restart_has_a_range() -> None:
    fields = {"crashLoopBackOff.maxContainerRestartPeriod": 301 * SECOND_NS}
    expected = (
        "CrashLoopBackOff.MaxContainerRestartPeriod (got: 301 seconds) must be set between 1s and "
        "300s"
    )

    assert [expected] == texts(fields, KubeletCrashLoopBackOffMax=True)


def test_several_pulls_at_once_are_not_serialized_unless_that_is_said() -> None:
    assert texts({"maxParallelImagePulls": 2}) == []


def test_what_the_kubelet_defaults_when_it_is_zero_is_the_default() -> None:
    document = {
        "nodeLeaseDurationSeconds": 0,
        "eventBurst": 0,
        "imageMinimumGCAge": "0s",
        "kubeAPIBurst": 0,
        "maxOpenFiles": 0,
        "registryBurst": 0,
        "hairpinMode": "",
        "podLogsDir": "",
    }

    assert kubelet_config.decode(document, "kubelet.yaml").others == {}


def test_fields_inside_mappings_are_read() -> None:
    document = {
        "crashLoopBackOff": {"maxContainerRestartPeriod": "30s"},
        "userNamespaces": {"idsPerPod": 131072},
        "tracing": {"samplingRatePerMillion": 7},
        "shutdownGracePeriodByPodPriority": [{"priority": 1, "shutdownGracePeriodSeconds": 5}],
    }

    assert kubelet_config.decode(document, "kubelet.yaml").others == {
        "crashLoopBackOff.maxContainerRestartPeriod": 30 * SECOND_NS,
        "userNamespaces.idsPerPod": 131072,
        "tracing": True,
        "tracing.samplingRatePerMillion": 7,
        "shutdownGracePeriodByPodPriority": True,
    }
