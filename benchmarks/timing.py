"""How single admissions are timed: in process, with the state files written.

The state directory is on a file system in memory, so nothing waits for a disk. Times are processor
time, as those of the kubelet are, and the best of a few rounds from the same state, because the
rest of the machine only ever adds to them. The spread that is told (median, 99th percentile) is
the spread over states and pods, not over rounds.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from time import process_time

from numalet.core.model.pod import Pod
from numalet.core.node.node import Node
from numalet.io.files import state_directory
from numalet.io.files.state_directory import StateDirectory

_MEMORY_FILE_SYSTEM = Path("/dev/shm")
IN_MEMORY = _MEMORY_FILE_SYSTEM if _MEMORY_FILE_SYSTEM.is_dir() else None
"""Where files are in memory; None for the usual place of temporary files."""
_ROUNDS = 3


@contextmanager
def written(node: Node) -> Iterator[StateDirectory]:
    """A directory with the state files of the node; on the disk where there is no better place."""
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:
        StateDirectory(Path(folder), {}).write(node.state_files())
        yield state_directory.read(Path(folder))


def admission(node: Node, pod: Pod, directory: StateDirectory) -> float:
    """Seconds to decide on the pod and to write the files that changed."""
    best = float("inf")
    for _ in range(_ROUNDS):
        begin = process_time()
        after, _decision = node.admit(pod)
        directory.write(after.state_files())
        best = min(best, process_time() - begin)
    return best


def decision(node: Node, pod: Pod) -> float:
    """Seconds to decide on the pod; nothing is written."""
    best = float("inf")
    for _ in range(_ROUNDS):
        begin = process_time()
        node.admit(pod)
        best = min(best, process_time() - begin)
    return best


def percentile(seconds: Sequence[float], part: float) -> float:
    """The value that this part of all values does not exceed."""
    ordered = sorted(seconds)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def spread(seconds: Sequence[float]) -> str:
    """Median and 99th percentile in milliseconds."""
    return f"{milliseconds(median(seconds))} / {milliseconds(percentile(seconds, 0.99))}"


def milliseconds(seconds: float) -> str:
    """Two significant digits, never as a power of ten."""
    value = 1000 * seconds
    return f"{value:.0f}" if value >= 10 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"
