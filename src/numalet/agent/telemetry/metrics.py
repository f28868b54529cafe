"""Every metric of the agent (name, kind, labels, bounds), and counter values by name and labels.

Names with ``kubelet_`` and ``resource_manager_`` are the kubelet's, so that existing dashboards
work. Help texts are in ``wording.metric_help``. Kubelet: ``pkg/kubelet/metrics/metrics.go``, v1.32,
or later where there is a ``rule``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from types import MappingProxyType
from typing import Final, TypeAlias

from numalet.core.config.rules import NodeRules
from numalet.core.model.value import Value


class MetricKind(Enum):
    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class Definition(Value):
    """One metric. Series with ``labels`` start at their first use, others at 0.

    ``rule`` names the release rule that adds the metric. ``is_former``: a later release has another
    name for it.
    """

    name: str
    kind: MetricKind = MetricKind.COUNTER
    labels: tuple[str, ...] = ()
    bounds: tuple[float, ...] = ()
    rule: str = ""
    is_former: bool = False


MEMORY_REQUESTS: Final = "kubelet_memory_manager_pinning_requests_total"
MEMORY_ERRORS: Final = "kubelet_memory_manager_pinning_errors_total"
CPU_REQUESTS: Final = "kubelet_cpu_manager_pinning_requests_total"
CPU_ERRORS: Final = "kubelet_cpu_manager_pinning_errors_total"
SHARED_POOL: Final = "kubelet_cpu_manager_shared_pool_size_millicores"
EXCLUSIVE_CPUS: Final = "kubelet_cpu_manager_exclusive_cpu_allocation_count"
ADMISSIONS: Final = "kubelet_topology_manager_admission_requests_total"
ADMISSION_ERRORS: Final = "kubelet_topology_manager_admission_errors_total"
ADMISSION_DURATION: Final = "kubelet_topology_manager_admission_duration_ms"
ALIGNED: Final = "kubelet_container_aligned_compute_resources_count"
ALIGNMENT_FAILURES: Final = "kubelet_container_aligned_compute_resources_failure_count"
CPUS_BY_NODE: Final = "kubelet_cpu_manager_allocation_per_numa"
ALLOCATIONS: Final = "kubelet_resource_manager_allocations_total"
ALLOCATION_ERRORS: Final = "kubelet_resource_manager_allocation_errors_total"
ASSIGNMENTS: Final = "kubelet_resource_manager_container_assignments_total"
FORMER_NAMES: Final = MappingProxyType(
    {
        ALLOCATIONS: "resource_manager_allocations_total",
        ALLOCATION_ERRORS: "resource_manager_allocation_errors_total",
        ASSIGNMENTS: "resource_manager_container_assignments",
    }
)
"""Names in v1.36."""
POD_LEVEL_ADMISSIONS: Final = "kubelet_pod_level_resources_admission_total"
REJECTIONS: Final = "kubelet_admission_rejections_total"
PLUGIN_REGISTRATIONS: Final = "kubelet_device_plugin_registration_total"
PLUGIN_ALLOCATIONS: Final = "kubelet_device_plugin_alloc_duration_seconds"
POD_RESOURCES_REQUESTS: Final = "kubelet_pod_resources_endpoint_requests_total"
POD_RESOURCES_LISTS: Final = "kubelet_pod_resources_endpoint_requests_list"
POD_RESOURCES_ALLOCATABLE: Final = "kubelet_pod_resources_endpoint_requests_get_allocatable"
POD_RESOURCES_GETS: Final = "kubelet_pod_resources_endpoint_requests_get"
POD_RESOURCES_GET_ERRORS: Final = "kubelet_pod_resources_endpoint_errors_get"

DECISION_SECONDS: Final = "numalet_decision_seconds"
DRIFT_CORRECTED: Final = "numalet_drift_corrected_total"
ALLOCATABLE: Final = "numalet_numa_allocatable_bytes"
RESERVED: Final = "numalet_numa_reserved_bytes"
FREE: Final = "numalet_numa_free_bytes"
IN_GROUP: Final = "numalet_numa_group_member"
MISPLACED: Final = "numalet_container_misplaced_bytes"
BUILD_INFO: Final = "numalet_build_info"
ACCEPT_PAUSES: Final = "numalet_accept_pauses_total"
STARTS_DELAYED: Final = "numalet_starts_delayed_total"
RECORDS_LOST: Final = "numalet_state_records_lost_total"
UNPROMISED: Final = "numalet_unpromised_pods"
GUARANTEE: Final = "numalet_guarantee_level"
KUBELET_STATE_CHANGES: Final = "numalet_kubelet_state_changes_total"
KUBELET_STATE: Final = "numalet_kubelet_state_soundness"
KUBELET_PROBLEMS: Final = "numalet_kubelet_problems"
KUBELET_CONTAINERS: Final = "numalet_kubelet_containers"
KUBELET_UP: Final = "numalet_kubelet_up"
KUBELET_RELEASE: Final = "numalet_kubelet_release_info"
KUBELET_SHARED_POOL: Final = "numalet_kubelet_shared_pool_millicores"
KUBELET_EXCLUSIVE_CPUS: Final = "numalet_kubelet_exclusive_cpus"

_KUBELETS: Final = ("kubelet_", "resource_manager_")
DURATION_BOUNDS_MS: Final = tuple(0.05 * 2**power for power in range(15))
ALLOCATION_BOUNDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
DECISION_BOUNDS: Final = (0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1, 5)

DEFINITIONS: Final = (
    Definition(MEMORY_REQUESTS),
    Definition(MEMORY_ERRORS),
    Definition(CPU_REQUESTS),
    Definition(CPU_ERRORS),
    Definition(SHARED_POOL, MetricKind.GAUGE),
    Definition(EXCLUSIVE_CPUS, MetricKind.GAUGE),
    Definition(
        CPUS_BY_NODE,
        MetricKind.GAUGE,
        ("numa_node",),
        rule="exclusive_cpus_are_shown_by_numa_node",
    ),
    Definition(ADMISSIONS),
    Definition(ADMISSION_ERRORS),
    Definition(ADMISSION_DURATION, MetricKind.HISTOGRAM, bounds=DURATION_BOUNDS_MS),
    Definition(ALIGNED, labels=("scope", "boundary")),
    Definition(
        ALIGNMENT_FAILURES, labels=("scope", "boundary"), rule="failed_alignments_are_counted"
    ),
    *(
        Definition(
            name, labels=("resource_name", label), rule=rule, is_former=name not in FORMER_NAMES
        )
        for all_names, rule in (
            (FORMER_NAMES, "allocation_metrics_have_the_prefix"),
            (FORMER_NAMES.values(), "sources_of_allocations_are_counted"),
        )
        for name, label in zip(all_names, ("source", "source", "assignment_type"), strict=True)
    ),
    Definition(
        POD_LEVEL_ADMISSIONS,
        labels=("config_mode", "qos_class"),
        rule="pod_level_admissions_are_counted",
    ),
    Definition(REJECTIONS, labels=("reason",)),
    Definition(PLUGIN_REGISTRATIONS, labels=("resource_name",)),
    Definition(PLUGIN_ALLOCATIONS, MetricKind.HISTOGRAM, ("resource_name",), ALLOCATION_BOUNDS),
    Definition(POD_RESOURCES_REQUESTS, labels=("server_api_version",)),
    Definition(POD_RESOURCES_LISTS, labels=("server_api_version",)),
    Definition(POD_RESOURCES_ALLOCATABLE, labels=("server_api_version",)),
    Definition(POD_RESOURCES_GETS, labels=("server_api_version",)),
    Definition(POD_RESOURCES_GET_ERRORS, labels=("server_api_version",)),
    Definition(DECISION_SECONDS, MetricKind.HISTOGRAM, bounds=DECISION_BOUNDS),
    Definition(DRIFT_CORRECTED, labels=("setting",)),
    Definition(ALLOCATABLE, MetricKind.GAUGE, ("numa_node", "type")),
    Definition(RESERVED, MetricKind.GAUGE, ("numa_node", "type")),
    Definition(FREE, MetricKind.GAUGE, ("numa_node", "type")),
    Definition(IN_GROUP, MetricKind.GAUGE, ("numa_node", "group")),
    Definition(MISPLACED, MetricKind.GAUGE, ("namespace", "pod", "container")),
    Definition(GUARANTEE, MetricKind.GAUGE, ("level",)),
    Definition(BUILD_INFO, MetricKind.GAUGE, ("version", "python_version", "kubernetes_release")),
    Definition(ACCEPT_PAUSES),
    Definition(STARTS_DELAYED),
    Definition(RECORDS_LOST, labels=("file",)),
    Definition(UNPROMISED, MetricKind.GAUGE),
    Definition(KUBELET_STATE_CHANGES, labels=("file",)),
    Definition(KUBELET_STATE, MetricKind.GAUGE, ("file", "soundness")),
    Definition(KUBELET_PROBLEMS, MetricKind.GAUGE, ("code",)),
    Definition(KUBELET_CONTAINERS, MetricKind.GAUGE, ("aligned",)),
    Definition(KUBELET_UP, MetricKind.GAUGE),
    Definition(KUBELET_RELEASE, MetricKind.GAUGE, ("release", "kubelet_version", "known")),
    Definition(KUBELET_SHARED_POOL, MetricKind.GAUGE),
    Definition(KUBELET_EXCLUSIVE_CPUS, MetricKind.GAUGE),
)
OBSERVERS_ALONE: Final = frozenset(
    {
        KUBELET_STATE_CHANGES,
        KUBELET_STATE,
        KUBELET_PROBLEMS,
        KUBELET_CONTAINERS,
        KUBELET_UP,
        KUBELET_RELEASE,
        KUBELET_SHARED_POOL,
        KUBELET_EXCLUSIVE_CPUS,
    }
)
"""Only exported next to a kubelet."""


def shown(rules: NodeRules, *, is_observing: bool) -> tuple[Definition, ...]:
    """The metrics of an agent that enforces, or that only observes."""
    # The kubelet exports its own series; from two places, dashboards would count them twice.
    if is_observing:
        return tuple(
            each
            for each in DEFINITIONS
            if not each.name.startswith(_KUBELETS) and not each.is_former
        )
    return tuple(
        each for each in DEFINITIONS if each.name not in OBSERVERS_ALONE and exists(each, rules)
    )


def exists(definition: Definition, rules: NodeRules) -> bool:
    """Whether the agent exports the metric: all in native mode, else those of its release."""
    if not rules.behaviour.metrics_of_its_release_alone:
        return not definition.is_former
    if not definition.rule:
        return True
    return bool(getattr(rules.release_rules, definition.rule))


Labels: TypeAlias = tuple[tuple[str, str], ...]
"""In the order of the metric's definition."""

