"""The kubelet's log lines about admissions, starts and cgroups.

An admission's lines come from its decision and its recorded events. Masks are integers, "any node"
is null. Kubelet: ``scope.go``, ``policy.go``, ``topology_manager.go``, and ``policy_static.go`` and
``memory_manager.go`` of the Memory Manager, v1.32.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Final, assert_never

from numalet.core.admission import counting
from numalet.core.admission.decision import (
    Allocated,
    Decision,
    Event,
    HintsAsked,
    HintsMerged,
    RefusedAllocation,
)
from numalet.core.config.rules import MemoryPolicy, NodeRules, Scope, TopologyPolicy
from numalet.core.enforcement.comparison import GuaranteeLevel
from numalet.core.hints.provider import (
    ZERO_HINT,
    Hint,
    HintFamily,
    Impossible,
    NoPreference,
    ProviderHints,
)
from numalet.core.hints.rule import HintRule
from numalet.core.model import cpu_set
from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.pod import ContainerKey, Pod, QosClass
from numalet.shared.findings import notes
from numalet.shared.kubernetes import pod_placement
from numalet.wording import kubelet
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
        LogLine("Level of enforcement of allocations", {"guarantee": level.value}),
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


MOST_HINTS: Final = 256
"""More than a kubelet has on 8 NUMA nodes."""

_MEMORY: Final = "memory"


def of_admission(rules: NodeRules, decision: Decision, events: Iterable[Event]) -> list[LogLine]:
    about = {"pod": str(decision.pod)}
    lines = [
        *_stale(rules, decision),
        *_LogWriter(rules, decision).lines(events),
    ]
    if rules.release_rules.checks_and_starts_are_logged:
        result = {"Message": _message_of_managers(decision), **about}
        # The kubelet logs the check before anything else of an admission.
        lines.insert(0, LogLine("Topology manager admission check", about, level=4))
        lines.append(LogLine("Pod Admit Result", result, level=4))
    return [*lines, _verdict(decision)]


def _message_of_managers(decision: Decision) -> str:
    """The Topology Manager's message; later checks are not its own."""
    return "" if decision.managers_admitted else kubelet.message(decision.rejection)


class _LogWriter:
    """Converts events in order; remembers the container."""

    def __init__(self, rules: NodeRules, decision: Decision) -> None:
        self._rules = rules
        self._decision = decision
        self._pod = decision.pod
        self._is_pod_scope = rules.topology.scope is Scope.POD
        self._announced: set[str] = set()
        self._merged_hint: Hint | None = None

    def lines(self, events: Iterable[Event]) -> Iterator[LogLine]:
        for event in events:
            match event:
                case HintsAsked(subject=subject, hints=hints):
                    yield from self._hints(subject, hints)
                case HintsMerged():
                    yield from self._merged(event)
                case Allocated() | RefusedAllocation():
                    yield from self._affinities(event.container.name)
                    if event.provider == _MEMORY and self._counts_memory():
                        yield from self._memory(event)
                case _:
                    assert_never(event)

    def _about(self, subject: str) -> dict[str, str]:
        named = {"pod": str(self._pod)}
        return named if self._is_pod_scope else named | {"containerName": subject}

    def _hints(self, subject: str, hints: Mapping[str, ProviderHints]) -> Iterator[LogLine]:
        for of_provider in hints.values():
            shown = {name: _listed(each) for name, each in of_provider.items()}
            yield LogLine("TopologyHints", {"hints": shown, **self._about(subject)})
        for of_provider in hints.values():
            if not of_provider:
                yield LogLine("Hint Provider has no preference for NUMA affinity with any resource")
            for name, each in of_provider.items():
                match each:
                    case NoPreference():
                        message = "Hint Provider has no preference for NUMA affinity with resource"
                        yield LogLine(message, {"resource": name})
                    case Impossible():
                        message = "Hint Provider has no possible NUMA affinities for resource"
                        yield LogLine(message, {"resource": name})
                    case _:
                        pass

    def _merged(self, event: HintsMerged) -> Iterator[LogLine]:
        self._merged_hint = event.merged.affinity
        best = {"bestHint": _hint(self._merged_hint)}
        named = {**best, **self._about(event.subject)}
        names_pods = self._rules.release_rules.hint_lines_name_the_pod
        message = "PodTopologyHint" if self._is_pod_scope else "ContainerTopologyHint"
        yield LogLine(message, named if names_pods else best)
        yield LogLine("Best TopologyHint", named)

    def _affinities(self, container: str) -> Iterator[LogLine]:
        """Lines for a container, or for all of them if the pod was placed as a whole."""
        names = [container] if container else [each.name for each in self._pod.containers()]
        for name in names:
            yield from self._affinity_of(name)

    def _affinity_of(self, container: str) -> Iterator[LogLine]:
        """Logged once, before the first manager allocates for a container."""
        if container in self._announced or self._merged_hint is None:
            return
        self._announced.add(container)
        best = _hint(self._merged_hint)
        keys = {"bestHint": best, "pod": str(self._pod), "containerName": container}
        yield LogLine("Topology Affinity", keys)

    def _counts_memory(self) -> bool:
        static = self._rules.memory.policy is not MemoryPolicy.NONE
        managed = counting.for_managers(self._pod, self._rules.release_rules)
        return static and managed.qos_class is QosClass.GUARANTEED

    def _memory(self, event: Allocated | RefusedAllocation) -> Iterator[LogLine]:
        name = event.container.name
        named = {"containerName": name} if name else {}
        about = {"pod": str(self._pod), **named}
        by_uid = {"podUID": self._pod.uid, **named}
        yield LogLine("Allocate", about)
        if isinstance(event, Allocated):
            # The kubelet checks its state before it requests the affinity.
            if event.before.memory.blocks_of(self._pod.uid, name) is not None:
                yield LogLine("Container already present in state, skipping", about)
                return
            yield self._got_affinity(about)
            yield LogLine("Updated memory state", by_uid)
        else:
            yield self._got_affinity(about)
            error = kubelet.message(self._decision.rejection)
            yield LogLine("Allocate error", {"err": error, **about}, is_error=True)

    def _got_affinity(self, about: Mapping[str, str]) -> LogLine:
        hint = self._merged_hint or ZERO_HINT
        keys = {**about, "podUID": self._pod.uid, "hint": _hint(hint)}
        return LogLine("Got topology affinity", keys)


