"""The documents of ``numalet fleet what-if`` and ``fleet replay`` with ``-o json``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

from numalet.core.cluster.cluster import Cluster
from numalet.insight.fleet import parts
from numalet.insight.fleet.parts import Origins
from numalet.insight.fleet.replay import (
    SECONDS_PER_HOUR,
    ReplayAnswer,
    ReplayedDay,
    ReplayRules,
    Sample,
)
from numalet.insight.output.json_schema import OutputDocument

REPLAY_SCHEMA: Final = "numalet.fleet-replay/1"


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
