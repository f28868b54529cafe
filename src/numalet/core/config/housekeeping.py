"""Fields of KubeletConfiguration that decide nothing about pods here; a wrong one stops the start.

Defaults are the kubelet's after defaulting, the same in every release. Kubelet v1.32:
``SetDefaults_KubeletConfiguration``.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from numalet.core.model import go_duration


class Housekeeping(NamedTuple):
    """Images, logs, events, shutdown and the like; fields without a default are None if absent.

    Ages, periods and intervals are nanoseconds; rates are requests per second.
    ``tracing_sampling_rate`` is a number per million, and None where tracing does not say one.
    """

    node_lease_seconds: int = 40
    system_cgroups: str = ""
    cgroup_root: str = ""
    event_burst: int = 100
    event_record_qps: int = 50
    image_gc_high_threshold_percent: int = 85
    image_gc_low_threshold_percent: int = 80
    image_maximum_gc_age_ns: int = 0
    image_minimum_gc_age_ns: int = 120 * go_duration.SECOND_NS
    iptables_drop_bit: int = 15
    iptables_masquerade_bit: int = 14
    kube_api_burst: int = 100
    kube_api_qps: int = 50
    node_status_max_images: int = 50
    max_open_files: int = 1_000_000
    oom_score_adj: int = -999
    registry_burst: int = 10
    registry_pull_qps: int = 5
    max_parallel_image_pulls: int | None = None
    serialize_image_pulls: bool | None = None
    server_tls_bootstrap: bool = False
    run_once: bool = False
    shutdown_grace_period_ns: int = 0
    shutdown_grace_period_critical_pods_ns: int = 0
    shutdown_is_by_priority: bool = False
    max_container_restart_period_ns: int | None = None
    hairpin_mode: str = "promiscuous-bridge"
    image_verification_policy: str = ""
    image_verification_allowlist: tuple[str, ...] = ()
    user_namespace_ids_per_pod: int | None = None
    has_tracing: bool = False
    tracing_sampling_rate: int | None = None
    enable_system_log_query: bool = False
    enable_system_log_handler: bool = True
    container_log_max_workers: int = 1
    container_log_monitor_interval_ns: int = 10 * go_duration.SECOND_NS
    container_log_max_files: int = 5
    pod_logs_dir: str = "/var/log/pods"

    @property
    def pulls_one_image_at_a_time(self) -> bool:
        """``serializeImagePulls``, which is on where it is not said, unless many are allowed."""
        if self.serialize_image_pulls is not None:
            return self.serialize_image_pulls
        return self.max_parallel_image_pulls is None or self.max_parallel_image_pulls < 2


AS_DEFAULTED: Final = Housekeeping()
"""The fields of an empty configuration."""
