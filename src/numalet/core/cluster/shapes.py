"""The shape of a pod: everything that influences its admission, without its identity.

The pods of one controller have one shape. It omits uid and names, node, phase and allocations,
because a copy would arrive as a new pod, and keeps only the label that a kubelet compares.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from numalet.core.admission.predicates import OS_LABEL
from numalet.core.cluster.cluster import ClusterPod, Toleration
from numalet.core.model.node_constraints import NodeConstraints
from numalet.core.model.pod import Container, Pod, PodLevelResources, Resources
from numalet.core.model.value import replace

ShapeKey: TypeAlias = tuple[object, ...]
"""Equal for pods of one shape."""

PodKey: TypeAlias = tuple[ShapeKey, tuple[Toleration, ...]]
"""Equal for pods that all schedulers and kubelets treat alike."""

ASKING_UID: Final = "\x00shape"
"""The uid of a shape's pod. No pod of a cluster has it: uids are printable."""


def shape_of(pod: Pod) -> Pod:
    labels = {OS_LABEL: pod.labels[OS_LABEL]} if OS_LABEL in pod.labels else {}
    return replace(
        pod,
        uid=ASKING_UID,
        name="shape",
        namespace="default",
        phase="",
        node_name="",
        labels=labels,
        allocated=None,
    )


def shape_key(pod: Pod) -> ShapeKey:
    return (
        tuple(map(_container, pod.init_containers)),
        tuple(map(_container, pod.app_containers)),
        pod.qos_class,
        _resources(pod.overhead),
        pod.labels.get(OS_LABEL),
        pod.priority,
        pod.is_static,
        _constraints(pod.constraints),
        _whole(pod.pod_level),
        pod.has_empty_resources,
        pod.claims,
    )


def key_of(pod: ClusterPod) -> PodKey:
    """Return a key that is equal for pods that all schedulers and kubelets treat alike."""
    return (shape_key(pod.pod), pod.tolerations)


def _container(each: Container) -> ShapeKey:
    return (each.name, each.kind, _resources(each.requests), _resources(each.limits), each.claims)


def _resources(amounts: Resources) -> ShapeKey:
    # Include the text: Go represents 1.5Gi and 1536Mi differently, although they are equal.
    return tuple((name, each.as_int64(), each, str(each)) for name, each in sorted(amounts.items()))


def _constraints(of: NodeConstraints | None) -> ShapeKey | None:
    if of is None:
        return None
    return (tuple(sorted(of.selector.items())), of.affinity, of.ports, of.os_name, of.strict_groups)


def _whole(of: PodLevelResources | None) -> ShapeKey | None:
    if of is None:
        return None
    return (_resources(of.requests), _resources(of.limits), of.qos_class)
