"""A snapshot as the kubelet's state files, and the files as a snapshot.

Files are texts by name here; who reads and writes them is not of interest. What is not in the
files (affinities, reusable memory, active pods) a restart loses, as the kubelet loses it.
"""

from __future__ import annotations

from collections.abc import Mapping

from numalet.admission import roster
from numalet.checkpoint import cpu_file, memory_file
from numalet.config.rules import MemoryPolicy, NodeRules, Stage, StartRefused
from numalet.managers.cpu.ledger import EMPTY_LEDGER as NO_CPUS
from numalet.managers.cpu.ledger import CpuLedger
from numalet.managers.memory import validation
from numalet.managers.memory.ledger import EMPTY_LEDGER as NO_MEMORY
from numalet.managers.memory.ledger import MemoryLedger
from numalet.model.findings import Finding
from numalet.snapshot.snapshot import Snapshot

StateFiles = Mapping[str, str]
"""Texts by file name: ``cpu_manager_state``, ``memory_manager_state``."""


def write(rules: NodeRules, snapshot: Snapshot) -> dict[str, str]:
    """The state files that say what the snapshot's ledgers say."""
    if rules.managers_are_stand_ins:
        return {}
    return {
        cpu_file.FILE_NAME: cpu_file.write(rules.cpu.policy.value, snapshot.cpu),
        memory_file.FILE_NAME: memory_file.write(rules.memory.policy.value, snapshot.memory),
    }


def restore(rules: NodeRules, files: StateFiles) -> Snapshot | StartRefused:
    """The snapshot at the start of a kubelet with these files, or why it does not start.

    A file that is missing is as good as an empty one written by this kubelet. The managers
    start in the order cpu, memory; so do their complaints, and both are looked at.
    """
    if rules.managers_are_stand_ins:
        return Snapshot()
    cpu = _cpu(rules, files)
    memory = _memory(rules, files)
    if isinstance(cpu, Finding):
        further = (memory,) if isinstance(memory, Finding) else ()
        return StartRefused(Stage.CPU_MANAGER_START, (cpu,), further)
    if isinstance(memory, Finding):
        return StartRefused(Stage.MEMORY_MANAGER_START, (memory,))
    return Snapshot(cpu=cpu, memory=memory)


def _cpu(rules: NodeRules, files: StateFiles) -> CpuLedger | Finding:
    text = files.get(cpu_file.FILE_NAME)
    return NO_CPUS if text is None else cpu_file.load(text, rules.cpu.policy.value)


def _memory(rules: NodeRules, files: StateFiles) -> MemoryLedger | Finding:
    text = files.get(memory_file.FILE_NAME)
    loaded = NO_MEMORY if text is None else memory_file.load(text, rules.memory.policy.value)
    if isinstance(loaded, Finding) or rules.memory.policy is MemoryPolicy.NONE:
        return loaded
    return validation.restored(loaded, roster.initial_memory(rules))
