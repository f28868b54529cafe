"""One admission on 1 to 64 NUMA nodes, 1 to 5 resources: median and 99th percentile over states.

The figures for each number of resources r are in ``extra_info``; pytest-benchmark's own column
is one run over all states.
"""

from __future__ import annotations

import random
from statistics import median
from time import perf_counter

import pytest
from benchmarks import many_nodes
from pytest_benchmark.fixture import BenchmarkFixture

from numalet.node.node import Node

POLICIES = ("best-effort", "restricted", "single-numa-node")
NODE_COUNTS = (1, 2, 4, 8, 12, 16, 36, 64)
STATES = 8
PODS = 10
_SEED = 20240501


def _nodes(node_count: int, policy: str, state: str) -> list[Node]:
    rng = random.Random(_SEED)
    if state == "empty":
        return [many_nodes.empty(node_count, policy)]
    return [many_nodes.fragmented(node_count, policy, rng) for _ in range(STATES)]


@pytest.mark.parametrize("state", ["empty", "fragmented"])
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("node_count", NODE_COUNTS)
@pytest.mark.benchmark(group="one admission by number of NUMA nodes")
def test_one_admission(
    node_count: int, policy: str, state: str, benchmark: BenchmarkFixture
) -> None:
    nodes = _nodes(node_count, policy, state)
    seconds: dict[int, list[float]] = {at: [] for at in range(1, many_nodes.MOST_RESOURCES + 1)}
    stopped: list[str] = []

    def run() -> None:
        rng = random.Random(node_count)
        for node in nodes:
            for resources in [*seconds] * PODS:
                newcomer = many_nodes.pod("newcomer", rng, resources, node_count)
                start = perf_counter()
                _, decision = node.admit(newcomer)
                seconds[resources].append(perf_counter() - start)
                merged = [each.merged for each in decision.alignments.values()]
                stopped.extend(newcomer.uid for each in merged if each is not None and each.bounded)

    benchmark.pedantic(run, rounds=1)  # type: ignore[no-untyped-call]
    assert [] == stopped
    for resources, measured in seconds.items():
        ordered = sorted(measured)
        benchmark.extra_info[f"r={resources} median µs"] = round(1e6 * median(ordered))
        benchmark.extra_info[f"r={resources} p99 µs"] = round(
            1e6 * ordered[int(0.99 * (len(ordered) - 1))]
        )
