"""Recorded decisions of a kubelet come out of agents that are asked through their front door.

Every agent is a process that runs the command line ``numalet agent --exact --runtime fake``, is
given files, asked over its Unix socket, and ended by a signal; a restart is another one on the same
root folder. How a scenario is played: ``front_door``; how agents are started: ``agent_processes``.

That every recorded decision comes out is tested in ``tests/conformance``, in one process. Here
every run plays those that show something new of how a decision ends under which policies;
``make thorough`` plays all. Of later releases it is a few of each kind that differs.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

import pytest

from harness import thoroughness
from numalet.insight.simulate import comparison
from oracles import recordings
from oracles.release_recordings import STORE, category_of
from running import agent_processes, front_door
from running.agent_log import Plain
from running.agent_processes import Forks, Interpreters, Starter

NAMES: Final = ("mixed", "restart")
OF_RELEASES: Final = {
    release: [
        kind for kind in ("mixed", "restart", "uncoreodd", "devnodes", "podlevel") if kind in each
    ]
    for release, each in ((name, each.differing) for name, each in STORE.contents().items())
}
"""Where later releases decide otherwise, and an agent is given what decides."""
PLACED_WHOLE: Final = {
    "podlevel-10307": "a pod that shares its CPUs is refused after a restart",
    "podlevel-10382": "a pod with a fractional total is admitted again after a restart",
    "podlevel-10478": "a pod whose containers leave nothing to share, under best-effort",
    "podlevel-10500": "pods that are placed a second time after restarts",
}
"""Scenarios with the gate PodLevelResourceManagers, and what each shows."""
OF_A_KIND: Final = thoroughness.of(2, 1000)
PARTS: Final = 8
AS_TYPED: Final = {
    "mixed-10006": "devices, init containers, removals",
    "mixed-10047": "the exact texts of the state files",
    "restart-10014": "two restarts, one by a crash, with pods that are gone",
    "restart-10040": "another machine, and a start that is refused",
}
"""Scenarios that are played by interpreters of their own too, and what each shows."""


@pytest.fixture(scope="module")
def forks() -> Iterator[Forks]:
    """A quick way to start agents."""
    with agent_processes.forks() as starter:
        yield starter


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("name", NAMES)
def test_recorded_decisions_come_out_of_the_whole_agent(
    name: str, part: int, forks: Forks, quick_path: Path
) -> None:
    found = {}
    for scenario in itertools.islice(played_here(name), part, None, PARTS):
        actual = played(scenario, forks, quick_path / scenario["name"])
        difference = comparison.first_difference(scenario["expect"], actual)
        if difference is not None:
            found[scenario["name"]] = difference
    assert found == {}


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_way_in_which_a_decision_ends_is_played(name: str) -> None:
    def shown(those: Iterable[Plain]) -> set[object]:
        return {each for scenario in those for each in facts(scenario)}

    assert shown(played_here(name)) == shown(scenarios(name))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("release", "name"),
    [(release, name) for release, names in OF_RELEASES.items() for name in names],
)
def test_what_a_release_decides_otherwise_comes_out_of_the_whole_agent(
    release: str, name: str, forks: Forks, quick_path: Path
) -> None:
    found = {}
    for scenario in itertools.islice(showing_something_new(differing(release, name)), OF_A_KIND):
        actual = played(scenario, forks, quick_path / scenario["name"])
        difference = comparison.first_difference(scenario["expect"], actual)
        if difference is not None:
            found[scenario["name"]] = difference
    assert found == {}


@pytest.mark.slow
@pytest.mark.parametrize("release", ["1.36", "1.37"])
@pytest.mark.parametrize("wanted", PLACED_WHOLE)
def test_pods_that_are_placed_as_a_whole_are_so_by_the_whole_agent(
    wanted: str, release: str, forks: Forks, quick_path: Path
) -> None:
    scenario = json.loads(STORE.line(release, wanted))
    actual = played(scenario, forks, quick_path / wanted)
    assert comparison.first_difference(scenario["expect"], actual) is None


@pytest.mark.slow
@pytest.mark.parametrize("wanted", AS_TYPED)
def test_a_command_that_is_typed_does_the_same_as_a_copy_of_a_process(
    wanted: str, forks: Forks, quick_path: Path
) -> None:
    name, _, _ = wanted.partition("-")
    (scenario,) = (each for each in scenarios(name) if each["name"] == wanted)
    with closing(Interpreters()) as interpreters:
        typed = played(scenario, interpreters, quick_path / "typed")
    copied = played(scenario, forks, quick_path / "copied")

    assert comparison.first_difference(scenario["expect"], typed) is None
    assert typed == copied


def played_here(name: str) -> Iterator[Plain]:
    """Few scenarios of a file of v1.32 that together show all that the file shows, or all."""
    if thoroughness.of(0, 1):
        yield from scenarios(name)
        return
    those = [(each, facts(each)) for each in scenarios(name)]
    left = set().union(*(shown for _, shown in those))
    while left:
        # What shows most that is new for each step that it takes; to begin takes two more.
        each, shown = max(those, key=lambda one: len(one[1] & left) / (_steps(one[0]) + 2))
        left -= shown
        yield each


def _steps(scenario: Plain) -> int:
    return len(scenario["expect"]["steps"])


def differing(release: str, name: str) -> Iterator[Plain]:
    """The scenarios of this kind in which a release differs from v1.32, and an agent starts."""
    for each in STORE.names_that_differ(release):
        if category_of(each) == name:
            scenario = json.loads(STORE.line(release, each))
            if scenario["expect"]["start_error"] is None:
                yield scenario


def showing_something_new(those: Iterable[Plain]) -> Iterator[Plain]:
    """Scenarios that show something which none before them shows, or all."""
    shown: set[object] = set()
    for scenario in those:
        if thoroughness.of(0, 1) or not shown >= facts(scenario):
            shown |= facts(scenario)
            yield scenario


def facts(scenario: Plain) -> set[object]:
    """What a scenario shows: its tags and options, and each end of a decision or a start under
    these policies."""
    config, expect = scenario["kubelet_config"], scenario["expect"]
    steps = [expect, *expect["steps"]]
    ends = [*steps, *(each for step in steps for each in step.get("readmitted", ()))]
    policies = (
        *(config.get(f"{name}ManagerPolicy") for name in ("cpu", "memory", "topology")),
        config.get("topologyManagerScope"),
    )
    options = (config.get(f"{name}ManagerPolicyOptions", {}) for name in ("cpu", "topology"))
    return {
        *scenario["tags"],
        *(option for each in options for option in each.items()),
        *(
            (policies, *(end.get(name) for name in ("admitted", "reason", "start_error_stage")))
            for end in ends
        ),
    }


def played(scenario: Plain, starter: Starter, folder: Path) -> Plain:
    """What comes out of a scenario that is played below this folder."""
    folder.mkdir()
    return front_door.Played(scenario, starter, folder).outcome()


def scenarios(name: str) -> Iterator[Plain]:
    """The scenarios of a file as they stand there."""
    return map(json.loads, recordings.lines(name))
