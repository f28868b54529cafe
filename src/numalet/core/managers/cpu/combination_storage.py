"""What is left of a winning combination when the walk over all combinations has ended.

The kubelet walks over combinations in one growing array and keeps the winner by reference. The
array is made anew when an element does not fit any more, at the 1st, 2nd, 3rd, 5th, 9th, 17th;
combinations that are equal up to there share an array. So the elements behind are those of the
last combination that was tried, not those of the winner. Lengths 1, 2, 3, 5 and 9 are safe.
Seen on machines with more than four NUMA nodes.
Kubelet: ``cpuAccumulator.iterateCombinations`` and its callers, v1.32.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

Combination: TypeAlias = tuple[int, ...]
"""Positions in a list, ascending."""

Storage: TypeAlias = Callable[[Combination, int, Combination | None], Combination]
"""What the memory of a winner holds after the walk: see ``overwritten``."""


def overwritten(
    winner: Combination, item_count: int, stopped_at: Combination | None
) -> Combination:
    """The winner as the kubelet reads it after the walk.

    The walk went over all combinations of ``item_count`` items in lexicographic order, or
    stopped at one which was the next after the winner and had been written already.
    """
    kept = _elements_kept(len(winner))
    if stopped_at is not None:
        return stopped_at if stopped_at[:kept] == winner[:kept] else winner
    behind = len(winner) - kept
    return winner[:kept] + tuple(range(item_count - behind, item_count))


def copied(winner: Combination, item_count: int, stopped_at: Combination | None) -> Combination:
    """The winner as it was, as if the kubelet had made a copy of it."""
    return winner


def _elements_kept(length: int) -> int:
    """Up to which element an array of its own is made: 2^n + 1 for the largest n that fits."""
    return 1 if length == 1 else (1 << (length - 1).bit_length() - 1) + 1
