"""The closed form of the merge beside the walk over all combinations.

Both do the same work in the same run, so that their ratio says something. The walk is the
oracle of the tests; it is measured on what it can do, and the closed form also on what it can
not.
"""

from __future__ import annotations

import random

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from numalet.core.hints import merging
from numalet.core.hints.provider import Hint
from numalet.core.model import numa_mask
from oracles import merge_by_walking

WAYS = {"closed form": merging.merge, "walking": merge_by_walking.merge}


def lists(node_count: int, list_count: int) -> list[list[Hint]]:
    """Lists of hints on sets of two nodes or more, none of them preferred in all lists."""
    rng = random.Random(f"{node_count} {list_count}")
    masks = [mask for mask in numa_mask.by_size(range(node_count)) if mask.bit_count() > 1]
    return [[Hint(mask, False) for mask in masks if rng.random() < 0.75] for _ in range(list_count)]


@pytest.mark.parametrize("way", sorted(WAYS))
@pytest.mark.benchmark(group="merge of 3 lists on 4 nodes")
def test_small_merge(way: str, benchmark: BenchmarkFixture) -> None:
    given = lists(4, 3)

    found = benchmark(WAYS[way], given, 0b1111)

    assert found == merge_by_walking.merge(given, 0b1111)


@pytest.mark.parametrize("node_count", [8, 12, 16])
@pytest.mark.benchmark(group="merge of 5 lists, closed form")
def test_large_merge(node_count: int, benchmark: BenchmarkFixture) -> None:
    given = lists(node_count, 5)
    combinations = 1
    for each in given:
        combinations *= len(each)

    benchmark.extra_info["combinations"] = float(combinations)
    benchmark(merging.merge, given, (1 << node_count) - 1)
