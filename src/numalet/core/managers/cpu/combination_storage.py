"""A kubelet bug: the walk over all combinations overwrites the stored winner.

The kubelet builds combinations in one growing Go slice and keeps the winner by reference. Go
allocates a new array at the 1st, 2nd, 3rd, 5th, 9th and 17th element; combinations that are equal
up to there share an array. The elements after it are therefore those of the last combination tried,
not those of the winner. Lengths 1, 2, 3, 5 and 9 are safe. The bug shows on machines with more than
four NUMA nodes.

Kubelet: ``cpuAccumulator.iterateCombinations`` and its callers, v1.32.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

Combination: TypeAlias = tuple[int, ...]
"""Positions in a list, ascending."""

Storage: TypeAlias = Callable[[Combination, int, Combination | None], Combination]
"""Returns the stored winner after the walk; see ``overwritten`` for the arguments."""


def overwritten(
    winner: Combination, item_count: int, stopped_at: Combination | None
) -> Combination:
    """Return the winner that the kubelet reads after the walk.

    The walk visited all combinations of ``item_count`` items in lexicographic order.
    ``stopped_at``: it ended early at this combination, which follows the winner and was already
    written.
    """
    kept = _elements_kept(len(winner))
    if stopped_at is not None:
        return stopped_at if stopped_at[:kept] == winner[:kept] else winner
    behind = len(winner) - kept
    return winner[:kept] + tuple(range(item_count - behind, item_count))


def copied(winner: Combination, item_count: int, stopped_at: Combination | None) -> Combination:
    """Return the winner unchanged, as if the kubelet had copied it."""
    return winner


def _elements_kept(length: int) -> int:
    """Return the last element with a new array: 2^n + 1 for the largest n that fits."""
    return 1 if length == 1 else (1 << (length - 1).bit_length() - 1) + 1
