"""The gauges of a node: what is read off its books at one moment, by metric.

The kubelet moves its two gauges of the CPU Manager with every event, and counts a CPU that an init
container leaves to an app container of its pod a second time; here they say what the books hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TypeAlias

from numalet.enforcement.audit import Audit
from numalet.enforcement.levels import GuaranteeLevel
from numalet.managers.cpu import cpu_mask
from numalet.model import cpu_set, numa_mask
from numalet.model.pod import ContainerKey, Pod
from numalet.node.node import Node
from numalet.reports import metric_definitions as names
from numalet.reports.memory_map import type_rows
from numalet.reports.metrics import Labels

Gauges: TypeAlias = Mapping[str, tuple[tuple[Labels, float], ...]]
"""Labels and value of every series, by metric."""

_NO_AUDITS: Mapping[ContainerKey, Audit] = MappingProxyType({})


def gauges(
    node: Node,
    level: GuaranteeLevel,
    pods: Mapping[str, Pod],
    audits: Mapping[ContainerKey, Audit] = _NO_AUDITS,
) -> Gauges:
    """All gauges; ``pods`` are those by uid that give audited containers their names."""
    shared, exclusive = _cpus(node)
    return {
        names.SHARED_POOL: (((), 1000.0 * shared),),
        names.EXCLUSIVE_CPUS: (((), float(exclusive)),),
        **_memory(node),
        names.IN_GROUP: tuple(_membership(node)),
        names.MISPLACED: tuple(_misplaced(pods, audits)),
        names.GUARANTEE: tuple(
            ((("level", each.value),), float(each is level)) for each in GuaranteeLevel
        ),
    }


def _cpus(node: Node) -> tuple[int, int]:
    """CPUs in the shared pool that could be given away, and CPUs that are."""
    static = node.roster.static_cpus
    if static is None:
        return 0, 0
    ledger = node.snapshot.cpu
    held = {
        cpu
        for containers in ledger.exclusive.values()
        for cpus in containers.values()
        for cpu in cpus
    }
    return len(ledger.default - cpu_mask.to_set(static.reserved.cpus)), len(held)


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
    pods: Mapping[str, Pod], audits: Mapping[ContainerKey, Audit]
) -> Iterator[tuple[Labels, float]]:
    for key, audit in sorted(audits.items()):
        pod = pods.get(key.pod_uid)
        if pod is not None:
            labels = (
                ("namespace", pod.namespace),
                ("pod", pod.name),
                ("container", key.container),
            )
            yield labels, float(audit.misplaced_bytes)
