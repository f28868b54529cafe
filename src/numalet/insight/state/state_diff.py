"""Compare the content of two sets of state files, member by member.

Checksums and the order of members and blocks are ignored. A difference has a *subject* (a NUMA
node, a container, a resource), a member of it, and both values. One value may be absent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias, assert_never

from numalet.core.checkpoint import cpu_file, device_file, memory_file
from numalet.core.managers.device.ledger import NO_NODE, DeviceRecord
from numalet.core.model import cpu_set, numa_mask
from numalet.core.model.findings import Finding, Location
from numalet.core.model.value import Value
from numalet.insight.state.reading import CpuState, DeviceState, MemoryState, State, States

Compared: TypeAlias = int | str | None
"""Numbers are bytes, except the number of assignments of a node."""

Member: TypeAlias = tuple[str, str]
"""A subject and its member."""

ASSIGNMENTS = "assignments"


class StateDifference(Value):
    """One member that is not the same in both; null is "not there".

    Numbers are bytes, but for assignments. ``change_bytes`` is the increase, where both are sizes.
    """

    file: str
    subject: str
    what: str
    before: Compared
    after: Compared
    change_bytes: int | None


def differences(before: States, after: States) -> tuple[StateDifference, ...]:
    """Return all differences, file by file, in the order of names and node ids."""
    pairs: tuple[tuple[str, State | None, State | None], ...] = (
        (cpu_file.FILE_NAME, before.cpu, after.cpu),
        (memory_file.FILE_NAME, before.memory, after.memory),
        (device_file.FILE_NAME, before.device, after.device),
    )
    return tuple(difference for pair in pairs for difference in _of_file(*pair))


def unreadable(states: States) -> tuple[Finding, ...]:
    """Return findings on files that cannot be decoded and compared."""
    return tuple(finding.at(Location(name)) for name, finding in states.unreadable.items())


def _of_file(name: str, before: State | None, after: State | None) -> Iterator[StateDifference]:
    mine, theirs = _members(before), _members(after)
    # A dictionary instead of a set, to keep the order.
    for subject, what in dict.fromkeys((*mine, *theirs)):
        old, new = mine.get((subject, what)), theirs.get((subject, what))
        if old != new:
            change_bytes = None
            # Assignments are a number, but not of bytes.
            if isinstance(old, int) and isinstance(new, int) and what != ASSIGNMENTS:
                change_bytes = new - old
            yield StateDifference(name, subject, what, old, new, change_bytes)


def _members(state: State | None) -> Mapping[Member, Compared]:
    match state:
        case None:
            return {}
        case MemoryState():
            return dict(_memory(state))
        case CpuState():
            return dict(_cpu(state))
        case DeviceState():
            return dict(_device(state))
        case _:
            assert_never(state)


def _memory(state: MemoryState) -> Iterator[tuple[Member, Compared]]:
    yield ("file", "policy"), state.policy_name
    for node_id, node in state.ledger.nodes.items():
        subject = f"node {node_id}"
        yield (subject, ASSIGNMENTS), node.assignments
        yield (subject, "group"), numa_mask.text(node.group)
        for name, table in sorted(node.tables.items()):
            yield (subject, f"{name} total"), table.total
            yield (subject, f"{name} system reserved"), table.system_reserved
            yield (subject, f"{name} allocatable"), table.allocatable
            yield (subject, f"{name} reserved"), table.reserved
            yield (subject, f"{name} free"), table.free
    for key in sorted(state.ledger.holders()):
        subject = f"{key.pod_uid}/{key.container}"
        blocks = state.ledger.blocks_of(key.pod_uid, key.container) or ()
        if not blocks:
            yield (subject, "memory"), "none"
        for block in blocks:
            nodes = ",".join(map(str, block.nodes))
            yield (subject, f"{block.resource} on {{{nodes}}}"), block.size_bytes
    for uid, of_pod in sorted(state.ledger.pods.items()):
        for block in of_pod:
            nodes = ",".join(map(str, block.nodes))
            yield (uid, f"{block.resource} as a whole on {{{nodes}}}"), block.size_bytes


def _cpu(state: CpuState) -> Iterator[tuple[Member, Compared]]:
    yield ("file", "policy"), state.policy_name
    yield ("shared pool", "CPUs"), cpu_set.text(state.ledger.default)
    for key in sorted(state.ledger.holders()):
        cpus = state.ledger.exclusive[key.pod_uid][key.container]
        subject = f"{key.pod_uid}/" if key.pod_uid else "container id "
        yield (f"{subject}{key.container}", "CPUs"), cpu_set.text(cpus)
    for uid, of_pod in sorted(state.ledger.pods.items()):
        yield (uid, "CPUs as a whole"), cpu_set.text(of_pod)
    for uid, baselines in sorted(state.ledger.other_baselines.items()):
        for container, first in sorted(baselines.items()):
            shown = "none" if first is None else cpu_set.text(first)
            yield (f"{uid}/{container}", "first CPUs"), shown


def _device(state: DeviceState) -> Iterator[tuple[Member, Compared]]:
    for resource, ids in sorted((state.document.registered or {}).items()):
        yield (resource, "healthy devices"), ", ".join(sorted(ids or ()))
    for uid, containers in sorted(state.written.records.items()):
        for container, records in sorted(containers.items()):
            for resource, record in sorted(records.items()):
                yield (f"{uid}/{container}", resource), devices_text(record)
                yield (f"{uid}/{container}", f"{resource} response"), record.response.hex()


def devices_text(record: DeviceRecord) -> str:
    """Format the devices of a record with their NUMA nodes: ``gpu0@0, gpu1@0+1, nic``."""
    nodes: dict[str, list[int]] = {}
    for node_id, ids in sorted(record.by_node.items()):
        for name in ids:
            nodes.setdefault(name, []).extend([] if node_id == NO_NODE else [node_id])
    return ", ".join(
        name + (f"@{'+'.join(map(str, on))}" if on else "") for name, on in sorted(nodes.items())
    )
