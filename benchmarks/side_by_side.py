"""One admission, and a thousand steps, beside the managers of a real kubelet, in turns.

PYTHONPATH=tests python -m benchmarks.side_by_side 1.37.2            figures and ratios
PYTHONPATH=tests python -m benchmarks.side_by_side 1.37.2 --write    into docs/benchmarks.md too

Both get the same scenario one after the other, each on a new node. Figures are processor time:
the hints of all managers, the merge, the allocation, and the state files on a file system in
memory. The predicates of the admission are not asked. Needs Go, for the first build of the oracle.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median
from subprocess import PIPE, Popen
from time import monotonic, process_time
from typing import Any, Final

import msgspec
from benchmarks import cells, page, timing
from benchmarks.cells import Cell, Scenario

from differential import oracle_program
from differential.oracle_program import Oracle
from numalet.core.model.pod import Pod
from numalet.core.node import node as nodes
from numalet.core.node.node import Node
from numalet.insight.simulate.session import RemoveStep
from numalet.insight.usecases.scenario_file import RawScenario
from numalet.io.files.state_directory import StateDirectory

_TURNS: Final = 41
_TURNS_OF_STEPS: Final = 7
_QUICK: Final = 4
"""The most NUMA nodes with which the kubelet answers in milliseconds."""
_CELL_SECONDS: Final = 10
"""Wall-clock time after which a cell gets no further turn."""
_LIMIT_SECONDS: Final = 10
"""Processor time after which the kubelet's managers are given up."""
_GIVEN_UP: Final = "the worker died: exit status 9"
"""What the oracle says then."""


class Kubelet:
    """The oracle as a process that is asked one scenario after the other."""

    def __init__(self, process: Popen[bytes]) -> None:
        self._process = process

    def seconds(self, scenario: Scenario, timed_from: int) -> tuple[float | None, Sequence[bool]]:
        """Return processor time and decisions; no time if it takes more than the limit.

        Raises:
            RuntimeError: the oracle cannot run the scenario.
        """
        asked, answers = self._process.stdin, self._process.stdout
        assert asked is not None
        assert answers is not None
        asked.write(msgspec.json.encode({**scenario, "timed_from": timed_from}) + b"\n")
        asked.flush()
        answer: Mapping[str, Any] = msgspec.json.decode(answers.readline())
        if "error" not in answer:
            return answer["cpu_seconds"], answer["admitted"]
        if answer["error"] == _GIVEN_UP:
            return None, ()
        raise RuntimeError(f"{scenario['name']}: {answer['error']}")


@contextmanager
def kubelet(oracle: Oracle) -> Iterator[Kubelet]:
    """Keep the oracle running."""
    command = [str(oracle.program), "bench", "-limit", f"{_LIMIT_SECONDS}s"]
    with Popen(command, stdin=PIPE, stdout=PIPE) as process:
        yield Kubelet(process)


def started(scenario: Scenario) -> tuple[Node, Sequence[Pod | RemoveStep]]:
    """Return the new node of a scenario, and its steps."""
    text = msgspec.json.encode(scenario).decode()
    given = RawScenario(scenario["name"], text, 1).decode()
    node = nodes.start(
        given.config, given.machine, devices=given.devices, behaviour=given.behaviour
    )
    if not isinstance(node, Node):
        raise TypeError(node)
    return node, [step for step in given.steps if isinstance(step, Pod | RemoveStep)]


def numalet_seconds(scenario: Scenario, timed_from: int) -> tuple[float, Sequence[bool]]:
    """Return processor time and decisions. Containers start with the step after the admission."""
    node, steps = started(scenario)
    admitted = []
    starting = ""
    with tempfile.TemporaryDirectory(dir=timing.IN_MEMORY) as folder:
        directory = StateDirectory(Path(folder), {})
        files: Mapping[str, str] = {}
        begin = 0.0
        for at, step in enumerate(steps):
            if starting:
                node, starting = node.pod_started(starting), ""
            if at == timed_from:
                # Files of the node as it is then; later ones replace them.
                files = node.state_files()
                directory.write(files)
                directory = directory.holding(files)
                gc.collect()
                begin = process_time()
            if isinstance(step, RemoveStep):
                node = node.remove(step.pod_uid)
            else:
                node, decision = node.admit(step)
                admitted.append(decision.admitted)
                starting = step.uid if decision.admitted else ""
            if at >= timed_from:
                files = node.state_files()
                directory.write(files)
                directory = directory.holding(files)
        return process_time() - begin, admitted


