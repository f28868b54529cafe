"""How often the search for a hint that is not preferred is stopped: a count over generated lives.

    PYTHONPATH=tests python -m benchmarks.bounded_rate --seconds 1200 --write

Each life of the generator (``tests/values/node_states.py``) is one trial: a machine is filled,
partly emptied, filled up, and asked by one more pod, whose decision was stopped or not. Lives are
independent of each other, as the many decisions on the way of one life are not; so those are
counted too, and the bound is taken over the last ones alone. It is that of Clopper and Pearson:
exact for any count, and for none stopped in N the rule of three, 3 / N.

Lives 0 to K - 1 of a seed are the same everywhere; only K depends on the time. The policy
single-numa-node is left out, because it never searches for what is not preferred and would only
make the share look better.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
from collections import Counter
from functools import partial
from multiprocessing import Pool
from time import perf_counter

from benchmarks import page

from numalet.core.admission.decision import Decision
from values import node_states

POLICIES = ("best-effort", "restricted")
GOAL = 0.001
_SHARES = {36: 0.22, 64: 0.78}
"""Numbers of NUMA nodes, and which part of the time each gets."""
_BATCH = 8


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


def lower_bound(stopped: int, trials: int, confidence: float = 0.95) -> float:
    """The rate at which so many stops would be seen only in one of twenty samples (exact)."""
    return 1 - upper_bound(trials - stopped, trials, confidence) if stopped else 0.0


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


def live(number: int, node_count: int, seed: int) -> Counter[str]:
    """What came of one life: its last decision, and all that were on the way."""
    counts: Counter[str] = Counter()

    def seen(decision: Decision, of: str = "on the way") -> None:
        merged = [each.merged for each in decision.alignments.values() if each.merged]
        bounded = [each for each in merged if each.bounded]
        counts[of] += 1
        counts[f"{of}, not preferred"] += any(not each.affinity.preferred for each in merged)
        counts[f"{of}, stopped"] += bool(bounded)
        counts["stopped, preferred"] += any(each.affinity.preferred for each in bounded)

    rng = random.Random(f"{seed} {node_count} {number}")
    life = node_states.any_life(node_count, rng, rng.choice(POLICIES))
    node = node_states.fragmented(life, rng, seen)
    resources, containers = rng.randint(1, node_states.MOST_RESOURCES), rng.choice((1, 1, 1, 2))
    seen(node.admit(node_states.pod("last", life, rng, resources, containers))[1], "last")
    return counts


def sample(node_count: int, seed: int, seconds: float, processes: int) -> Counter[str]:
    """The counts of as many lives as the time allows."""
    total: Counter[str] = Counter()
    end = perf_counter() + seconds
    with Pool(processes) as pool:
        while perf_counter() < end:
            numbers = range(total["last"], total["last"] + _BATCH * processes)
            for counts in pool.map(partial(live, node_count=node_count, seed=seed), numbers, 1):
                total.update(counts)
    return total


def told(samples: dict[int, Counter[str]], seed: int) -> str:
    """The section of the page."""
    heads = ["NUMA nodes", "", "Decisions", "Not preferred", "Stopped", "Share below, at 95 %"]
    rows = []
    for node_count, counts in samples.items():
        for of in ("last", "on the way"):
            stopped, decided = counts[f"{of}, stopped"], counts[of]
            bound = f"{upper_bound(stopped, decided):.3%}" if of == "last" else ""
            not_preferred = f"{counts[f'{of}, not preferred']:,}"
            rows.append([str(node_count), of, f"{decided:,}", not_preferred, str(stopped), bound])
    return f"Seed {seed}, {page.machine()}.\n\n{page.table(heads, rows)}"


def main() -> int:
    """Live until the time is over and print the counts; 1 if there were too many stops."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--write", action="store_true", help="write it into docs/benchmarks.md")
    given = parser.parse_args()
    samples = {
        node_count: sample(node_count, given.seed, given.seconds * share, given.processes)
        for node_count, share in _SHARES.items()
    }
    text = told(samples, given.seed)
    print(text)
    if given.write:
        page.write_section("bounded", text)
    return int(any(map(is_too_much, samples.values())))


def is_too_much(counts: Counter[str]) -> bool:
    """Whether a preferred result was stopped, or surely more than the goal allows."""
    surely = lower_bound(counts["last, stopped"], counts["last"])
    return counts["stopped, preferred"] > 0 or surely > GOAL


if __name__ == "__main__":
    sys.exit(main())
