"""How often the search for a non-preferred hint is stopped: a count over generated states.

    python -m benchmarks.bounded_rate --nodes 36 --seconds 600 --seed 1

prints how many admissions were decided, how many had no preferred hint, how many searches were
stopped, and the rate of which one can be sure at 95 %.
"""

from __future__ import annotations

import argparse
import math
import random
from time import perf_counter

from benchmarks import many_nodes


def upper_bound(stopped: int, trials: int, confidence: float = 0.95) -> float:
    """The rate at which so few stops would be seen only in one of twenty samples (exact)."""
    low, high = stopped / trials, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if _at_most(stopped, trials, middle) > 1 - confidence:
            low = middle
        else:
            high = middle
    return high


def _at_most(stopped: int, trials: int, rate: float) -> float:
    """How probable at most so many stops are."""
    if rate >= 1:
        return 0.0
    return sum(
        math.exp(
            math.lgamma(trials + 1)
            - math.lgamma(k + 1)
            - math.lgamma(trials - k + 1)
            + (k * math.log(rate) if k else 0.0)
            + (trials - k) * math.log1p(-rate)
        )
        for k in range(stopped + 1)
    )


def main() -> None:
    """Decide until the time is over, and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=36)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    rng = random.Random(given.seed)
    decided = without_preferred = stopped = 0
    end = perf_counter() + given.seconds
    while perf_counter() < end:
        node = many_nodes.fragmented(given.nodes, "best-effort", rng)
        for resources in range(1, many_nodes.MOST_RESOURCES + 1):
            for _ in range(20):
                newcomer = many_nodes.pod("newcomer", rng, resources, given.nodes)
                _, decision = node.admit(newcomer)
                merged = [each.merged for each in decision.alignments.values() if each.merged]
                decided += 1
                without_preferred += any(not each.affinity.preferred for each in merged)
                stopped += any(each.bounded for each in merged)
    print(
        f"{given.nodes} NUMA nodes, seed {given.seed}: {decided} admissions, "
        f"{without_preferred} without a preferred hint, {stopped} searches stopped; "
        f"rate below {upper_bound(stopped, decided):.3%} at 95 %"
    )


if __name__ == "__main__":
    main()
