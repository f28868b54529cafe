"""One admission beside the kubelet's managers, and beside another checkout of this project.

PYTHONPATH=tests python -m benchmarks.reference                our medians, the kubelet's, ratios
PYTHONPATH=tests python -m benchmarks.reference --write        writes them into docs/benchmarks.md
PYTHONPATH=tests python -m benchmarks.reference --against DIR  the speed-up over that checkout

With --against both take turns in processes of their own, and their state files are compared byte by
byte after each round.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchmarks import page, reference_cells, timing, turns
from benchmarks.reference_cells import CELLS, ReferenceCell

_LONGEST_MS: Final = 30_000


def beside_the_kubelet() -> str:
    """The section of the page: a line for each cell."""
    ours = [reference_cells.measured() for _ in range(3)]
    rows = []
    for cell in CELLS:
        seconds = min(each[cell.name]["seconds"] for each in ours)
        is_admitted = ours[0][cell.name]["is_admitted"]
        rows.append(
            [
                str(cell.nodes),
                "fragmented" if cell.is_fragmented else "empty",
                str(cell.resources),
                "admitted" if is_admitted else "rejected",
                _kubelet(cell),
                timing.milliseconds(seconds),
                _ratio(cell, seconds),
            ]
        )
    heads = ["NUMA nodes", "State", "r", "Decision", "Kubelet, ms", "Ours, ms", "Kubelet / ours"]
    parts = [f"{page.machine()}. Load at the beginning {page.load()}.", page.table(heads, rows)]
    return "\n\n".join(parts)


def _kubelet(cell: ReferenceCell) -> str:
    theirs = reference_cells.kubelet_ms(cell)
    if theirs is None:
        return "not recorded"
    return f"over {_LONGEST_MS:,}" if math.isinf(theirs) else f"{theirs:g}"


def _ratio(cell: ReferenceCell, seconds: float) -> str:
    theirs = reference_cells.kubelet_ms(cell)
    if theirs is None:
        return "-"
    ratio = min(theirs, _LONGEST_MS) / (1000 * seconds)
    shown = f"{ratio:.2f}" if ratio < 10 else f"{ratio:,.0f}"
    return f"**{shown}**" if ratio < 1 else f"over {shown}" if math.isinf(theirs) else shown


def against(other: Path) -> str:
    """How much faster this checkout is than another one, in each cell."""
    measured = [
        (turns.in_process(other, "reference_cells"), turns.in_process(turns.OWN, "reference_cells"))
        for _ in range(turns.TURNS)
    ]
    rows = []
    for cell in CELLS:
        pairs = [(theirs[cell.name], ours[cell.name]) for theirs, ours in measured]
        rows.append(
            [
                cell.name,
                timing.milliseconds(min(each["seconds"] for each, _ in pairs)),
                timing.milliseconds(min(each["seconds"] for _, each in pairs)),
                turns.ratio(theirs["seconds"] / ours["seconds"] for theirs, ours in pairs),
                turns.sameness((theirs["digests"], ours["digests"]) for theirs, ours in pairs),
            ]
        )
    heads = ["Cell", "Other, ms", "Ours, ms", f"Speed-up, median of {turns.TURNS} turns", "Files"]
    return page.table(heads, rows)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help="write it into docs/benchmarks.md")
    parser.add_argument("--against", type=Path, metavar="DIR", help="another checkout")
    given = parser.parse_args(arguments)
    if given.against is not None:
        print(against(given.against))
    else:
        text = beside_the_kubelet()
        print(text)
        if given.write:
            page.write_section("reference", text)


if __name__ == "__main__":
    main()