def in_turns(
    theirs: Kubelet, scenarios: Iterator[tuple[Scenario, int]]
) -> tuple[float | None, float, bool]:
    """Return both medians in seconds, and the last decision of all.

    Raises:
        AssertionError: numalet decides otherwise than the kubelet.
    """
    kubelets: list[float] = []
    ours: list[float] = []
    is_admitted, is_given_up, began = False, False, monotonic()
    for scenario, timed_from in scenarios:
        seconds, decisions = numalet_seconds(scenario, timed_from)
        ours.append(seconds)
        is_admitted = decisions[-1]
        if not is_given_up:
            their_seconds, their_decisions = theirs.seconds(scenario, timed_from)
            if their_seconds is None:
                is_given_up = True
                continue
            if list(their_decisions) != list(decisions):
                raise AssertionError(f"{scenario['name']}: {their_decisions} and {decisions}")
            kubelets.append(their_seconds)
            if monotonic() - began > _CELL_SECONDS:
                break
    return None if is_given_up else median(kubelets), median(ours), is_admitted


def of_cell(cell: Cell) -> Iterator[tuple[Scenario, int]]:
    """Yield the scenario of each turn, and its timed step."""
    for turn in range(_TURNS):
        scenario = cells.admission(cell, turn)
        yield scenario, len(scenario["steps"]) - 1


def told(oracle: Oracle, version: str) -> str:
    """The section of the page: a line for each cell, and the thousand steps."""
    load = page.load()
    with _undisturbed(), kubelet(oracle) as theirs:
        in_turns(theirs, of_cell(cells.CELLS[3]))
        # What is loaded by now stays, as in an agent; the collections have less to look at.
        gc.collect()
        gc.freeze()
        quick = {
            cell: in_turns(theirs, of_cell(cell)) for cell in cells.CELLS if cell.nodes <= _QUICK
        }
        many = ((cells.coming_and_going(turn), 0) for turn in range(_TURNS_OF_STEPS))
        of_steps, our_steps, _ = in_turns(theirs, many)
    with kubelet(oracle) as theirs:
        measured = {
            cell: quick[cell] if cell in quick else in_turns(theirs, of_cell(cell))
            for cell in cells.CELLS
        }
    rows = [
        [
            *(str(cell.nodes), "fragmented" if cell.is_fragmented else "empty"),
            *(str(cell.resources), "admitted" if is_admitted else "rejected"),
            *_figures(kubelet_seconds, seconds),
        ]
        for cell, (kubelet_seconds, seconds, is_admitted) in measured.items()
    ]
    heads = ["NUMA nodes", "State", "r", "Decision", "Kubelet, ms", "numalet, ms", "Ratio"]
    steps_heads = ["", "Kubelet, ms", "numalet, ms", "Ratio"]
    steps = [[f"{cells.STEPS:,} steps", *_figures(of_steps, our_steps)]]
    parts = [
        f"Kubernetes {version}. {page.machine()}. Load at the beginning {load} (last minute, last "
        f"five), at the end {page.load()}.",
        page.table(heads, rows),
        page.table(steps_heads, steps),
    ]
    return "\n\n".join(parts)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Give this process and its children a real-time priority, if the user may.

    On a busy machine, other processes would otherwise empty the processor's caches in the middle of
    an admission. What computes for seconds must not run so. With SCHED_FIFO, a thread that computes
    would keep out the threads of its own process that watch it.
    """
    before, priority = os.sched_getscheduler(0), os.sched_getparam(0)
    with suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    try:
        yield
    finally:
        os.sched_setscheduler(0, before, priority)


def _figures(kubelet_seconds: float | None, seconds: float) -> list[str]:
    ratio = (kubelet_seconds or _LIMIT_SECONDS) / seconds
    shown = f"{ratio:.2f}" if ratio < 10 else f"{ratio:,.0f}"
    if kubelet_seconds is None:
        return [f"over {1000 * _LIMIT_SECONDS:,}", timing.milliseconds(seconds), f"over {shown}"]
    figures = [timing.milliseconds(kubelet_seconds), timing.milliseconds(seconds)]
    return [*figures, f"**{shown}**" if ratio < 1 else shown]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("version", help="version of Kubernetes, such as 1.37.2")
    parser.add_argument("--write", action="store_true", help="write it into docs/benchmarks.md")
    given = parser.parse_args()
    try:
        oracle = oracle_program.build(given.version)
    except oracle_program.OracleFailedError as error:
        print(f"not compared with a kubelet: {error}", file=sys.stderr)
        return
    text = told(oracle, given.version)
    print(text)
    if given.write:
        page.write_section("side-by-side", text)


if __name__ == "__main__":
    main()
