"""The documents of ``numalet fleet what-if`` and ``fleet replay`` with ``-o json``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

from numalet.core.cluster.cluster import Cluster, ClusterPod
from numalet.insight.fleet import parts
from numalet.insight.fleet.parts import Origins
from numalet.insight.fleet.replay import (
    SECONDS_PER_HOUR,
    ReplayAnswer,
    ReplayedDay,
    ReplayRules,
    Sample,
)
from numalet.insight.fleet.traps import shapes_of, traps
from numalet.insight.fleet.variants import Side, WhatIf
from numalet.insight.output.json_schema import OutputDocument
from numalet.wording import kubelet_start

WHAT_IF_SCHEMA: Final = "numalet.fleet-what-if/1"
REPLAY_SCHEMA: Final = "numalet.fleet-replay/1"


class FleetPoolDocument(OutputDocument, kw_only=True):
    """One pool before or after: its nodes, running pods, and stranded amounts by resource."""

    pool: str
    nodes: int
    running: int
    traps: int
    stranded: dict[str, int]


class FleetSideDocument(OutputDocument, kw_only=True):
    """A cluster before or after the change.

    ``displaced`` are pods that their node rejects, ``moved`` those of them that another node
    admits. ``admitted`` are waiting pods that fit, ``waiting`` pods without a node. ``refused``
    has, by node, the error of a kubelet that would not start.
    """

    running: int
    displaced: list[str]
    moved: list[str]
    admitted: list[str]
    waiting: list[str]
    refused: dict[str, str]
    stranded: dict[str, int]
    pools: list[FleetPoolDocument]


class FleetWhatIfDocument(OutputDocument, kw_only=True):
    """The cluster before and after; ``origins`` are those of the present cluster.

    Amounts of ``cpu`` are milli-CPUs, those of memory and huge pages bytes.
    """

    schema: Literal["numalet.fleet-what-if/1"]
    before: FleetSideDocument
    after: FleetSideDocument
    origins: Origins


class ReplayedDayDocument(OutputDocument, kw_only=True):
    """One day under one scheduler; waiting times are median, 90th percentile and maximum."""

    started: int
    never_started: int
    rejections: int
    rejections_by_node: dict[str, int]
    most_rejections_of_a_pod: int
    waiting_seconds_median: float
    waiting_seconds_p90: float
    waiting_seconds_longest: float
    waiting_device_hours: float
    wanted_idle_device_hours: float
    end_seconds: float
    samples: list[Sample]


class FleetReplayDocument(OutputDocument, kw_only=True):
    """A day under two schedulers, and the cost of the NUMA-unaware one.

    ``blind`` uses sums and scores nodes by ``strategy``; ``seeing`` uses ``numalet extender`` with
    the preference ``score``. Devices are those of ``resource``; for ``cpu`` they are milli-CPUs.
    """

    schema: Literal["numalet.fleet-replay/1"]
    resource: str
    pods: int
    strategy: str
    score: str
    lost_device_hours: float
    waited_device_hours: float
    blind: ReplayedDayDocument
    seeing: ReplayedDayDocument
    origins: Origins


def of_what_if(cluster: Cluster, answer: WhatIf) -> FleetWhatIfDocument:
    return FleetWhatIfDocument(
        schema=WHAT_IF_SCHEMA,
        before=_side(answer.before, cluster),
        after=_side(answer.after, cluster),
        origins=parts.origins(cluster),
    )


def of_replay(cluster: Cluster, answer: ReplayAnswer, rules: ReplayRules) -> FleetReplayDocument:
    return FleetReplayDocument(
        schema=REPLAY_SCHEMA,
        resource=answer.resource,
        pods=answer.pods,
        strategy=rules.scoring.strategy.value,
        score=rules.preference.value,
        lost_device_hours=round(answer.lost_device_hours, 3),
        waited_device_hours=round(answer.waited_device_hours, 3),
        blind=_day(answer.blind),
        seeing=_day(answer.seeing),
        origins=parts.origins(cluster),
    )


def share_of(waiting_seconds: Iterable[float], share: float) -> float:
    """Return the longest waiting time within this share of the pods, which are sorted by it."""
    every = list(waiting_seconds)
    return every[min(int(len(every) * share), len(every) - 1)] if every else 0.0


def _side(side: Side, cluster: Cluster) -> FleetSideDocument:
    # The shapes of the cluster before the change, so that both sides are comparable.
    answer = traps(side.cluster, [each.pod for each in shapes_of(cluster)])
    pools = side.cluster.pools()
    return FleetSideDocument(
        running=side.running,
        displaced=_names(side.displaced),
        moved=_names(side.moved),
        admitted=_names(side.admitted),
        waiting=_names(side.waiting),
        refused={name: kubelet_start.text(why) for name, why in sorted(side.refused.items())},
        stranded=dict(answer.stranded),
        pools=[
            FleetPoolDocument(
                pool=each.pool,
                nodes=each.nodes,
                running=sum(len(on.node.snapshot.pods) for on in pools[each.pool]),
                traps=each.traps,
                stranded=dict(each.stranded),
            )
            for each in answer.pools
        ],
    )


def _names(pods: Iterable[ClusterPod]) -> list[str]:
    return [str(each.pod) for each in pods]


def _day(day: ReplayedDay) -> ReplayedDayDocument:
    waited = day.waiting_seconds
    return ReplayedDayDocument(
        started=day.started,
        never_started=day.never_started,
        rejections=day.rejections,
        rejections_by_node=dict(day.rejections_by_node),
        most_rejections_of_a_pod=day.most_rejections_of_a_pod,
        waiting_seconds_median=share_of(waited, 0.5),
        waiting_seconds_p90=share_of(waited, 0.9),
        waiting_seconds_longest=share_of(waited, 1.0),
        waiting_device_hours=round(day.waiting_device_seconds / SECONDS_PER_HOUR, 3),
        wanted_idle_device_hours=round(day.wanted_idle_device_seconds / SECONDS_PER_HOUR, 3),
        end_seconds=day.end_seconds,
        samples=list(day.samples),
    )
