"""``memory.numa_stat`` of a cgroup -> bytes per NUMA node by the kernel's kinds.

``hugetlb.SIZE.numa_stat`` has the same form. Format: ``Documentation/admin-guide/cgroup-v2.rst``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from numalet.core.model import input_error
from numalet.core.model.findings import Location

_FIELD: Final = re.compile(r"N([0-9]{1,5})=([0-9]{1,20})", re.ASCII)

NumaStat = Mapping[str, Mapping[int, int]]
"""Bytes by kind (``anon``, ``file``, ...) and node."""


def read(group: Path, name: str = "memory.numa_stat") -> NumaStat | None:
    """Parse the file, if the cgroup still exists. Raises ``BadInput``.

    The kernel updates the figures every two seconds, or earlier after many changes.
    """
    path = group / name
    try:
        text = path.read_text(encoding="ascii", errors="replace")
    except OSError:
        # The kernel returns ENODEV for a cgroup that is removed during the read.
        return None
    return parse(text, str(path))


def parse(text: str, document: str = "memory.numa_stat") -> NumaStat:
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
