"""The kubelet's log lines about start, containers and cgroups.

Kubelet: ``topology_manager.go``, ``memory_manager.go``, v1.32.
"""

from __future__ import annotations

from collections.abc import Iterable

from numalet.core.config.rules import MemoryPolicy, NodeRules, TopologyPolicy
from numalet.core.enforcement.levels import GuaranteeLevel
from numalet.core.model import cpu_set
from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.pod import Pod
from numalet.shared.findings import notes
from numalet.wording.log_line import LogLine


def of_start(rules: NodeRules) -> list[LogLine]:
    lines = [_topology(rules)]
    if rules.memory.policy is not MemoryPolicy.NONE:
        lines.append(LogLine("Starting memorymanager", {"policy": rules.memory.policy.value}))
    if rules.release_rules.checks_and_starts_are_logged:
        lines.append(LogLine("CPU manager started", level=4))
        if rules.memory.policy is not MemoryPolicy.NONE:
            lines.append(LogLine("memorymanager started", level=4))
    return lines


def _topology(rules: NodeRules) -> LogLine:
    topology = rules.topology
    if topology.policy is TopologyPolicy.NONE:
        return LogLine("Creating topology manager with none policy")
    return LogLine(
        "Creating topology manager with policy per scope",
        {
            "topologyPolicyName": topology.policy.value,
            "topologyScopeName": topology.scope.value,
            "topologyPolicyOptions": {
                "PreferClosestNUMA": topology.prefer_closest_numa_nodes,
                "MaxAllowableNUMANodes": topology.node_limit,
            },
        },
    )


def of_guarantee(level: GuaranteeLevel, shortfalls: Iterable[str]) -> list[LogLine]:
    """The level of enforcement, and one line for each missing part."""
    return [
        LogLine("Containers are held to their promises", {"guarantee": level.value}),
        *(LogLine(notes.sentence(code), {"code": code}, is_error=True) for code in shortfalls),
    ]


def of_start_of_container(pod: Pod, container: str, memory_nodes: Iterable[int]) -> list[LogLine]:
    """The line of a starting container with pinned memory."""
    nodes: dict[str, dict[str, str]] = {str(node_id): {} for node_id in memory_nodes}
    if not nodes:
        return []
    keys = {"pod": str(pod), "containerName": container, "numaNodes": nodes}
    return [LogLine("Memory affinity", keys)]


def of_cpuset(
    pod: Pod, container: str, cpus: CpuSet | None, memory_nodes: Iterable[int] | None
) -> list[LogLine]:
    """Lines of a write of ``cpuset.cpus`` and ``cpuset.mems``, as far as they are written."""
    about = {"pod": str(pod), "containerName": container}
    lines = []
    if cpus is not None:
        keys = {**about, "cpuset.cpus": cpu_set.text(cpus)}
        # Level 2: the shared CPUs of every container change with each exclusive allocation.
        lines.append(LogLine("Updated cpuset.cpus", keys, level=2))
    if memory_nodes is not None:
        keys = {**about, "cpuset.mems": cpu_set.text(frozenset(memory_nodes))}
        lines.append(LogLine("Updated cpuset.mems", keys, level=2))
    return lines
