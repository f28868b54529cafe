"""Changes of the machine since the state files were written.

The kubelet compares the memory totals of each NUMA node to the byte, and they vary between boots.
Such *small* changes are separate from changed hardware.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from numalet.core.admission import roster
from numalet.core.admission.roster import Roster
from numalet.core.managers.cpu import cpu_mask
from numalet.core.managers.cpu.ledger import CpuLedger
from numalet.core.managers.cpu.static_policy import CpuStaticPolicy
from numalet.core.managers.memory.ledger import MemoryLedger, MemoryTable, NodeMemory
from numalet.core.model import cpu_set, resources
from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.findings import Finding, Location, Severity
from numalet.insight.state import cpu_rules
from numalet.insight.state.cpu_rules import StateContainerIds
from numalet.insight.state.memory_rules import place
from numalet.insight.state.reading import CpuState, MemoryState
from numalet.wording import numbers


class DriftEmptyPool(Finding):
    sentence = "the pool is empty, and {pods} pods hold CPUs"
    pods: int


class DriftCpusGone(Finding):
    sentence = "the CPUs {cpus} are missing; {containers} containers hold some of them"
    cpus: str
    containers: int


class DriftCpusNew(Finding):
    sentence = (
        "the file does not list CPUs {cpus}: they are new, now online, or were reserved with "
        "strict-cpu-reservation"
    )
    cpus: str


class DriftReservedCpusHeld(Finding):
    sentence = (
        "containers hold the reserved CPUs {cpus} ({containers} in all): the reservation "
        "has changed, or the kubelet allocated reserved CPUs, a bug on machines whose cores have "
        "different numbers of CPUs"
    )
    cpus: str
    containers: int


class DriftStrictReservation(Finding):
    sentence = (
        "the reserved CPUs {cpus} are in the pool; with strict-cpu-reservation they must not be"
    )
    cpus: str


def cpu_drift(staff: Roster, state: CpuState) -> Iterator[Finding]:
    policy, ledger = staff.static_cpus, state.ledger
    if policy is None or not (ledger.default or ledger.exclusive):
        return
    if not ledger.default:
        yield DriftEmptyPool(pods=len(ledger.exclusive), where=cpu_rules.place("defaultCpuSet"))
    yield from _cpus(policy, ledger)
    yield from _reserved(policy, ledger)
    for finding in cpu_rules.breaches(state, None):
        # An empty pool is reported above.
        if finding.severity is Severity.ERROR or isinstance(finding, StateContainerIds):
            yield finding


def _held(ledger: CpuLedger) -> CpuSet:
    return cpu_set.EMPTY.union(
        *(cpus for containers in ledger.exclusive.values() for cpus in containers.values()),
        *ledger.pods.values(),
    )


def _cpus(policy: CpuStaticPolicy, ledger: CpuLedger) -> Iterator[Finding]:
    there = cpu_mask.to_set(policy.topology.cpus)
    listed = ledger.default | _held(ledger)
    gone = listed - there
    if gone:
        yield DriftCpusGone(
            cpus=cpu_set.text(gone), containers=_count(ledger, gone), where=cpu_rules.place()
        )
    unknown = policy.initial_default - listed
    if unknown:
        yield DriftCpusNew(cpus=cpu_set.text(unknown), where=cpu_rules.place())


def _count(ledger: CpuLedger, cpus: CpuSet) -> int:
    return sum(
        bool(held & cpus)
        for containers in ledger.exclusive.values()
        for held in containers.values()
    )


def _reserved(policy: CpuStaticPolicy, ledger: CpuLedger) -> Iterator[Finding]:
    reserved = cpu_mask.to_set(policy.reserved.cpus)
    overlap = reserved & _held(ledger)
    if overlap:
        yield DriftReservedCpusHeld(
            cpus=cpu_set.text(overlap),
            containers=_count(ledger, overlap),
            where=cpu_rules.place("entries"),
        )
    if policy.rules.strict_cpu_reservation and reserved & ledger.default:
        yield DriftStrictReservation(
            cpus=cpu_set.text(reserved & ledger.default), where=cpu_rules.place("defaultCpuSet")
        )


class DriftNodeLost(Finding):
    sentence = "NUMA node {node} is missing; {containers} containers hold memory there"
    node: int
    containers: int


class DriftNodeNew(Finding):
    sentence = "NUMA node {node} is new"
    node: int


class TotalFinding(Finding):
    """Another total of a node; the subclasses name the probable cause. Sizes are bytes."""

    node: int
    found: int
    expected: int
    difference: str


class DriftTotal(TotalFinding):
    sentence = (
        "NUMA node {node} has another total, {difference}: memory was added, removed, or is "
        "counted in another way ({found} bytes, now {expected})"
    )


class DriftRandomised(TotalFinding):
    sentence = (
        "NUMA node {node} has another total, {difference}, and other nodes the reverse, as after "
        "a reboot with address randomisation ({found} bytes, now {expected})"
    )


class DriftSmallTotal(TotalFinding):
    sentence = (
        "NUMA node {node} has another total, {difference}: a small change, as after a reboot or "
        "an update of kernel or firmware ({found} bytes, now {expected})"
    )


class DriftTypeGone(Finding):
    sentence = "NUMA node {node} has no {type} any more"
    node: int
    type: str


class DriftTypeNew(Finding):
    sentence = "NUMA node {node} has {type} now"
    node: int
    type: str


class DriftHugepages(Finding):
    sentence = "NUMA node {node} had {found} pages of {type}, and has {expected} now"
    node: int
    type: str
    found: int
    expected: int


class DriftReserved(Finding):
    sentence = (
        "the configuration reserves {expected} bytes of {type} on NUMA node {node}; the file was "
        "written with {found}"
    )
    node: int
    type: str
    found: int
    expected: int


MOST_OF_A_BOOT_BYTES: Final = 128 << 20
"""The kernel's image and late-freed memory: tens of MiB. Memory modules are larger."""

