"""Answers about a changed cluster and about traces, in tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, TypeAlias

from numalet.cli import fleet_view, output
from numalet.cli.tables import Column, Columns, table
from numalet.core.cluster.cluster import Cluster
from numalet.insight.fleet.replay import SECONDS_PER_HOUR, ReplayAnswer, ReplayedDay, ReplayRules
from numalet.insight.fleet.variants import PoolSide, Side, WhatIf
from numalet.insight.output.fleet_days_document import share_of
from numalet.wording import numbers

if TYPE_CHECKING:
    from rich.console import RenderableType


def what_if(cluster: Cluster, answer: WhatIf) -> None:
    """Print both sides, pool by pool."""
    output.print_all(_what_if(cluster, answer))


def replay(cluster: Cluster, answer: ReplayAnswer, rules: ReplayRules) -> None:
    """Print both replays, and the cost of NUMA-unaware scheduling."""
    output.print_all(_replay(cluster, answer, rules))


_Side: TypeAlias = tuple[str, Side]
_SIDES: Final[Columns[_Side]] = (
    Column("", lambda each: each[0]),
    Column("RUNNING", lambda each: each[1].running, right=True),
    Column("DISPLACED", lambda each: len(each[1].displaced), right=True),
    Column("MOVED", lambda each: len(each[1].moved), right=True),
    Column("ADMITTED", lambda each: len(each[1].admitted), right=True),
    Column("WAITING", lambda each: len(each[1].waiting), right=True),
    Column("STRANDED", lambda each: numbers.amounts(each[1].stranded)),
)
_POOLS: Final[Columns[tuple[str, PoolSide]]] = (
    Column("POOL", lambda each: each[1].pool or "-"),
    Column("", lambda each: each[0]),
    Column("NODES", lambda each: each[1].nodes, right=True),
    Column("RUNNING", lambda each: each[1].running, right=True),
    Column("TRAPS", lambda each: each[1].traps, right=True),
    Column("STRANDED", lambda each: numbers.amounts(each[1].stranded)),
)


def _what_if(cluster: Cluster, answer: WhatIf) -> Iterator[RenderableType]:
    sides = (("before", answer.before), ("after", answer.after))
    yield table(_SIDES, sides)
    pools = [(name, pool) for name, side in sides for pool in side.pools]
    if pools:
        yield ""
        yield table(_POOLS, pools)
    for text, alike in _refused(answer.after).items():
        more = f" (and {len(alike) - 1} more)" if len(alike) > 1 else ""
        yield output.one_line(f"The kubelet of {alike[0]}{more} would not start: {text}", "red")
    homeless = [each for each in answer.after.displaced if each in answer.after.waiting]
    if homeless:
        names = numbers.some(homeless)
        yield output.one_line(f"Pods that run now and would run nowhere: {names}", "yellow")
    yield from fleet_view.ending(cluster)


def _refused(side: Side) -> dict[str, list[str]]:
    """Return the nodes with kubelets that would not start, by the error."""
    nodes: dict[str, list[str]] = {}
    for name, text in side.refused.items():
        nodes.setdefault(text, []).append(name)
    return nodes


def _replay(cluster: Cluster, answer: ReplayAnswer, rules: ReplayRules) -> Iterator[RenderableType]:
    strategy, score = rules.scoring.strategy.value, rules.preference.value
    yield output.one_line(
        f"{answer.pods} pods, sent to nodes by {strategy}, and by numalet extender --score {score}"
    )
    one, other = _column(answer, answer.blind), _column(answer, answer.seeing)
    columns: Columns[str] = (
        Column("", str),
        Column("BY SUMS", lambda name: one[name], right=True),
        Column("BY NUMALET", lambda name: other[name], right=True),
    )
    yield table(columns, one)
    yield ""
    lost, waited = (
        _hours(answer, answer.lost_device_hours),
        _hours(answer, answer.waited_device_hours),
    )
    yield output.one_line(
        f"Blindness costs {lost} {answer.resource} hours idle while pods asked for them, and"
        f" {waited} of waiting."
    )
    worst = list(answer.blind.rejections_by_node.items())[:5]
    if worst:
        nodes = ", ".join(f"{name} ({count})" for name, count in worst)
        yield output.one_line(output.printable(f"Most rejections by: {nodes}"))
    yield from fleet_view.ending(cluster)


def _column(answer: ReplayAnswer, day: ReplayedDay) -> dict[str, str]:
    waited = day.waiting_seconds
    return {
        "pods that ran": str(day.started),
        "pods that never ran": str(day.never_started),
        "rejections": str(day.rejections),
        "most rejections of one pod": str(day.most_rejections_of_a_pod),
        "waiting, half of the pods": english_time(share_of(waited, 0.5)),
        "waiting, nine in ten": english_time(share_of(waited, 0.9)),
        "waiting, longest": english_time(share_of(waited, 1.0)),
        f"{answer.resource} hours of waiting": _hours(
            answer, day.waiting_device_seconds / SECONDS_PER_HOUR
        ),
        f"{answer.resource} hours idle though asked for": _hours(
            answer, day.wanted_idle_device_seconds / SECONDS_PER_HOUR
        ),
        "until the last pod ended": english_time(day.end_seconds),
    }


def _hours(answer: ReplayAnswer, hours: float) -> str:
    """Return hours of one device; for CPU, divided by 1000."""
    return f"{hours / (1000 if answer.resource == 'cpu' else 1):.1f}"


def english_time(seconds: float) -> str:
    """Format seconds for people: ``90s``, ``12m``, ``3h05m``."""
    if seconds < 120:
        return f"{seconds:.0f}s"
    minutes = round(seconds / 60)
    return f"{minutes}m" if minutes < 120 else f"{minutes // 60}h{minutes % 60:02d}m"
