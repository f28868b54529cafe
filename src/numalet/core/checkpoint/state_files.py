"""A snapshot as the kubelet's state files, and the files as a snapshot.

Files are texts by name; callers do the I/O. A restart loses all state outside the files
(affinities, reusable memory, active pods), like a kubelet's restart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from numalet.core.admission import roster
from numalet.core.admission.roster import Roster
from numalet.core.checkpoint import cpu_file, device_file, memory_document, memory_file
from numalet.core.checkpoint.memory_document import MemoryDocument
from numalet.core.config.releases.release import ReleaseRules
from numalet.core.config.rules import MemoryPolicy, NodeRules, StartRefused, StartStage
from numalet.core.findings.state_files import MemoryStateWouldCrash
from numalet.core.managers.cpu import static_policy as cpu_validation
from numalet.core.managers.cpu.ledger import EMPTY_LEDGER as NO_CPUS
from numalet.core.managers.cpu.ledger import CpuLedger
from numalet.core.managers.device import registration
from numalet.core.managers.device.ledger import DeviceLedger
from numalet.core.managers.memory import validation
from numalet.core.managers.memory.ledger import EMPTY_LEDGER as NO_MEMORY
from numalet.core.managers.memory.ledger import MemoryLedger
from numalet.core.model.findings import Finding
from numalet.core.model.pod import ContainerKey
from numalet.core.model.value import kept
from numalet.core.snapshot.snapshot import NO_PODS, NOTHING_REQUESTED, AsRead, Snapshot

L = TypeVar("L", CpuLedger, MemoryLedger)

StateFiles = Mapping[str, str]
"""Texts by name: cpu_manager_state, memory_manager_state, kubelet_internal_checkpoint."""


def write(rules: NodeRules, snapshot: Snapshot) -> dict[str, str]:
    """Return the state files of the snapshot's ledgers.

    A file from the start keeps its exact bytes until the kubelet would write it again.
    """
    files = {}
    # ``_value_`` instead of ``value``, which costs two Python calls on a hot path.
    if not rules.managers_are_stand_ins:
        files[cpu_file.FILE_NAME] = _as_read(
            snapshot, cpu_file.FILE_NAME, snapshot.cpu.exclusive
        ) or _text(snapshot.cpu, cpu_file.write, rules.cpu.policy._value_, rules.release_rules)
        files[memory_file.FILE_NAME] = _as_read(
            snapshot, memory_file.FILE_NAME, snapshot.memory.blocks
        ) or _text(
            snapshot.memory, memory_file.write, rules.memory.policy._value_, rules.release_rules
        )
    written = snapshot.device.written
    if written is not None:
        # The kubelet rewrites this file at every report and allocation, even if nothing changed.
        files[device_file.FILE_NAME] = _as_read(snapshot, device_file.FILE_NAME, written) or kept(
            written, "text", device_file.write, written
        )
    return files


def _text(
    ledger: L, write: Callable[[str, L, ReleaseRules], str], policy: str, rules: ReleaseRules
) -> str:
    """Return a ledger's text, cached in it: most decisions leave some ledgers unchanged."""
    cached = ledger.__dict__.get("text")
    # Another release or policy writes another text; a ledger rarely meets a second one.
    if cached is None or cached[0] is not rules or cached[1] != policy:
        cached = ledger.__dict__["text"] = (rules, policy, write(policy, ledger, rules))
    text: str = cached[2]
    return text


def _as_read(snapshot: Snapshot, name: str, content: object) -> str | None:
    """Return the text from the start, if the kubelet has not written the file since.

    ``content`` is replaced by a new object at every change. It is compared by identity, because the
    kubelet also writes a change that only reverts another one.
    """
    as_read = snapshot.files_as_read.get(name)
    return as_read.text if as_read is not None and as_read.content is content else None


