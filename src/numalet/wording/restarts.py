"""What is said of a pod that a kubelet sees again after a restart, and of what it holds."""

from __future__ import annotations

from typing import Any

from numalet.core.model import cpu_set
from numalet.core.node.restarting import Readmission
from numalet.core.snapshot.placement import Placement
from numalet.wording import kubelet, numbers


def condition(pod: Readmission) -> str:
    """Under which condition the pod is rejected; empty if it always is.

    Kubernetes asks device plugins to register again after a restart of the kubelet, and nothing
    makes the kubelet wait for them.
    """
    if not pod.waits_for_plugin:
        return ""
    return ", unless its device plugin registers before the kubelet sees the pod"


def rejection(pod: Readmission) -> dict[str, Any]:
    """The fields of a finding about a pod that is rejected."""
    return {
        "pod": str(pod.pod),
        "condition": condition(pod),
        "reason": kubelet.reason(pod.decision.rejection),
        "message": kubelet.message(pod.decision.rejection),
    }


def shown(held: Placement) -> str:
    """What a container holds, in one phrase."""
    parts = []
    if held.cpus:
        parts.append(f"CPUs {cpu_set.text(held.cpus)}")
    for block in held.memory:
        nodes_text = ", ".join(map(str, block.nodes))
        size = numbers.size(block.size_bytes)
        parts.append(f"{size} of {block.resource} on NUMA node {nodes_text}")
    parts += [f"{resource} {', '.join(ids)}" for resource, ids in held.devices.items()]
    return "; ".join(parts) or "nothing of its own"
