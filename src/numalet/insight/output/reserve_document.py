"""The document of ``numalet reserve -o json``: a computed reservation. Sizes are bytes.

``schema`` is a name with a number, which grows when a field is removed or changes its meaning; a
new field does not change it.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from numalet.core.config.behaviour import Mode
from numalet.insight.usecases import reserving
from numalet.insight.usecases.reserving import ChangedFile, Plan
from numalet.wording import kubelet_start

SCHEMA: Final = "numalet.reserve/1"


class ReserveNodeDocument(msgspec.Struct, kw_only=True):
    """One NUMA node: its memory, the reserved part, and the part for pods."""

    numa_node: int
    memory_bytes: int
    hugepages_bytes: int
    has_cpus: bool
    reserved_bytes: int
    left_bytes: int


class PartsDocument(msgspec.Struct, kw_only=True):
    """The parts of the sum. ``threshold`` is the configured text of the eviction threshold."""

    kube_reserved_bytes: int
    system_reserved_bytes: int
    eviction_hard_bytes: int
    threshold: str
    is_default_threshold: bool
    total_bytes: int


class ReservedMemoryEntry(msgspec.Struct, kw_only=True, rename="camel"):
    """One entry of ``reservedMemory`` in the form of KubeletConfiguration."""

    numa_node: int
    limits: dict[str, str]


class ReserveDocument(msgspec.Struct, kw_only=True):
    """A reservation. ``start_error`` is set if the kubelet would not start even with it."""

    schema: Literal["numalet.reserve/1"]
    strategy: str
    parts: PartsDocument
    nodes: list[ReserveNodeDocument]
    reserved_memory: list[ReservedMemoryEntry]
    flag: str
    start_error: str | None
    mode: Mode
    release: str
    written: str | None
    backup: str | None


def of(plan: Plan, written: ChangedFile | None) -> ReserveDocument:
    is_changed = written is not None and written.backup is not None
    return ReserveDocument(
        schema=SCHEMA,
        strategy=plan.strategy,
        parts=_parts(plan),
        nodes=[
            ReserveNodeDocument(
                numa_node=share.numa_node,
                memory_bytes=share.memory_bytes,
                hugepages_bytes=share.hugepages_bytes,
                has_cpus=share.has_cpus,
                reserved_bytes=share.reserved_bytes,
                left_bytes=share.left_bytes,
            )
            for share in plan.shares
        ],
        reserved_memory=entries(plan),
        flag=f"--reserved-memory={reserving.flag_value(plan.entries)}",
        start_error=None if plan.refused is None else kubelet_start.text(plan.refused),
        mode=plan.behaviour.mode,
        release=plan.behaviour.release.name,
        written=str(written.path) if written is not None and is_changed else None,
        backup=str(written.backup) if written is not None and is_changed else None,
    )


def entries(plan: Plan) -> list[ReservedMemoryEntry]:
    return [
        ReservedMemoryEntry(
            numa_node=entry.numa_node,
            limits={name: str(amount) for name, amount in entry.limits.items()},
        )
        for entry in plan.entries
    ]


def _parts(plan: Plan) -> PartsDocument:
    parts = plan.parts
    return PartsDocument(
        kube_reserved_bytes=parts.kube_reserved.value,
        system_reserved_bytes=parts.system_reserved.value,
        eviction_hard_bytes=parts.eviction.value,
        threshold=plan.threshold,
        is_default_threshold=plan.is_default_threshold,
        total_bytes=parts.total.value,
    )
