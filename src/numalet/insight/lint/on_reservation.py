"""Rules about the sum: reservedMemory must equal the node's reserved amount.

The kubelet reports only that two numbers differ. These rules name the common mistakes.
"""

from __future__ import annotations

from collections.abc import Iterator

from numalet.core.config import node_allocatable, reservation
from numalet.core.config.node_allocatable import MEMORY_AVAILABLE
from numalet.core.findings.phrases import FORMULA
from numalet.core.model import resources
from numalet.core.model.findings import Finding, Severity
from numalet.core.model.quantity import ZERO, Quantity
from numalet.insight.lint.lint_finding import LintFinding, LintWarning
from numalet.insight.lint.subject import LintSubject


class LintReservedHugepages(LintFinding):
    sentence = (
        "reservedMemory reserves {amount} of {type} on NUMA node {numa_node}; the sum over all "
        "nodes must be 0 for huge pages"
    )
    why = FORMULA + " kubeReserved and systemReserved take no huge pages, so that sum is 0."
    fix = "remove {type} from reservedMemory"
    type: str
    amount: Quantity
    numa_node: int


class LintDefaultEvictionForgotten(LintFinding):
    sentence = (
        "reservedMemory reserves {given}, expected {expected}: evictionHard is not set, and its "
        "default for memory.available is {threshold}"
    )
    why = FORMULA + " The default of that threshold is not zero."
    fix = (
        "add {threshold} to one entry, give evictionHard, or let 'numalet reserve' compute the "
        "entries"
    )
    given: Quantity
    threshold: Quantity
    expected: Quantity


class LintDefaultEvictionNotMerged(LintFinding):
    sentence = (
        "reservedMemory reserves {given}, {threshold} more than the expected {expected}: "
        "evictionHard is set without memory.available, so the default does not apply"
    )
    why = "evictionHard replaces all defaults if it is set."
    fix = "add memory.available: {threshold} to evictionHard{or_merge}, or take it off one entry"
    given: Quantity
    threshold: Quantity
    expected: Quantity
    or_merge: str


class LintNoMemoryThreshold(LintWarning):
    sentence = (
        "memory.available has no hard eviction threshold; the default {threshold} does not apply "
        "here"
    )
    why = (
        "Without a threshold the kubelet evicts nothing before memory runs out, and the kernel "
        "kills any process. evictionHard replaces all defaults, and a kubelet that is run with "
        "flags only has no default."
    )
    fix = "add memory.available to evictionHard{or_merge}, and the same amount to reservedMemory"
    threshold: Quantity
    or_merge: str


class LintEvictionPercentage(LintFinding):
    sentence = (
        "memory.available {value} is {amount_bytes} ({exactly} bytes) on this machine with "
        "{capacity_bytes}, and another number on every other"
    )
    why = (
        "The kubelet applies a percentage to the machine's memory in 32-bit floating point, and "
        "reservedMemory has to match the result to the byte."
    )
    fix = "write an amount of bytes, such as 500Mi, if machines differ"
    value: str
    amount_bytes: int
    exactly: int
    capacity_bytes: int


class LintReservedMemoryNotRead(LintWarning):
    sentence = "reservedMemory is set, but memoryManagerPolicy {policy!r} does not read it"
    why = "Only the memory policy Static, or BestEffort on Windows, reads it."
    fix = "set memoryManagerPolicy to Static, or remove reservedMemory"
    policy: str


_RESERVED = "reservedMemory"
_EVICTION = "evictionHard"


def hugepages_reserved(subject: LintSubject) -> Iterator[Finding]:
    severity = Severity.ERROR if subject.pins_memory else Severity.WARNING
    for index, entry in enumerate(subject.config.reserved_memory):
        for name in sorted(filter(resources.is_hugepages, entry.limits)):
            where = subject.config.where(f"{_RESERVED}[{index}].limits.{name}")
            yield LintReservedHugepages(
                type=name,
                amount=entry.limits[name],
                numa_node=entry.numa_node,
                where=where,
                severity=severity,
            )


def default_eviction_forgotten(subject: LintSubject) -> Iterator[Finding]:
    parts, given = subject.memory_parts, _given(subject)
    if parts is None or not subject.config.uses_default_eviction or given.is_zero:
        return
    # Exactly the default: any other difference has another cause.
    if not parts.eviction.is_zero and given + parts.eviction == parts.total:
        where = subject.config.where(_RESERVED)
        yield LintDefaultEvictionForgotten(
            given=given,
            threshold=parts.eviction,
            expected=parts.total,
            where=where,
            severity=_severity(subject),
        )


def default_eviction_not_merged(subject: LintSubject) -> Iterator[Finding]:
    parts, default = subject.memory_parts, _default_threshold(subject)
    if parts is None or not _lacks_memory_threshold(subject):
        return
    if _given(subject) == parts.total + default:
        where = subject.config.where(_EVICTION)
        yield LintDefaultEvictionNotMerged(
            given=_given(subject),
            threshold=default,
            expected=parts.total,
            or_merge=_or_merge(subject),
            where=where,
            severity=_severity(subject),
        )


def no_memory_threshold(subject: LintSubject) -> Iterator[Finding]:
    if _lacks_memory_threshold(subject):
        where = subject.config.where(_EVICTION)
        yield LintNoMemoryThreshold(
            threshold=_default_threshold(subject), or_merge=_or_merge(subject), where=where
        )


def threshold_is_a_percentage(subject: LintSubject) -> Iterator[Finding]:
    value = subject.effective.eviction_hard.get(MEMORY_AVAILABLE, "")
    parts = subject.memory_parts
    # A threshold of 0 % or 100 % is off.
    if not value.endswith("%") or parts is None or parts.eviction.is_zero:
        return
    where = subject.config.where(f"{_EVICTION}.{MEMORY_AVAILABLE}")
    severity = Severity.WARNING if subject.pins_memory else Severity.NOTE
    yield LintEvictionPercentage(
        value=value,
        amount_bytes=parts.eviction.value,
        exactly=parts.eviction.value,
        capacity_bytes=subject.machine.memory_capacity_bytes,
        where=where,
        severity=severity,
    )


def reservation_is_not_read(subject: LintSubject) -> Iterator[Finding]:
    config = subject.config
    if config.reserved_memory and not subject.pins_memory:
        yield LintReservedMemoryNotRead(
            policy=config.memory_manager_policy, where=config.where(_RESERVED)
        )


def _given(subject: LintSubject) -> Quantity:
    total = ZERO
    for amount in reservation.total_by_node(subject.config.reserved_memory).values():
        total += amount
    return total


def _default_threshold(subject: LintSubject) -> Quantity:
    return Quantity.parse(node_allocatable.default_eviction(subject.machine.os)[MEMORY_AVAILABLE])


def _or_merge(subject: LintSubject) -> str:
    """Return the other way to a default threshold, if the release has it."""
    has_field = subject.release_rules.default_eviction_is_merged_if_asked
    return ", or set mergeDefaultEvictionSettings to true" if has_field else ""


def _lacks_memory_threshold(subject: LintSubject) -> bool:
    config = subject.effective
    return not config.ignore_hard_eviction and MEMORY_AVAILABLE not in config.eviction_hard


def _severity(subject: LintSubject) -> Severity:
    return Severity.ERROR if subject.pins_memory else Severity.WARNING
