"""Rules about reserved memory by NUMA node: too much, unsuitable nodes, an uneven split."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final

from numalet.core.config import reservation
from numalet.core.config.reservation import NodeShare, Spread, Strategy
from numalet.core.config.rules import Scope
from numalet.core.managers.memory import demand as demands
from numalet.core.managers.memory.reasons import NotAnInteger
from numalet.core.model import cpu_set, resources
from numalet.core.model.findings import Finding, Location, Severity
from numalet.core.model.pod import Pod
from numalet.core.model.quantity import Quantity
from numalet.core.model.value import replace
from numalet.insight.lint.lint_finding import LintFinding, LintWarning
from numalet.insight.lint.subject import LintSubject

_NODE_MAP: Final = (
    "The Memory Manager subtracts the reservation of a node, and for ordinary memory its huge "
    "pages, from what the node has, in unsigned 64-bit numbers."
)


class LintReservedHugepagesAbsent(LintWarning):
    sentence = "reservedMemory names {type} on NUMA node {numa_node}, which has no such pages"
    why = "Reserved pages must exist."
    fix = "remove {type} of NUMA node {numa_node}"
    type: str
    numa_node: int


class ReservedTooMuchFinding(LintFinding):
    numa_node: int
    reserved_bytes: int
    memory_bytes: int
    hugepages_bytes: int


class LintReservedMoreThanNode(ReservedTooMuchFinding):
    sentence = (
        "{reserved_bytes} are reserved on NUMA node {numa_node}, which has {memory_bytes}, "
        "including {hugepages_bytes} of huge pages"
    )
    why = _NODE_MAP + " Below zero they wrap around: the node then seems to have 16 EiB."
    fix = "reserve less here and more on another node; let 'numalet reserve' compute the entries"


class LintReservedOnMemorylessNode(ReservedTooMuchFinding):
    sentence = "{reserved_bytes} are reserved on NUMA node {numa_node}, which has no memory"
    why = _NODE_MAP + " Below zero they wrap around: the node then seems to have 16 EiB."
    fix = "move the amount to a node that has memory; let 'numalet reserve' compute the entries"


class LintReservedOnCpulessNode(LintWarning):
    sentence = "{reserved_bytes} are reserved on NUMA node {numa_node}, which has no CPUs"
    why = "The system and the kubelet run on CPUs, and use the memory near them first."
    fix = "move the amount to nodes with CPUs; let 'numalet reserve' compute the entries"
    numa_node: int
    reserved_bytes: int


class LintMemoryOnCpulessNodes(LintWarning):
    sentence = (
        "{left_bytes} of the memory that pods may get are on NUMA nodes without CPUs: {numa_nodes}"
    )
    why = (
        "The Memory Manager does not distinguish memory of an accelerator, of a CXL expander, or "
        "high-bandwidth memory from other memory. A pod without exclusive CPUs, "
        "or one that needs several nodes, can get it."
    )
    fix = (
        "keep back all of it: on these nodes in reservedMemory, and as much more in kubeReserved; "
        "or use --native, where memoryNodeClasses says which nodes pods get memory of"
    )
    numa_nodes: str
    left_bytes: int


class LintUnbalancedReservation(LintWarning):
    sentence = (
        "the reservation leaves {left_bytes} on NUMA node {numa_node}; an even or proportional "
        "split of the same sum leaves {better_bytes} on every node with CPUs"
    )
    why = (
        "Pods of equal size, one for each NUMA node, must fit on the node with the least memory "
        "left. A pod that does not fit takes two nodes and blocks both for others."
    )
    fix = "split the sum evenly, or let 'numalet reserve' do it"
    numa_node: int
    left_bytes: int
    better_bytes: int


class LintReservationWidensPod(LintWarning):
    sentence = (
        "pod {pod}, {subject}: {asked_bytes} of memory need {nodes} NUMA nodes at least; with a "
        "split that is {strategy} they need {fewer}"
    )
    why = (
        "The preferred number of NUMA nodes is that of the smallest set that could hold the "
        "request on an empty machine; every further node cannot be used alone by others."
    )
    fix = "run 'numalet reserve --strategy {strategy}'"
    pod: str
    subject: str
    asked_bytes: int
    nodes: int
    fewer: int
    strategy: str


_PLACE = "reservedMemory"
_LEAST_PERCENT = 5
"""An uneven split is not reported if it costs a node less than this percentage of its room."""


def more_than_a_node_has(subject: LintSubject) -> Iterator[Finding]:
    # Only a Memory Manager that pins memory subtracts the reservation of a node.
    severity = Severity.ERROR if subject.pins_memory else Severity.WARNING
    for share in _shares(subject):
        if share.left_bytes >= 0:
            continue
        too_much = LintReservedMoreThanNode if share.memory_bytes else LintReservedOnMemorylessNode
        yield too_much(
            numa_node=share.numa_node,
            reserved_bytes=share.reserved_bytes,
            memory_bytes=share.memory_bytes,
            hugepages_bytes=share.hugepages_bytes,
            where=_where(subject, share.numa_node),
            severity=severity,
        )


def on_nodes_without_cpus(subject: LintSubject) -> Iterator[Finding]:
    for share in _shares(subject):
        # A fully reserved node is kept from pods on purpose, not for the system.
        if share.reserved_bytes and share.left_bytes and not share.has_cpus:
            where = _where(subject, share.numa_node)
            yield LintReservedOnCpulessNode(
                numa_node=share.numa_node, reserved_bytes=share.reserved_bytes, where=where
            )


def memory_without_cpus(subject: LintSubject) -> Iterator[Finding]:
    """Report nodes such as the memory of an accelerator."""
    if not subject.pins_memory:
        return
    nodes = subject.machine.nodes
    giving = {node.node_id for node in nodes if subject.behaviour.gives_memory(node)}
    shares = [share for share in _shares(subject) if share.numa_node in giving]
    far = [share for share in shares if not share.has_cpus and share.left_bytes > 0]
    # If no other node gives memory, pods have no choice.
    if far and len(far) < len(shares):
        where = subject.config.where("memoryManagerPolicy")
        yield LintMemoryOnCpulessNodes(
            numa_nodes=cpu_set.text(share.numa_node for share in far),
            left_bytes=sum(share.left_bytes for share in far),
            where=where,
        )


def absent_hugepages(subject: LintSubject) -> Iterator[Finding]:
    there = {
        (node.node_id, resources.hugepages_name(pages.page_size_kib))
        for node in subject.machine.nodes
        for pages in node.hugepages
        if pages.count
    }
    for index, entry in enumerate(subject.config.reserved_memory):
        for name in sorted(filter(resources.is_hugepages, entry.limits)):
            if (entry.numa_node, name) not in there:
                where = subject.config.where(f"{_PLACE}[{index}].limits.{name}")
                yield LintReservedHugepagesAbsent(type=name, numa_node=entry.numa_node, where=where)


def uneven_split(subject: LintSubject) -> Iterator[Finding]:
    if not subject.pins_memory or not subject.config.reserved_memory:
        return
    shares = _shares(subject)
    now = _level(shares)
    others = [_level(split) for _, split in _alternatives(subject)]
    # A negative rest is reported by another rule.
    if not others or now < 0:
        return
    better = min(others)
    # Integers: the rule must not depend on rounding.
    if (better - now) * 100 >= _LEAST_PERCENT * better > 0:
        least = min(_with_cpus(shares), key=lambda share: share.left_bytes)
        where = _where(subject, least.numa_node)
        yield LintUnbalancedReservation(
            numa_node=least.numa_node, left_bytes=now, better_bytes=better, where=where
        )


def widened_pods(subject: LintSubject) -> Iterator[Finding]:
    if not subject.pins_memory or not subject.config.reserved_memory:
        return
    shares, others = _shares(subject), _alternatives(subject)
    for pod, name, size_bytes in _memory_asked(subject):
        now = _fewest_nodes(shares, size_bytes)
        needs = [(_fewest_nodes(split, size_bytes), strategy) for strategy, split in others]
        best = min(needs, key=lambda need: need[0] or len(shares) + 1, default=None)
        if now is None or best is None or best[0] is None or best[0] >= now:
            continue
        where = subject.place_of(pod, name)
        yield LintReservationWidensPod(
            pod=str(pod),
            subject=f"container {name}" if name else "the pod as one",
            asked_bytes=size_bytes,
            nodes=now,
            fewer=best[0],
            strategy=best[1].value,
            where=where,
        )


def _shares(subject: LintSubject) -> tuple[NodeShare, ...]:
    """Return the machine's nodes with their reserved memory, in whole bytes."""
    reserved = reservation.total_by_node(subject.config.reserved_memory)
    none = Quantity()
    return tuple(
        replace(node, reserved_bytes=reserved.get(node.numa_node, none).value)
        for node in reservation.nodes_of(subject.machine)
    )


