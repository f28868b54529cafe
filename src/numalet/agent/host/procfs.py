"""Reads ``/proc``: memory location and allowed CPUs of processes, limits of the running kernel."""

from __future__ import annotations

import os
import platform
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Final

from numalet.core.enforcement.limits import KernelLimits
from numalet.core.model import cpu_set, input_error
from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.findings import Location
from numalet.core.model.value import Value
from numalet.io import os_problem

_GO_NAMES: Final = {"x86_64": "amd64", "aarch64": "arm64", "i686": "386"}

PROC: Final = Path("/proc")
_LINE: Final = re.compile(r"^(Cpus|Mems)_allowed_list:[ \t]*(\S*)$", re.MULTILINE)
_KIB: Final = 1024
_AREA: Final = re.compile(r"(?P<start>[0-9a-f]{1,16}) (?P<policy>\S+)(?P<words>(?: .*)?)", re.ASCII)
_NODE: Final = re.compile(r"N([0-9]{1,5})=([0-9]{1,15})", re.ASCII)
_PAGE_SIZE: Final = re.compile(r"kernelpagesize_kB=([0-9]{1,10})", re.ASCII)
KERNEL_SETTINGS: Final = Path("/proc/sys/kernel")
_TASKS: Final = ("pid_max", "threads-max")


def architecture() -> str:
    machine = platform.machine()
    return _GO_NAMES.get(machine, machine)


def _process_text(path: Path, errors: str) -> str | None:
    """Read a file of a process, if the process still exists. ``errors`` as in ``open``.

    Raises ``BadInput`` if it is unreadable.
    """
    try:
        return path.read_text(encoding="utf-8", errors=errors)
    except (FileNotFoundError, ProcessLookupError):
        # The kernel returns ESRCH if the process ends between open and read.
        return None
    except OSError as error:
        problem = f"cannot read {str(path)!r}: {os_problem.text(error)}"
        raise input_error.Unreadable(problem).bad_input() from None


class Allowed(Value):
    """Allowed CPUs and NUMA nodes of a process, from ``/proc/PID/status``."""

    cpus: CpuSet
    nodes: frozenset[int]


def read_status(pid: int, proc: Path = PROC) -> Allowed | None:
    """Parse the file, if the process still exists.

    Raises ``BadInput`` if it is unreadable or malformed.
    """
    path = proc / str(pid) / "status"
    text = _process_text(path, "replace")
    return None if text is None else parse_status(text, str(path))


def parse_status(text: str, document: str = "status") -> Allowed:
    """Parse both lists. Raises ``BadInput`` if one is missing or malformed."""
    lists = dict(_LINE.findall(text))
    sets: dict[str, CpuSet] = {}
    for name in ("Cpus", "Mems"):
        try:
            sets[name] = cpu_set.parse(lists[name])
        except (KeyError, cpu_set.CpuListError):
            raise input_error.Invalid(
                f"invalid {name}_allowed_list {lists.get(name, '')!r}",
                expected="a list of numbers such as 0-3,8",
                where=Location(document),
            ).bad_input() from None
    return Allowed(sets["Cpus"], sets["Mems"])


class AreaKind(StrEnum):
    ANONYMOUS = "anonymous"
    FILE = "file"
    HUGE = "huge"


class Area(Value, kw_only=True):
    """``policy`` is the kernel's text, such as ``default`` or ``bind:0-1``."""

    start: int
    policy: str
    kind: AreaKind
    page_size_bytes: int
    pages_by_node: Mapping[int, int]


class NumaMaps(Value):
    """``/proc/PID/numa_maps``: memory of a process by NUMA node and kind.

    Format: ``proc_pid_numa_maps(5)``. Transparent huge pages are counted with small ones. Private
    copies of file pages count with the file, because the kernel has one number per node for both.
    """

    areas: tuple[Area, ...]

    def bytes_by_node(self, *kinds: AreaKind) -> dict[int, int]:
        """Bytes on each node, of areas of these kinds; without arguments, of all areas."""
        sums: Counter[int] = Counter()
        for area in self.areas:
            if not kinds or area.kind in kinds:
                for node, pages in area.pages_by_node.items():
                    sums[node] += pages * area.page_size_bytes
        return {node: sums[node] for node in sorted(sums)}

    def area_at(self, start: int) -> Area | None:
        return next((area for area in self.areas if area.start == start), None)


def read_numa_maps(pid: int, proc: Path = PROC) -> NumaMaps | None:
    """Parse the file, if the process still exists.

    Raises ``BadInput`` if it is unreadable or malformed.
    """
    path = proc / str(pid) / "numa_maps"
    # File names in it may have any encoding.
    text = _process_text(path, "surrogateescape")
    return None if text is None else parse_numa_maps(text, str(path))


def parse_numa_maps(text: str, document: str = "numa_maps") -> NumaMaps:
    """Parse the areas. Raises ``BadInput`` at the first malformed line."""
    return NumaMaps(tuple(_areas(text, document)))


def _areas(text: str, document: str) -> Iterator[Area]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line:
            continue
        match = _AREA.fullmatch(line)
        if match is None:
            where = Location(document, line=number)
            raise input_error.Invalid(
                f"invalid line {line[:80]!r}", expected="a memory area of numa_maps", where=where
            ).bad_input()
        words = match["words"].split()
        sizes = [int(size[1]) for size in map(_PAGE_SIZE.fullmatch, words) if size]
        counts = {int(f[1]): int(f[2]) for f in map(_NODE.fullmatch, words) if f}
        yield Area(
            start=int(match["start"], 16),
            policy=match["policy"],
            kind=_kind(words),
            # A line without a page size has no page counts either.
            page_size_bytes=(sizes[0] if sizes else 0) * _KIB,
            pages_by_node=counts,
        )


def _kind(words: list[str]) -> AreaKind:
    # A hugetlbfs mapping also has "file=", so test "huge" first.
    if "huge" in words:
        return AreaKind.HUGE
    if any(word.startswith("file=") for word in words):
        return AreaKind.FILE
    return AreaKind.ANONYMOUS


def read_kernel_limits(settings: Path = KERNEL_SETTINGS) -> KernelLimits:
    """Read the limits; ``tasks`` is the smaller of two sysctls.

    Kubelet v1.32: ``pidlimit.Stats``.
    """
    limits = [tasks for name in _TASKS if (tasks := _number(settings / name)) is not None]
    return KernelLimits(page_bytes=os.sysconf("SC_PAGE_SIZE"), tasks=min(limits, default=None))


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None
