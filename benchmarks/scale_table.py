"""One admission on 1 to 64 NUMA nodes: by number of resources, policy, and state of the node.

The states and pods are those of the tests' generator (``tests/values/node_states.py``) without the
option prefer-closest-numa-nodes, which has a table of its own: searching for the *closest* set
takes longer than searching for the lowest.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from statistics import median

from benchmarks import page, timing

from numalet.core.node.node import Node
from values import node_states
from values.node_states import Life

NODE_COUNTS = (1, 2, 4, 8, 12, 16, 32, 36, 64)
RESOURCES = range(1, node_states.MOST_RESOURCES + 1)
STATES = ("empty", "fragmented")
_SEED = "scale"
_LIVES = 10
_PODS = 10


@dataclass(frozen=True)
class Cell:
    """What was measured together, in seconds."""

    policy: str
    state: str
    node_count: int
    resources: int
    seconds: tuple[float, ...]


def measured(closest: bool = False) -> list[Cell]:
    """All cells; ``closest`` measures fragmented nodes on which prefer-closest counts."""
    policies = ("best-effort",) if closest else node_states.POLICIES
    states = ("fragmented",) if closest else STATES
    return [
        cell
        for policy in policies
        for state in states
        for node_count in NODE_COUNTS
        for cell in _cells(policy, state, node_count, closest)
    ]


def _cells(policy: str, state: str, node_count: int, closest: bool) -> Iterator[Cell]:
    seconds: dict[int, list[float]] = {resources: [] for resources in RESOURCES}
    for number in range(_LIVES):
        rng = random.Random(f"{_SEED} {policy} {state} {node_count} {number}")
        life = replace(node_states.any_life(node_count, rng, policy), closest=closest)
        node = _node(life, state, rng)
        with timing.written(node) as directory:
            for resources in [*RESOURCES] * _PODS:
                pod = node_states.pod("newcomer", life, rng, resources)
                seconds[resources].append(timing.admission(node, pod, directory))
    for resources, found in seconds.items():
        yield Cell(policy, state, node_count, resources, tuple(found))


def _node(life: Life, state: str, rng: random.Random) -> Node:
    return node_states.empty(life) if state == "empty" else node_states.fragmented(life, rng)


def told(cells: list[Cell], closest: list[Cell]) -> str:
    """The tables, the goals, and the growth."""
    parts = [
        "Median / 99th percentile in milliseconds, "
        f"{_LIVES * _PODS} admissions to {_LIVES} nodes in each cell."
    ]
    for policy in node_states.POLICIES:
        parts += [f"**{policy}**", _table([cell for cell in cells if cell.policy == policy])]
    parts += ["**best-effort with prefer-closest-numa-nodes**", _table(closest)]
    parts += ["**The goals**", _goals(cells, closest), "**Growth**", _growth(cells)]
    return "\n\n".join(parts)


def _table(cells: list[Cell]) -> str:
    heads = ["NUMA nodes", "State", *(f"r = {resources}" for resources in RESOURCES)]
    rows: dict[tuple[int, str], list[str]] = {}
    for cell in sorted(cells, key=lambda cell: (cell.node_count, cell.state, cell.resources)):
        row = rows.setdefault((cell.node_count, cell.state), [str(cell.node_count), cell.state])
        row.append(timing.spread(cell.seconds))
    return page.table(heads, list(rows.values()))


def _goals(cells: list[Cell], closest: list[Cell]) -> str:
    """The worst cell for each goal, and what prefer-closest-numa-nodes makes of it."""

    def worst(among: list[Cell], part: float, counts: tuple[int, ...]) -> str:
        found = [each for each in among if each.node_count in counts]
        if part == 0.5:
            return timing.milliseconds(max(median(each.seconds) for each in found))
        return timing.milliseconds(max(timing.percentile(each.seconds, part) for each in found))

    def row(what: str, part: float, counts: tuple[int, ...], goal: str) -> list[str]:
        return [what, goal, worst(cells, part, counts), worst(closest, part, counts)]

    few = tuple(count for count in NODE_COUNTS if count <= 8)
    return page.table(
        ["Worst of all cells, ms", "Goal", "Measured", "With prefer-closest"],
        [
            row("median, up to 8 nodes", 0.5, few, "1"),
            row("p99, up to 8 nodes", 0.99, few, "3"),
            row("p99, 36 nodes", 0.99, (36,), "10"),
            row("p99, 64 nodes", 0.99, (64,), "50"),
        ],
    )


def _growth(cells: list[Cell]) -> str:
    """By what doubling the nodes multiplies the median: the mean and the worst of all cells."""
    medians = {(c.policy, c.state, c.resources, c.node_count): median(c.seconds) for c in cells}
    rows = []
    for node_count in (8, 16, 32):
        factors = [
            medians[policy, state, resources, 2 * node_count] / seconds
            for (policy, state, resources, count), seconds in medians.items()
            if count == node_count
        ]
        mean, most = sum(factors) / len(factors), max(factors)
        rows.append([f"{node_count} to {2 * node_count}", f"{mean:.1f}", f"{most:.1f}", "5"])
    return page.table(["NUMA nodes", "Median times, mean", "worst cell", "Goal"], rows)
