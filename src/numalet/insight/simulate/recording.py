"""Write a scenario in the form that ``numalet simulate --record`` appends to a file.

The written form contains all that influenced a decision, so that a replay has the same outcome.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, assert_never

from numalet.core.config import unknown
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.config.numalet_config import AS_THE_KUBELET, NumaletConfig
from numalet.core.managers.device.inventory import Device, Health
from numalet.core.model.node_constraints import NodeConstraints, NodeRequirement
from numalet.core.model.pod import Container, ContainerKind, Pod, Resources
from numalet.insight.maps import machine_description
from numalet.insight.simulate.session import (
    Outcome,
    RemoveStep,
    RestartStep,
    Scenario,
    Step,
)


def document(scenario: Scenario, outcome: Outcome) -> dict[str, Any]:
    """Return the scenario with its outcome as plain data for one line of JSON."""
    recorded: dict[str, Any] = {
        "name": scenario.name,
        "tags": list(scenario.tags),
        "machine": machine_description.of(scenario.machine),
        "kubelet_config": config_document(unknown.assumed(scenario.config)),
        "devices": [devices_document(*group) for group in scenario.devices.items()],
        "steps": [_step(step) for step in scenario.steps],
        "expect": dict(outcome),
    }
    if own := _own_settings(scenario.numalet):
        recorded["numalet_config"] = own
    if scenario.numalet.release is not None:
        recorded["release"] = scenario.numalet.release.name
    if scenario.state_files:
        recorded["state_files"] = dict(scenario.state_files)
    if scenario.record_raw:
        recorded["record_raw"] = True
    return recorded


def _own_settings(config: NumaletConfig) -> dict[str, Any]:
    """Return settings that differ from the default of scenarios, where only the managers decide."""
    settings: dict[str, Any] = {}
    if config.behaviour.predicates_are_asked:
        settings["generalPredicates"] = True
    if config.mode is not AS_THE_KUBELET.mode:
        settings["mode"] = config.mode.value
    if config.memory_node_classes is not None:
        settings["memoryNodeClasses"] = [each.value for each in config.memory_node_classes]
    return settings


def config_document(config: KubeletConfig) -> dict[str, Any]:
    """Return the equivalent fields of KubeletConfiguration.

    Defaults are written out, except those of the thresholds, which depend on the machine.
    """
    recorded: dict[str, Any] = {
        "cpuManagerPolicy": config.cpu_manager_policy,
        "memoryManagerPolicy": config.memory_manager_policy,
        "topologyManagerPolicy": config.topology_manager_policy,
        "topologyManagerScope": config.topology_manager_scope,
        "kubeReserved": dict(config.kube_reserved),
        "systemReserved": dict(config.system_reserved),
        "reservedMemory": [
            {"numaNode": entry.numa_node, "limits": _texts(entry.limits)}
            for entry in config.reserved_memory
        ],
        "enforceNodeAllocatable": list(config.enforce_node_allocatable),
        "cgroupsPerQOS": config.cgroups_per_qos,
        "featureGates": dict(config.feature_gates),
        "maxPods": config.max_pods,
        "podsPerCore": config.pods_per_core,
    }
    # Written defaults would count as set, and the kubelet would not merge its own.
    if not config.uses_default_eviction:
        recorded["evictionHard"] = dict(config.eviction_hard)
    options = {
        "cpuManagerPolicyOptions": config.cpu_manager_policy_options,
        "topologyManagerPolicyOptions": config.topology_manager_policy_options,
    }
    texts = {
        "reservedSystemCPUs": config.reserved_system_cpus,
        "kubeReservedCgroup": config.kube_reserved_cgroup,
        "systemReservedCgroup": config.system_reserved_cgroup,
    }
    # An empty map differs from a missing one: it was set.
    recorded |= {name: dict(given) for name, given in options.items() if given is not None}
    return recorded | {name: text for name, text in texts.items() if text}


def _step(step: Step) -> dict[str, Any]:
    match step:
        case Pod():
            return {"admit": pod_document(step)}
        case RemoveStep(pod_uid):
            return {"remove": pod_uid}
        case RestartStep():
            return {"restart": _restart(step)}
        case _:
            assert_never(step)


def _restart(step: RestartStep) -> dict[str, Any]:
    recorded: dict[str, Any] = {"order": list(step.order)}
    if step.config is not None:
        recorded["kubelet_config"] = config_document(step.config)
    if step.machine is not None:
        recorded["machine"] = machine_description.of(step.machine)
    if step.state_files is not None:
        recorded["state_files"] = dict(step.state_files)
    return recorded


def pod_document(pod: Pod) -> dict[str, Any]:
    """Return the pod as a manifest; its status has the QoS class, which may have been preset."""
    spec: dict[str, Any] = {"containers": [_container(each) for each in pod.app_containers]}
    if pod.init_containers:
        spec["initContainers"] = [_container(each) for each in pod.init_containers]
    if pod.overhead:
        spec["overhead"] = _texts(pod.overhead)
    if pod.node_name:
        spec["nodeName"] = pod.node_name
    metadata: dict[str, Any] = {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid}
    if pod.labels:
        metadata["labels"] = dict(pod.labels)
    if pod.is_static:
        metadata["annotations"] = {"kubernetes.io/config.source": "file"}
    if pod.priority is not None:
        spec["priority"] = pod.priority
    if pod.constraints is not None:
        _constrain(spec, pod.constraints)
    if pod.pod_level is not None:
        whole = pod.pod_level
        spec["resources"] = {"limits": _texts(whole.limits), "requests": _texts(whole.requests)}
    elif pod.has_empty_resources:
        spec["resources"] = {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": spec,
        "status": _status(pod),
    }


def _status(pod: Pod) -> dict[str, Any]:
    """Return the part of the status that influences decisions."""
    status: dict[str, Any] = {"phase": pod.phase} if pod.phase else {}
    has_one = pod.pod_level is None or pod.pod_level.qos_class is pod.qos_class
    if has_one and not pod.has_empty_resources:
        status["qosClass"] = pod.qos_class.value
    # With two different classes, the release decides which one is used.
    if pod.allocated is not None:
        status["containerStatuses"] = _entries(pod.allocated.containers)
        status["initContainerStatuses"] = _entries(pod.allocated.init_containers)
    return status


def _entries(allocated: Mapping[str, Resources]) -> list[dict[str, Any]]:
    return [{"name": name, "allocatedResources": _texts(each)} for name, each in allocated.items()]


def _constrain(spec: dict[str, Any], constraints: NodeConstraints) -> None:
    if constraints.selector:
        spec["nodeSelector"] = dict(constraints.selector)
    if constraints.os_name:
        spec["os"] = {"name": constraints.os_name}
    if constraints.strict_groups:
        spec["securityContext"] = {"supplementalGroupsPolicy": "Strict"}
    if constraints.affinity is not None:
        terms = [
            {
                "matchExpressions": list(map(_requirement, term.expressions)),
                "matchFields": list(map(_requirement, term.fields)),
            }
            for term in constraints.affinity
        ]
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
        spec["affinity"] = {"nodeAffinity": required}
    if constraints.ports:
        # Ports belong to the pod; which container lists them has no effect.
        spec["containers"][0]["ports"] = [
            {"hostPort": port.number, "protocol": port.protocol, "hostIP": port.address}
            for port in constraints.ports
        ]


def _requirement(each: NodeRequirement) -> dict[str, Any]:
    return {"key": each.key, "operator": each.operator, "values": list(each.values)}


def _container(container: Container) -> dict[str, Any]:
    recorded: dict[str, Any] = {"name": container.name}
    if container.kind is ContainerKind.SIDECAR:
        recorded["restartPolicy"] = "Always"
    resources = {"limits": _texts(container.limits), "requests": _texts(container.requests)}
    given = {name: texts for name, texts in resources.items() if texts}
    return recorded | ({"resources": given} if given else {})


def _texts(resources: Resources) -> Mapping[str, str]:
    return {name: str(quantity) for name, quantity in resources.items()}


def devices_document(resource: str, devices: Iterable[Device]) -> dict[str, Any]:
    return {"resource": resource, "devices": [_device(device) for device in devices]}


def _device(device: Device) -> dict[str, Any]:
    recorded: dict[str, Any] = {"id": device.device_id, "numa_nodes": list(device.numa_nodes)}
    return (
        recorded if device.health is Health.HEALTHY else recorded | {"health": device.health.value}
    )
