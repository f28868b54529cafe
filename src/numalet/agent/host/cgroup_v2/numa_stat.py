"""``memory.numa_stat`` of a control group -> bytes per NUMA node by the kernel's own kinds.

Huge pages of hugetlbfs are not in it; ``hugetlb.SIZE.numa_stat`` has those, in the same form. The
kernel sums its figures up every two seconds or when enough has changed, so that a figure may be
some pages behind. Format: the kernel's ``Documentation/admin-guide/cgroup-v2.rst``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from numalet.agent.findings.host import ProcfsNoFigures
from numalet.core.model.findings import BadInput, Location

_FIELD: Final = re.compile(r"N([0-9]{1,5})=([0-9]{1,20})", re.ASCII)

NumaStat = Mapping[str, Mapping[int, int]]
"""Bytes by kind (``anon``, ``file``, ...) and node."""


def read(group: Path, name: str = "memory.numa_stat") -> NumaStat | None:
    """The figures of a group; None if the group, or its file, is gone. Raises ``BadInput``."""
    path = group / name
    try:
        text = path.read_text(encoding="ascii", errors="replace")
    except OSError:
        # A group that is removed while it is read says ENODEV.
        return None
    return parse(text, str(path))


def parse(text: str, document: str = "memory.numa_stat") -> NumaStat:
    """The figures in this text. Raises ``BadInput`` at the first wrong line."""
    bytes_by_kind: dict[str, dict[int, int]] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        kind, *fields = line.split() or [""]
        matches = [_FIELD.fullmatch(field) for field in fields]
        if not kind or None in matches:
            where = Location(document, line=number)
            raise BadInput([ProcfsNoFigures(value=line[:80], where=where)])
        bytes_by_kind[kind] = {int(match[1]): int(match[2]) for match in matches if match}
    return bytes_by_kind
