"""Texts about a kubelet's pods while the agent only observes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

STATUS: Final = "a kubelet keeps it, and this agent decides nothing"
GONE: Final = "its kubelet does not know it any more; the next admission releases its allocation"
NOT_SEEN: Final = "its cgroup was not found, so only the state files are known"


def unknown_parts(metadata: Mapping[str, Any]) -> Iterator[str]:
    """Yield facts that state files and cgroups do not contain, and who knows them."""
    yield "Not known here:"
    yield "  what the pod asks for, its labels, its phase, and which hints led there: the kubelet's"
    yield "  state files do not say. The cluster does:"
    if metadata["name"] == metadata["uid"]:
        columns = "NAMESPACE:.metadata.namespace,NAME:.metadata.name,UID:.metadata.uid"
        yield f"  kubectl get pods -A -o custom-columns={columns} | grep {metadata['uid']}"
        return
    yield f"  kubectl -n {metadata['namespace']} describe pod {metadata['name']}"
