"""The audit: what the kernel enforces, and where pages are, against the plan.

A container that started unpinned has pages on any NUMA node. They follow when its nodes change on
cgroup v2, except pages that are pinned, or mapped by no process, or have no room there. On cgroup
v1 they stay, unless ``cpuset.memory_migrate`` was 1 in the container's cgroup. Nothing moves pages
later, so the audit reports those that stayed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from numalet.agent.host import kubelet_containers, procfs
from numalet.agent.host.cgroup_v2 import interface_files
from numalet.agent.host.cgroup_v2.tree import CgroupTree
from numalet.agent.nri.plan import Member
from numalet.agent.nri.seen import Sets
from numalet.core.enforcement.comparison import FILE
from numalet.core.model import cpu_set
from numalet.core.model.findings import BadInput
from numalet.core.model.value import Value
from numalet.wording import numbers

SETTLED_SECONDS: Final = 5.0
"""The kernel's figures are up to two seconds old, and moving pages takes seconds."""

_V1: Final = "memory"
_MOVED: Final = {
    False: "the kernel moves pages only when a container's NUMA nodes change, and these stayed",
    True: "cgroup v1 moves pages only with cpuset.memory_migrate, before the NUMA nodes change",
}


Groups = Mapping[str, tuple[CgroupTree, str]]


class Misplaced(Value):
    """Bytes of a container's own pages by NUMA node, outside of ``planned``."""

    bytes_by_node: Mapping[int, int]
    planned: frozenset[int]
    is_v1: bool

    @property
    def size_bytes(self) -> int:
        return sum(self.bytes_by_node.values())

    @property
    def text(self) -> str:
        where = f"{numbers.numa_nodes(self.bytes_by_node)} instead of {cpu_set.text(self.planned)}"
        return (
            f"has {numbers.rounded_size(self.size_bytes)} of its memory on {where}: "
            f"{_MOVED[self.is_v1]}; a restart of the container places all of it"
        )


def differing(members: Iterable[Member], proc: Path) -> Mapping[str, Sets]:
    """Return what the kernel allows the main process of a container, where the plan says less.

    The runtime may still have to apply what an answer says. A process may narrow its own CPUs, so
    only CPUs and nodes outside of the plan count, and no pod that is left alone. Blocks.
    """
    found = {}
    for each in members:
        planned, pid = each.in_force, each.seen.pid
        if each.seen.pod.is_ignored or planned.is_empty:
            continue
        if not pid or not _is_process_of(each, proc):
            continue
        try:
            allowed = procfs.read_status(pid, proc)
        except BadInput:
            continue
        if allowed is None:
            continue
        has_more_cpus = bool(planned.cpus) and not allowed.cpus <= planned.cpus
        has_more_nodes = bool(planned.nodes) and not allowed.nodes <= planned.nodes
        if has_more_cpus or has_more_nodes:
            found[each.seen.id] = Sets(allowed.cpus, allowed.nodes)
    return found


def groups(cgroups: Path) -> Groups:
    """Return the kubelet's cgroups of containers and sandboxes by id. Blocks."""
    v1 = cgroups / _V1
    return {
        container_id: (tree, path)
        for tree in kubelet_containers.trees(v1 if v1.is_dir() else cgroups)
        for container_id, path in kubelet_containers.paths(tree).items()
    }


def misplaced(
    members: Iterable[Member], cgroups: Path, by_id: Groups, page_sizes: Iterable[int] = ()
) -> Mapping[str, Misplaced]:
    """Return containers with memory on other NUMA nodes than those in force. Blocks.

    Pages of files do not count: the kernel keeps them where the first reader was. Containers
    outside of the kubelet's cgroups, which are ``by_id``, are unknown and left out.
    """
    is_v1 = (cgroups / _V1).is_dir()
    page_sizes = tuple(page_sizes)
    found = {}
    for each in members:
        planned = each.in_force.nodes
        if each.is_left or each.seen.pod.is_ignored or not planned or each.seen.id not in by_id:
            continue
        try:
            pages = interface_files.pages(*by_id[each.seen.id], page_sizes)
        except BadInput:
            continue
        outside: Counter[int] = Counter()
        for kind, by_node in pages.items():
            if kind != FILE:
                outside.update({n: size for n, size in by_node.items() if n not in planned})
        if outside:
            found[each.seen.id] = Misplaced(dict(outside), planned, is_v1)
    return found


def _is_process_of(member: Member, proc: Path) -> bool:
    """Return whether the process still is the container's: another one may have its number."""
    try:
        text = (proc / str(member.seen.pid) / "cgroup").read_text(errors="replace")
    except OSError:
        return False
    return member.seen.id in text
