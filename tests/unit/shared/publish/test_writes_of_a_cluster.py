"""How many writes a cluster full of short jobs costs, by the rules of ``pacing`` in their own time.

The table of docs/how-to/install-in-a-cluster.md: 5,000 nodes that are always full of jobs of 90 s.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from pathlib import Path
from statistics import mean

import pytest

from numalet.shared.publish import pacing
from numalet.shared.publish.pacing import WriteInterval
from numalet.shared.publish.writer import NUMA_NODE_INTERVAL, TOPOLOGY_INTERVAL

PAGE = Path(__file__).resolve().parents[4] / "docs" / "how-to" / "install-in-a-cluster.md"
NODES = 5000
TRIED_NODES = 200
JOB_SECONDS = 90.0
NEXT_JOB_SECONDS = (0.5, 1.5)
"""From the end of a job until the next one is there, at random between these."""
LENGTH_SECONDS = 1800.0
_ROW = re.compile(r"^\| (\d) with \d GPUs? \| (\d+) \| (\d+) \| ([\d.]+) s", re.MULTILINE)
_MOST = re.compile(r"no more than ([\d,]+) and ([\d,]+)\.")

ROWS = [
    (int(jobs), int(numa_nodes), int(topologies), float(delay_seconds))
    for jobs, numa_nodes, topologies, delay_seconds in _ROW.findall(PAGE.read_text("utf-8"))
]


def changes(rng: random.Random, jobs: int) -> list[float]:
    """When something changes on a node that is always full: each job ends, another one comes."""
    moments = []
    for _ in range(jobs):
        at = rng.uniform(0, JOB_SECONDS)
        while at < LENGTH_SECONDS:
            moments.append(at)
            at += rng.uniform(*NEXT_JOB_SECONDS)
            moments.append(at)
            at += JOB_SECONDS
    return sorted(moments)


def delays(moments: Sequence[float], interval: WriteInterval, rng: random.Random) -> list[float]:
    """For every write, how long after the change it was; each takes no time and succeeds."""
    times, found = pacing.begun(), []
    for at in [*moments, LENGTH_SECONDS * 2]:
        while times.due_at <= at:
            if times.changed_at is not None:
                found.append(times.due_at - times.changed_at)
            times = pacing.written(interval, times.due_at, rng.random())
        times = pacing.changed(times, interval, at, rng.random())
    return found


@pytest.mark.parametrize(("jobs", "numa_nodes", "topologies", "delay_seconds"), ROWS)
def test_the_writes_of_a_cluster_are_those_of_the_page(
    jobs: int, numa_nodes: int, topologies: int, delay_seconds: float
) -> None:
    rng = random.Random(jobs)
    nodes = [changes(rng, jobs) for _ in range(TRIED_NODES)]
    of_kind = [
        [each for node in nodes for each in delays(node, interval, rng)]
        for interval in (NUMA_NODE_INTERVAL, TOPOLOGY_INTERVAL)
    ]
    per_second = [len(each) / LENGTH_SECONDS * NODES / TRIED_NODES for each in of_kind]

    assert per_second == pytest.approx([numa_nodes, topologies], rel=0.03)
    assert mean(of_kind[0]) == pytest.approx(delay_seconds, abs=0.1)
    assert max(of_kind[0]) <= 2.2 + 0.01


def test_the_page_says_what_no_cluster_of_this_size_exceeds() -> None:
    most = _MOST.search(PAGE.read_text("utf-8"))

    assert most is not None
    assert len(ROWS) == 4
    assert [int(each.replace(",", "")) for each in most.groups()] == [
        NODES / interval.at_most_every_seconds
        for interval in (NUMA_NODE_INTERVAL, TOPOLOGY_INTERVAL)
    ]
