"""State files that are missing beside others: a kubelet has the CPU and the memory file, or none.

Both are written at the first start, whatever the policies. A kubelet takes a missing one for an
empty one, and gives away once more what running containers hold.
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
    why = "The CPU file and the memory file are both there, or none of them."
    file: str
    beside: str
    pods: int


_PAIR = (cpu_file.FILE_NAME, memory_file.FILE_NAME)


def findings(files: Mapping[str, str]) -> Iterator[Finding]:
    """A warning for the file that is missing from a directory where the other one has pods."""
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
