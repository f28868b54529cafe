"""The list form of a set of CPUs as a state file has it: what ``cpu_set.text`` says, sooner.

The shared pool is nearly the whole machine in a few long ranges, and is another one after every
decision. So the end of a range is found in steps that double, not CPU by CPU.
"""

from __future__ import annotations

from collections.abc import Sequence

from numalet.core.model.cpu_set import CpuSet


def text(cpus: CpuSet) -> str:
    """Ascending, longest ranges, no blanks; empty text for no CPU."""
    ordered = sorted(cpus)
    parts = []
    at, end = 0, len(ordered) - 1
    while at <= end:
        first = ordered[at]
        if at == end or ordered[at + 1] != first + 1:
            parts.append(str(first))
            at += 1
            continue
        stop = end if ordered[end] - first == end - at else _end_of_range(ordered, at)
        parts.append(f"{first}-{ordered[stop]}")
        at = stop + 1
    return ",".join(parts)


def _end_of_range(ordered: Sequence[int], at: int) -> int:
    """Where the range ends that begins there; it is not the last one."""
    # Ascending numbers have all between them where they are as far apart as their places are.
    offset = ordered[at] - at
    inside, beyond, step = at + 1, len(ordered) - 1, 1
    while inside + step < beyond and ordered[inside + step] - (inside + step) == offset:
        inside += step
        step *= 2
    beyond = min(inside + step, beyond)
    while beyond - inside > 1:
        middle = (inside + beyond) // 2
        if ordered[middle] - middle == offset:
            inside = middle
        else:
            beyond = middle
    return inside
