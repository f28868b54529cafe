"""Which rejection reasons a kubelet with given rules can produce at all.

Topology policy none or best-effort never produces ``TopologyAffinityError``; other policies do so
only if some manager has hints for the pod. This module knows the reasons of the three managers;
every kubelet may write the others. Kubelet v1.32 to v1.36: ``policy_static.go`` of the CPU Manager
and the Memory Manager, ``topologymanager/scope.go``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from numalet.core.config.rules import CpuPolicy, MemoryPolicy, NodeRules, TopologyPolicy
from numalet.core.model.pod import Pod
from numalet.core.model.value import Value

_UNEXPECTED: Final = "UnexpectedAdmissionError"
_ALIGNING: Final = (TopologyPolicy.RESTRICTED, TopologyPolicy.SINGLE_NUMA_NODE)


class NeverGiven(Value):
    """These rules never produce the reason: the required setting, and the actual one."""

    needs: str
    has: str


class _Origin(Value):
    """The settings that can produce a reason, for messages with one of ``texts`` (empty: any)."""

    reason: str
    texts: tuple[str, ...]
    is_possible: Callable[[NodeRules, Pod], bool]
    needs: str
    has: Callable[[NodeRules], str]


def _aligns(rules: NodeRules, _pod: Pod) -> bool:
    return rules.topology.policy in _ALIGNING and not rules.managers_are_stand_ins


def _gives_cpus(rules: NodeRules, _pod: Pod) -> bool:
    return rules.cpu.policy is CpuPolicy.STATIC


def _gives_whole_cores(rules: NodeRules, pod: Pod) -> bool:
    return _gives_cpus(rules, pod) and rules.cpu.full_pcpus_only


def _gives_memory(rules: NodeRules, _pod: Pod) -> bool:
    return rules.memory.policy is not MemoryPolicy.NONE


def _has_hints(rules: NodeRules, pod: Pod) -> bool:
    asks_devices = any("/" in name for each in pod.containers() for name in each.limits)
    return asks_devices or _gives_cpus(rules, pod) or _gives_memory(rules, pod)


def _cpu_policy(rules: NodeRules) -> str:
    options = ", without full-pcpus-only" if rules.cpu.policy is CpuPolicy.STATIC else ""
    return f"CPU Manager policy {rules.cpu.policy.value}{options}"


def _memory_policy(rules: NodeRules) -> str:
    return f"Memory Manager policy {rules.memory.policy.value}"


_ORIGINS: Final = (
    _Origin(
        "TopologyAffinityError",
        (),
        _aligns,
        "topology policy restricted or single-numa-node",
        lambda rules: f"topology policy {rules.topology.policy.value}",
    ),
    _Origin(
        "TopologyAffinityError",
        (),
        _has_hints,
        "CPU Manager policy static or Memory Manager policy Static for a pod without devices",
        lambda rules: f"{_cpu_policy(rules)} and {_memory_policy(rules)}",
    ),
    _Origin(
        "SMTAlignmentError",
        (),
        _gives_whole_cores,
        "CPU Manager policy static with full-pcpus-only",
        _cpu_policy,
    ),
    _Origin(
        _UNEXPECTED,
        ("not enough cpus available to satisfy request", "accounting error, not enough CPUs"),
        _gives_cpus,
        "CPU Manager policy static",
        _cpu_policy,
    ),
    _Origin(
        _UNEXPECTED,
        ("[memorymanager]",),
        _gives_memory,
        "Memory Manager policy Static",
        _memory_policy,
    ),
)


def why_impossible(reason: str, message: str, rules: NodeRules, pod: Pod) -> NeverGiven | None:
    """Return why a kubelet with these rules never gives the pod this reason."""
    for each in _ORIGINS:
        is_meant = not each.texts or any(text in message for text in each.texts)
        if reason == each.reason and is_meant and not each.is_possible(rules, pod):
            return NeverGiven(each.needs, each.has(rules))
    return None
