"""Runs a scenario on the engine, and compares the outcome with what was recorded.

The meaning of the steps is in the reference of the scenario file: an admitted pod's containers
start at once, a restart keeps containers running and shows their pods to the new kubelet one after
the other before all sources are ready. Nothing is decided here; every number comes from the node or
from its state files.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias, assert_never

from numalet.core.admission.decision import Decision
from numalet.core.config.rules import StartRefused
from numalet.core.model.findings import Finding
from numalet.core.node import node as nodes
from numalet.core.node.node import Node
from numalet.insight.simulate import comparison, outcome
from numalet.insight.simulate.comparison import OutcomeDifference
from numalet.insight.simulate.scenario import Outcome, Scenario
from numalet.insight.simulate.session import (
    Asked,
    NotRestarted,
    Record,
    Removed,
    Restarted,
    Session,
)
from numalet.wording import kubelet, kubelet_start


class ScenariosNothingExpected(Finding):
    code = "scenarios/nothing-expected"
    sentence = "it has no expected outcome (no 'expect')"


@dataclass(frozen=True, slots=True)
class Passed:
    """Everything that was recorded came out."""


@dataclass(frozen=True, slots=True)
class Failed:
    """Something else came out; the first difference."""

    first: OutcomeDifference


@dataclass(frozen=True, slots=True)
class Skipped:
    """The scenario records nothing that could be compared."""

    why: Finding


Verdict: TypeAlias = Passed | Failed | Skipped


def check(scenario: Scenario) -> Verdict:
    """Whether the scenario's recorded outcome is what comes out."""
    if scenario.expect is None:
        return Skipped(ScenariosNothingExpected())
    difference = comparison.first_difference(scenario.expect, run(scenario))
    return Passed() if difference is None else Failed(difference)


def run(scenario: Scenario) -> Outcome:
    """What comes out of the scenario, in the format in which outcomes are recorded."""
    started = nodes.start(
        scenario.config,
        scenario.machine,
        scenario.state_files,
        scenario.devices,
        behaviour=scenario.behaviour,
    )
    if isinstance(started, StartRefused):
        return _start_error(started) | {"steps": []}
    files = started.state_files()
    initial = {"start_error": None} | outcome.states(files, "initial_")
    if scenario.record_raw:
        initial |= outcome.raw_states(files, "initial_")
    session = Session(scenario.config, scenario.machine, started, scenario.devices)
    recorder = _Recorder(scenario.record_raw)
    steps = []
    for step in scenario.steps:
        session, record = session.after(step)
        steps.append(recorder.step(record, session.node))
        if isinstance(record, NotRestarted):
            break
    return initial | {"steps": steps}


def _start_error(refused: StartRefused) -> dict[str, Any]:
    return {
        "start_error": kubelet_start.text(refused),
        "start_error_stage": refused.stage.value,
    }


@dataclass(frozen=True, slots=True)
class _Recorder:
    """Turns what a step did into the outcome of that step."""

    record_raw: bool

    def step(self, record: Record, node: Node) -> dict[str, Any]:
        """The outcome; ``node`` is the node after the step."""
        match record:
            case NotRestarted(refused):
                return _start_error(refused)
            case Asked(decision):
                recorded = _verdict(decision)
            case Removed():
                recorded = {}
            case Restarted(decisions):
                readmitted = [{"uid": each.pod.uid} | _verdict(each) for each in decisions]
                recorded = {"start_error": None, "readmitted": readmitted}
            case _:
                assert_never(record)
        files = node.state_files()
        recorded |= outcome.states(files)
        return recorded | outcome.raw_states(files) if self.record_raw else recorded


def _verdict(decision: Decision) -> dict[str, Any]:
    reason, message = kubelet.reason(decision.rejection), kubelet.message(decision.rejection)
    return outcome.verdict(decision, reason, message)
