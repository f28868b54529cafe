"""Settings written into a cgroup by difference, and believed when they are in force."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from numalet.agent.host.cgroup_v2 import reading
from numalet.agent.host.cgroup_v2.tree import CgroupTree
from numalet.core.enforcement import drift
from numalet.core.enforcement.settings import NO_QUOTA, CgroupSettings
from numalet.core.model import cpu_set
from numalet.shared.findings.runtime import CgroupNotInForce, CgroupRefused


@dataclass(frozen=True, slots=True)
class SettingRefusal:
    """The kernel does not hold the cgroup to a setting.

    ``number`` is the errno, 0 without one.
    """

    why: CgroupRefused | CgroupNotInForce
    number: int = field(default=0, compare=False)


def apply(tree: CgroupTree, path: str, wanted: CgroupSettings) -> tuple[str, ...] | SettingRefusal:
    """Make the settings of a cgroup as wanted; the names of those that had to be written.

    A setting whose file is not there, because its controller is not, is left out; what the
    runtime can not enforce here it says elsewhere. The sets in force are checked even if
    nothing was written.
    """
    texts = _texts(wanted)
    try:
        written = _differences(tree, path, wanted)
        for name in written:
            try:
                tree.write(path, name, texts[name])
            except OSError as error:
                return refused(path, name, texts[name], error)
        left = _differences(tree, path, wanted) if written else ()
        for name in left:
            in_force = tree.read(path, name) or ""
            return _not_in_force(path, name, texts[name], in_force)
        return _overruled(tree, path, wanted, texts) or written
    except OSError as error:
        return refused(path, error.filename or path, "", error)


def _differences(tree: CgroupTree, path: str, wanted: CgroupSettings) -> tuple[str, ...]:
    """Names of the settings that differ and have a file."""
    seen = reading.settings(tree, path, wanted.hugetlb_max_bytes)
    names = drift.differences(wanted, seen)
    return tuple(name for name in names if tree.read(path, name) is not None)


def _overruled(
    tree: CgroupTree, path: str, wanted: CgroupSettings, texts: Mapping[str, str]
) -> SettingRefusal | None:
    """The first set that is wanted and not in force."""
    for name, each in ((drift.CPUS, wanted.cpus), (drift.MEMS, wanted.memory_nodes)):
        if not each:
            continue
        in_force = reading.effective(tree, path, name)
        if in_force != frozenset(each):
            return _not_in_force(path, name, texts[name], cpu_set.text(in_force))
    return None


def _texts(wanted: CgroupSettings) -> dict[str, str]:
    """The text for each file with a wanted setting."""
    quota = reading.UNLIMITED if wanted.cpu_quota_us == NO_QUOTA else wanted.cpu_quota_us
    numbers = {
        drift.MEMORY_MAX: wanted.memory_max_bytes,
        drift.MEMORY_HIGH: wanted.memory_high_bytes,
        drift.MEMORY_MIN: wanted.memory_min_bytes,
        drift.SWAP_MAX: wanted.swap_max_bytes,
        drift.OOM_GROUP: None if wanted.oom_group is None else int(wanted.oom_group),
        drift.CPU_WEIGHT: wanted.cpu_weight,
        drift.PIDS_MAX: wanted.pids_max,
        **{drift.hugetlb_max(size): each for size, each in wanted.hugetlb_max_bytes.items()},
    }
    sets = {drift.CPUS: wanted.cpus or (), drift.MEMS: wanted.memory_nodes or ()}
    return {
        **{name: cpu_set.text(each) for name, each in sets.items()},
        **{name: str(number) for name, number in numbers.items() if number is not None},
        drift.CPU_MAX: f"{quota} {wanted.cpu_period_us}",
    }


def refused(path: str, file: str, text: str, error: OSError) -> SettingRefusal:
    """The kernel's error for this text, or for making the cgroup."""
    reason = error.strerror or os.strerror(error.errno or 0)
    why = CgroupRefused(cgroup=path, file=file, value=text, error=reason)
    return SettingRefusal(why, error.errno or 0)


def _not_in_force(path: str, file: str, text: str, in_force: str) -> SettingRefusal:
    return SettingRefusal(CgroupNotInForce(cgroup=path, file=file, value=text, found=in_force))
