"""Rules about the sum: reservedMemory must add up to what the node keeps back.

The kubelet says only that two numbers differ. These rules say which of the well-known slips it is.
"""

from __future__ import annotations

from collections.abc import Iterator

from numalet.core.config import node_allocatable, reservation
from numalet.core.config.node_allocatable import MEMORY_AVAILABLE
from numalet.core.model import resources
from numalet.core.model.findings import Finding, Severity
from numalet.core.model.quantity import ZERO, Quantity
from numalet.insight.lint.subject import LintSubject

_RESERVED = "reservedMemory"
_EVICTION = "evictionHard"


def hugepages_reserved(subject: LintSubject) -> Iterator[Finding]:
    """Huge pages in reservedMemory: the required sum is always 0."""
    severity = Severity.ERROR if subject.pins_memory else Severity.WARNING
    for index, entry in enumerate(subject.config.reserved_memory):
        for name in sorted(filter(resources.is_hugepages, entry.limits)):
            where = subject.config.where(f"{_RESERVED}[{index}].limits.{name}")
            fields = {
                "type": name,
                "amount": entry.limits[name],
                "numa_node": entry.numa_node,
            }
            yield Finding("lint/reserved-hugepages", fields, where, severity)


def default_eviction_forgotten(subject: LintSubject) -> Iterator[Finding]:
    """The sum lacks exactly the threshold that the kubelet fills in."""
    parts, given = subject.memory_parts, _given(subject)
    if parts is None or not subject.config.uses_default_eviction or given.is_zero:
        return
    if not parts.eviction.is_zero and given + parts.eviction == parts.total:
        fields = {"given": given, "threshold": parts.eviction, "expected": parts.total}
        where = subject.config.where(_RESERVED)
        yield Finding("lint/default-eviction-forgotten", fields, where, _severity(subject))


def default_eviction_not_merged(subject: LintSubject) -> Iterator[Finding]:
    """The sum has the default threshold in it, but evictionHard was given and replaces it."""
    parts, default = subject.memory_parts, _default_threshold(subject)
    if parts is None or not _lacks_memory_threshold(subject):
        return
    if _given(subject) == parts.total + default:
        fields = {"given": _given(subject), "threshold": default, "expected": parts.total}
        where = subject.config.where(_EVICTION)
        yield Finding("lint/default-eviction-not-merged", fields, where, _severity(subject))


def no_memory_threshold(subject: LintSubject) -> Iterator[Finding]:
    """EvictionHard says nothing about memory, so nothing is evicted before the node is full."""
    if _lacks_memory_threshold(subject):
        fields = {"threshold": _default_threshold(subject)}
        where = subject.config.where(_EVICTION)
        yield Finding("lint/no-memory-threshold", fields, where, Severity.WARNING)


def threshold_is_a_percentage(subject: LintSubject) -> Iterator[Finding]:
    """A percentage is another number of bytes on every machine; this one is told."""
    value = subject.effective.eviction_hard.get(MEMORY_AVAILABLE, "")
    parts = subject.memory_parts
    if not value.endswith("%") or parts is None or parts.eviction.is_zero:
        return
    fields = {
        "value": value,
        "amount_bytes": parts.eviction.value,
        "exactly": parts.eviction.value,
        "capacity_bytes": subject.machine.memory_capacity_bytes,
    }
    where = subject.config.where(f"{_EVICTION}.{MEMORY_AVAILABLE}")
    severity = Severity.WARNING if subject.pins_memory else Severity.NOTE
    yield Finding("lint/eviction-percentage", fields, where, severity)


def reservation_is_not_read(subject: LintSubject) -> Iterator[Finding]:
    """ReservedMemory is there, but no policy reads it."""
    config = subject.config
    if config.reserved_memory and not subject.pins_memory:
        fields = {"policy": config.memory_manager_policy}
        yield Finding(
            "lint/reserved-memory-not-read", fields, config.where(_RESERVED), Severity.WARNING
        )


def _given(subject: LintSubject) -> Quantity:
    """The sum of reservedMemory over all nodes."""
    total = ZERO
    for amount in reservation.total_by_node(subject.config.reserved_memory).values():
        total += amount
    return total


def _default_threshold(subject: LintSubject) -> Quantity:
    return Quantity.parse(node_allocatable.default_eviction(subject.machine.os)[MEMORY_AVAILABLE])


def _lacks_memory_threshold(subject: LintSubject) -> bool:
    config = subject.effective
    return not config.ignore_hard_eviction and MEMORY_AVAILABLE not in config.eviction_hard


def _severity(subject: LintSubject) -> Severity:
    return Severity.ERROR if subject.pins_memory else Severity.WARNING
