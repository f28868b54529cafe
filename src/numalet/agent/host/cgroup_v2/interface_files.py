"""The interface files of a cgroup: reads and writes its settings, reads its memory by NUMA node.

Format: ``Documentation/admin-guide/cgroup-v2.rst``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Final

from numalet.agent.host.cgroup_v2.tree import CgroupTree
from numalet.core.enforcement import cgroup_settings, comparison
from numalet.core.enforcement.cgroup_settings import NO_QUOTA, CgroupSettings
from numalet.core.enforcement.comparison import FILE, MEMORY
from numalet.core.model import cpu_set, input_error, resources
from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.findings import Location
from numalet.shared.findings.runtime import CgroupNotInForce, CgroupRefused

EFFECTIVE: Final = ".effective"
UNLIMITED: Final = "max"


def settings(tree: CgroupTree, path: str, page_sizes: Iterable[int]) -> CgroupSettings:
    """Read the settings. A missing file is a missing setting. Raises ``OSError``."""
    cpu_max = (tree.read(path, comparison.CPU_MAX) or UNLIMITED).split()
    pages = {size: _number(tree.read(path, comparison.hugetlb_max(size))) for size in page_sizes}
    group = _number(tree.read(path, comparison.OOM_GROUP))
    mems = _set(tree.read(path, comparison.MEMS))
    return CgroupSettings(
        cpus=_set(tree.read(path, comparison.CPUS)),
        memory_nodes=None if mems is None else tuple(sorted(mems)),
        memory_max_bytes=_number(tree.read(path, comparison.MEMORY_MAX)),
        memory_high_bytes=_number(tree.read(path, comparison.MEMORY_HIGH)),
        memory_min_bytes=_number(tree.read(path, comparison.MEMORY_MIN)),
        swap_max_bytes=_number(tree.read(path, comparison.SWAP_MAX)),
        hugetlb_max_bytes=MappingProxyType(
            {size: limit for size, limit in pages.items() if limit is not None}
        ),
        cpu_weight=_number(tree.read(path, comparison.CPU_WEIGHT)),
        cpu_quota_us=_number(cpu_max[0]),
        cpu_period_us=int(cpu_max[1]) if len(cpu_max) > 1 else CgroupSettings().cpu_period_us,
        pids_max=_number(tree.read(path, comparison.PIDS_MAX)),
        oom_group=None if group is None else bool(group),
    )


def effective(tree: CgroupTree, path: str, file: str) -> CpuSet:
    return _set(tree.read(path, file + EFFECTIVE)) or cpu_set.EMPTY


def _set(text: str | None) -> CpuSet | None:
    return None if text is None else cpu_set.parse(text)


def _number(text: str | None) -> int | None:
    return None if text is None or text == UNLIMITED else int(text)


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
    seen = settings(tree, path, wanted.hugetlb_max_bytes)
    # Only settings that differ are written: the caller reports the written names as corrected
    # drift.
    names = comparison.differences(wanted, seen)
    return tuple(name for name in names if tree.read(path, name) is not None)


def _overruled(
    tree: CgroupTree, path: str, wanted: CgroupSettings, texts: Mapping[str, str]
) -> SettingRefusal | None:
    """Return the first set that differs from its ``.effective`` file."""
    for name, each in ((comparison.CPUS, wanted.cpus), (comparison.MEMS, wanted.memory_nodes)):
        if not each:
            continue
        in_force = effective(tree, path, name)
        # A parent with a smaller set overrules the child without an error: the write succeeds, and
        # only the effective file shows it.
        if in_force != frozenset(each):
            return _not_in_force(path, name, texts[name], cpu_set.text(in_force))
    return None


def _texts(wanted: CgroupSettings) -> dict[str, str]:
    quota = UNLIMITED if wanted.cpu_quota_us == NO_QUOTA else wanted.cpu_quota_us
    numbers = {
        comparison.MEMORY_MAX: wanted.memory_max_bytes,
        comparison.MEMORY_HIGH: wanted.memory_high_bytes,
        comparison.MEMORY_MIN: wanted.memory_min_bytes,
        comparison.SWAP_MAX: wanted.swap_max_bytes,
        comparison.OOM_GROUP: None if wanted.oom_group is None else int(wanted.oom_group),
        comparison.CPU_WEIGHT: wanted.cpu_weight,
        comparison.PIDS_MAX: wanted.pids_max,
        **{comparison.hugetlb_max(size): each for size, each in wanted.hugetlb_max_bytes.items()},
    }
    # An empty text clears the set, so that the cgroup inherits its parent's again.
    sets = {comparison.CPUS: wanted.cpus or (), comparison.MEMS: wanted.memory_nodes or ()}
    return {
        **{name: cpu_set.text(each) for name, each in sets.items()},
        **{name: str(number) for name, number in numbers.items() if number is not None},
        comparison.CPU_MAX: f"{quota} {wanted.cpu_period_us}",
    }


def refused(path: str, file: str, text: str, error: OSError) -> SettingRefusal:
    reason = error.strerror or os.strerror(error.errno or 0)
    why = CgroupRefused(cgroup=path, file=file, value=text, error=reason)
    return SettingRefusal(why, error.errno or 0)


def _not_in_force(path: str, file: str, text: str, in_force: str) -> SettingRefusal:
    return SettingRefusal(CgroupNotInForce(cgroup=path, file=file, value=text, found=in_force))


_FIELD: Final = re.compile(r"N([0-9]{1,5})=([0-9]{1,20})", re.ASCII)

NumaStat = Mapping[str, Mapping[int, int]]
"""Bytes by kind (``anon``, ``file``, ...) and node."""


def read_numa_stat(group: Path, name: str = "memory.numa_stat") -> NumaStat | None:
    """Parse ``memory.numa_stat``, if the cgroup still exists. Raises ``BadInput``.

    ``hugetlb.SIZE.numa_stat`` has the same form.

    The kernel updates the figures every two seconds, or earlier after many changes.
    """
    path = group / name
    try:
        text = path.read_text(encoding="ascii", errors="replace")
    except OSError:
        # The kernel returns ENODEV for a cgroup that is removed during the read.
        return None
    return parse_numa_stat(text, str(path))


def parse_numa_stat(text: str, document: str = "memory.numa_stat") -> NumaStat:
    """Raises ``BadInput`` at the first malformed line."""
    bytes_by_kind: dict[str, dict[int, int]] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        kind, *fields = line.split() or [""]
        matches = [_FIELD.fullmatch(field) for field in fields]
        if not kind or None in matches:
            where = Location(document, line=number)
            raise input_error.Invalid(
                f"invalid line {line[:80]!r}",
                expected="bytes for each NUMA node, such as 'anon N0=4096 N1=0'",
                where=where,
            ).bad_input()
        bytes_by_kind[kind] = {int(match[1]): int(match[2]) for match in matches if match}
    return bytes_by_kind


_OWN: Final = ("anon", "shmem")
_FILES: Final = ("file",)
_V1: Final = "hierarchical_"
_V1_ANON: Final = f"{_V1}anon"


def pages(
    tree: CgroupTree, path: str, page_sizes: Iterable[int]
) -> Mapping[str, Mapping[int, int]]:
    """Bytes by kind of page and NUMA node, without zeros. Raises ``BadInput``."""
    stat = _numa_stat(tree, path, "memory.numa_stat")
    # The kernel includes shmem in "file"; it belongs to the program, so it moves to memory.
    shared = stat.get("shmem", {})
    files = {node: size - shared.get(node, 0) for node, size in _sum(stat, _FILES).items()}
    kinds: dict[str, Mapping[int, int]] = {MEMORY: _sum(stat, _OWN), FILE: files}
    for size in page_sizes:
        name = f"hugetlb.{cgroup_settings.hugetlb_name(size)}.numa_stat"
        huge = _numa_stat(tree, path, name).get("total", {})
        kinds[resources.hugepages_name(size // 1024)] = huge
    filled = {
        kind: {node: size for node, size in sorted(nodes.items()) if size > 0}
        for kind, nodes in kinds.items()
    }
    return {kind: nodes for kind, nodes in filled.items() if nodes}


def _sum(stat: Mapping[str, Mapping[int, int]], names: Iterable[str]) -> dict[int, int]:
    total: dict[int, int] = {}
    for name in names:
        for node, size in stat.get(name, {}).items():
            total[node] = total.get(node, 0) + size
    return total


def _numa_stat(tree: CgroupTree, path: str, name: str) -> NumaStat:
    """Bytes by kind and node, of the cgroup and those below.

    The hugetlb controller writes "total=SIZE" where others write the kind. cgroup v1 writes
    "hierarchical_anon=PAGES", which includes shared memory.
    """
    counts = read_numa_stat(tree.folder(path), name) or {}
    by_kind = {kind.partition("=")[0]: nodes for kind, nodes in counts.items()}
    if _V1_ANON not in by_kind:
        return by_kind
    page = os.sysconf("SC_PAGE_SIZE")
    return {
        kind.removeprefix(_V1): {node: pages * page for node, pages in nodes.items()}
        for kind, nodes in by_kind.items()
        if kind.startswith(_V1)
    }
