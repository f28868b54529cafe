"""The audit: what the kernel enforces, against the plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from numalet.agent.host import procfs
from numalet.agent.nri.plan import Member
from numalet.agent.nri.seen import Sets
from numalet.core.model.findings import BadInput


def differing(members: Iterable[Member], proc: Path) -> Mapping[str, Sets]:
    """Return what the kernel allows the main process of a container, where the plan says less.

    A process may narrow its own CPUs, so only CPUs and nodes outside of the plan count. Blocks.
    """
    found = {}
    for each in members:
        planned, pid = each.in_force, each.seen.pid
        if not pid or planned.is_empty or not _is_process_of(each, proc):
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


def _is_process_of(member: Member, proc: Path) -> bool:
    """Return whether the process still is the container's: another one may have its number."""
    try:
        text = (proc / str(member.seen.pid) / "cgroup").read_text(errors="replace")
    except OSError:
        return False
    return member.seen.id in text
