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


def _measure(benchmark: BenchmarkFixture, node: Node, directory: Path) -> None:
    StateDirectory(directory, {}).write(node.state_files())
    before = state_directory.read(directory)
    newcomer = states.newcomer()

    def admission() -> bool:
        after, decision = node.admit(newcomer)
        before.write(after.state_files())
        return decision.admitted

    benchmark.extra_info["admitted"] = benchmark(admission)
    benchmark.extra_info["pods"] = len(node.snapshot.pods)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("node_count", [2, 8])
@pytest.mark.benchmark(group="admission, state written")
def test_admission(
    node_count: int, policy: str, benchmark: BenchmarkFixture, directory: Path
) -> None:
    _measure(benchmark, states.fragmented(node_count, policy), directory)


@pytest.mark.parametrize("node_count", [2, 8])
@pytest.mark.benchmark(group="admission, decision alone")
def test_decision_alone(node_count: int, benchmark: BenchmarkFixture) -> None:
    node = states.fragmented(node_count, "best-effort")
    newcomer = states.newcomer()

    benchmark(lambda: node.admit(newcomer))


@pytest.mark.benchmark(group="admission, first on an empty node")
def test_admission_on_an_empty_node(benchmark: BenchmarkFixture, directory: Path) -> None:
    _measure(benchmark, states.empty(2, "restricted"), directory)
