"""``/proc/PID/numa_maps`` -> memory of a process by NUMA node and kind.

Format: ``proc_pid_numa_maps(5)``. Transparent huge pages are counted with small ones; private
copies of file pages count with the file, because the kernel has one number per node for both.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Final

from numalet.agent.host.procfs import process_file
from numalet.agent.host.procfs.process_file import PROC
from numalet.core.model import input_error
from numalet.core.model.findings import Location
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
    """``policy`` is the kernel's text, such as ``default`` or ``bind:0-1``."""

    start: int
    policy: str
    kind: AreaKind
    page_size_bytes: int
    pages_by_node: Mapping[int, int]


class NumaMaps(Value):
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


def read(pid: int, proc: Path = PROC) -> NumaMaps | None:
    """Parse the file, if the process still exists.

    Raises ``BadInput`` if it is unreadable or malformed.
    """
    path = proc / str(pid) / "numa_maps"
    # File names in it may have any encoding.
    text = process_file.text_of(path, "surrogateescape")
    return None if text is None else parse(text, str(path))


def parse(text: str, document: str = "numa_maps") -> NumaMaps:
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
