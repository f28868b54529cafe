"""Finds the place for the agent's cgroup tree and turns its controllers on.

The first match: the delegated subtree of ``PODS_UNIT``, the delegated subtree of the agent's own
unit, a folder at the top. Needs write access, not root as such.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, TypeAlias

from numalet.agent.host.cgroup_v2.tree import CONTROLLERS, PROCS, CgroupTree
from numalet.core.model.findings import Finding
from numalet.core.model.value import Value
from numalet.io import os_problem
from numalet.shared.findings.runtime import (
    CgroupNoCgroupV2,
    CgroupNoCpuController,
    CgroupNoCpusetOrMemory,
    CgroupNoHugetlbController,
    CgroupNoPidsController,
    CgroupNotWritable,
)

NAME: Final = "numalet"
OWN_LEAF: Final = "agent"
"""Leaf for the processes of a delegated subtree, whose top may not contain any."""
PODS: Final = "pods"
PODS_UNIT: Final = "numalet-pods.service"
"""A unit whose only process keeps its subtree alive for pods."""
REQUIRED: Final = ("cpuset", "memory")
OPTIONAL: Final[Mapping[str, type[Finding]]] = {
    "cpu": CgroupNoCpuController,
    "hugetlb": CgroupNoHugetlbController,
    "pids": CgroupNoPidsController,
}
_DELEGATED: Final = ("trusted.delegate", "user.delegate")


class Usable(Value):
    """``shortfalls`` are codes of missing optional controllers."""

    tree: CgroupTree
    shortfalls: tuple[str, ...] = ()


class Unusable(Value):
    why: Finding


Place: TypeAlias = Usable | Unusable


def find(
    proc_self: Path = Path("/proc/self"),
    name: str = NAME,
    at: Callable[[Path], CgroupTree] = CgroupTree,
) -> Place:
    """Prepare the tree, or explain why it cannot be used.

    In a delegated subtree this moves the unit's processes, possibly this one, into a leaf.

    ``name`` is the folder at the top where nothing is delegated; ``at`` makes a tree for a folder.
    """
    top = _mount_point(proc_self)
    if top is None:
        return Unusable(CgroupNoCgroupV2())
    unit = _delegated(top, proc_self)
    base, below = (top, name) if unit is None else (unit, PODS)
    try:
        if unit is not None:
            _step_aside(at(unit))
        return _prepared(at(base), at(base / below), below)
    except OSError as error:
        problem = os_problem.text(error)
        return Unusable(CgroupNotWritable(path=str(base / below), error=problem))


def of_shims(tree: CgroupTree) -> Path | None:
    """The cgroup that shims should join, if they should move."""
    unit = tree.root.parent
    # In the agent's own unit, a signal from systemd to the whole unit would reach the shims and end
    # the programs. The leaf of the pods' unit is safe.
    return unit / OWN_LEAF if unit.name == PODS_UNIT else None


def _prepared(base: CgroupTree, tree: CgroupTree, below: str) -> Place:
    """Raises ``OSError``."""
    for each in (base, tree):
        on = (each.read("", CONTROLLERS) or "").split()
        missing = [name for name in REQUIRED if name not in on]
        if missing:
            why = CgroupNoCpusetOrMemory(path=str(each.root), missing=", ".join(missing))
            return Unusable(why)
        if each is base:
            # The folder must exist before its controllers can be read in the second pass.
            base.make(below)
    return Usable(tree, tuple(each.code for name, each in OPTIONAL.items() if name not in on))


def _mount_point(proc_self: Path) -> Path | None:
    """Return the mount point of cgroup v2; the first of several."""
    for line in (proc_self / "mountinfo").read_text(encoding="utf-8").splitlines():
        before, _, after = line.partition(" - ")
        if after.split()[:1] == ["cgroup2"]:
            # The kernel writes blanks in paths as octal escapes.
            return Path(before.split()[4].encode().decode("unicode_escape"))
    return None


def _delegated(top: Path, proc_self: Path) -> Path | None:
    """Return the cgroup that systemd delegated for pods or to this unit."""
    for line in (proc_self / "cgroup").read_text(encoding="utf-8").splitlines():
        # Hierarchy 0 is cgroup v2; on hybrid systems the file lists v1 hierarchies too.
        if line.startswith("0::/"):
            own = top / line.removeprefix("0::/")
            place = own.parent if own.name == OWN_LEAF else own
            # Prefer the pods' unit: systemd starts no process in a cgroup with enabled controllers,
            # so an agent that uses its own unit cannot restart while pods run.
            beside = place.parent / PODS_UNIT
            if place != top and _is_delegated(beside):
                return beside
            return place if place != top and _is_delegated(place) else None
    return None


def _is_delegated(folder: Path) -> bool:
    for name in _DELEGATED:
        try:
            if os.getxattr(folder, name) == b"1":
                return True
        except OSError:
            continue
    return False


def _step_aside(unit: CgroupTree) -> None:
    """Move the unit's processes into a leaf: cgroup v2 forbids processes next to children."""
    unit.make_one(OWN_LEAF)
    # One write per pid: the kernel accepts a single process per write to ``cgroup.procs``.
    for pid in (unit.read("", PROCS) or "").split():
        try:
            unit.write(OWN_LEAF, PROCS, pid)
        except ProcessLookupError:
            # The process ended after the list was read.
            continue
