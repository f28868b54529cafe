"""The help text of every metric, by name. The kubelet's metrics have the kubelet's texts."""

from __future__ import annotations

from collections.abc import Mapping

_KUBELET: Mapping[str, str] = {
    "kubelet_memory_manager_pinning_requests_total": (
        "The number of memory pages allocations which required pinning."
    ),
    "kubelet_memory_manager_pinning_errors_total": (
        "The number of memory pages allocations which required pinning that failed."
    ),
    "kubelet_cpu_manager_pinning_requests_total": (
        "The number of cpu core allocations which required pinning."
    ),
    "kubelet_cpu_manager_pinning_errors_total": (
        "The number of cpu core allocations which required pinning failed."
    ),
    "kubelet_cpu_manager_shared_pool_size_millicores": (
        "The size of the shared CPU pool for non-guaranteed QoS pods, in millicores."
    ),
    "kubelet_cpu_manager_exclusive_cpu_allocation_count": (
        "The total number of CPUs exclusively allocated to containers running on this node"
    ),
    "kubelet_cpu_manager_allocation_per_numa": "Number of CPUs allocated per NUMA node",
    "kubelet_topology_manager_admission_requests_total": (
        "The number of admission requests where resources have to be aligned."
    ),
    "kubelet_topology_manager_admission_errors_total": (
        "The number of admission request failures where resources could not be aligned."
    ),
    "kubelet_topology_manager_admission_duration_ms": (
        "Duration in milliseconds to serve a pod admission request."
    ),
    "kubelet_container_aligned_compute_resources_count": (
        "Cumulative number of aligned compute resources allocated to containers by alignment type."
    ),
    "kubelet_container_aligned_compute_resources_failure_count": (
        "Cumulative number of failures to allocate aligned compute resources to containers by"
        " alignment type."
    ),
    "resource_manager_allocations_total": (
        "The number of exclusive allocations of CPUs and memory, by source: the node, or the"
        " resources of a pod as a whole."
    ),
    "kubelet_resource_manager_allocations_total": (
        "The number of exclusive allocations of CPUs and memory, by source: the node, or the"
        " resources of a pod as a whole."
    ),
    "resource_manager_allocation_errors_total": (
        "The number of failed exclusive allocations of CPUs and memory, by source."
    ),
    "kubelet_resource_manager_allocation_errors_total": (
        "The number of failed exclusive allocations of CPUs and memory, by source."
    ),
    "resource_manager_container_assignments": (
        "Cumulative number of containers by the kind of their share of CPUs and memory."
    ),
    "kubelet_resource_manager_container_assignments_total": (
        "Cumulative number of containers by the kind of their share of CPUs and memory."
    ),
    "kubelet_pod_level_resources_admission_total": (
        "Total number of pods admitted during Kubelet admission, categorized by resource"
        " configuration mode (pod_and_container_level, pod_level, container_level, or empty for"
        " unconfigured/BestEffort) and QoS class."
    ),
    "kubelet_admission_rejections_total": (
        "Cumulative number pod admission rejections by the Kubelet."
    ),
    "kubelet_device_plugin_registration_total": (
        "Cumulative number of device plugin registrations. Broken down by resource name."
    ),
    "kubelet_device_plugin_alloc_duration_seconds": (
        "Duration in seconds to serve a device plugin Allocation request."
        " Broken down by resource name."
    ),
    "kubelet_pod_resources_endpoint_requests_total": (
        "Cumulative number of requests to the PodResource endpoint."
        " Broken down by server api version."
    ),
    "kubelet_pod_resources_endpoint_requests_list": (
        "Number of requests to the PodResource List endpoint. Broken down by server api version."
    ),
    "kubelet_pod_resources_endpoint_requests_get_allocatable": (
        "Number of requests to the PodResource GetAllocatableResources endpoint."
        " Broken down by server api version."
    ),
    "kubelet_pod_resources_endpoint_requests_get": (
        "Number of requests to the PodResource Get endpoint. Broken down by server api version."
    ),
    "kubelet_pod_resources_endpoint_errors_get": (
        "Number of requests to the PodResource Get endpoint which returned error."
        " Broken down by server api version."
    ),
}
_OWN: Mapping[str, str] = {
    "numalet_decision_seconds": "Seconds from the beginning to the end of a decision on a pod.",
    "numalet_drift_corrected_total": (
        "Settings of the kernel that were not as wanted and have been written again."
    ),
    "numalet_numa_allocatable_bytes": (
        "Memory of a NUMA node that the Memory Manager can allocate to pods."
    ),
    "numalet_numa_reserved_bytes": (
        "Memory of a NUMA node that the Memory Manager has allocated to pods."
    ),
    "numalet_numa_free_bytes": "Memory of a NUMA node that the Memory Manager can still allocate.",
    "numalet_numa_group_member": "1 for the group of NUMA nodes that contains a node.",
    "numalet_container_misplaced_bytes": (
        "Memory of a running container on NUMA nodes that it was not promised."
    ),
    "numalet_guarantee_level": (
        "1 for the level at which the allocations of containers are enforced."
    ),
    "numalet_build_info": (
        "1, with the versions of the agent, of Python, and of the Kubernetes that it follows."
    ),
    "numalet_accept_pauses_total": (
        "Times that accepting connections paused for a second, because the limit of open files"
        " was reached."
    ),
    "numalet_starts_delayed_total": (
        "Starts of containers that are tried again because the host lacked something for them."
    ),
    "numalet_state_records_lost_total": (
        "Records of containers in state files that did not fit the machine when the agent started,"
        " and records of pods that could not be read then."
    ),
    "numalet_unpromised_pods": (
        "Pods that keep running although their allocation no longer fits the machine."
    ),
    "numalet_kubelet_state_changes_total": (
        "Changes of the state files of the kubelet that owns this node, as far as they were seen."
    ),
    "numalet_kubelet_state_soundness": (
        "1 for the status of a state file of the kubelet that owns this node."
    ),
    "numalet_kubelet_problems": (
        "Problems with the state files of the kubelet that owns this node, or with how the kernel"
        " enforces them."
    ),
    "numalet_kubelet_release_info": "The release whose rules apply to the kubelet that owns this "
    "node, and the kubelet's version, empty if unknown; known is false if the version belongs to "
    "an unknown release.",
    "numalet_kubelet_up": "1 while the kubelet that owns this node runs, else 0.",
    "numalet_kubelet_shared_pool_millicores": (
        "CPUs that no container of the kubelet has to itself, without reserved ones, in millicores,"
        " by its state files."
    ),
    "numalet_kubelet_exclusive_cpus": (
        "CPUs that containers of the kubelet have to themselves, by its state files."
    ),
    "numalet_kubelet_containers": (
        "Containers of the kubelet that owns this node, by whether all of them is where it was"
        " promised."
    ),
}
HELP: Mapping[str, str] = {**_KUBELET, **_OWN}
