"""The gauges of a node, computed from its state, and the kubelet's gauges of the CPU Manager.

The kubelet sets its CPU gauges at start and changes them by each allocation and release. A CPU that
an init container leaves to a later container is allocated twice and released once, so these gauges
stay wrong until a restart. Native mode reads the ledger instead (rule
``reused_cpus_are_counted_twice``). Next to a kubelet, CPU gauges have numalet's names, because the
kubelet exports its own.

Kubelet v1.32: ``initializeMetrics``, ``updateMetricsOnAllocate`` and ``updateMetricsOnRelease`` of
``staticPolicy``; v1.33: ``updateAllocationPerNUMAMetric``; v1.36: ``AllocatePod``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Protocol, TypeAlias

from numalet.agent.kubelet.observed import KubeletObservation
from numalet.agent.telemetry import metrics as names
from numalet.agent.telemetry.metrics import Labels
from numalet.core.config.releases.versions import FollowedRelease
from numalet.core.enforcement.comparison import Audit, GuaranteeLevel
from numalet.core.managers.cpu import cpu_mask
from numalet.core.managers.cpu.ledger import CpuLedger
from numalet.core.model import cpu_set, numa_mask
from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.pod import ContainerKey
from numalet.core.model.value import Value
from numalet.core.node.node import Node
from numalet.insight.maps.resource_maps import type_rows
from numalet.insight.state.verify import Soundness

Exclusive: TypeAlias = Mapping[str, Mapping[str, CpuSet]]
"""CPUs by pod uid and container name."""


class CpuGauges(Value):
    """Allocatable CPUs in the shared pool, exclusive CPUs, and exclusive CPUs by NUMA node."""

    shared_count: int
    exclusive_count: int
    by_node: Mapping[int, int] = MappingProxyType({})


def cpu_gauges_at_start(node: Node) -> CpuGauges | None:
    """The values at the start of the CPU Manager, if they move by events.

    CPUs of two containers of a pod count once or twice, as in the release.
    """
    if not node.rules.behaviour.reused_cpus_are_counted_twice:
        return None
    static = node.roster.static_cpus
    if static is None:
        return CpuGauges(0, 0)
    held = node.snapshot.cpu.exclusive
    count = sum(len(cpus) for each in held.values() for cpus in each.values())
    if node.rules.release_rules.shared_cpus_count_once_at_start:
        count = exclusive_count(node)
    return CpuGauges(shared_count(node), count, _by_node(node, held))


def cpu_gauges_after(gauges: CpuGauges | None, before: Node, node: Node) -> CpuGauges | None:
    """Apply all changes of the ledger between two nodes."""
    old, new = before.snapshot.cpu, node.snapshot.cpu
    if gauges is None or old is new or node.roster.static_cpus is None:
        return gauges
    allocated, released = _moved(old, new)
    return CpuGauges(
        gauges.shared_count - allocated + released,
        gauges.exclusive_count + allocated - released,
        MappingProxyType(
            {
                **gauges.by_node,
                **_while_released(node, old, new),
                # An allocation sets its nodes last, over values from releases.
                **_by_node(node, _as_allocated(old, new)),
            }
        ),
    )


def _as_allocated(old: CpuLedger, new: CpuLedger) -> Exclusive:
    """Records at the last allocation.

    For a pod placed as a whole, the kubelet sets the gauge before it records containers.
    """
    placed = (uid for uid, cpus in new.pods.items() if old.pods.get(uid) != cpus)
    return {**new.exclusive, **{uid: old.exclusive.get(uid, {}) for uid in placed}}


def cpu_gauges_by_ledger(node: Node) -> CpuGauges:
    """The values in the ledger, including NUMA nodes with zero."""
    static = node.roster.static_cpus
    none = {} if static is None else dict.fromkeys(static.topology.node_ids, 0)
    own = {**none, **_by_node(node, node.snapshot.cpu.exclusive)}
    return CpuGauges(shared_count(node), exclusive_count(node), own)


def _while_released(node: Node, old: CpuLedger, new: CpuLedger) -> dict[int, int]:
    """Exclusive CPUs by NUMA node, as set by the last release.

    The kubelet releases containers one by one in random order; here they are sorted by name.
    """
    held = {uid: dict(containers) for uid, containers in old.exclusive.items()}
    last: dict[int, int] = {}
    for uid, containers in sorted(old.exclusive.items()):
        has = new.exclusive.get(uid, {})
        for name in sorted(name for name, cpus in containers.items() if has.get(name) != cpus):
            del held[uid][name]
            if uid not in old.pods or not held[uid]:
                last |= _by_node(node, held)
    return last


def _by_node(node: Node, held: Exclusive) -> Mapping[int, int]:
    static = node.roster.static_cpus
    if static is None:
        return {}
    given = cpu_mask.of_set(_all_of(held))
    counts = {part.part_id: (part.cpus & given).bit_count() for part in static.topology.nodes}
    # The kubelet skips nodes without exclusive CPUs, so the gauge keeps the last value.
    return {node_id: count for node_id, count in counts.items() if count}


def _moved(old: CpuLedger, new: CpuLedger) -> tuple[int, int]:
    """Number of CPUs allocated and released."""
    allocated = released = 0
    for uid in {*old.exclusive, *new.exclusive}:
        was, has = old.exclusive.get(uid, {}), new.exclusive.get(uid, {})
        # Pods placed as a whole are counted below, by all their CPUs.
        if was is has or uid in old.pods or uid in new.pods:
            continue
        allocated += sum(len(cpus) for name, cpus in has.items() if was.get(name) != cpus)
        gone = {name: cpus for name, cpus in was.items() if has.get(name) != cpus}
        kept = {name: cpus for name, cpus in was.items() if name not in gone}
        # A CPU that another container of the pod still has is not released.
        released += len(_union(gone) - _union(kept))
    for uid in {*old.pods, *new.pods}:
        of_pod = new.pods.get(uid)
        if of_pod is None:
            released += len(old.pods[uid])
        elif of_pod != old.pods.get(uid):
            allocated += len(of_pod)
    return allocated, released


def _union(held: Mapping[str, CpuSet]) -> CpuSet:
    return frozenset[int]().union(*held.values())


def shared_count(node: Node) -> int:
    """Allocatable CPUs in the shared pool, by the ledger."""
    static = node.roster.static_cpus
    if static is None:
        return 0
    return len(node.snapshot.cpu.default - cpu_mask.to_set(static.reserved.cpus))


def exclusive_count(node: Node) -> int:
    """Distinct exclusive CPUs, by the ledger."""
    if node.roster.static_cpus is None:
        return 0
    return len(_all_of(node.snapshot.cpu.exclusive))


def _all_of(held: Exclusive) -> CpuSet:
    return frozenset[int]().union(*(cpus for each in held.values() for cpus in each.values()))


Gauges: TypeAlias = Mapping[str, tuple[tuple[Labels, float], ...]]
"""Labels and value of every series, by metric."""

_OF_KUBELETS = (
    names.KUBELET_UP,
    names.KUBELET_RELEASE,
    names.KUBELET_STATE,
    names.KUBELET_PROBLEMS,
    names.KUBELET_CONTAINERS,
)
_NO_AUDITS: Mapping[ContainerKey, Audit] = MappingProxyType({})


class NamedPod(Protocol):
    @property
    def namespace(self) -> str:
        """Its namespace."""

    @property
    def name(self) -> str:
        """Its name in the namespace."""


def gauges(
    node: Node,
    level: GuaranteeLevel,
    pods: Mapping[str, NamedPod],
    audits: Mapping[ContainerKey, Audit] = _NO_AUDITS,
    kubelet: KubeletObservation | None = None,
    *,
    unpromised: int = 0,
    moved: CpuGauges | None = None,
) -> Gauges:
    """Compute all gauges; ``pods`` by uid name the audited containers.

    ``unpromised`` is the number of pods that lost an allocation; ``moved`` are CPU gauges that
    change with events.
    """
    held = cpu_gauges_by_ledger(node)
    # In exact mode the kubelet's names show the kubelet's drift; numalet's names never do.
    promised = held if moved is None else moved
    return {
        names.SHARED_POOL: (((), 1000.0 * promised.shared_count),),
        names.EXCLUSIVE_CPUS: (((), float(promised.exclusive_count)),),
        names.CPUS_BY_NODE: tuple(
            ((("numa_node", str(node_id)),), float(count))
            for node_id, count in sorted(promised.by_node.items())
        ),
        names.KUBELET_SHARED_POOL: (((), 1000.0 * held.shared_count),),
        names.KUBELET_EXCLUSIVE_CPUS: (((), float(held.exclusive_count)),),
        **_memory(node),
        names.IN_GROUP: tuple(_membership(node)),
        names.MISPLACED: tuple(_misplaced(pods, audits)),
        names.GUARANTEE: tuple(
            ((("level", each.value),), float(each is level)) for each in GuaranteeLevel
        ),
        names.UNPROMISED: (((), float(unpromised)),),
        **_kubelet(kubelet),
    }


def _kubelet(observation: KubeletObservation | None) -> Gauges:
    if observation is None:
        return dict.fromkeys(_OF_KUBELETS, ())
    problems = Counter(each.finding.code for each in observation.lasting_problems)
    aligned = Counter(each.aligned for each in observation.audits.values())
    running = observation.evidence.running
    return {
        names.KUBELET_UP: () if running is None else (((), float(bool(running))),),
        names.KUBELET_RELEASE: ((_release(observation.evidence.followed), 1.0),),
        names.KUBELET_STATE: tuple(
            ((("file", each.name), ("soundness", word.value)), float(each.soundness is word))
            for each in observation.files
            for word in Soundness
        ),
        names.KUBELET_PROBLEMS: tuple(
            ((("code", code),), float(count)) for code, count in sorted(problems.items())
        ),
        names.KUBELET_CONTAINERS: tuple(
            ((("aligned", str(is_so).lower()),), float(aligned[is_so])) for is_so in (True, False)
        ),
    }


def _release(followed: FollowedRelease) -> Labels:
    return (
        ("release", followed.release.name),
        ("kubelet_version", followed.kubelet_version),
        ("known", str(not followed.may_have_unknown_rules).lower()),
    )


def _memory(node: Node) -> Gauges:
    rows = [
        ((("numa_node", str(node_id)), ("type", row.resource)), row)
        for node_id, memory in sorted(node.snapshot.memory.nodes.items())
        for row in type_rows(memory)
    ]
    return {
        names.ALLOCATABLE: tuple((labels, float(row.allocatable_bytes)) for labels, row in rows),
        names.RESERVED: tuple((labels, float(row.reserved_bytes)) for labels, row in rows),
        names.FREE: tuple((labels, float(row.free_bytes)) for labels, row in rows),
    }


def _membership(node: Node) -> Iterator[tuple[Labels, float]]:
    for node_id, memory in sorted(node.snapshot.memory.nodes.items()):
        group = cpu_set.text(numa_mask.ids(memory.group))
        yield (("numa_node", str(node_id)), ("group", group)), 1.0


def _misplaced(
    pods: Mapping[str, NamedPod], audits: Mapping[ContainerKey, Audit]
) -> Iterator[tuple[Labels, float]]:
    for key, audit in sorted(audits.items()):
        pod = pods.get(key.pod_uid)
        # An audit may outlive its pod until the next resync.
        if pod is not None:
            labels = (
                ("namespace", pod.namespace),
                ("pod", pod.name),
                ("container", key.container),
            )
            yield labels, float(audit.misplaced_bytes)