def _alternatives(subject: LintSubject) -> list[tuple[Spread, tuple[NodeShare, ...]]]:
    """Return other splits of the same sum, as far as they exist."""
    total = Quantity.from_bytes(sum(share.reserved_bytes for share in _shares(subject)))
    alternatives = []
    for strategy in (Spread.EVEN, Spread.PROPORTIONAL):
        shares = _split(subject, total, strategy)
        if shares is not None:
            alternatives.append((strategy, shares))
    return alternatives


def _split(
    subject: LintSubject, total: Quantity, strategy: Strategy
) -> tuple[NodeShare, ...] | None:
    shares = reservation.split(subject.machine, total, strategy)
    return None if isinstance(shares, Finding) else shares


def _with_cpus(shares: Sequence[NodeShare]) -> list[NodeShare]:
    return [share for share in shares if share.has_cpus and share.usable_bytes]


def _level(shares: Sequence[NodeShare]) -> int:
    return min((share.left_bytes for share in _with_cpus(shares)), default=0)


def _fewest_nodes(shares: Sequence[NodeShare], size_bytes: int) -> int | None:
    """Return how many empty nodes are needed for the size, if all suffice."""
    largest_first = sorted((share.left_bytes for share in shares), reverse=True)
    for count, held in enumerate(accumulate(largest_first), start=1):
        if held >= size_bytes:
            return count
    return None


def _memory_asked(subject: LintSubject) -> Iterator[tuple[Pod, str, int]]:
    """Yield pod, container (empty for pod scope) and bytes; equal requests only once."""
    as_one = subject.aligns and subject.config.topology_manager_scope == Scope.POD.value
    seen = set()
    for pod in subject.pods:
        if not demands.is_guaranteed(pod):
            continue
        containers = () if as_one else tuple(pod.containers())
        asked = [(c.name, demands.of_container(c, subject.behaviour)) for c in containers]
        asked += [("", demands.of_pod(pod, subject.behaviour))] if as_one else []
        for name, demand in asked:
            if isinstance(demand, NotAnInteger):
                continue
            size_bytes = demand.get(resources.MEMORY, 0)
            # Pods of one controller would repeat the finding.
            if size_bytes not in seen:
                seen.add(size_bytes)
                yield pod, name, size_bytes


def _where(subject: LintSubject, numa_node: int) -> Location:
    entries = enumerate(subject.config.reserved_memory)
    index = next(index for index, entry in entries if entry.numa_node == numa_node)
    return subject.config.where(f"{_PLACE}[{index}]")
