"""Where the time of one admission goes, function by function, in a cell of ``reference_cells``.

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

from benchmarks import page, reference_cells
from benchmarks.reference_cells import CELLS, ReferenceCell

from numalet.io.files import state_directory

_ADMISSIONS: Final = 400
_LINES: Final = 40


def decisions(cell: ReferenceCell) -> pstats.Stats:
    """The profile of deciding alone."""
    prepared = [reference_cells.prepared(cell, number) for number in range(_ADMISSIONS)]
    profile = cProfile.Profile()
    profile.enable()
    for node, pod in prepared:
        node.admit(pod)
    profile.disable()
    return pstats.Stats(profile)


def files(cell: ReferenceCell) -> pstats.Stats:
    """The profile of making the texts of the state files, and of writing what differs."""
    profile = cProfile.Profile()
    with tempfile.TemporaryDirectory(dir=reference_cells.IN_MEMORY) as folder:
        for number in range(_ADMISSIONS):
            node, pod = reference_cells.prepared(cell, number)
            state_directory.StateDirectory(Path(folder), {}).write(node.state_files())
            directory = state_directory.read(Path(folder))
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
    cells = {cell.name: cell for cell in CELLS}
    parser.add_argument("cell", choices=cells, metavar="CELL", help=", ".join(cells))
    parser.add_argument("--files", action="store_true", help="the files, and not the decision")
    given = parser.parse_args(arguments)
    cell = cells[given.cell]
    print(lines(files(cell) if given.files else decisions(cell)))


if __name__ == "__main__":
    main()