BUCKET: Final = "_bucket"
SUM: Final = "_sum"
COUNT: Final = "_count"
ABOVE_ALL: Final = "+Inf"


class Counts(Value):
    """Counters by name and labels; a missing one is 0.

    A histogram is ``NAME_bucket``, ``NAME_sum`` and ``NAME_count``. Its buckets are
    not cumulative; the exporter sums them.
    """

    values: Mapping[tuple[str, Labels], float] = MappingProxyType({})

    def of(self, name: str, labels: Labels = ()) -> float:
        return self.values.get((name, labels), 0.0)

    def plus(self, name: str, labels: Labels = (), amount: float = 1.0) -> Counts:
        return Counts({**self.values, (name, labels): self.of(name, labels) + amount})

    def observed(
        self, name: str, bounds: Sequence[float], value: float, labels: Labels = ()
    ) -> Counts:
        """Add an observation of a histogram with these upper bounds."""
        bound = next((bound_text(each) for each in bounds if value <= each), ABOVE_ALL)
        counted = self.plus(name + BUCKET, (*labels, ("le", bound)))
        return counted.plus(name + SUM, labels, value).plus(name + COUNT, labels)

    def and_also(self, others: Iterable[Counts]) -> Counts:
        """Combine counts that share no metric."""
        values = dict(self.values)
        for each in others:
            values.update(each.values)
        return Counts(values)


def bound_text(bound: float) -> str:
    """Format a bound for the label ``le``."""
    return f"{bound:g}"
