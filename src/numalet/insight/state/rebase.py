"""Rebase state files onto the current machine, keeping every record that still fits.

The kubelet compares its files with the machine to the byte, and its only remedy is to delete them,
which loses the allocations of running containers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from numalet.core.admission import roster
from numalet.core.admission.roster import Roster
from numalet.core.checkpoint import (
    cpu_file,
    memory_document,
    memory_file,
    pod_entries,
    state_files,
)
from numalet.core.checkpoint.memory_file import ChecksumVerdict
from numalet.core.checkpoint.state_files import StateFiles
from numalet.core.config.releases.release import ReleaseRules
from numalet.core.config.rules import CpuPolicy, MemoryPolicy, StartRefused
from numalet.core.managers.cpu.ledger import EMPTY_LEDGER as NO_CPUS
from numalet.core.managers.cpu.ledger import CpuLedger
from numalet.core.managers.cpu.static_policy import CpuStaticPolicy
from numalet.core.managers.memory import tables
from numalet.core.managers.memory.ledger import EMPTY_LEDGER as NO_MEMORY
from numalet.core.managers.memory.ledger import Blocks, MemoryLedger, NodeMemory, with_blocks
from numalet.core.model import cpu_set, numa_mask, resources
from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.findings import Finding
from numalet.core.model.pod import ContainerKey
from numalet.core.model.value import Value, replace


class RebasePolicyNone(Finding):
    sentence = "policy {policy} keeps no assignments"
    policy: str


class RebaseNoBlocks(Finding):
    sentence = "its entry says no memory, or no NUMA node"


class RebaseMalformed(Finding):
    sentence = "no kubelet gives a container such memory: {blocks} on {groups}"
    groups: list[list[int]]
    blocks: str


class RebaseNodeGone(Finding):
    sentence = "NUMA nodes {nodes} are missing; there are {known}"
    nodes: list[int]
    known: list[int]


class RebaseGroupOverlaps(Finding):
    sentence = "its nodes {group} overlap with the group {other} of NUMA node {node}, which is kept"
    group: str
    node: int
    other: str


class RebaseTypesDiffer(Finding):
    sentence = (
        "its nodes {group} have different memory types, over which the kubelet crashes when it "
        "starts"
    )
    group: str


class RebaseTooLittleMemory(Finding):
    sentence = (
        "{size_bytes} bytes of {type} on {group} do not fit: the kept allocations leave "
        "{free_bytes}"
    )
    type: str
    group: str
    size_bytes: int
    free_bytes: int


class RebaseNoCpus(Finding):
    sentence = "its entry in the state file has no CPUs"


class RebaseCpusGone(Finding):
    sentence = "the CPUs {cpus} are offline or reserved"
    cpus: str


class RebaseCpusTaken(Finding):
    sentence = "CPUs {cpus} also belong to pods {pods}, which are kept"
    cpus: str
    pods: str


class RebasePoolWouldBeEmpty(Finding):
    sentence = "allocating CPUs {cpus} would empty the shared pool"
    cpus: str


class RebaseContainerId(Finding):
    sentence = "it is known by container id only, which only the runtime can resolve"


class Lost(Value):
    """A container's record that does not fit any more; ``why`` has the code and the figures."""

    key: ContainerKey
    file: str
    why: Finding


class Rebased(Value):
    """New texts of the files that must change, and the fate of every record, by file.

    ``unusable`` are files whose content cannot be trusted.
    """

    files: Mapping[str, str]
    kept: Mapping[str, tuple[ContainerKey, ...]]
    lost: tuple[Lost, ...]
    unusable: Mapping[str, Finding]


class _Part(Value):
    """One file: the text to write, if it changes, and its records."""

    text: str | None
    kept: tuple[ContainerKey, ...] = ()
    lost: tuple[Lost, ...] = ()


def rebase(staff: Roster, files: StateFiles) -> Rebased:
    """Return the files with which a kubelet of these rules starts.

    Valid files are not touched; missing files stay missing.
    """
    if staff.rules.managers_are_stand_ins:
        return Rebased({}, {}, (), {})
    parts: dict[str, _Part] = {}
    unusable: dict[str, Finding] = {}
    # The device checkpoint never keeps a kubelet from starting, so it stays unchanged.
    for name, of_file in ((cpu_file.FILE_NAME, _cpu), (memory_file.FILE_NAME, _memory)):
        if name not in files:
            continue
        part = of_file(staff, files[name])
        if isinstance(part, Finding):
            unusable[name] = part
        else:
            parts[name] = part
    return Rebased(
        files={name: part.text for name, part in parts.items() if part.text is not None},
        kept={name: part.kept for name, part in parts.items()},
        lost=tuple(lost for part in parts.values() for lost in part.lost),
        unusable=unusable,
    )


