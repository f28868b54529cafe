"""The PodPlacement document of ``numalet ps`` and ``numalet describe``. Sizes in bytes.

Null values are unknown or not applicable, such as NUMA nodes of unpinned memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numalet.core.enforcement.comparison import Audit
from numalet.core.model import cpu_set, moments
from numalet.core.model.pod import ContainerKey
from numalet.core.snapshot import placement
from numalet.core.snapshot.placement import Placement
from numalet.core.snapshot.snapshot import Snapshot
from numalet.core.workload.records import PodRecord
from numalet.core.workload.run import ContainerRun
from numalet.shared.findings import recorded


def pod_placement(
    record: PodRecord, snapshot: Snapshot, audits: Mapping[ContainerKey, Audit]
) -> dict[str, Any]:
    """The placement of a pod and its containers."""
    verdict = record.run.verdict
    # A rejected or ended pod may still have entries in the node state; do not show them.
    is_active = verdict is not None and verdict.admitted and record.uid in snapshot.pods
    pod = record.workload.pod
    held = placement.of_pod(snapshot, pod) if is_active else {}
    own_audits = {
        key: audit for key, audit in audits.items() if key.pod_uid == record.uid and is_active
    }
    return {
        **whole(held, list(own_audits.values())),
        "unpromised": recorded.loss_sentence(record.run.causes) or None,
        "containers": [
            _of_run(record.run.of(name), each, own_audits.get(ContainerKey(record.uid, name)))
            for name, each in held.items()
        ],
    }


def whole(held: Mapping[str, Placement], audits: Sequence[Audit]) -> dict[str, Any]:
    """Sum up the containers; ``audits`` of some of them."""
    cpus = frozenset[int]().union(*(each.cpus for each in held.values()))
    return {
        "numaNodes": sorted({node_id for each in held.values() for node_id in each.memory_nodes}),
        "cpus": cpu_set.text(cpus),
        "memory": _sums(held),
        "aligned": all(audit.aligned for audit in audits) if audits else None,
        "misplacedBytes": sum(audit.misplaced_bytes for audit in audits),
    }


def _sums(held: Mapping[str, Placement]) -> dict[str, int]:
    """Bytes by memory type over all containers."""
    sums: dict[str, int] = {}
    for each in held.values():
        for block in each.memory:
            sums[block.resource] = sums.get(block.resource, 0) + block.size_bytes
    return sums


def _of_run(run: ContainerRun, held: Placement, audit: Audit | None) -> dict[str, Any]:
    return {
        **container(run.name, held, audit),
        "guarantee": None if run.level is None else run.level.value,
        "shortfalls": list(run.shortfalls),
    }


def container(name: str, held: Placement, audit: Audit | None) -> dict[str, Any]:
    """One container's allocation, without a guarantee."""
    return {
        "name": name,
        "cpus": cpu_set.text(held.cpus),
        "memory": blocks(held),
        "devices": devices(held),
        "guarantee": None,
        "shortfalls": [],
        "audit": None if audit is None else audit_document(audit),
    }


def blocks(held: Placement) -> list[dict[str, Any]]:
    return [
        {"type": block.resource, "numaNodes": list(block.nodes), "sizeBytes": block.size_bytes}
        for block in held.memory
    ]


def devices(held: Placement) -> dict[str, list[str]]:
    return {name: list(ids) for name, ids in held.devices.items()}


def audit_document(audit: Audit) -> dict[str, Any]:
    return {
        "at": moments.seconds(audit.at),
        "aligned": audit.aligned,
        "promisedNumaNodes": list(audit.memory_nodes),
        "bytesByNumaNode": {
            kind: {str(node_id): size for node_id, size in sorted(sizes.items())}
            for kind, sizes in sorted(audit.pages_bytes.items())
        },
        "misplacedBytes": audit.misplaced_bytes,
        "strayCpus": cpu_set.text(audit.stray_cpus),
        "strayNumaNodes": list(audit.stray_nodes),
    }