def restore(
    staff: Roster, files: StateFiles, running: Iterable[ContainerKey] = ()
) -> Snapshot | StartRefused:
    """Return the snapshot of a kubelet that starts with these files, or why it does not start.

    A missing file is equivalent to an empty one of this kubelet. The managers start in the order
    cpu, memory, with their errors in the same order; both are checked. ``running`` are the
    containers that the container runtime reports as running.
    """
    device = _device(files, running)
    sums = NOTHING_REQUESTED if staff.rules.behaviour.predicates_are_asked else None
    if staff.rules.managers_are_stand_ins:
        return Snapshot(device=device, sums=sums)
    # Both are read even if the first is refused: the user then sees all files that need a fix at
    # once.
    loaded_cpu, document = _load_cpu(staff.rules, files), _load_memory(staff.rules, files)
    loaded_memory = _memory_ledger(document)
    cpu = _checked_cpu(staff, loaded_cpu)
    memory = _checked_memory(staff.rules, loaded_memory, document)
    if isinstance(cpu, Finding):
        further = (memory,) if isinstance(memory, Finding) else ()
        return StartRefused(StartStage.CPU_MANAGER_START, (cpu,), further)
    if isinstance(memory, Finding):
        crashes = isinstance(memory, MemoryStateWouldCrash)
        stage = StartStage.NUMALET if crashes else StartStage.MEMORY_MANAGER_START
        return StartRefused(stage, (memory,))
    # A manager that starts with an empty file writes its own; else the file stays unchanged.
    said: dict[str, object] = (
        {memory_file.FILE_NAME: memory.blocks} if memory is loaded_memory else {}
    )
    if cpu is loaded_cpu:
        said[cpu_file.FILE_NAME] = cpu.exclusive
    if device.written is not None:
        said[device_file.FILE_NAME] = device.written
    read = {name: AsRead(text, said[name]) for name, text in files.items() if name in said}
    snapshot = Snapshot(device=device, cpu=cpu, memory=memory, files_as_read=read, sums=sums)
    # Records from files may belong to pods that ended while the kubelet was down, so any pod may be
    # stale until the next clean-up.
    is_empty = not (device.records or device.running or cpu.exclusive or memory.blocks)
    return snapshot.with_stale(NO_PODS if is_empty else None)


def warnings(files: StateFiles) -> tuple[Finding, ...]:
    """Return the problems that a kubelet only logs when it starts with these files."""
    text = files.get(device_file.FILE_NAME)
    loaded = None if text is None else device_file.load(text)
    return (loaded,) if isinstance(loaded, Finding) else ()


def _device(files: StateFiles, running: Iterable[ContainerKey]) -> DeviceLedger:
    """Restore the device ledger; like the kubelet, ignore an unreadable checkpoint."""
    text = files.get(device_file.FILE_NAME)
    written = None if text is None else device_file.load(text)
    return registration.restarted(None if isinstance(written, Finding) else written, running)


def _load_cpu(rules: NodeRules, files: StateFiles) -> CpuLedger | Finding:
    text = files.get(cpu_file.FILE_NAME)
    return (
        NO_CPUS
        if text is None
        else cpu_file.load(text, rules.cpu.policy._value_, rules.release_rules)
    )


def _checked_cpu(staff: Roster, loaded: CpuLedger | Finding) -> CpuLedger | Finding:
    if isinstance(loaded, Finding) or staff.static_cpus is None:
        return loaded
    return cpu_validation.restored(loaded, staff.static_cpus)


def _load_memory(rules: NodeRules, files: StateFiles) -> MemoryDocument | Finding | None:
    text = files.get(memory_file.FILE_NAME)
    if text is None:
        return None
    return memory_file.load_document(text, rules.memory.policy._value_, rules.release_rules)


def _memory_ledger(loaded: MemoryDocument | Finding | None) -> MemoryLedger | Finding:
    if loaded is None:
        return NO_MEMORY
    return loaded if isinstance(loaded, Finding) else memory_document.to_ledger(loaded)


def _checked_memory(
    rules: NodeRules, loaded: MemoryLedger | Finding, document: MemoryDocument | Finding | None
) -> MemoryLedger | Finding:
    if isinstance(loaded, Finding) or rules.memory.policy is MemoryPolicy.NONE:
        return loaded
    # The ledger has groups as sets, which cannot hold a node twice; the comparison needs the file's
    # lists.
    twice = {}
    if isinstance(document, MemoryDocument):
        twice = memory_document.groups_named_twice(document)
    return validation.restored(loaded, roster.initial_memory(rules), twice)
