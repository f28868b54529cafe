"""Times one admission with its state files written, which is what a kubelet's pod waits for."""

from __future__ import annotations

from pathlib import Path

from pytest_benchmark.fixture import BenchmarkFixture

from numalet.core.admission.decision import Decision
from numalet.core.model.pod import Pod
from numalet.core.node.node import Node
from numalet.io.files import state_directory
from numalet.io.files.state_directory import StateDirectory


def measure(benchmark: BenchmarkFixture, node: Node, newcomer: Pod, directory: Path) -> None:
    """Admit this pod again and again; the files change from the node's to the pod's each time."""
    StateDirectory(directory, {}).write(node.state_files())
    before = state_directory.read(directory)

    def admission() -> Decision:
        after, decision = node.admit(newcomer)
        before.write(after.state_files())
        return decision

    decision = benchmark(admission)
    assert decision.admitted, decision.rejection
    benchmark.extra_info["pods"] = len(node.snapshot.pods)
