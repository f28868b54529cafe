"""Texts about a pod and its allocation after a restart of the kubelet."""

from __future__ import annotations

from typing import Any

from numalet.core.model import cpu_set
from numalet.core.node.restarting import Readmission
from numalet.core.snapshot.placement import Placement
from numalet.wording import kubelet, numbers


def condition(pod: Readmission) -> str:
    """Say under which condition the pod is rejected; empty if it always is.

    Kubernetes asks device plugins to register again after a restart of the kubelet, but the kubelet
    does not wait for them.
    """
    if not pod.waits_for_plugin:
        return ""
    return ", unless its device plugin registers before the kubelet sees the pod"


def rejection(pod: Readmission) -> dict[str, Any]:
    """Return the fields of a finding about a rejected pod."""
    return {
        "pod": str(pod.pod),
        "condition": condition(pod),
        "reason": kubelet.reason(pod.decision.rejection),
        "message": kubelet.message(pod.decision.rejection),
    }


def shown(held: Placement) -> str:
    """Return a container's allocation in one phrase."""
    parts = []
    if held.cpus:
        parts.append(f"CPUs {cpu_set.text(held.cpus)}")
    for block in held.memory:
        nodes_text = ", ".join(map(str, block.nodes))
        size = numbers.size(block.size_bytes)
        parts.append(f"{size} of {block.resource} on NUMA node {nodes_text}")
    parts += [f"{resource} {', '.join(ids)}" for resource, ids in held.devices.items()]
    return "; ".join(parts) or "only shared resources"
