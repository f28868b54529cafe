"""Counts the sources of allocations: from the node or from the pod's own share.

Kubelet: ``staticPolicy.Allocate`` and ``AllocatePod`` of both managers, v1.36.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from numalet.agent.telemetry import metric_definitions as names
from numalet.agent.telemetry.metrics import Counts, Labels
from numalet.core.admission.recorder import Allocated, RefusedAllocation
from numalet.core.managers.cpu import static_policy as cpu_demand
from numalet.core.model import resources
from numalet.core.model.pod import Pod

_Call: TypeAlias = Allocated | RefusedAllocation

CPU: Final = "cpu"
MEMORY: Final = "memory"
_NODE: Final = "node"
_POD: Final = "pod"


def after_call(counts: Counts, pod: Pod, call: _Call, *, is_whole: bool) -> Counts:
    """The counts after a call for a container that a static policy serves.

    ``pod`` as the managers see it; ``is_whole`` if the pod was placed as a whole.
    """
    if isinstance(call, RefusedAllocation):
        source = _POD if is_whole else _NODE
        return counts.plus(names.ALLOCATION_ERRORS, _labels(call.provider, "source", source))
    size = _allocations(pod, call)
    if not size:
        return counts
    name, provider = call.container.name, call.provider
    if not is_whole:
        # Memory counts once per type, so ``size`` may exceed 1.
        of_node = _labels(provider, "source", _NODE)
        counts = counts.plus(names.ALLOCATIONS, of_node, size)
        kind = "node_exclusive"
    else:
        counts = counts.plus(names.ALLOCATIONS, _labels(provider, "source", _POD))
        kind = "pod_exclusive" if _is_exclusive(pod, name, provider) else "pod_shared"
    return counts.plus(names.ASSIGNMENTS, _labels(provider, "assignment_type", kind))


def _allocations(pod: Pod, call: Allocated) -> int:
    """How many resources the container newly got."""
    uid, name = pod.uid, call.container.name
    if call.provider == CPU:
        before, after = call.before.cpu, call.after.cpu
        return int(before.cpus_of(uid, name) is None and after.cpus_of(uid, name) is not None)
    had, has = (each.memory.blocks_of(uid, name) for each in (call.before, call.after))
    return 0 if had is not None or has is None else len({block.resource for block in has})


def _is_exclusive(pod: Pod, name: str, provider: str) -> bool:
    """Whether the container's share of its pod is exclusive."""
    container = pod.by_name[name]
    if provider == CPU:
        return cpu_demand.of_container(pod, container) > 0
    asked = container.requests.get(resources.MEMORY)
    return asked is not None and asked.sign > 0


def _labels(resource: str, label: str, value: str) -> Labels:
    return (("resource_name", resource), (label, value))
