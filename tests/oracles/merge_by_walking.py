"""The merge as the kubelet does it: walk every combination, keep the better one.

Exponential, and the oracle for ``numalet.core.hints.merging``. Written case by case after the rules
of the Topology Manager, v1.32, without the closed form's sort key.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product

from numalet.core.hints.fitness import Distances
from numalet.core.hints.provider import Hint


def merge(
    lists: Sequence[Sequence[Hint]], all_nodes: int, distances: Distances | None = None
) -> Hint:
    """The best merged hint of all combinations, one hint of every list in each."""
    wanted = _wanted(lists)
    best: Hint | None = None
    for combination in product(*lists):
        merged = _merged(combination, all_nodes)
        if merged.mask and _replaces(best, merged, wanted, distances):
            best = merged
    return best if best is not None else Hint(all_nodes, False)


def _wanted(lists: Iterable[Sequence[Hint]]) -> int:
    wanted = 0
    for hints in lists:
        sizes = [hint.mask.bit_count() for hint in hints if hint.mask is not None]
        if sizes and min(sizes) > wanted:
            wanted = min(sizes)
    return wanted


def _merged(combination: Sequence[Hint], all_nodes: int) -> Hint:
    named = [hint.mask for hint in combination if hint.mask is not None]
    mask = all_nodes
    for one in named:
        mask &= one
    equal = all(one == named[0] for one in named)
    return Hint(mask, equal and all(hint.preferred for hint in combination))


def _replaces(
    current: Hint | None, candidate: Hint, wanted: int, distances: Distances | None
) -> bool:
    assert candidate.mask is not None
    if current is None:
        return True
    assert current.mask is not None
    if candidate.preferred != current.preferred:
        return candidate.preferred
    new, old = candidate.mask.bit_count(), current.mask.bit_count()
    if candidate.preferred:
        return new < old or (new == old and _nearer(candidate.mask, current.mask, distances))
    if old > wanted:
        if new > wanted:
            return new < old or (new == old and _nearer(candidate.mask, current.mask, distances))
        return True
    if old == wanted:
        return new == wanted and _nearer(candidate.mask, current.mask, distances)
    if new > wanted:
        return False
    if new == wanted:
        return True
    return new > old or (new == old and _nearer(candidate.mask, current.mask, distances))


def _nearer(candidate: int, current: int, distances: Distances | None) -> bool:
    if candidate == current:
        return False
    if distances is not None:
        new, old = _mean(candidate, distances), _mean(current, distances)
        if new != old:
            return new < old
    return candidate < current


def _mean(mask: int, distances: Distances) -> float:
    nodes = [node for node in range(mask.bit_length()) if mask >> node & 1]
    total = float(sum(distances.rows[i][j] for i in nodes for j in nodes))
    return total / len(nodes) ** 2
