"""The shape of a pod: what decides about it, without who it is.

The pods of one controller have one shape, so that what was decided for one of them holds for the
next. Left out are its uid and names, the node that it is on, its phase, and what is allocated to
it: a copy would come as a new pod. Of its labels the one counts that a kubelet compares.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

from numalet.core.admission.predicates import OS_LABEL
from numalet.core.cluster.cluster import ClusterPod, Toleration
from numalet.core.model.node_constraints import NodeConstraints
from numalet.core.model.pod import Container, Pod, PodLevelResources, Resources
from numalet.core.model.value import replace

ShapeKey: TypeAlias = tuple[object, ...]
"""Equal for pods of one shape."""

PodKey: TypeAlias = tuple[ShapeKey, tuple[Toleration, ...]]
"""Equal for pods that every scheduler and kubelet treats alike."""

ASKING_UID: Final = "\x00shape"
"""The uid of a pod that only asks. No pod of a cluster has it: uids are printable."""


def shape_of(pod: Pod) -> Pod:
    """The pod that asks for all pods of this shape."""
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
    """What two pods of one shape have in common, as a value that can be a key."""
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
        pod.claims,
    )


def key_of(pod: ClusterPod) -> PodKey:
    """What pods have in common that every scheduler and kubelet treats alike."""
    return (shape_key(pod.pod), pod.tolerations)


def _container(each: Container) -> ShapeKey:
    return (each.name, each.kind, _resources(each.requests), _resources(each.limits), each.claims)


def _resources(amounts: Resources) -> ShapeKey:
    # The text too: Go reads 1.5Gi and 1536Mi differently, though they are equal.
    return tuple((name, each.as_int64(), each, str(each)) for name, each in sorted(amounts.items()))


def _constraints(of: NodeConstraints | None) -> ShapeKey | None:
    if of is None:
        return None
    return (_pairs(of.selector), of.affinity, of.ports, of.os_name, of.strict_groups)


def _pairs(of: Mapping[str, str]) -> ShapeKey:
    return tuple(sorted(of.items()))


def _whole(of: PodLevelResources | None) -> ShapeKey | None:
    if of is None:
        return None
    return (_resources(of.requests), _resources(of.limits), of.qos_class)
