"""Compare numalet with a real kubelet's managers on random scenarios.

    PYTHONPATH=tests .venv/bin/python -m differential.run 1.37.2 --seconds 60

prints the seed, with which the run can be repeated, and counts at the end. It compares the feature
gates too. Every kind of difference is made small and written to a file that ``numalet replay``
reads; the exit status is then 1. It is also 1 if too many scenarios that depend on chance never
come out as in numalet. A scenario is added to the tests by moving its file to ``tests/scenarios``.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from differential import gates, judging, oracle_program, random_scenarios, shrinking
from differential.judging import Judged, Verdict
from differential.oracle_program import Oracle
from differential.shrinking import Scenario
from numalet.core.config.releases import table

BATCH: Final = 40
"""Scenarios that the oracle gets at once."""

MOST_KINDS: Final = 10
"""Kinds of differences after which a run ends: something more general is wrong then."""

SCENARIOS_FOR_ONE_NOT_SEEN: Final = 500
"""One in so many scenarios has so many outcomes that numalet's is in no run of the kubelet."""


def is_more_than_chance(counts: Mapping[Verdict, int]) -> bool:
    """Return whether numalet's outcome is missing from the kubelet's runs too often for chance.

    A wrong outcome of a scenario that depends on chance is not a difference by itself: each run of
    the kubelet may come out otherwise.
    """
    return counts[Verdict.NOT_SEEN] > 1 + sum(counts.values()) / SCENARIOS_FOR_ONE_NOT_SEEN


def compare(oracle: Oracle, seed: int, seconds: float) -> tuple[Counter[Verdict], dict[str, Found]]:
    """Compare for some time; return the counts, and the first scenario of each kind."""
    counts: Counter[Verdict] = Counter()
    kinds: dict[str, Found] = {}
    for scenarios, results in _judged(oracle, seed, time.monotonic() + seconds):
        for scenario, judged in zip(scenarios, results, strict=True):
            counts[judged.verdict] += 1
            if judged.verdict is Verdict.NOT_SEEN:
                print(f"{scenario['name']}, {judged.verdict.value}: {judged.reason[:600]}")
            if judged.verdict is Verdict.DIFFERENT:
                kinds.setdefault(judged.kind, (scenario, judged))
        if len(kinds) >= MOST_KINDS:
            break
    return counts, kinds


Found = tuple[Scenario, Judged]


def _judged(
    oracle: Oracle, seed: int, until: float
) -> Iterator[tuple[list[Scenario], list[Judged]]]:
    """Judge one batch after the other. The oracle records the next one meanwhile."""
    number = 0
    with ThreadPoolExecutor(max_workers=2) as threads:
        waiting: list[tuple[list[Scenario], Future[list[Judged]]]] = []
        while time.monotonic() < until or waiting:
            while time.monotonic() < until and len(waiting) < 2:
                batch = [
                    random_scenarios.scenario(seed, each, oracle.release)
                    for each in range(number, number + BATCH)
                ]
                number += BATCH
                waiting.append((batch, threads.submit(judging.judge, oracle, batch)))
            batch, result = waiting.pop(0)
            yield batch, result.result()


def write_smallest(oracle: Oracle, kind: str, found: Found, folder: Path) -> Path:
    """Make the scenario of a difference small, and write it with the kubelet's outcome."""
    scenario, _ = found
    shows = partial(judging.still_different, oracle, kind)
    small = shrinking.smallest(scenario, shows)
    recorded = oracle.record([small], runs=judging.CHANCE_RUNS).lines
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{scenario['name']}-{oracle.release}.jsonl"
    # A kubelet that crashes has no outcome; the input is written then.
    file.write_bytes(recorded.get(small["name"]) or msgspec.json.encode(small) + b"\n")
    return file


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("version", help="version of Kubernetes, such as 1.37.2")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=None, help="a new one by default")
    parser.add_argument("--into", type=Path, default=Path("build/differential"))
    arguments = parser.parse_args()
    seed = random.SystemRandom().randrange(1 << 31) if arguments.seed is None else arguments.seed
    print(f"seed {seed}: make differential RELEASE={arguments.version} SEED={seed}", flush=True)
    try:
        oracle = oracle_program.build(arguments.version)
        ours = table.of_name(oracle.release).gates
        other_gates = gates.differences(ours, gates.of_kubelet(oracle))
        counts, kinds = compare(oracle, seed, arguments.seconds)
    except oracle_program.OracleFailedError as error:
        print(f"cannot compare: {error}", file=sys.stderr)
        return 2
    total = sum(counts.values())
    listed = ", ".join(f"{counts[each]} {each.value}" for each in Verdict if counts[each])
    print(f"{total} scenarios with Kubernetes {arguments.version}: {listed}", flush=True)
    for line in other_gates:
        print(f"feature gate {line}")
    for kind, (scenario, judged) in kinds.items():
        print(f"\n{kind}, in {scenario['name']}\n  {judged.reason[:600]}", flush=True)
        file = write_smallest(oracle, kind, (scenario, judged), arguments.into)
        print(f"  small scenario, also in {file}:\n{file.read_text()}", flush=True)
    is_doubtful = is_more_than_chance(counts)
    if is_doubtful:
        print(f"{counts[Verdict.NOT_SEEN]} outcomes that no run has are more than chance")
    return 1 if kinds or other_gates or is_doubtful else 0


if __name__ == "__main__":
    sys.exit(main())
