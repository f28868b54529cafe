"""A release: its gates, options, and rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from types import MappingProxyType
from typing import Final, TypeVar

from numalet.core.config.releases import flag_table
from numalet.core.config.releases.rule import rule as _rule
from numalet.core.config.releases.running import RunningRules
from numalet.core.model.value import Value, replace

T = TypeVar("T")


class GateStage(Enum):
    ALPHA = "alpha"
    BETA = "beta"
    GA = "GA"
    DEPRECATED = "deprecated"


class Gate(Value):
    """A gate's stage and default in one release; a locked one cannot be set.

    ``needs`` are gates that must be on if this one is on.
    """

    stage: GateStage
    is_on: bool
    is_locked: bool = False
    needs: tuple[str, ...] = ()


class Maturity(Enum):
    """The maturity of a policy option; alpha and beta options need their gate."""

    ALPHA = "Alpha"
    BETA = "Beta"
    STABLE = "stable"


class When(Value):
    """The feature gates under which a rule holds: all of ``on`` on, all of ``off`` off."""

    on: tuple[str, ...] = ()
    off: tuple[str, ...] = ()


ALWAYS: Final = When()
"""A rule without a feature gate."""


class ReleaseRules(RunningRules):
    """The rules of one kubelet under its feature gates; the defaults are those of v1.32."""

    odd_requests_drop_one_cpu: bool = _rule(
        "With prefer-align-cpus-by-uncorecache one cache also provides an odd number of CPUs: the "
        "number of its cores is rounded up, and their highest CPU stays free.",
        kubelet="cpuAccumulator.takePartialUncore",
        test="tests/unit/core/managers/cpu/test_cpu_manager_packed.py::test_an_odd_number_leaves_one_cpu_of_a_cache",
    )
    device_hints_over_device_nodes: bool = _rule(
        "Hints for a device resource contain only NUMA nodes that have such a device. If no device "
        "is attached to a NUMA node of the machine, they may contain all nodes.",
        kubelet="ManagerImpl.generateDeviceTopologyHints, deviceNUMANodes",
        test="tests/unit/core/managers/device/test_device_hints.py::test_hints_may_name_the_nodes_of_devices_alone",
    )
    memory_checksum_zero_is_accepted: bool = _rule(
        "A Memory Manager state file with the checksum 0, or without a checksum, is accepted.",
        kubelet="state.stateCheckpoint.restoreState",
        test="tests/unit/core/checkpoint/test_checkpoint_memory.py::test_a_checksum_of_zero"
        "_is_accepted_by_some_releases",
    )
    memory_type_has_a_version: bool = _rule(
        "An error about a Memory Manager state file names the type MemoryManagerCheckpointV1.",
        kubelet="state.MemoryManagerCheckpointV1",
        test="tests/unit/core/checkpoint/test_checkpoint_memory.py::"
        "test_some_releases_name_another_type",
        is_of_words=True,
    )
    oldest_cpu_format_is_tried_last: bool = _rule(
        "The formats of a CPU Manager state file are tried newest first; if all fail, the error "
        "has the text for the oldest.",
        kubelet="state.stateCheckpoint.restoreState",
        test="tests/unit/core/checkpoint/test_checkpoint_cpu.py::test_the_newest_format_is_tried_first"
        "_by_some_releases",
    )
    cgroup_v1_is_refused_unless_allowed: bool = _rule(
        "On a host with cgroup v1 the kubelet does not start unless failCgroupV1 is false.",
        kubelet="SetDefaults_KubeletConfiguration, app.run",
        test="tests/unit/insight/lint/test_lint_releases.py::test_cgroup_v1_is_refused_by_default"
        "_in_later_releases",
    )
    reserved_memory_flag_is_spelt_right: bool = _rule(
        "Complaints about --reserved-memory are spelt right: `expected`, `quantity`, and a bracket "
        "that is closed.",
        kubelet="flag.ReservedMemoryVar.Set",
        test="tests/unit/io/documents/test_kubelet_flags_of_releases.py::test_complaints_about"
        "_reserved_memory_are_spelt_right_in_later_releases",
    )
    topology_option_levels_are_lower_case: bool = _rule(
        "A topology option whose level is not enabled is refused in lower case: `topology manager "
        "policy beta-level options not enabled`.",
        kubelet="topologymanager.CheckPolicyOptionAvailable",
        test="tests/unit/core/config/test_config_releases.py::test_topology_option_levels"
        "_are_lower_case_in_later_releases",
        is_of_words=True,
    )
    allocated_resources_count: bool = _rule(
        "If the pod's status has an entry for a container, the CPU Manager and the Memory Manager "
        "use its allocatedResources instead of the requests in the spec, even if they are absent.",
        kubelet="staticPolicy.guaranteedCPUs, getRequestedResources",
        test="tests/unit/core/admission/test_counting.py::test_allocated_resources_take_the_place_of_requests",
    )
    sidecar_statuses_count: bool = _rule(
        "The entries of initContainerStatuses are used for sidecars, like those of "
        "containerStatuses.",
        kubelet="staticPolicy.guaranteedCPUs, getRequestedResources",
        test="tests/unit/core/admission/test_counting.py::test_a_sidecar_has_its_entry_among_the_init_containers",
    )
    pod_level_resources_count: bool = _rule(
        "Resources of a pod as a whole (spec.resources) decide its QoS class and how much room it "
        "takes on the node.",
        kubelet="qos.ComputePodQOS, resource.PodRequests",
        test="tests/unit/core/admission/test_counting.py::test_the_qos_class_is_that_of_the_pod_as_a_whole",
    )
    empty_pod_resources_are_best_effort: bool = _rule(
        "A pod whose spec.resources is there but empty is BestEffort, whatever its containers "
        "request. Without this rule, its containers decide.",
        kubelet="qos.ComputePodQOS",
        test="tests/unit/core/admission/test_counting.py::test_empty_resources_of_the_pod_as_a_whole_make_it_best_effort",
    )
    pod_level_pods_are_passed_over: bool = _rule(
        "Pods with spec.resources get no exclusive CPUs and no memory, and prefer NUMA nodes only "
        "for their devices.",
        kubelet="staticPolicy.Allocate, GetTopologyHints, GetPodTopologyHints of both managers",
        test="tests/unit/core/admission/test_pod_level_pods.py::test_a_pod_level_pod_is_passed_over",
    )
    pod_level_pods_are_refused: bool = _rule(
        "Pods with spec.resources are rejected as PodLevelResourcesNotSupported, after the "
        "managers have allocated for them.",
        kubelet="podFeaturesAdmitHandler",
        test="tests/unit/core/admission/test_pod_level_pods.py::test_without_the_gate_a_pod_level_pod_is_refused_at_last",
    )
    pod_level_pods_are_placed_whole: bool = _rule(
        "In pod scope a pod with spec.resources gets its CPUs and memory as a whole, and its "
        "containers divide them; a pod that would leave nothing to containers that share is "
        "rejected. In container scope its Guaranteed containers get theirs.",
        kubelet="staticPolicy.AllocatePod of both managers",
        test="tests/unit/core/admission/test_pod_level_pods.py::test_a_pod_level_pod_is_placed_whole",
    )
    state_files_have_pods: bool = _rule(
        "State files have format 3 (CPU Manager) and 2 (Memory Manager): the field podEntries "
        "contains the allocations of whole pods, and checksums cover it.",
        kubelet="state.stateCheckpoint.storeState",
        test="tests/unit/core/checkpoint/test_pod_entries.py::test_empty_states_have_other_checksums",
    )
    state_files_have_data: bool = _rule(
        "State files are of format 4 (CPU Manager) and 3 (Memory Manager): the member data has the "
        "content, with podEntries, and dataChecksum its checksum. The kubelet reads only these, "
        "and older formats if both are absent; the other members are for older releases.",
        kubelet="state.stateCheckpoint.restoreState, storeState",
        test="tests/unit/core/checkpoint/test_data_member.py::test_data_counts_and_not_what_is_beside",
    )
    state_files_have_baselines: bool = _rule(
        "The CPU Manager's state file has the first CPUs of each container (baselines).",
        kubelet="state.stateMemory.SetCPUSet, state.stateCheckpoint.storeState",
        test="tests/unit/core/checkpoint/test_data_member.py::test_a_baseline_is_the_first_record",
    )
    first_cpu_format_is_gone: bool = _rule(
        "A CPU Manager state file of the first format, with container ids, is not read; and what "
        "the try with a newer format has decoded does not stay.",
        kubelet="state.stateCheckpoint.loadCheckpointV2",
        test="tests/unit/core/checkpoint/test_data_member.py::test_the_first_format_is_not_read",
    )
    kept_cpus_may_break_cores: bool = _rule(
        "full-pcpus-only does not refuse a container that already has its CPUs, so a restart with "
        "the option keeps them.",
        kubelet="staticPolicy.allocateForAdd",
        test="tests/unit/core/managers/cpu/test_cpu_rules_of_releases.py::test_cpus_that_a_container_has_may_break_cores",
    )
    one_socket_is_preferred: bool = _rule(
        "With distribute-cpus-across-numa and align-by-socket, NUMA nodes in one socket win over "
        "all other combinations of as many nodes, and no node has to give a share that it does "
        "not have.",
        kubelet="takeByTopologyNUMADistributed, AreNUMANodesInSameSocket",
        test="tests/unit/core/managers/cpu/test_cpu_rules_of_releases.py::test_nodes_in_one_socket_win",
    )
    no_memory_is_skipped: bool = _rule(
        "The Memory Manager ignores a container of a Guaranteed pod that requests no memory: it "
        "gets no record and is not refused.",
        kubelet="staticPolicy.Allocate, GetTopologyHints of the Memory Manager",
        test="tests/unit/core/managers/memory/test_memory_allocation.py::test_a_container_without_memory_is_ignored",
    )
    qos_class_is_of_each_container: bool = _rule(
        "The QoS class is that of each container; if they differ, Burstable. It is no longer that "
        "of sums, which differs for pods with a request above its limit.",
        kubelet="qos.ComputePodQOS",
        test="tests/unit/core/admission/test_counting.py::test_the_qos_class_is_that_of_each_container",
    )
    pod_level_limits_are_filled_in: bool = _rule(
        "The API server, not the kubelet, fills in resources of a pod as a whole, so a static pod "
        "has those of its file alone. A missing limit becomes the sum of the containers' limits, "
        "if all have one, or the larger request.",
        kubelet="DefaultPodLevelResources of the API server",
        test="tests/unit/core/admission/test_counting.py::test_the_api_server_fills_in_limits_of_the_pod_as_a_whole",
    )
    reserved_cpu_is_in_thousandths: bool = _rule(
        "CPU in kubeReserved and systemReserved is rounded to thousandths: up to millionths, then "
        "half up.",
        kubelet="app.parseResourceList",
        test="tests/unit/core/config/test_config_releases.py::test_reserved_cpu_is_rounded_to_thousandths",
    )
    cpu_set_is_in_capitals: bool = _rule(
        "The error about the default CPU set of a state file has the words `default CPU set`.",
        kubelet="state.stateCheckpoint.restoreState",
        test="tests/unit/core/checkpoint/test_data_member.py::test_the_default_cpu_set_is_in_capitals",
        is_of_words=True,
    )

    default_eviction_is_merged_if_asked: bool = _rule(
        "With mergeDefaultEvictionSettings, signals that are missing in evictionHard get their "
        "default thresholds.",
        kubelet="app.mergeKubeletConfigurations, eviction.DefaultEvictionHard",
        test="tests/unit/core/config/test_config_releases.py::test_default_eviction_settings_are_merged_if_asked",
    )
    one_log_file_is_refused: bool = _rule(
        "containerLogMaxFiles must be greater than 1.",
        kubelet="ValidateKubeletConfiguration",
        test="tests/unit/core/config/test_config_releases.py::test_a_field_is_checked_from_some_release_on",
    )
    image_verification_is_checked: bool = _rule(
        "imagePullCredentialsVerificationPolicy and preloadedImagesVerificationAllowlist are "
        "fields; they need KubeletEnsureSecretPulledImages.",
        kubelet="ValidateKubeletConfiguration",
        test="tests/unit/core/config/test_config_releases.py::test_a_field_is_checked_from_some_release_on",
    )
    user_namespace_ids_are_checked: bool = _rule(
        "userNamespaces.idsPerPod is a field: a multiple of 65536, up to 4294967295.",
        kubelet="ValidateKubeletConfiguration",
        test="tests/unit/core/config/test_config_releases.py::test_a_field_is_checked_from_some_release_on",
    )
    log_query_is_named: bool = _rule(
        "enableSystemLogQuery without its feature gate is complained of by its own name.",
        kubelet="ValidateKubeletConfiguration",
        test="tests/unit/core/config/test_config_releases.py::test_the_log_query_is_named_in_later_releases",
    )
    minimum_image_age_is_checked: bool = _rule(
        "imageMinimumGCAge must not be negative.",
        kubelet="ValidateKubeletConfiguration",
        test="tests/unit/core/config/test_config_releases.py::test_a_field_is_checked_from_some_release_on",
    )
    memory_reservation_policy_is_checked: bool = _rule(
        "memoryReservationPolicy is a field with the values `None` and, with the feature gate "
        "MemoryQoS, `TieredReservation`.",
        kubelet="ValidateKubeletConfiguration",
        test="tests/unit/core/config/test_config_releases.py::test_a_field_is_checked_from_some_release_on",
    )
    pod_sysctls_are_checked: bool = _rule(
        "defaultPodSysctls is a field: it needs the feature gate DefaultPodSysctls, and names "
        "sysctls with a namespace of their own.",
        kubelet="ValidateKubeletConfiguration",
        test="tests/unit/core/config/test_config_releases.py::test_default_pod_sysctls_are_checked",
    )
    run_once_is_refused: bool = _rule(
        "runOnce is refused.",
        kubelet="ValidateKubeletConfiguration",
        test="tests/unit/core/config/test_config_releases.py::test_a_field_is_checked_from_some_release_on",
    )


V1_32_RULES: Final = ReleaseRules()


class Release(Value, kw_only=True, eq=False):
    """A minor release of the kubelet. ``rules`` are named like the fields of ``ReleaseRules``.

    Gates and options are by name; other names are unknown to the kubelet. ``claim_versions``: the
    versions of resource.k8s.io with ResourceClaims, and whether an API server serves them by
    default.
    """

    name: str
    gates: Mapping[str, Gate]
    cpu_options: Mapping[str, Maturity]
    topology_options: Mapping[str, Maturity]
    fields: frozenset[str] = frozenset()
    """Fields of KubeletConfiguration that v1.32 does not have."""
    flags: frozenset[str] = frozenset()
    """Its command-line flags, without dashes."""
    rules: Mapping[str, When] = MappingProxyType({})
    claim_versions: Mapping[str, bool] = MappingProxyType({})

    def __repr__(self) -> str:
        return f"<Release {self.name}>"

    def rules_with(self, is_on: Callable[[str], bool]) -> ReleaseRules:
        """Return the rules of this release under these feature gates."""
        holding = {
            name: all(map(is_on, when.on)) and not any(map(is_on, when.off))
            for name, when in self.rules.items()
        }
        return ReleaseRules(**holding)


def later(
    before: Release,
    name: str,
    *,
    gates: Mapping[str, Gate | None] = MappingProxyType({}),
    needs: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
    cpu_options: Mapping[str, Maturity] = MappingProxyType({}),
    topology_options: Mapping[str, Maturity] = MappingProxyType({}),
    fields: tuple[str, ...] = (),
    rules: Mapping[str, When | None] = MappingProxyType({}),
    claim_versions: Mapping[str, bool | None] = MappingProxyType({}),
) -> Release:
    """Return the next release: names that are not given stay, and None removes one.

    ``needs``: gates that must be on if a gate is on; a gate that is listed again keeps its earlier
    dependencies.
    """
    return Release(
        name=name,
        gates=_with_needs(before, _changed(before.gates, gates), needs),
        cpu_options=_changed(before.cpu_options, cpu_options),
        topology_options=_changed(before.topology_options, topology_options),
        fields=before.fields | set(fields),
        flags=flag_table.of_release(name),
        rules=_changed(before.rules, rules),
        claim_versions=_changed(before.claim_versions, claim_versions),
    )


def _changed(before: Mapping[str, T], changes: Mapping[str, T | None]) -> Mapping[str, T]:
    merged = {**before, **changes}
    return MappingProxyType({name: each for name, each in merged.items() if each is not None})


def _with_needs(
    before: Release, gates: Mapping[str, Gate], needs: Mapping[str, tuple[str, ...]]
) -> Mapping[str, Gate]:
    former = {name: gate.needs for name, gate in before.gates.items() if gate.needs}
    wanted = {**former, **needs}
    changed = {
        name: replace(gates[name], needs=needed)
        for name, needed in wanted.items()
        if name in gates and gates[name].needs != needed
    }
    return MappingProxyType({**gates, **changed})
