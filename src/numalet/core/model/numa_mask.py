"""A set of NUMA nodes as a value: the integer whose bit ``i`` stands for node id ``i``.

A plain integer is hashable and has the kubelet's order of masks (comparison as unsigned integers).
The empty set is 0. Node ids may be any non-negative number; the kubelet's own masks hold ids 0 to
63.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import combinations
from typing import TypeAlias

from numalet.core.model import cpu_set

NumaMask: TypeAlias = int

EMPTY: NumaMask = 0

_MOST_SINGLE = 8
"""Larger sets are printed as ranges."""


def of(node_ids: Iterable[int]) -> NumaMask:
    mask = 0
    for node_id in node_ids:
        mask |= 1 << node_id
    return mask


@lru_cache(maxsize=1024)
def ids(mask: NumaMask) -> tuple[int, ...]:
    # The binary digits in reverse, without the "0b" prefix; a loop over bits is slower.
    return tuple([at for at, digit in enumerate(bin(mask)[:1:-1]) if digit == "1"])


def contains(mask: NumaMask, other: NumaMask) -> bool:
    return other & ~mask == 0


def union(masks: Iterable[NumaMask]) -> NumaMask:
    together = 0
    for mask in masks:
        together |= mask
    return together


def lowest(mask: NumaMask, count: int) -> NumaMask:
    """Return the ``count`` lowest nodes of the set, which must have that many."""
    rest = mask
    for _ in range(count):
        rest &= rest - 1
    return mask ^ rest


def by_size(node_ids: Iterable[int]) -> Iterator[NumaMask]:
    """Yield every non-empty set of the given nodes, in the kubelet's order of hints.

    By size, then lexicographic by ascending id: {0,3} precedes {1,2}, although it is the larger
    integer. Kubelet: ``bitmask.IterateBitMasks``, v1.32.
    """
    bits = [1 << node_id for node_id in sorted(node_ids)]
    for size in range(1, len(bits) + 1):
        for chosen in combinations(bits, size):
            yield sum(chosen)


def text(mask: NumaMask) -> str:
    """Return the set as ``{0,1}``; sets of more than eight nodes as ``{0-11,14}``."""
    return "{" + listed(ids(mask)) + "}"


def listed(node_ids: Iterable[int]) -> str:
    node_ids = sorted(node_ids)
    if len(node_ids) > _MOST_SINGLE:
        return cpu_set.text(node_ids)
    return ",".join(map(str, node_ids))
