"""Which pods the engine has to be asked about at all; most pods of most clusters are not of these.

The scheduler counts CPU, memory, devices and pods of a node itself, and knows its labels and ports.
A pod that a kubelet can refuse for nothing else needs no second opinion: it is answered at once,
whatever is known of the nodes. A kubelet's managers have a say where one of these holds:

- The pod is Guaranteed: the CPU Manager and the Memory Manager place it.
- A container has a limit of something besides CPU, memory, huge pages and ephemeral storage: the
  Device Manager places it, and refuses even none of a device that is not healthy.
- It asks for resources as a whole (``spec.resources``): releases and feature gates differ in what
  they make of it, and v1.36 may refuse it as EmptyPodSharedPoolError.
- It has claims of dynamic resource allocation.

And the kubelet asks what the scheduler does not: the system that the pod is for, strict groups, and
whether sidecars are allowed. A *critical* pod is one like any other here: where the sums let it
pass, nothing is evicted for it.
"""

from __future__ import annotations

from typing import Final

from numalet.core.admission.predicates import OS_LABEL
from numalet.core.model import resources
from numalet.core.model.node_constraints import UNCONSTRAINED
from numalet.core.model.pod import Container, ContainerKind, Pod, QosClass

_COUNTED: Final = (resources.CPU, resources.MEMORY, resources.EPHEMERAL_STORAGE)


def is_needed(pod: Pod) -> bool:
    """Whether a kubelet might refuse the pod although the scheduler's own checks let it pass."""
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
