"""One admission in process, with the state file written, and what of it is the writing.

``memory`` writes to a file system in memory, ``disk`` to the temporary directory with a real
fsync; the difference is the disk's, not ours.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks import admissions, states
from pytest_benchmark.fixture import BenchmarkFixture

POLICIES = ("none", "best-effort", "restricted", "single-numa-node")


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.benchmark(group="admission: 2 nodes, memory alone")
def test_two_nodes(policy: str, benchmark: BenchmarkFixture, directory: Path) -> None:
    newcomer = states.pod("newcomer", "2Gi")
    admissions.measure(benchmark, states.with_some_pods(2, policy), newcomer, directory)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.benchmark(group="admission: 8 nodes, memory and two sizes of huge pages, fragmented")
def test_eight_nodes(policy: str, benchmark: BenchmarkFixture, directory: Path) -> None:
    newcomer = states.pod("newcomer", "1Gi", hugepages_2Mi="64Mi", hugepages_1Gi="1Gi")
    admissions.measure(benchmark, states.fragmented(8, policy, newcomer), newcomer, directory)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.benchmark(group="the decision alone: 8 nodes, fragmented")
def test_decision_alone(policy: str, benchmark: BenchmarkFixture) -> None:
    newcomer = states.pod("newcomer", "1Gi", hugepages_2Mi="64Mi", hugepages_1Gi="1Gi")
    benchmark(states.fragmented(8, policy, newcomer).admit, newcomer)
