"""One admission in process, with the state file written, and what of it is the writing.

``memory`` writes to a file system in memory, ``disk`` to the temporary directory with a real
fsync; the difference is the disk's, not ours.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmarks import states
from pytest_benchmark.fixture import BenchmarkFixture

from numalet.adapters.files import state_directory
from numalet.adapters.files.state_directory import StateDirectory
from numalet.admission.decision import Decision
from numalet.model.pod import Pod
from numalet.node.node import Node

POLICIES = ("none", "best-effort", "restricted", "single-numa-node")
_MEMORY_FILE_SYSTEM = Path("/dev/shm")


@pytest.fixture(params=["memory", "disk"])
def directory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """An empty state directory of this kind."""
    if request.param == "disk":
        yield tmp_path
        return
    if not _MEMORY_FILE_SYSTEM.is_dir():
        pytest.skip("there is no file system in memory here")
    with tempfile.TemporaryDirectory(dir=_MEMORY_FILE_SYSTEM) as folder:
        yield Path(folder)


def _measure(benchmark: BenchmarkFixture, node: Node, newcomer: Pod, directory: Path) -> None:
    StateDirectory(directory, {}).write(node.state_files())
    before = state_directory.read(directory)

    def admission() -> Decision:
        after, decision = node.admit(newcomer)
        before.write(after.state_files())
        return decision

    decision = benchmark(admission)
    assert decision.admitted, decision.rejection
    benchmark.extra_info["pods"] = len(node.snapshot.pods)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.benchmark(group="admission: 2 nodes, memory alone")
def test_two_nodes(policy: str, benchmark: BenchmarkFixture, directory: Path) -> None:
    newcomer = states.pod("newcomer", "2Gi")
    _measure(benchmark, states.with_some_pods(2, policy), newcomer, directory)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.benchmark(group="admission: 8 nodes, memory and two sizes of huge pages, fragmented")
def test_eight_nodes(policy: str, benchmark: BenchmarkFixture, directory: Path) -> None:
    newcomer = states.pod("newcomer", "1Gi", hugepages_2Mi="64Mi", hugepages_1Gi="1Gi")
    _measure(benchmark, states.fragmented(8, policy, newcomer), newcomer, directory)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.benchmark(group="the decision alone: 8 nodes, fragmented")
def test_decision_alone(policy: str, benchmark: BenchmarkFixture) -> None:
    newcomer = states.pod("newcomer", "1Gi", hugepages_2Mi="64Mi", hugepages_1Gi="1Gi")
    benchmark(states.fragmented(8, policy, newcomer).admit, newcomer)
