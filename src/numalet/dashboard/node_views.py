"""Builds the view of a node, for every source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Final

from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.enforcement.comparison import Audit
from numalet.core.model import cpu_set
from numalet.core.model.findings import Finding, Severity
from numalet.core.model.pod import Pod
from numalet.core.model.value import Value
from numalet.core.node.node import Node
from numalet.core.snapshot.placement import Placement
from numalet.core.workload.run import Exit
from numalet.dashboard.sources import (
    ContainerRow,
    EventRow,
    Level,
    NodeView,
    Note,
    PodRow,
    SourceKind,
)
from numalet.insight.maps import node_map

_LEVELS: Final = {
    Severity.ERROR: Level.BAD,
    Severity.WARNING: Level.WARNING,
    Severity.NOTE: Level.GOOD,
}


class ShownNode(Value):
    title: str
    kind: SourceKind


def view(
    shown: ShownNode,
    revision: int,
    at: datetime,
    node: Node,
    config: KubeletConfig,
    rows: Sequence[PodRow],
    *,
    events: Sequence[EventRow] = (),
    notes: Sequence[Note] = (),
    is_ready: bool = True,
    known: Mapping[str, Pod] | None = None,
    before: NodeView | None = None,
) -> NodeView:
    """Return the view; ``known`` are pods by uid that have a name but no row.

    Pods keep the letters that they have in the view ``before``.
    """
    by_uid = {row.pod.uid: row for row in rows}
    # Pods that left may still hold resources, so their names come from ``known``.
    names = {**(known or {}), **{uid: row.pod for uid, row in by_uid.items()}}
    chart = node_map.of_node(node, shown.title, names)
    return NodeView(
        title=shown.title,
        kind=shown.kind,
        revision=revision,
        at=at,
        node=node,
        config=config,
        chart=node_map.with_letters_of(chart if before is None else before.chart, chart),
        rows=tuple(rows),
        events=tuple(events),
        notes=tuple(notes),
        is_ready=is_ready,
        by_uid=MappingProxyType(by_uid),
    )


def note(finding: Finding) -> Note:
    fix = finding.fix.format(**finding.fields)
    return Note(_LEVELS[finding.severity], finding.code, finding.located, fix)


def container(
    name: str,
    held: Placement,
    state: str,
    restarts: int | None = 0,
    last_exit: Exit | None = None,
    started_at: datetime | None = None,
    audit: Audit | None = None,
) -> ContainerRow:
    promised: dict[str, int] = {}
    for block in held.memory:
        promised[block.resource] = promised.get(block.resource, 0) + block.size_bytes
    return ContainerRow(
        name=name,
        state=state,
        restarts=restarts,
        last_exit=last_exit,
        started_at=started_at,
        promised_cpus=cpu_set.text(held.cpus),
        promised_nodes=held.memory_nodes,
        promised_bytes=promised,
        devices=held.devices,
        actual_bytes=None if audit is None else _by_node(audit),
        misplaced_bytes=None if audit is None else audit.misplaced_bytes,
        stray_cpus="" if audit is None else cpu_set.text(audit.stray_cpus),
        stray_nodes=() if audit is None else audit.stray_nodes,
    )


def _by_node(audit: Audit) -> dict[int, int]:
    """Sum the bytes by NUMA node, over all page sizes."""
    sums: dict[int, int] = {}
    for by_node in audit.pages_bytes.values():
        for node_id, size_bytes in by_node.items():
            sums[node_id] = sums.get(node_id, 0) + size_bytes
    return dict(sorted(sums.items()))
