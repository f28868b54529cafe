"""Missing state files: a kubelet has both the CPU and the memory file, or neither.

It writes both at its first start, whatever the policies. It treats a missing file as empty, and
allocates resources of running containers a second time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from numalet.core.checkpoint import cpu_file, memory_file
from numalet.core.model.findings import Finding, Location, WarningFinding
from numalet.insight.state import reading


class StateFileMissing(WarningFinding):
    sentence = (
        "{file} is missing, and {beside} has {pods} pods: a kubelet that starts treats it as "
        "empty and may allocate again what these pods hold"
    )
    why = "The CPU file and the memory file either both exist or are both missing."
    file: str
    beside: str
    pods: int


_PAIR = (cpu_file.FILE_NAME, memory_file.FILE_NAME)


def findings(files: Mapping[str, str]) -> Iterator[Finding]:
    """Warn about the missing file of a directory whose other file has pods."""
    states = reading.read(files)
    pods = {
        cpu_file.FILE_NAME: 0
        if states.cpu is None
        else len(states.cpu.ledger.exclusive.keys() - {""}),
        memory_file.FILE_NAME: 0 if states.memory is None else len(states.memory.ledger.blocks),
    }
    for missing, there in (_PAIR, reversed(_PAIR)):
        if missing not in files and pods[there]:
            yield StateFileMissing(
                file=missing, beside=there, pods=pods[there], where=Location(missing)
            )
