"""Which pods need a decision of the engine; most pods of most clusters do not.

A pod that a kubelet can refuse for no other reason than the scheduler gets its answer at once.
"""

from __future__ import annotations

from typing import Final

from numalet.core.admission.predicates import OS_LABEL
from numalet.core.model import resources
from numalet.core.model.node_constraints import UNCONSTRAINED
from numalet.core.model.pod import Container, ContainerKind, Pod, QosClass

_COUNTED: Final = (resources.CPU, resources.MEMORY, resources.EPHEMERAL_STORAGE)


def is_needed(pod: Pod) -> bool:
    """Return whether a kubelet might refuse the pod after the scheduler's own checks passed."""
    constraints = pod.constraints or UNCONSTRAINED
    return (
        # The CPU Manager and the Memory Manager place Guaranteed pods.
        pod.qos_class is QosClass.GUARANTEED
        # Releases and feature gates treat pod-level resources differently, and v1.36 may refuse
        # them as EmptyPodSharedPoolError.
        or pod.pod_level is not None
        or bool(pod.claims)
        # The kubelet checks the operating system and strict supplemental groups by itself. A
        # critical pod is not special: if the sums suffice, nothing is evicted for it.
        or bool(constraints.os_name)
        or constraints.strict_groups
        or OS_LABEL in pod.labels
        or any(map(_is_placed, pod.containers()))
    )


def _is_placed(container: Container) -> bool:
    return (
        # Some kubelets refuse sidecars.
        container.kind is ContainerKind.SIDECAR
        or bool(container.claims)
        # The Device Manager refuses even a request of 0 if a device is not healthy.
        or not all(name in _COUNTED or resources.is_hugepages(name) for name in container.limits)
    )
