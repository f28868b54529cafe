"""Run a scenario on the engine, and compare the outcome with the recorded one.

Without a preference of the plugin, the kubelet takes devices in the order of its map. A record is
one outcome of several, and the devices of later pods depend on it, so a record passes if *some*
order reproduces it.
"""

from __future__ import annotations

import hashlib
from typing import Any, TypeAlias, assert_never

from numalet.core.admission.decision import Decision
from numalet.core.config.rules import StartRefused
from numalet.core.managers.device.preference import (
    NO_SAY,
    AllocateAnswer,
    CallFailed,
    PreferenceQuestion,
    Preferred,
    PreferredDevices,
)
from numalet.core.model.findings import Finding
from numalet.core.model.pod import ContainerKey, Pod
from numalet.core.model.value import Value
from numalet.core.node import node as nodes
from numalet.core.node.node import Devices, Node
from numalet.insight.simulate import comparison, outcome
from numalet.insight.simulate.comparison import OutcomeDifference
from numalet.insight.simulate.session import (
    Outcome,
    RemoveStep,
    RestartStep,
    Result,
    Scenario,
    Session,
    Step,
)
from numalet.wording import kubelet, kubelet_start

ORDER_COUNT = 12
"""Number of orders that are tried if the first does not reproduce a record."""


class DeviceOrder(Value):
    """Plugins that prefer devices by a pseudo-random order with the seed ``number``."""

    devices: Devices
    number: int

    def preferred(self, question: PreferenceQuestion) -> Preferred | CallFailed:
        """Prefer the required devices, then the first ones of the order."""
        without_node = {
            device.device_id
            for device in self.devices.get(question.resource, ())
            if not device.numa_nodes
        }

        def place(device_id: str) -> tuple[bool, bytes]:
            about = repr((self.number, *question.container, question.resource, device_id))
            # Like the kubelet, an order puts devices without a NUMA node last.
            return device_id in without_node, hashlib.sha256(about.encode()).digest()

        count = question.size - len(question.must_include)
        others = sorted(question.available - question.must_include, key=place)
        return Preferred(question.must_include | frozenset(others[:count]))

    def allocate(
        self, container: ContainerKey, resource: str, device_ids: tuple[str, ...]
    ) -> AllocateAnswer:
        return NO_SAY.allocate(container, resource, device_ids)


class ScenariosNothingExpected(Finding):
    sentence = "it has no expected outcome (no 'expect')"


class Passed(Value):
    pass


class Failed(Value):
    """The outcome differs; the first difference."""

    first: OutcomeDifference


class Skipped(Value):
    why: Finding


Verdict: TypeAlias = Passed | Failed | Skipped


def check(scenario: Scenario) -> Verdict:
    if scenario.expect is None:
        return Skipped(ScenariosNothingExpected())
    difference = comparison.first_difference(scenario.expect, run(scenario))
    if difference is None or _came_out_otherwise(scenario, scenario.expect):
        return Passed()
    return Failed(difference)


def _came_out_otherwise(scenario: Scenario, expected: Outcome) -> bool:
    """Return whether another device order reproduces a record whose devices varied."""
    if not comparison.devices_varied(expected):
        return False
    orders = (DeviceOrder(scenario.devices, number) for number in range(ORDER_COUNT))
    return any(
        comparison.first_difference(expected, run(scenario, order)) is None for order in orders
    )


def run(scenario: Scenario, plugins: PreferredDevices = NO_SAY) -> Outcome:
    started = nodes.start(
        scenario.config,
        scenario.machine,
        scenario.state_files,
        scenario.devices,
        plugins=plugins,
        behaviour=scenario.behaviour,
    )
    if isinstance(started, StartRefused):
        return _start_error(started) | {"steps": []}
    files = started.state_files()
    initial = {"start_error": None} | outcome.states(files, "initial_")
    if scenario.record_raw:
        initial |= outcome.raw_states(files, "initial_")
    at = Session(scenario.config, scenario.machine, started, scenario.devices, plugins)
    steps = []
    for step in scenario.steps:
        at, result = at.after(step)
        steps.append(_step(step, result, at.node, record_raw=scenario.record_raw))
        if isinstance(result, StartRefused):
            break
    return initial | {"steps": steps}


def _start_error(refused: StartRefused) -> dict[str, Any]:
    error = {
        "start_error": kubelet_start.text(refused),
        "start_error_stage": refused.stage.value,
    }
    by_chance = kubelet_start.by_chance(refused)
    return error if len(by_chance) == 1 else {**error, "start_error_by_chance": list(by_chance)}


def _step(step: Step, result: Result, node: Node, *, record_raw: bool) -> dict[str, Any]:
    """Return the outcome of a step; ``node`` is the node after it."""
    if isinstance(result, StartRefused):
        return _start_error(result)
    match step:
        case Pod():
            (decision,) = result
            recorded = _verdict(decision)
        case RemoveStep():
            recorded = {}
        case RestartStep():
            readmitted = [{"uid": each.pod.uid} | _verdict(each) for each in result]
            recorded = {"start_error": None, "readmitted": readmitted}
        case _:
            assert_never(step)
    files = node.state_files()
    recorded |= outcome.states(files)
    return recorded | outcome.raw_states(files) if record_raw else recorded


def _verdict(decision: Decision) -> dict[str, Any]:
    reason, message = kubelet.reason(decision.rejection), kubelet.message(decision.rejection)
    return outcome.verdict(decision, reason, message)
