"""Writes the settings of a cgroup that differ, and verifies them."""

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
    """A setting that the kernel rejected or did not apply; ``number`` is the errno or 0."""

    why: CgroupRefused | CgroupNotInForce
    number: int = field(default=0, compare=False)


def apply(tree: CgroupTree, path: str, wanted: CgroupSettings) -> tuple[str, ...] | SettingRefusal:
    """Write the settings that differ; return their file names.

    A setting without a file is skipped: its controller is off, which the runtime reports.
    """
    texts = _texts(wanted)
    try:
        # No order for growing and shrinking is needed: a child's set may exceed its parent's.
        written = _differences(tree, path, wanted)
        for name in written:
            try:
                tree.write(path, name, texts[name])
            except OSError as error:
                return refused(path, name, texts[name], error)
        # A successful write may change nothing: the kernel ignores a set that has only offline
        # CPUs, or only nodes without memory. So the values and the effective sets are read back,
        # always.
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
    """Return the first set that differs from its ``.effective`` file."""
    for name, each in ((drift.CPUS, wanted.cpus), (drift.MEMS, wanted.memory_nodes)):
        if not each:
            continue
        in_force = reading.effective(tree, path, name)
        if in_force != frozenset(each):
            return _not_in_force(path, name, texts[name], cpu_set.text(in_force))
    return None


def _texts(wanted: CgroupSettings) -> dict[str, str]:
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
    reason = error.strerror or os.strerror(error.errno or 0)
    why = CgroupRefused(cgroup=path, file=file, value=text, error=reason)
    return SettingRefusal(why, error.errno or 0)


def _not_in_force(path: str, file: str, text: str, in_force: str) -> SettingRefusal:
    return SettingRefusal(CgroupNotInForce(cgroup=path, file=file, value=text, found=in_force))
