"""Decisions with the CPU, Device and Memory Manager at once, and long runs of them.

The state directory is on a file system in memory, or on the disk with a real fsync; the
difference is the disk's, not ours.
"""

from __future__ import annotations

import random
from pathlib import Path
from statistics import median
from time import perf_counter

import pytest
from benchmarks import admissions, busy_nodes
from pytest_benchmark.fixture import BenchmarkFixture

POLICIES = ("none", "best-effort", "restricted", "single-numa-node")
ASSIGNMENTS = {
    "packed": None,
    "whole-cores": {"full-pcpus-only": "true"},
    "distributed": {"distribute-cpus-across-numa": "true"},
    "spread-over-cores": {"distribute-cpus-across-cores": "true"},
    "by-cache": {"prefer-align-cpus-by-uncorecache": "true"},
}
RUN_LENGTH = 1000


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.benchmark(group="admission: 2 nodes, CPUs, memory and a device")
def test_two_nodes(policy: str, benchmark: BenchmarkFixture, directory: Path) -> None:
    newcomer = busy_nodes.pod("newcomer", 4, "2Gi", gpus=1)
    node = busy_nodes.empty(2, 32, policy)
    for number in range(4):
        node, _ = node.admit(busy_nodes.pod(f"pod-{number}", 6, "10Gi"))
    admissions.measure(benchmark, node, newcomer, directory)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.benchmark(
    group="admission: 8 nodes of 32 CPUs, CPUs, memory, huge pages and a device, fragmented"
)
def test_eight_nodes(policy: str, benchmark: BenchmarkFixture, directory: Path) -> None:
    newcomer = busy_nodes.pod(
        "newcomer", 6, "1Gi", gpus=1, hugepages_2Mi="64Mi", hugepages_1Gi="1Gi"
    )
    node = busy_nodes.fragmented(8, 16, policy, newcomer)
    admissions.measure(benchmark, node, newcomer, directory)


@pytest.mark.parametrize("assignment", ASSIGNMENTS)
@pytest.mark.parametrize("node_count", [2, 8])
@pytest.mark.benchmark(group="assignment of 100 CPUs on a machine of 512")
def test_a_hundred_cpus_of_512(
    node_count: int, assignment: str, benchmark: BenchmarkFixture
) -> None:
    node = busy_nodes.empty(node_count, 256 // node_count, "best-effort", ASSIGNMENTS[assignment])
    # Holes on every NUMA node: every other one of the pods that came has gone.
    for number in range(24):
        node, _ = node.admit(busy_nodes.pod(f"pod-{number:02}", 8, "1Gi"))
    for number in range(0, 24, 2):
        node = node.remove(f"pod-{number:02}")
    node = node.release_stale()
    _, decision = benchmark(node.admit, busy_nodes.pod("newcomer", 100, "1Gi"))
    assert decision.admitted, decision.rejection


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.benchmark(group="1,000 admissions and removals of random pods, 2 nodes, 128 CPUs")
def test_a_long_run(policy: str, benchmark: BenchmarkFixture) -> None:
    pods = list(busy_nodes.arrivals("long run", RUN_LENGTH))

    def run() -> int:
        rng = random.Random(policy)
        node = busy_nodes.empty(2, 32, policy)
        admitted = 0
        for pod in pods:
            node, decision = node.admit(pod)
            if decision.admitted:
                admitted += 1
                node = node.pod_started(pod.uid)
            else:
                node = node.remove(rng.choice(list(node.snapshot.pods)))
        return admitted

    seconds: list[float] = []

    def timed() -> int:
        begin = perf_counter()
        admitted = run()
        seconds.append(perf_counter() - begin)
        return admitted

    benchmark.extra_info["admitted"] = benchmark(timed)
    benchmark.extra_info["decisions per second"] = round(RUN_LENGTH / median(seconds))
