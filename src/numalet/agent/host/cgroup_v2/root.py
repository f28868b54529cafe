"""Where a tree of our own may be, and whether it can hold a container to its promise.

Three places, the first that there is: the subtree that a service manager delegated to a unit for
pods beside the one that we run in; the one that it delegated to the unit we run in; a folder of
our own at the top. The second is for an agent that does not restart while pods run: systemd
starts no process in a cgroup that is divided.

Without the controllers ``cpuset`` and ``memory`` a tree promises nothing; the others are missed
and named. Nothing of this needs root as such, only that writing is allowed.
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
"""Where a unit's own processes move to in a delegated subtree, whose top may hold none."""
PODS: Final = "pods"
PODS_UNIT: Final = "numalet-pods.service"
"""The unit whose subtree is for pods alone; it has a process that only keeps it there."""
REQUIRED: Final = ("cpuset", "memory")
OPTIONAL: Final[Mapping[str, type[Finding]]] = {
    "cpu": CgroupNoCpuController,
    "hugetlb": CgroupNoHugetlbController,
    "pids": CgroupNoPidsController,
}
_DELEGATED: Final = ("trusted.delegate", "user.delegate")


class Usable(Value):
    """A tree whose controllers are on; ``shortfalls`` are codes of those that are missing."""

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
    """The tree to use, made ready; or why there is none.

    In a delegated subtree the unit's processes, this one perhaps, move into a leaf of it.

    Args:
        proc_self: what the proc file system says of this process.
        name: the folder of our own where nothing was delegated.
        at: makes the tree below a folder.
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
    """Where the processes belong that watch programs of the tree; None for where they are.

    In the agent's own unit each signal that systemd sends to the whole unit would reach them, and
    so the programs. Beside the pods they are with the process that keeps the unit of the pods.
    """
    unit = tree.root.parent
    return unit / OWN_LEAF if unit.name == PODS_UNIT else None


def _prepared(base: CgroupTree, tree: CgroupTree, below: str) -> Place:
    """The tree, made below the base with its controllers turned on. Raises ``OSError``."""
    for each in (base, tree):
        on = (each.read("", CONTROLLERS) or "").split()
        missing = [name for name in REQUIRED if name not in on]
        if missing:
            why = CgroupNoCpusetOrMemory(path=str(each.root), missing=", ".join(missing))
            return Unusable(why)
        if each is base:
            base.make(below)
    return Usable(tree, tuple(each.code for name, each in OPTIONAL.items() if name not in on))


def _mount_point(proc_self: Path) -> Path | None:
    """Where the file system of cgroup v2 is mounted; the first place if there are several."""
    for line in (proc_self / "mountinfo").read_text(encoding="utf-8").splitlines():
        before, _, after = line.partition(" - ")
        if after.split()[:1] == ["cgroup2"]:
            return Path(before.split()[4].encode().decode("unicode_escape"))
    return None


def _delegated(top: Path, proc_self: Path) -> Path | None:
    """The cgroup that a service manager delegated to this unit, or None."""
    for line in (proc_self / "cgroup").read_text(encoding="utf-8").splitlines():
        if line.startswith("0::/"):
            own = top / line.removeprefix("0::/")
            place = own.parent if own.name == OWN_LEAF else own
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
    """Move every process of the unit into its leaf, so that the unit's top may have children."""
    unit.make_one(OWN_LEAF)
    for pid in (unit.read("", PROCS) or "").split():
        try:
            unit.write(OWN_LEAF, PROCS, pid)
        except ProcessLookupError:
            continue