def _listed(hints: NoPreference | Impossible | HintFamily) -> list[dict[str, Any]] | None:
    match hints:
        case NoPreference():
            return None
        case Impossible():
            return []
        case _:
            return [_hint(each) for each in islice(_of_family(hints), MOST_HINTS)]


def _of_family(family: HintFamily) -> Iterable[Hint]:
    """All hints, or the relevant ones of a family that is too large to list."""
    # An isinstance check of the protocol would dominate the cost of the line.
    rule: HintRule | None = getattr(family, "rule", None)
    if rule is None or rule.can_be_listed:
        return family.hints()
    sets = [*rule.singles(), *rule.islands]
    return [Hint(mask, rule.prefers(mask)) for mask in dict.fromkeys(sets)]


def _hint(hint: Hint) -> dict[str, Any]:
    return {"NUMANodeAffinity": hint.mask, "Preferred": hint.preferred}


def _stale(rules: NodeRules, decision: Decision) -> Iterator[LogLine]:
    """Containers whose memory was released before the decision."""
    before, after = decision.before.memory.blocks, decision.after.memory.blocks
    if after is before:
        return
    gone = [
        ContainerKey(uid, name)
        for uid, containers in before.items()
        if (kept := after.get(uid, {})) is not containers
        for name in containers.keys() - kept.keys()
    ]
    level = 2 if rules.release_rules.stale_lines_are_verbose else 0
    for key in sorted(gone):
        yield LogLine("RemoveStaleState removing state", _by_uid(key), level=level)
        yield LogLine("Deleted memory assignment", _by_uid(key), level=2)


def _by_uid(key: ContainerKey) -> dict[str, str]:
    return {"podUID": key.pod_uid, "containerName": key.container}


def _verdict(decision: Decision) -> LogLine:
    pod: Pod = decision.pod
    about = {"podUID": pod.uid, "pod": str(pod)}
    if decision.rejection is None:
        placed = {
            name: {
                "cpus": sorted(held.cpus),
                "numaNodes": list(held.memory_nodes),
                "memory": pod_placement.blocks(held),
                "devices": pod_placement.devices(held),
            }
            for name, held in decision.placements.items()
        }
        return LogLine("Pod admitted", {**about, "placements": placed})
    said = {
        "reason": kubelet.reason(decision.rejection),
        "message": kubelet.message(decision.rejection),
    }
    return LogLine("Pod admission denied", {**about, **said})
