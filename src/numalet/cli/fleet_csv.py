"""Answers about days of a fleet as rows for other programs: one header, then one row per item."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import astuple

from numalet.insight.fleet.replay import ReplayAnswer, Sample
from numalet.insight.fleet.variants import WhatIf


def what_if(answer: WhatIf) -> Iterator[Sequence[object]]:
    """Yield a row for each pool on each side, and each resource that is stranded in it."""
    yield "side", "pool", "nodes", "running", "traps", "resource", "stranded"
    for name, side in (("before", answer.before), ("after", answer.after)):
        for pool in side.pools:
            about = (name, pool.pool, pool.nodes, pool.running, pool.traps)
            for resource, amount in (pool.stranded or {"": 0}).items():
                yield *about, resource, amount


def replay(answer: ReplayAnswer) -> Iterator[Sequence[object]]:
    yield "sent_by", *Sample.__struct_fields__
    for day in (answer.blind, answer.seeing):
        yield from ((day.sent_by.value, *astuple(each)) for each in day.samples)