_MOST_LOST_ON_THE_WAY_BYTES: Final = 4 << 20
"""A move between nodes changes the sum by a few pages at most."""


def memory_drift(staff: Roster, state: MemoryState) -> Iterator[Finding]:
    nodes, now = state.ledger.nodes, roster.initial_memory(staff.rules)
    if not nodes:
        return
    for node_id in sorted(nodes.keys() - now.keys()):
        yield DriftNodeLost(
            node=node_id, containers=_holders(state.ledger, node_id), where=_at(node_id)
        )
    for node_id in sorted(now.keys() - nodes.keys()):
        yield DriftNodeNew(node=node_id, where=_at(node_id))
    common = sorted(nodes.keys() & now.keys())
    yield from _totals({i: _delta(nodes[i], now[i]) for i in common}, nodes)
    for node_id in common:
        yield from _node(node_id, nodes[node_id], now[node_id])


def _at(node_id: int) -> Location:
    return place(f"machineState.{node_id}")


def _holders(ledger: MemoryLedger, node_id: int) -> int:
    return sum(
        any(node_id in block.nodes for block in blocks)
        for containers in ledger.blocks.values()
        for blocks in containers.values()
    )


def _delta(before: NodeMemory, after: NodeMemory) -> int:
    mine, theirs = before.tables.get(resources.MEMORY), after.tables[resources.MEMORY]
    return 0 if mine is None else theirs.total - mine.total


def _totals(deltas: Mapping[int, int], nodes: Mapping[int, NodeMemory]) -> Iterator[Finding]:
    """Yield the probable causes of changed totals."""
    changed = {node_id: delta for node_id, delta in deltas.items() if delta}
    # All nodes are judged together, because a move shows on two of them.
    small = {n: delta for n, delta in changed.items() if abs(delta) <= MOST_OF_A_BOOT_BYTES}
    # Address randomisation moves the kernel's image from one NUMA node to another: one total grows,
    # another shrinks, and the sum is nearly the same.
    goes_round = (
        min(small.values(), default=0) < 0 < max(small.values(), default=0)
        and abs(sum(small.values())) <= _MOST_LOST_ON_THE_WAY_BYTES
    )
    for node_id, delta in changed.items():
        total = nodes[node_id].tables[resources.MEMORY].total
        of_small: type[TotalFinding] = DriftRandomised if goes_round else DriftSmallTotal
        what = of_small if node_id in small else DriftTotal
        yield what(
            node=node_id,
            found=total,
            expected=total + delta,
            difference=("-" if delta < 0 else "+") + numbers.size(abs(delta)),
            where=_at(node_id),
        )


def _node(node_id: int, before: NodeMemory, after: NodeMemory) -> Iterator[Finding]:
    for name in sorted(before.tables.keys() - after.tables.keys()):
        yield DriftTypeGone(node=node_id, type=name, where=_at(node_id))
    for name in sorted(after.tables.keys() - before.tables.keys()):
        yield DriftTypeNew(node=node_id, type=name, where=_at(node_id))
    for name in sorted(before.tables.keys() & after.tables.keys()):
        yield from _table(node_id, name, before.tables[name], after.tables[name])


def _table(node_id: int, name: str, before: MemoryTable, after: MemoryTable) -> Iterator[Finding]:
    if before.system_reserved != after.system_reserved:
        yield DriftReserved(
            node=node_id,
            type=name,
            found=before.system_reserved,
            expected=after.system_reserved,
            where=_at(node_id),
        )
    if name != resources.MEMORY and before.total != after.total:
        page = resources.page_bytes(name) or 1
        yield DriftHugepages(
            node=node_id,
            type=name,
            found=before.total // page,
            expected=after.total // page,
            where=_at(node_id),
        )
