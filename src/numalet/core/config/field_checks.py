"""Checks of single fields and of pairs: rows of a condition and the kubelet's text.

A text shows fields by name (``{maxPods}``), durations like Go, and ``:q`` quotes. ``validation``
has the rows in the kubelet's order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from numalet.core.config import kubelet_fields
from numalet.core.config.feature_gates import FeatureGates
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.config.releases.release import ReleaseRules
from numalet.core.findings.config import (
    ConfigFieldNeedsGate,
    ConfigFieldsConflict,
    ConfigFieldValue,
    ConfigReservedCpus,
    ConfigReservedCpusWithCgroups,
    FieldFinding,
)
from numalet.core.findings.reservation import (
    ConfigEnforceBothForms,
    ConfigEnforceDuplicate,
    ConfigEnforceNoneWithOthers,
    ConfigEnforceUnknown,
    ConfigEnforceWithoutCgroup,
    ConfigEnforceWithoutQosCgroups,
    ConfigReservedMemoryDuplicate,
    ConfigReservedMemoryType,
    ConfigReservedMemoryZero,
    ReservedMemoryEntryFinding,
)
from numalet.core.model import cpu_set, go_text, resources
from numalet.core.model.findings import Finding
from numalet.core.model.go_text import GoText
from numalet.core.model.value import Value

_DURATION: Final = "duration"


class Checked(Value):
    config: KubeletConfig
    rules: ReleaseRules
    gates: FeatureGates

    def __call__(self, field: str) -> Any:
        """Return the value of a field, after defaulting."""
        return kubelet_fields.value(self.config, field)

    def __getitem__(self, field: str) -> Any:
        value = self(field)
        if kubelet_fields.FIELDS[field].type == _DURATION:
            return go_text.duration_text(value)
        return GoText(value) if isinstance(value, str) else value


Check = Callable[[Checked], Iterator[Finding]]
When = Callable[[Checked], bool]
Text = str | Callable[[Checked], str]


def always(_of: Checked) -> bool:
    return True


def rule(name: str) -> When:
    return lambda of: bool(getattr(of.rules, name))


def gate(name: str) -> When:
    return lambda of: of.gates.enabled(name)


def _check(
    made: type[FieldFinding], field: str, text: Text, when: When, is_wrong: When, **more: Any
) -> Check:
    def check(of: Checked) -> Iterator[Finding]:
        if when(of) and is_wrong(of):
            problem = text.format_map(of) if isinstance(text, str) else text(of)
            yield made(field=field, problem=problem, where=of.config.where(field), **more)

    return check


def value(
    field: str,
    is_wrong: Callable[[Any], bool],
    text: Text,
    *,
    when: When = always,
    made: type[FieldFinding] = ConfigFieldValue,
) -> Check:
    """Make a check of one value; an absent value always passes."""

    def is_given_and_wrong(of: Checked) -> bool:
        given = of(field)
        return given is not None and is_wrong(given)

    return _check(made, field, text, when, is_given_and_wrong)


def at_least(field: str, lowest: int, text: Text, *, when: When = always) -> Check:
    return value(field, lambda number: number < lowest, text, when=when)


def not_negative(field: str, flag: str) -> Check:
    return at_least(field, 0, f"{field} ({flag}) {{{field}}} must not be a negative number")


def in_range(field: str, flag: str, lowest: int, highest: int, shown: int | None = None) -> Check:
    """Make a check of a range; ``shown`` replaces the minimum in the kubelet's text."""
    least = lowest if shown is None else shown
    text = f"{field} ({flag}) {{{field}}} must be between {least} and {highest}, inclusive"
    return value(field, lambda number: not lowest <= number <= highest, text)


def one_of(field: str, options: tuple[str, ...], text: Text, *, when: When = always) -> Check:
    return value(field, lambda given: given not in options, text, when=when)


