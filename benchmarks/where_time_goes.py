"""Where the time of one admission goes, function by function, in a cell of ``cells``.

PYTHONPATH=tests python -m benchmarks.where_time_goes "2 empty r=1"            the decision
PYTHONPATH=tests python -m benchmarks.where_time_goes "2 empty r=4" --files    texts and writing

Microseconds for each admission: in a function with all that it calls, and in itself. The profiler
makes small functions look dearer than they are; ratios between runs of it say more than figures.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks import cells, page, side_by_side, timing
from benchmarks.cells import CELLS, Cell

from numalet.core.model.pod import Pod
from numalet.core.node.node import Node
from numalet.io.files.state_directory import StateDirectory

_ADMISSIONS: Final = 400
_LINES: Final = 40


def prepared(cell: Cell, turn: int) -> tuple[Node, Pod]:
    """The node of a turn before its last pod, and that pod."""
    node, steps = side_by_side.started(cells.admission(cell, turn))
    *before, last = [step for step in steps if isinstance(step, Pod)]
    for pod in before:
        node, _ = node.admit(pod)
        node = node.pod_started(pod.uid)
    return node, last


def decisions(cell: Cell) -> pstats.Stats:
    """The profile of deciding alone."""
    ready = [prepared(cell, number) for number in range(_ADMISSIONS)]
    profile = cProfile.Profile()
    profile.enable()
    for node, pod in ready:
        node.admit(pod)
    profile.disable()
    return pstats.Stats(profile)


def files(cell: Cell) -> pstats.Stats:
    """The profile of making the texts of the state files, and of writing what differs."""
    profile = cProfile.Profile()
    with tempfile.TemporaryDirectory(dir=timing.IN_MEMORY) as folder:
        empty = StateDirectory(Path(folder), {})
        for number in range(_ADMISSIONS):
            node, pod = prepared(cell, number)
            before = node.state_files()
            empty.write(before)
            directory = empty.holding(before)
            after, _ = node.admit(pod)
            profile.enable()
            directory.write(after.state_files())
            profile.disable()
    return pstats.Stats(profile)


def lines(profiled: pstats.Stats) -> str:
    """A table of the functions in which most time is spent, with what they call."""
    # The standard library's type for them has no such attribute.
    of_functions: dict[tuple[str, int, str], tuple[int, int, float, float, Any]] = vars(profiled)[
        "stats"
    ]
    rows = sorted(of_functions.items(), key=lambda each: each[1][3], reverse=True)
    return page.table(
        ["With what it calls, µs", "Itself, µs", "Calls", "Function"],
        [
            [
                f"{1e6 * whole / _ADMISSIONS:.1f}",
                f"{1e6 * own / _ADMISSIONS:.1f}",
                f"{calls / _ADMISSIONS:.1f}",
                f"{where.rpartition('numalet/')[2]}:{line} {name}",
            ]
            for (where, line, name), (_, calls, own, whole, _) in rows[:_LINES]
        ],
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Profile as the command line says."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    named = {cell.name: cell for cell in CELLS}
    parser.add_argument("cell", choices=named, metavar="CELL", help=", ".join(named))
    parser.add_argument("--files", action="store_true", help="the files, and not the decision")
    given = parser.parse_args(arguments)
    cell = named[given.cell]
    print(lines(files(cell) if given.files else decisions(cell)))


if __name__ == "__main__":
    main()
