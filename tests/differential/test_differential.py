"""Random scenarios end in numalet as in the managers of a real kubelet, and small ones are found.

What needs an oracle takes the ones that ``make oracle`` has built, and is skipped without one.
"""

from __future__ import annotations

import itertools
import os
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from differential import (
    gates,
    judging,
    kinds,
    oracle_program,
    random_scenarios,
    record,
    run,
    shrinking,
)
from differential.judging import Verdict
from differential.oracle_program import Oracle, OracleFailedError
from differential.shrinking import Scenario
from numalet.core.config.releases import gate_tables, table
from numalet.core.config.releases.release import Release, later
from oracles.release_recordings import STORE, by_name

SEED = 38
COUNT = 60


def built() -> list[Any]:
    """One oracle for each release that is in the cache."""
    by_release = {oracle_program.release_of(each): each for each in oracle_program.built_versions()}
    found = [
        pytest.param(Oracle(oracle_program.program_file(version), release), id=version)
        for release, version in by_release.items()
        if release in STORE.contents()
    ]
    no_oracle = pytest.mark.skip(reason="no oracle is built: make oracle RELEASE=1.37.2, with Go")
    return found or [pytest.param(None, marks=no_oracle)]


needs_devices = pytest.mark.skipif(
    os.geteuid() != 0, reason="devices need a mount namespace for /var/lib/kubelet: run as root"
)


@pytest.mark.slow
@pytest.mark.parametrize("oracle", built())
def test_random_scenarios_end_as_in_a_real_kubelet(oracle: Oracle) -> None:
    scenarios = [random_scenarios.scenario(SEED, at, oracle.release) for at in range(COUNT)]
    if os.geteuid() != 0:
        scenarios = [each for each in scenarios if not each["devices"]]
    judged = judging.judge(oracle, scenarios)
    assert [each.reason for each in judged if each.verdict is Verdict.DIFFERENT] == []
    assert sum(each.verdict is Verdict.AGREED for each in judged) > COUNT / 2


@pytest.mark.parametrize("oracle", built())
def test_a_kubelet_has_the_gates_of_the_table(oracle: Oracle) -> None:
    try:
        kubelets = gates.of_kubelet(oracle)
    except OracleFailedError as error:
        pytest.skip(f"build the oracle again, with make oracle: {error}")
    assert gates.differences(table.of_name(oracle.release).gates, kubelets) == []


@pytest.mark.parametrize(("before", "after"), [*itertools.pairwise(table.RELEASES)], ids=repr)
def test_a_table_of_gates_is_written_as_a_difference(before: Release, after: Release) -> None:
    written: dict[str, Any] = {"Final": Any, "gates": gate_tables.gates, "needs": gate_tables.needs}
    exec(gates.source(before.gates, after.gates), written)
    made = later(before, after.name, gates=written["_GATES"], needs=written["_NEEDS"])
    assert gates.differences(made.gates, after.gates) == []


@needs_devices
@pytest.mark.slow
@pytest.mark.parametrize("oracle", built())
def test_an_oracle_records_what_is_stored(oracle: Oracle) -> None:
    every = list(STORE.lines(oracle.release))
    given = by_name(every[:: len(every) // COUNT])
    recorded = oracle.record_lines(b"".join(given.values()), "-keep-marks", "-runs", "1")
    assert recorded.left_out == {}
    assert list(record.compare(given, recorded.lines)) == []


@pytest.mark.parametrize(
    ("agreed", "not_seen", "is_more"),
    [(0, 0, False), (40, 1, False), (40, 2, True), (2_000, 5, False), (2_000, 6, True)],
)
def test_a_few_outcomes_that_no_run_has_are_chance(
    agreed: int, not_seen: int, is_more: bool
) -> None:
    counts = Counter({Verdict.AGREED: agreed, Verdict.NOT_SEEN: not_seen})
    assert run.is_more_than_chance(counts) is is_more


def test_a_seed_gives_the_same_scenarios_again() -> None:
    first, again = (random_scenarios.scenario(SEED, 7, "1.36") for _ in range(2))
    assert first == again
    assert random_scenarios.scenario(SEED, 8, "1.36")["steps"] != first["steps"]


def test_a_scenario_shrinks_to_what_shows_the_difference() -> None:
    scenario = next(
        each
        for each in (random_scenarios.scenario(SEED, at, "1.36") for at in range(100))
        if len(each["machine"]["numa_nodes"]) > 2 and len(each["steps"]) > 5
    )
    number = scenario["machine"]["numa_nodes"][1]["id"]

    def shows(candidates: Sequence[Scenario]) -> list[bool]:
        return [
            any(node["id"] == number and node["cores"] for node in each["machine"]["numa_nodes"])
            for each in candidates
        ]

    small = shrinking.smallest(scenario, shows)
    (node,) = small["machine"]["numa_nodes"]
    assert (node["id"], len(node["cores"])) == (number, 1)
    assert len(small["steps"]) == 1
    assert small["kubelet_config"] == {}


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        ({"start_error": "x"}, {"start_error": None, "steps": []}, "start: the error is gone"),
        ({"start_error": None}, {"start_error": "x"}, "start: there is a new error"),
        ({"start_error": "x"}, {"start_error": "y"}, "start: other text"),
        (
            {"steps": [{"admitted": True, "message": ""}]},
            {"steps": [{"admitted": False, "message": "no"}]},
            "decision: admitted or rejected",
        ),
        (
            {"steps": [{"cpuset": {"c": "1"}, "cpu_state": {"checksum": 1}}]},
            {"steps": [{"cpuset": {"c": "2"}, "cpu_state": {"checksum": 2}}]},
            "allocation",
        ),
        (
            {"steps": [{"cpu_state": {"checksum": 1}}]},
            {"steps": [{"cpu_state": {"checksum": 2}}]},
            "state file: other values",
        ),
    ],
)
def test_a_difference_between_releases_has_a_kind(
    before: dict[str, Any], after: dict[str, Any], kind: str
) -> None:
    found = kinds.most_important(before, after)
    assert found is not None
    assert found[0] == kind


def test_what_one_record_calls_chance_is_no_difference() -> None:
    before = {"steps": [{"devices": {"c": ["a"]}}]}
    after = {"steps": [{"nondeterministic": ["devices"]}]}
    assert kinds.most_important(before, after) is None


def test_the_place_of_a_difference_is_grouped_without_names_and_numbers() -> None:
    path = 'steps[3].readmitted[0].cpu_state.entries["pod-1"].c0'
    assert judging.kind_of(path) == "steps.readmitted.cpu_state.entries"


def test_a_release_is_compared_with_the_one_before_it() -> None:
    assert record.before("1.34") == "1.33"
    assert record.before("1.33") == "1.32"
    assert record.before("1.99") == list(STORE.contents())[-1]