def conflict(field: str, other: str, is_wrong: When, text: Text, *, when: When = always) -> Check:
    """Make a check of a field that contradicts another one or requires it."""
    return _check(ConfigFieldsConflict, field, text, when, is_wrong, other=other)


def needs_gate(
    field: str, gate: str, text: Text, *, is_set: When | None = None, when: When = always
) -> Check:
    def is_missing(of: Checked) -> bool:
        given = is_set(of) if is_set is not None else bool(of(field))
        return given and not of.gates.enabled(gate)

    return _check(ConfigFieldNeedsGate, field, text, when, is_missing, gate=gate)


# The checks of enforced reservations, reserved CPUs and reserved memory.

_PODS: Final = "pods"
_NONE: Final = "none"
_RESERVED_PAIRS: Final = (
    ("system-reserved", "system-reserved-compressible"),
    ("kube-reserved", "kube-reserved-compressible"),
)
_ENFORCE: Final = "enforceNodeAllocatable"


def enforcement(of: Checked) -> Iterator[Finding]:
    config = of.config
    keys = config.enforce_node_allocatable
    for whole, compressible in _RESERVED_PAIRS:
        if whole in keys and compressible in keys:
            yield ConfigEnforceBothForms(
                whole=GoText(whole),
                compressible=GoText(compressible),
                where=config.where(_ENFORCE),
            )
    for index, key in enumerate(keys):
        place = f"{_ENFORCE}[{index}]"
        if key in keys[:index]:
            yield ConfigEnforceDuplicate(key=GoText(key), where=config.where(place))
        else:
            yield from _enforcement_key(config, key, place)


def _enforcement_key(config: KubeletConfig, key: str, place: str) -> Iterator[Finding]:
    """Check one key; ``none`` and unknown keys skip the check of the QoS cgroups."""
    cgroups = (config.system_reserved_cgroup, config.kube_reserved_cgroup)
    if key == _NONE:
        if len(config.enforce_node_allocatable) > 1:
            yield ConfigEnforceNoneWithOthers(where=config.where(place))
        return
    pair = next((pair for pair in _RESERVED_PAIRS if key in pair), None)
    if pair is None and key != _PODS:
        yield ConfigEnforceUnknown(key=GoText(key), where=config.where(place))
        return
    if pair is not None and not cgroups[_RESERVED_PAIRS.index(pair)]:
        owner = pair[0].removesuffix("-reserved")
        yield ConfigEnforceWithoutCgroup(owner=owner, key=GoText(key), where=config.where(place))
    if not config.cgroups_per_qos:
        yield ConfigEnforceWithoutQosCgroups(key=GoText(key), where=config.where(place))


def reserved_cpus(of: Checked) -> Iterator[Finding]:
    config = of.config
    cpus, where = config.reserved_system_cpus, config.where("reservedSystemCPUs")
    if not cpus:
        return
    if config.system_reserved_cgroup or config.kube_reserved_cgroup:
        yield ConfigReservedCpusWithCgroups(cpus=cpus, where=where)
    try:
        cpu_set.parse(cpus)
    except cpu_set.CpuListError as error:
        yield ConfigReservedCpus(cpus=cpus, problem=error.go_text, where=where)


def reserved_memory(of: Checked) -> Iterator[Finding]:
    config = of.config
    seen: set[tuple[int, str]] = set()
    for index, entry in enumerate(config.reserved_memory):
        for name in sorted(entry.limits):
            problems: list[type[ReservedMemoryEntryFinding]] = []
            if not resources.is_memory_type(name):
                problems.append(ConfigReservedMemoryType)
            if entry.limits[name].is_zero:
                problems.append(ConfigReservedMemoryZero)
            if (entry.numa_node, name) in seen:
                problems.append(ConfigReservedMemoryDuplicate)
            where = config.where(f"reservedMemory[{index}].limits.{name}")
            for problem in problems:
                yield problem(numa_node=entry.numa_node, type=GoText(name), where=where)
            seen.add((entry.numa_node, name))
