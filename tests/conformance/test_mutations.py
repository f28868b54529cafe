"""The comparer is awake: whichever recorded value is altered, it is noticed and named.

Leaves are the values at the ends of the recorded outcomes (empty lists and objects included), one
of each scenario that is drawn, with a fixed seed: from all of v1.32, from those of each later
release that differ from these, and of what only pods with a budget of their own bring about.
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
from oracles.release_recordings import STORE

SAMPLES = thoroughness.of(500, 2000)
SAMPLES_OF_A_RELEASE = thoroughness.of(100, 500)
SAMPLES_OF_POD_ENTRIES = thoroughness.of(60, 120)
THROUGH_THE_COMMAND = 250
SEED = 20240132
UNKNOWN = "no_such_field"


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
    return [*of_the_first_release(chance), *of_later_releases(chance), *of_pod_entries(chance)]


def of_the_first_release(chance: random.Random) -> Iterator[Leaf]:
    """Leaves of v1.32."""
    drawn = frozenset(chance.sample(range(sum(recordings.COUNTS.values())), SAMPLES))
    every = (line for name in recordings.COUNTS for line in recordings.lines(name))
    for number, line in enumerate(every):
        if number in drawn:
            yield leaf(line, leaves_of(line), chance)


def of_later_releases(chance: random.Random) -> Iterator[Leaf]:
    """Leaves of what v1.32 was not given, or decides otherwise."""
    for release in STORE.contents():
        for name in chance.sample([*STORE.names_that_differ(release)], SAMPLES_OF_A_RELEASE):
            line = STORE.line(release, name)
            yield leaf(line, leaves_of(line), chance)


def of_pod_entries(chance: random.Random) -> Iterator[Leaf]:
    """Leaves of what state files say of pods, rather than of their containers."""
    for release in STORE.contents():
        lines = (STORE.line(release, name) for name in STORE.names_that_differ(release))
        having = [line for line in lines if b'"podEntries"' in line]
        for line in chance.sample(having, min(len(having), SAMPLES_OF_POD_ENTRIES)):
            yield leaf(line, [keys for keys in leaves_of(line) if "podEntries" in keys], chance)


def leaves_of(line: bytes) -> list[tuple[str | int, ...]]:
    """Keys to every leaf of the outcome in a line."""
    return [*leaves(msgspec.json.decode(line)["expect"])]


def leaf(line: bytes, keys: list[tuple[str | int, ...]], chance: random.Random) -> Leaf:
    """One of the leaves of a line."""
    drawn = chance.choice(keys)
    return Leaf(line, path_of(drawn), drawn)


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
    assert count >= SAMPLES + len(STORE.contents()) * SAMPLES_OF_A_RELEASE + SAMPLES_OF_POD_ENTRIES


@pytest.mark.slow
def test_a_field_that_does_not_come_out_is_noticed_wherever_it_stands() -> None:
    for leaf, scenario in scenarios_of(sampled()[::2]):
        recorded = scenario["expect"]
        for depth in range(len(leaf.keys)):
            keys = leaf.keys[:depth]
            within = value_at(recorded, leaf._replace(keys=keys))
            if isinstance(within, dict):
                added = Leaf(leaf.scenario, path_of((*keys, UNKNOWN)), (*keys, UNKNOWN))
                wrong = with_another_value(recorded, added, None)
                assert [added.path] == [difference.path for difference in compare(wrong, recorded)]


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
