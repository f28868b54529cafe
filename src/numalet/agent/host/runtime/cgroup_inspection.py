"""The kernel's view of a container that has a cgroup."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from numalet.agent.host import procfs
from numalet.agent.host.cgroup_v2 import interface_files
from numalet.agent.host.cgroup_v2.tree import CgroupTree
from numalet.agent.host.procfs import Allowed
from numalet.core.enforcement.reality import Reality
from numalet.core.model.findings import BadInput


def inspect(tree: CgroupTree, path: str, page_sizes: Sequence[int]) -> Reality | None:
    """Read charged pages and allowed sets, if the cgroup still exists."""
    try:
        pids = tree.processes(path)
        settings = interface_files.settings(tree, path, page_sizes)
        pages = interface_files.pages(tree, path, page_sizes)
    except (OSError, BadInput):
        return None
    allowed = tuple(allowed_of(pids))
    return Reality(
        pages_bytes=pages,
        allowed_cpus=frozenset().union(*(each.cpus for each in allowed)),
        allowed_nodes=tuple(sorted(frozenset().union(*(each.nodes for each in allowed)))),
        cgroup=settings,
        processes=len(allowed),
    )


def allowed_of(pids: Iterable[int]) -> Iterable[Allowed]:
    """Skips processes that have ended."""
    for pid in pids:
        try:
            allowed = procfs.read_status(pid)
        except BadInput:
            continue
        if allowed is not None:
            yield allowed