def _is_accepted(staff: Roster, name: str, text: str) -> bool:
    return not isinstance(state_files.restore(staff, {name: text}), StartRefused)


def _memory(staff: Roster, text: str) -> _Part | Finding:
    rules = staff.rules.release_rules
    document = memory_file.read(text, pod_entries.ANY_FORMAT)
    if isinstance(document, Finding):
        return document
    if memory_file.verdict(document, rules) is ChecksumVerdict.CORRUPTED:
        return memory_file.why_corrupted(document)
    old = memory_document.to_ledger(document)
    if not rules.state_files_have_pods:
        # This kubelet does not know pod-level placements, only containers.
        old = replace(old, pods={})
    policy = staff.rules.memory.policy
    if policy is MemoryPolicy.NONE:
        new, lost = NO_MEMORY, _all_lost(old.holders(), memory_file.FILE_NAME, policy.value)
    else:
        new, lost = rebased_memory(old, roster.initial_memory(staff.rules))
    # With overlapping groups, chance decides whether the kubelet accepts the file.
    hides_pods = document.data is not None and _hides(old.pods, rules)
    if _is_accepted(staff, memory_file.FILE_NAME, text) and not lost and not hides_pods:
        return _Part(None, tuple(sorted(old.holders())))
    return _Part(memory_file.write(policy.value, new, rules), tuple(sorted(new.holders())), lost)


def _hides(pods: Mapping[str, object], rules: ReleaseRules) -> bool:
    """Return whether a kubelet would not find what pods got as a whole, since it is in ``data``."""
    return bool(pods) and not rules.state_files_have_data


def _all_lost(keys: list[ContainerKey], file: str, policy: str) -> tuple[Lost, ...]:
    why = RebasePolicyNone(policy=policy)
    return tuple(Lost(key, file, why) for key in sorted(keys))


def rebased_memory(
    old: MemoryLedger, initial: Mapping[int, NodeMemory]
) -> tuple[MemoryLedger, tuple[Lost, ...]]:
    """Return the ledger on this empty node map with every record that fits, and the others."""
    nodes = dict(initial)
    blocks: dict[str, Mapping[str, Blocks]] = {}
    lost: list[Lost] = []
    # Smaller records first, so that as many as possible are kept.
    # A container is kept whole or not at all: the kubelet does not complete an existing record.
    for held, keys in sorted(_counted(old), key=lambda each: (_size(each[0]), each[1])):
        why = _misfit(nodes, held)
        if why is not None:
            lost.extend(Lost(key, memory_file.FILE_NAME, why) for key in keys)
            continue
        for block in held:
            for node_id in block.nodes:
                nodes[node_id] = replace(
                    nodes[node_id],
                    assignments=nodes[node_id].assignments + 1,
                    group=numa_mask.of(block.nodes),
                )
            tables.allocate(nodes, block.nodes, block.resource, block.size_bytes)
        for key in keys:
            blocks = with_blocks(blocks, *key, old.blocks_of(*key) or ())
    pods = {uid: held for uid, held in old.pods.items() if uid in blocks}
    ledger = MemoryLedger(nodes, blocks, pods=pods)
    return ledger, tuple(sorted(lost, key=lambda each: each.key))


def _counted(ledger: MemoryLedger) -> Iterator[tuple[Blocks, tuple[ContainerKey, ...]]]:
    """Yield allocations accounted as one, and their containers: one, or all of a pod."""
    for uid in ledger.blocks:
        keys = tuple(sorted(ledger.holders(uid)))
        if uid in ledger.pods:
            yield ledger.pods[uid], keys
            continue
        yield from ((ledger.blocks_of(*key) or (), (key,)) for key in keys)


def _size(held: Blocks) -> int:
    return sum(block.size_bytes for block in held)


def _misfit(nodes: Mapping[int, NodeMemory], held: Blocks) -> Finding | None:
    """Return why these blocks cannot be allocated together, if so."""
    groups = {block.nodes for block in held}
    if not held or () in groups:
        return RebaseNoBlocks()
    if _is_malformed(held):
        shown = ", ".join(f"{block.size_bytes} of {block.resource}" for block in held)
        return RebaseMalformed(groups=sorted(map(list, groups)), blocks=shown)
    node_ids = held[0].nodes
    absent = [node_id for node_id in node_ids if node_id not in nodes]
    if absent:
        return RebaseNodeGone(nodes=absent, known=list(nodes))
    mask = numa_mask.of(node_ids)
    for node_id in node_ids:
        node = nodes[node_id]
        if node.assignments and node.group != mask:
            return RebaseGroupOverlaps(
                group=numa_mask.text(mask), node=node_id, other=numa_mask.text(node.group)
            )
    if len({frozenset(nodes[node_id].tables) for node_id in node_ids}) > 1:
        # The kubelet would crash at its start because of such a group.
        return RebaseTypesDiffer(group=numa_mask.text(mask))
    for block in held:
        there = [nodes[i].tables.get(block.resource) for i in node_ids]
        free = sum(table.free for table in there if table is not None)
        if None in there or block.size_bytes > free:
            return RebaseTooLittleMemory(
                type=block.resource,
                group=numa_mask.text(mask),
                size_bytes=block.size_bytes,
                free_bytes=free,
            )
    return None


