"""``/proc/PID/status`` -> allowed CPUs and NUMA nodes of a process.

These lists include every cgroup and whatever affinity the process set itself.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from numalet.agent.host.procfs import process_file
from numalet.agent.host.procfs.process_file import PROC
from numalet.core.model import cpu_set, input_error
from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.findings import Location
from numalet.core.model.value import Value

_LINE: Final = re.compile(r"^(Cpus|Mems)_allowed_list:[ \t]*(\S*)$", re.MULTILINE)


class Allowed(Value):
    cpus: CpuSet
    nodes: frozenset[int]


def read(pid: int, proc: Path = PROC) -> Allowed | None:
    """Parse the file, if the process still exists.

    Raises ``BadInput`` if it is unreadable or malformed.
    """
    path = proc / str(pid) / "status"
    text = process_file.text_of(path, "replace")
    return None if text is None else parse(text, str(path))


def parse(text: str, document: str = "status") -> Allowed:
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
