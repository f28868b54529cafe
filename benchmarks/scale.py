"""Machines with many NUMA nodes: all figures, written into docs/benchmarks.md.

PYTHONPATH=tests python -m benchmarks.scale            prints them
PYTHONPATH=tests python -m benchmarks.scale --write    writes them into the page too
"""

from __future__ import annotations

from benchmarks import page, scale_comparisons, scale_table


def told() -> str:
    """The section of the page."""
    load = page.load()
    cells, closest = scale_table.measured(), scale_table.measured(closest=True)
    parts = [
        f"{page.machine()}. Load at the beginning {load} "
        f"(last minute, last five), at the end {page.load()}; the measurement itself is 1.",
        "### One admission",
        scale_table.told(cells, closest),
        "### Long lists",
        scale_comparisons.long_lists(),
        "### Realistic pods, milliseconds",
        scale_comparisons.real_pods(),
        "### Memory",
        scale_comparisons.peak_memory(),
    ]
    return "\n\n".join(parts)


if __name__ == "__main__":
    page.command("scale", __doc__, told)
