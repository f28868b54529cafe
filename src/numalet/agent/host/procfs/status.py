"""``/proc/PID/status`` -> the CPUs and NUMA nodes that a process may use.

This is what holds in the end, after all control groups and whatever the process did itself.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from numalet.agent.findings.host import ProcfsNoList
from numalet.agent.host.procfs import process_file
from numalet.agent.host.procfs.process_file import PROC
from numalet.core.model import cpu_set
from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.findings import BadInput, Location
from numalet.core.model.value import Value

_LINE: Final = re.compile(r"^(Cpus|Mems)_allowed_list:[ \t]*(\S*)$", re.MULTILINE)


class Allowed(Value):
    """Where a process may run, and where its memory may be."""

    cpus: CpuSet
    nodes: frozenset[int]


def read(pid: int, proc: Path = PROC) -> Allowed | None:
    """What a process may use; None if it is gone.

    Raises ``BadInput`` if that may not be read, or is not what a kernel writes.
    """
    path = proc / str(pid) / "status"
    text = process_file.text_of(path, "replace")
    return None if text is None else parse(text, str(path))


def parse(text: str, document: str = "status") -> Allowed:
    """The two lists of such a text. Raises ``BadInput`` where one is missing or no list."""
    lists = dict(_LINE.findall(text))
    sets: dict[str, CpuSet] = {}
    for name in ("Cpus", "Mems"):
        try:
            sets[name] = cpu_set.parse(lists[name])
        except (KeyError, cpu_set.CpuListError):
            raise BadInput(
                [
                    ProcfsNoList(
                        name=f"{name}_allowed_list",
                        value=lists.get(name, ""),
                        where=Location(document),
                    )
                ]
            ) from None
    return Allowed(sets["Cpus"], sets["Mems"])
