"""Rules about running pods: admission next to the managers, allocations, and output."""

from __future__ import annotations

from numalet.core.config.releases.rule import Rules
from numalet.core.config.releases.rule import rule as _rule


class RunningRules(Rules):
    """The release's rules that the managers do not use."""

    sidecars_are_forbidden: bool = _rule(
        'A pod with a restartable init container is rejected: `Init container "x" may not have a '
        "non-default restartPolicy`.",
        kubelet="lifecycle.predicateAdmitHandler.Admit",
        test="tests/unit/core/admission/test_predicates.py"
        "::test_without_the_gate_sidecars_are_rejected_where_there_is_one",
    )
    strict_groups_need_a_runtime: bool = _rule(
        "A pod with supplementalGroupsPolicy Strict is rejected on a node whose runtime does not "
        "support it, with the reason SupplementalGroupsPolicyNotSupported.",
        kubelet="lifecycle.predicateAdmitHandler.Admit, "
        "rejectPodAdmissionBasedOnSupplementalGroupsPolicy",
        test="tests/unit/core/admission/test_predicates.py"
        "::test_strict_groups_need_a_runtime_in_releases_that_ask",
    )
    containers_have_pod_level_pages: bool = _rule(
        "A container without a limit of huge pages has that of its pod's resources as a whole.",
        kubelet="kuberuntime.GetHugepageLimitsFromResources",
        test="tests/unit/core/enforcement/test_enforcement_pod_level.py"
        "::test_huge_pages_of_a_whole_pod_limit_its_containers_in_some_releases",
    )
    throttling_has_no_default: bool = _rule(
        "memoryThrottlingFactor has no default, and without it memory.high is not set. Without the "
        "feature gate MemoryQoS only the former default 0.9 may be set.",
        kubelet="SetDefaults_KubeletConfiguration, ValidateKubeletConfiguration",
        test="tests/unit/core/enforcement/test_enforcement_pod_level.py"
        "::test_later_releases_throttle_by_a_given_factor_alone",
    )
    whole_pods_are_throttled: bool = _rule(
        "With MemoryQoS a pod with a memory limit in spec.resources has memory.high itself, and "
        "its containers without a limit do not. BestEffort containers are throttled below the "
        "node's allocatable memory.",
        kubelet="cm.ApplyPodLevelMemoryHigh, kuberuntime.generateLinuxContainerResources",
        test="tests/unit/core/enforcement/test_enforcement_pod_level.py"
        "::test_later_releases_throttle_a_pod_as_a_whole",
    )
    exclusive_cpus_have_no_quota: bool = _rule(
        "A container with exclusive CPUs has no CPU quota, and neither has a pod with such a "
        "container.",
        kubelet="cpumanager.staticPolicy, cm.podContainerManagerImpl.EnsureExists, "
        "kuberuntime.calculateLinuxResources",
        test="tests/unit/core/enforcement/test_enforcement_desired.py"
        "::test_exclusive_cpus_have_no_quota_in_releases_that_switch_it_off",
    )
    pod_resources_answer_get: bool = _rule(
        "The PodResources API answers Get about one pod.",
        kubelet="podresources.v1PodResourcesServer.Get",
        test="tests/agent/test_settings.py"
        "::test_monitors_may_ask_for_one_pod_where_the_release_lets_them",
    )
    pod_resources_list_active_pods: bool = _rule(
        "The PodResources API lists active pods alone, and not those that were rejected or ended.",
        kubelet="podresources.v1PodResourcesServer.List",
        test="tests/servers/test_pod_resources.py::test_some_releases_list_active_pods_alone",
    )
    pod_resources_show_whole_pods: bool = _rule(
        "The PodResources API shows what a pod got as a whole in the pod's own fields, and CPUs "
        "and memory of a container only if the container does not share them.",
        kubelet="podresources.v1PodResourcesServer.List, Get, containerManagerImpl.GetCPUs, "
        "GetPodCPUs, GetMemory, GetPodMemory",
        test="tests/unit/shared/kubernetes/test_pod_resources.py"
        "::test_later_releases_show_what_a_pod_got_as_a_whole",
    )
    failed_alignments_are_counted: bool = _rule(
        "Rejections because of single-numa-node and full-pcpus-only are counted by what could not "
        "be aligned, and the series of aligned and of failed containers begin with 0.",
        kubelet="metrics.ContainerAlignedComputeResourcesFailure",
        test="tests/unit/agent/telemetry/test_admission_counts.py"
        "::test_what_could_not_be_aligned_is_counted_in_releases_that_do_so",
    )
    containers_in_one_cache_are_counted: bool = _rule(
        "A container whose exclusive CPUs share one uncore cache is counted as aligned to it.",
        kubelet="cpumanager.staticPolicy.updateMetricsOnAllocate",
        test="tests/unit/agent/telemetry/test_admission_counts.py"
        "::test_containers_in_one_cache_are_counted_in_releases_that_do_so",
    )
    exclusive_cpus_are_shown_by_numa_node: bool = _rule(
        "A gauge shows the exclusive CPUs of each NUMA node that had some. When the last of them "
        "is released, the gauge keeps its old value.",
        kubelet="cpumanager.updateAllocationPerNUMAMetric",
        test="tests/unit/agent/telemetry/test_cpu_gauges.py"
        "::test_a_node_whose_last_cpu_is_released_keeps_its_value",
    )
    shared_cpus_count_once_at_start: bool = _rule(
        "At the start the gauge of exclusive CPUs counts a CPU that two containers of a pod have "
        "once.",
        kubelet="cpumanager.staticPolicy.initializeMetrics, getTotalAssignedExclusiveCPUs",
        test="tests/unit/agent/telemetry/test_cpu_gauges.py"
        "::test_some_releases_count_a_cpu_of_two_containers_once_at_the_start",
    )
    hint_lines_name_the_pod: bool = _rule(
        "The log lines ContainerTopologyHint and PodTopologyHint name the pod and the container.",
        kubelet="topologymanager.containerScope.calculateAffinity, podScope.calculateAffinity",
        test="tests/unit/agent/telemetry/test_admission_log.py"
        "::test_later_releases_name_the_pod_and_say_more_at_level_four",
        is_of_words=True,
    )
    checks_and_starts_are_logged: bool = _rule(
        "At level 4 the log has the check of each pod, its result, and the start of managers.",
        kubelet="topologymanager.manager.Admit, cpumanager.manager.Start, "
        "memorymanager.manager.Start",
        test="tests/unit/agent/telemetry/test_admission_log.py"
        "::test_later_releases_name_the_pod_and_say_more_at_level_four",
        is_of_words=True,
    )
    stale_lines_are_verbose: bool = _rule(
        "The removal of a deleted container's state is logged at level 2.",
        kubelet="memorymanager.manager.removeStaleState",
        test="tests/unit/agent/telemetry/test_admission_log.py"
        "::test_what_is_forgotten_is_said_at_level_two_by_later_releases",
        is_of_words=True,
    )
    memory_is_kept_by_policy: bool = _rule(
        "With MemoryQoS requests are kept for pods (memory.min) only under the memory reservation "
        "policy TieredReservation, and those of Guaranteed pods alone; of Burstable ones it is "
        "memory.low, which numalet does not write.",
        kubelet="cm.ResourceConfigForPod, kuberuntime.generateLinuxContainerConfig",
        test="tests/unit/core/enforcement/test_enforcement_pod_level.py"
        "::test_later_releases_keep_memory_by_policy",
    )
    sources_of_allocations_are_counted: bool = _rule(
        "Metrics count allocations of CPUs and memory, and the containers that have them, by "
        "whether they come from the node or from what their pod has as a whole.",
        kubelet="metrics.ResourceManagerAllocationsTotal",
        test="tests/unit/agent/telemetry/test_admission_counts.py"
        "::test_shares_of_the_node_and_of_a_pod_are_told_apart",
    )
    pod_level_admissions_are_counted: bool = _rule(
        "A metric counts admitted pods by QoS class and by whether the pod, its containers or both "
        "have resources.",
        kubelet="kubelet.recordPodLevelResourcesAdmission",
        test="tests/unit/agent/telemetry/test_admission_counts.py"
        "::test_admitted_pods_are_counted_by_where_their_resources_are",
    )
    allocation_metrics_have_the_prefix: bool = _rule(
        "These metrics have the prefix kubelet_, and the one of containers ends in _total.",
        kubelet="metrics.ResourceManagerAllocationsTotal",
        test="tests/unit/agent/telemetry/test_admission_counts.py"
        "::test_shares_of_the_node_and_of_a_pod_are_told_apart",
    )
