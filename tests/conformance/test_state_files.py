"""Every state that a kubelet was recorded to write verifies; bad inputs end as recorded."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from numalet.core.checkpoint import cpu_file, memory_file
from numalet.core.config.rules import StartRefused
from numalet.insight.simulate.session import Scenario
from numalet.insight.state import restart_check
from numalet.insight.state import verify as state_verify
from numalet.insight.state.restart_check import RestartAnswer
from numalet.insight.state.verify import Soundness
from numalet.insight.usecases import scenario_file
from numalet.wording import kubelet_start
from oracles import recordings

FILE_OF_MEMBER = {
    "memory_state": memory_file.FILE_NAME,
    "initial_memory_state": memory_file.FILE_NAME,
    "cpu_state": cpu_file.FILE_NAME,
    "initial_cpu_state": cpu_file.FILE_NAME,
}

ERRORS = {"state/cpus-of-two-pods": 4}
"""What v1.32 does on machines whose cores have unequal numbers of threads; different states."""

WARNINGS = {
    "state/groups-overlap": 39,
    "state/wrapped": 307,
    "state/empty-default": 104,
    "state/unsealed": 6,
    "state/native-many-nodes": 6,
    "state/types-differ": 137,
    "state/would-crash": 4,
    "state/windows-policy": 1947,
}
"""Warnings and notes, and how many different states have them."""


def states(value: Any) -> Iterator[tuple[str, Any]]:
    """Every state file that stands in a recorded outcome, by its name."""
    if isinstance(value, list):
        for item in value:
            yield from states(item)
    elif isinstance(value, dict):
        for member, item in value.items():
            if member in FILE_OF_MEMBER and item is not None:
                yield FILE_OF_MEMBER[member], item
            else:
                yield from states(item)


@cache
def recorded() -> frozenset[tuple[str, str]]:
    """The different states of all outcomes, as texts."""
    found = set()
    for name in recordings.COUNTS:
        for line in recordings.lines(name):
            # What was damaged by hand before a start goes on being damaged.
            if name != "odd" or b'"state_files"' not in line:
                for file, state in states(json.loads(line)["expect"]):
                    found.add((file, json.dumps(state)))
    return frozenset(found)


@pytest.mark.slow
def test_every_recorded_state_is_accepted() -> None:
    errors: Counter[str] = Counter()
    warnings: Counter[str] = Counter()
    restarts: Counter[str] = Counter()
    for name, text in recorded():
        report = state_verify.verify_file(name, text)
        codes = {finding.code for finding in report.findings}
        if report.soundness is Soundness.BROKEN:
            assert codes <= ERRORS.keys(), (text, report.findings)
            errors.update(codes)
            continue
        warnings.update(codes)
        restarts.update(
            {
                finding.fields["restart"]
                for finding in report.findings
                if "restart" in finding.fields
            }
        )

    assert errors == ERRORS
    assert warnings == WARNINGS
    assert restarts == {"no": 18, "by chance": 21}


@cache
def with_files() -> tuple[Scenario, ...]:
    """Recorded starts over state files that were there before."""
    return tuple(
        scenario
        for name in ("startup", "restart", "odd")
        for raw in scenario_file.read_scenarios(str(recordings.path(name)))
        # To read one takes long, and most have none.
        if '"state_files"' in raw.text and (scenario := raw.decode()).state_files
    )


@pytest.mark.slow
def test_starts_over_given_files_are_answered_as_recorded() -> None:
    answers: Counter[RestartAnswer] = Counter()
    for scenario in with_files():
        found = restart_check.check(scenario.config, scenario.machine, scenario.state_files)
        answers[found.answer] += 1
        assert scenario.expect is not None
        expected = scenario.expect["start_error"]
        if isinstance(found.refused, StartRefused):
            assert expected == kubelet_start.text(found.refused), scenario.name
        else:
            assert expected is None, scenario.name
        if found.refused is not None and restart_check.is_about_files(found.refused):
            assert found.drift, f"{scenario.name}: refused without a word about the cause"

    assert answers[RestartAnswer.REFUSED] >= 50
    assert answers[RestartAnswer.ACCEPTED] >= 10


@pytest.mark.slow
def test_bad_files_do_not_verify_on_their_machine() -> None:
    """What a kubelet can not read, or finds to contradict itself, is no sound file."""
    unseen = []
    for scenario in with_files():
        expected = (scenario.expect or {}).get("start_error") or ""
        if "could not restore state" not in expected or "differs from state" in expected:
            continue
        reports = state_verify.verify(scenario.state_files, scenario.machine)
        if all(report.soundness is Soundness.SOUND for report in reports):
            unseen.append(scenario.name)

    assert unseen == []
