"""Lists the pods that a kubelet knows by the folders that it creates for them."""

from __future__ import annotations

from pathlib import Path
from typing import Final

_PODS: Final = "pods"


def uids(root: Path) -> frozenset[str] | None:
    """The uids of pods that the kubelet with this root directory has, if known.

    The kubelet creates a pod's folder before it starts the pod, and removes it after the pod has
    ended. Kubelet v1.32: ``makePodDataDirs``, ``cleanupOrphanedPodDirs``.
    """
    try:
        return frozenset(each.name for each in (root / _PODS).iterdir())
    except OSError:
        return None
