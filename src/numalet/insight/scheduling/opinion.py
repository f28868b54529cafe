"""Which pods need a decision of the engine; most pods of most clusters do not.

The scheduler itself checks the CPU, memory, devices and pods of a node, its labels and its ports. A
pod that a kubelet can refuse for no other reason gets its answer at once, even if nothing is known
about the nodes. The managers of a kubelet decide on a pod if one of these is true:

- The pod is Guaranteed: the CPU Manager and the Memory Manager place it.
- A container has a limit of something besides CPU, memory, huge pages and ephemeral storage: the
  Device Manager places it, and refuses even a request of 0 if a device is not healthy.
- It has pod-level resources (``spec.resources``): releases and feature gates treat them
  differently, and v1.36 may refuse it as EmptyPodSharedPoolError.
- It has claims of dynamic resource allocation.

The kubelet also checks the operating system of the pod, strict supplemental groups, and whether
sidecars are allowed. A *critical* pod is not special here: if the sums suffice, nothing is evicted
for it.
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
        pod.qos_class is QosClass.GUARANTEED
        or pod.pod_level is not None
        or bool(pod.claims)
        or bool(constraints.os_name)
        or constraints.strict_groups
        or OS_LABEL in pod.labels
        or any(map(_is_placed, pod.containers()))
    )


def _is_placed(container: Container) -> bool:
    return (
        container.kind is ContainerKind.SIDECAR
        or bool(container.claims)
        or not all(name in _COUNTED or resources.is_hugepages(name) for name in container.limits)
    )
