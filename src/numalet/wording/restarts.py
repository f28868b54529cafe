"""What is said of a pod that a kubelet sees again after a restart."""

from __future__ import annotations

from numalet.core.node.restarting import Readmission


def condition(pod: Readmission) -> str:
    """Under which condition the pod is rejected; empty if it always is.

    Kubernetes asks device plugins to register again after a restart of the kubelet, and nothing
    makes the kubelet wait for them.
    """
    if not pod.waits_for_plugin:
        return ""
    return ", unless its device plugin registers before the kubelet sees the pod"
