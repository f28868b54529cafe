"""The folders that a kubelet has for its pods, as a list of the pods that it knows."""

from __future__ import annotations

from pathlib import Path
from typing import Final

_PODS: Final = "pods"


def uids(root: Path) -> frozenset[str] | None:
    """The uids of the pods that the kubelet of this root directory works on; None if not known.

    It makes the folder of a pod when it begins to work on it, and removes it when the pod is gone.
    Kubelet v1.32: ``makePodDataDirs``, ``cleanupOrphanedPodDirs``.
    """
    try:
        return frozenset(each.name for each in (root / _PODS).iterdir())
    except OSError:
        return None