def _is_malformed(held: Blocks) -> bool:
    """Return whether no kubelet makes such blocks: they need one node set, one block per type."""
    node_ids = held[0].nodes
    return (
        any(block.nodes != node_ids for block in held)
        or list(node_ids) != sorted(set(node_ids))
        or len({block.resource for block in held}) < len(held)
        or any(block.size_bytes % (resources.page_bytes(block.resource) or 1) for block in held)
    )


def _cpu(staff: Roster, text: str) -> _Part | Finding:
    rules = staff.rules.release_rules
    reading = cpu_file.read(text, pod_entries.ANY_FORMAT)
    if isinstance(reading, Finding):
        return reading
    if not reading.is_sound:
        return reading.why_corrupted
    old = cpu_file.to_ledger(reading.document, rules)
    if isinstance(old, Finding):
        return old
    if not rules.state_files_have_pods:
        old = replace(old, pods={})
    hides_pods = reading.is_fourth_format and _hides(old.pods, rules)
    if _is_accepted(staff, cpu_file.FILE_NAME, text) and not hides_pods:
        return _Part(None, tuple(sorted(old.holders())))
    # First-format containers have an id that only the runtime can resolve.
    unnamed = tuple(
        Lost(ContainerKey("", each), cpu_file.FILE_NAME, RebaseContainerId())
        for each in sorted(reading.document.container_ids)
    )
    if staff.static_cpus is None:
        lost = _all_lost(old.holders(), cpu_file.FILE_NAME, CpuPolicy.NONE.value)
        return _Part(cpu_file.write(CpuPolicy.NONE.value, NO_CPUS, rules), (), (*unnamed, *lost))
    new, lost = rebased_cpus(old, staff.static_cpus)
    written = cpu_file.write(CpuPolicy.STATIC.value, new, rules)
    return _Part(written, tuple(sorted(new.holders())), (*unnamed, *lost))


def rebased_cpus(old: CpuLedger, policy: CpuStaticPolicy) -> tuple[CpuLedger, tuple[Lost, ...]]:
    """Return the ledger of this policy with every record that fits, and the others."""
    base = policy.initial_default
    holder: dict[int, str] = {}
    exclusive: dict[str, dict[str, CpuSet]] = {}
    lost = []
    pods: dict[str, CpuSet] = {}
    for key in sorted(old.holders(), key=lambda key: (len(_cpus(old, key)), key)):
        uid = key.pod_uid
        if uid in pods:
            exclusive[uid][key.container] = _cpus(old, key)
            continue
        # A pod-level allocation is kept or lost with all of its containers.
        cpus = old.pods.get(uid) or _cpus(old, key)
        why = _cpu_misfit(cpus, policy, base, holder, uid)
        if why is not None:
            lost.append(Lost(key, cpu_file.FILE_NAME, why))
            continue
        exclusive.setdefault(uid, {})[key.container] = _cpus(old, key)
        holder |= dict.fromkeys(cpus, uid)
        if old.pods.get(uid):
            pods[uid] = cpus
    baselines = {
        uid: {name: cpus for name, cpus in of_pod.items() if name in exclusive[uid]}
        for uid, of_pod in old.other_baselines.items()
        if uid in exclusive
    }
    new = CpuLedger(base - holder.keys(), exclusive, pods=pods, other_baselines=baselines)
    return new, tuple(sorted(lost, key=lambda each: each.key))


def _cpus(ledger: CpuLedger, key: ContainerKey) -> CpuSet:
    return ledger.exclusive[key.pod_uid][key.container]


def _cpu_misfit(
    cpus: CpuSet, policy: CpuStaticPolicy, base: CpuSet, holder: Mapping[int, str], pod_uid: str
) -> Finding | None:
    """Return why a container cannot keep these CPUs, if so."""
    if not cpus:
        return RebaseNoCpus()
    gone = cpus - policy.allocatable
    if gone:
        return RebaseCpusGone(cpus=cpu_set.text(gone))
    conflicting = {cpu for cpu in cpus if holder.get(cpu, pod_uid) != pod_uid}
    if conflicting:
        others = ", ".join(sorted({holder[cpu] for cpu in conflicting}))
        return RebaseCpusTaken(cpus=cpu_set.text(conflicting), pods=others)
    # With strict-cpu-reservation the kubelet does not start with an empty pool.
    if not base - holder.keys() - cpus:
        return RebasePoolWouldBeEmpty(cpus=cpu_set.text(cpus))
    return None
