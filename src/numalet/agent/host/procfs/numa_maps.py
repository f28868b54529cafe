"""``/proc/PID/numa_maps`` -> on which NUMA nodes the memory of a process is, by kind.

The kernel counts pages, area by area, in units of the area's own page size, which it names. An
area is of huge pages (of hugetlbfs; transparent ones count as small), of a file, or of neither.
Pages of a file that the process has changed for itself are counted with the file: the kernel
gives one number per node for both. Format: the kernel's ``proc_pid_numa_maps(5)``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Final

from numalet.agent.findings.host import ProcfsNoArea
from numalet.agent.host.procfs import process_file
from numalet.agent.host.procfs.process_file import PROC
from numalet.core.model.findings import BadInput, Location
from numalet.core.model.value import Value

_KIB: Final = 1024
_AREA: Final = re.compile(r"(?P<start>[0-9a-f]{1,16}) (?P<policy>\S+)(?P<words>(?: .*)?)", re.ASCII)
_NODE: Final = re.compile(r"N([0-9]{1,5})=([0-9]{1,15})", re.ASCII)
_PAGE_SIZE: Final = re.compile(r"kernelpagesize_kB=([0-9]{1,10})", re.ASCII)


class AreaKind(StrEnum):
    ANONYMOUS = "anonymous"
    FILE = "file"
    HUGE = "huge"


class Area(Value, kw_only=True):
    """One area. ``policy`` is the kernel's word, such as ``default`` or ``bind:0-1``."""

    start: int
    policy: str
    kind: AreaKind
    page_size_bytes: int
    pages_by_node: Mapping[int, int]


class NumaMaps(Value):
    """All areas of a process, with and without pages."""

    areas: tuple[Area, ...]

    def bytes_by_node(self, *kinds: AreaKind) -> dict[int, int]:
        """Bytes on each node, of areas of these kinds; without kinds, of all areas."""
        sums: Counter[int] = Counter()
        for area in self.areas:
            if not kinds or area.kind in kinds:
                for node, pages in area.pages_by_node.items():
                    sums[node] += pages * area.page_size_bytes
        return {node: sums[node] for node in sorted(sums)}

    def area_at(self, start: int) -> Area | None:
        """The area that begins at this address."""
        return next((area for area in self.areas if area.start == start), None)


def read(pid: int, proc: Path = PROC) -> NumaMaps | None:
    """Where the memory of a process is; None if the process is gone.

    Raises ``BadInput`` if it may not be read, or is not what a kernel writes.
    """
    path = proc / str(pid) / "numa_maps"
    # Names of files are in it, in whatever bytes.
    text = process_file.text_of(path, "surrogateescape")
    return None if text is None else parse(text, str(path))


def parse(text: str, document: str = "numa_maps") -> NumaMaps:
    """The areas in this text. Raises ``BadInput`` at the first wrong line."""
    return NumaMaps(tuple(_areas(text, document)))


def _areas(text: str, document: str) -> Iterator[Area]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line:
            continue
        match = _AREA.fullmatch(line)
        if match is None:
            where = Location(document, line=number)
            raise BadInput([ProcfsNoArea(value=line[:80], where=where)])
        words = match["words"].split()
        sizes = [int(size[1]) for size in map(_PAGE_SIZE.fullmatch, words) if size]
        counts = {int(f[1]): int(f[2]) for f in map(_NODE.fullmatch, words) if f}
        yield Area(
            start=int(match["start"], 16),
            policy=match["policy"],
            kind=_kind(words),
            # The kernel names the size in every line that counts pages.
            page_size_bytes=(sizes[0] if sizes else 0) * _KIB,
            pages_by_node=counts,
        )


def _kind(words: list[str]) -> AreaKind:
    if "huge" in words:
        return AreaKind.HUGE
    if any(word.startswith("file=") for word in words):
        return AreaKind.FILE
    return AreaKind.ANONYMOUS
