"""The comparer is awake: whichever recorded value is altered, it is noticed and named.

Leaves are the values at the ends of the recorded outcomes (empty lists and objects included), one
of each scenario that is drawn from all that are replayed, with a fixed seed.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
import typer
from typer.testing import CliRunner

from harness import thoroughness
from numalet.cli.replay import replay
from numalet.insight.simulate.comparison import SKIPPABLE, compare
from oracles import recordings

SAMPLES = thoroughness.of(500, 2000)
THROUGH_THE_COMMAND = 150
SEED = 20240132


class Leaf(NamedTuple):
    """One recorded value: the text of its scenario, path as the comparer writes it, keys to it."""

    scenario: bytes
    path: str
    keys: tuple[str | int, ...]


def members(value: Any) -> Iterator[tuple[str | int, Any]]:
    """Keys and values one level down, without what is not compared; nothing for a leaf."""
    if isinstance(value, list):
        yield from enumerate(value)
    elif isinstance(value, dict):
        skipped = {*value.get("nondeterministic", ()), "nondeterministic"}
        if value.get("start_error_stage") == "node-allocatable":
            skipped.add("start_error")
        assert skipped <= {*SKIPPABLE, "nondeterministic", "start_error"}
        for name, member in value.items():
            if name not in skipped:
                yield name, member


def leaves(value: Any, keys: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Keys to every leaf."""
    if not value or not isinstance(value, dict | list):
        yield keys
        return
    for key, member in members(value):
        yield from leaves(member, (*keys, key))


def path_of(keys: tuple[str | int, ...]) -> str:
    """The place as the comparer writes it."""
    path = ""
    for key in keys:
        if isinstance(key, int):
            path += f"[{key}]"
        elif key.replace("-", "").replace("_", "").isalnum():
            path += f".{key}"
        else:
            path += f'["{key}"]'
    return path.lstrip(".")


@cache
def sampled() -> list[Leaf]:
    """A leaf of each of some scenarios, both drawn, in the order of the files."""
    chance = random.Random(SEED)
    drawn = frozenset(chance.sample(range(sum(recordings.COUNTS.values())), SAMPLES))
    every = (line for name in recordings.COUNTS for line in recordings.lines(name))
    found = []
    for number, line in enumerate(every):
        if number in drawn:
            keys = chance.choice([*leaves(msgspec.json.decode(line)["expect"])])
            found.append(Leaf(line, path_of(keys), keys))
    return found


def altered(value: Any, chance: random.Random) -> Any:
    """Another value that could stand in the same place."""
    others: list[Any] = [None, True, "altered", [0], {"altered": 0}, 1.5]
    match value:
        case bool():
            others = [not value, int(value), None]
        case int():
            others = [value + 1, value - 1, float(value), str(value), None]
        case str():
            others = [value + "x", value.swapcase() + " ", None, []]
        case None:
            others = [False, 0, "", []]
        case _:
            pass
    return chance.choice(others)


def with_another_value(outcome: Any, leaf: Leaf, value: Any) -> Any:
    """A copy of the outcome with one other leaf; only what is on the way to it is copied."""
    copied = parent = copy.copy(outcome)
    for key in leaf.keys[:-1]:
        parent[key] = copy.copy(parent[key])
        parent = parent[key]
    parent[leaf.keys[-1]] = value
    return copied


def value_at(outcome: Any, leaf: Leaf) -> Any:
    """The leaf's value."""
    for key in leaf.keys:
        outcome = outcome[key]
    return outcome


def scenarios_of(leaves_: list[Leaf]) -> Iterator[tuple[Leaf, dict[str, Any]]]:
    """Every leaf with the scenario it is in."""
    for leaf in leaves_:
        yield leaf, msgspec.json.decode(leaf.scenario)


@pytest.mark.slow
def test_every_altered_leaf_is_noticed_and_named() -> None:
    chance = random.Random(SEED)
    missed = []
    count = 0
    for leaf, scenario in scenarios_of(sampled()):
        recorded = scenario["expect"]
        wrong = with_another_value(recorded, leaf, altered(value_at(recorded, leaf), chance))
        count += 1
        found = [difference.path for difference in compare(wrong, recorded)]
        # An altered empty object differs in the member that was put into it.
        if len(found) != 1 or not found[0].startswith(leaf.path):
            missed.append((leaf, found))
    assert missed == []
    assert count == SAMPLES


@pytest.mark.slow
def test_every_removed_leaf_is_noticed() -> None:
    kept_silent = ("memory_state_raw", "cpu_state_raw", "memory_state_blocks", "start_error")
    for leaf, scenario in scenarios_of(sampled()[::4]):
        name = leaf.keys[-1]
        if isinstance(name, int) or name in kept_silent or name.startswith("initial_"):
            continue
        recorded = scenario["expect"]
        wrong = with_another_value(recorded, leaf, None)
        parent = wrong
        for key in leaf.keys[:-1]:
            parent = parent[key]
        del parent[name]
        if "initial_memory_state" in wrong:
            assert [leaf.path] == [difference.path for difference in compare(wrong, recorded)]


@pytest.mark.slow
def test_replay_names_the_altered_leaf(tmp_path: Path) -> None:
    app = typer.Typer()
    app.command()(replay)
    chance = random.Random(SEED)
    picked = chance.sample(sampled(), THROUGH_THE_COMMAND)
    file = tmp_path / "altered.jsonl"
    expected = []
    with file.open("w") as out:
        for leaf, scenario in scenarios_of(picked):
            recorded = scenario["expect"]
            value = altered(value_at(recorded, leaf), chance)
            wrong = scenario | {"expect": with_another_value(recorded, leaf, value)}
            out.write(json.dumps(wrong) + "\n")
            expected.append((scenario["name"], leaf.path))
    result = CliRunner().invoke(app, [str(file), "-o", "json"])
    assert result.exit_code == 1
    failures = json.loads(result.stdout)["files"][0]["failures"]
    assert len(failures) == THROUGH_THE_COMMAND
    for (name, path), failure in zip(expected, failures, strict=True):
        assert name == failure["name"]
        assert failure["path"].startswith(path)
