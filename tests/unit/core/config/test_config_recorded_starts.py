"""Every recorded start of a real kubelet v1.32: whether it starts, and its exact last words.

Starts that fail over the content of a state file belong to the checkpoints; here they must get
through the configuration.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from numalet.core.config import start
from numalet.core.config.rules import NodeRules
from numalet.core.model import kubelet_view
from numalet.core.model.findings import Location
from numalet.io.documents.kubelet import kubelet_config
from numalet.io.documents.machine import machine_file
from numalet.wording import kubelet_start as wording
from oracles import recordings

LATER_STAGES = ("cpu-manager-start", "memory-manager-start")
STARTS = {
    "startup": 460,
    "restart": 955,
    "topology": 545,
}


def recorded(name: str) -> Iterator[tuple[str, Any, Any, Any]]:
    """Name, configuration, machine and outcome of every start in a file."""
    for line in recordings.lines(name):
        scenario = json.loads(line)
        config, machine = scenario["kubelet_config"], scenario["machine"]
        expect = scenario["expect"]
        yield scenario["name"], config, machine, expect
        for step, outcome in zip(scenario["steps"], expect.get("steps", ()), strict=False):
            if "restart" in step:
                config = step["restart"].get("kubelet_config", config)
                machine = step["restart"].get("machine", machine)
                yield scenario["name"], config, machine, outcome


def outcome_of(config: Any, machine: Any) -> tuple[str | None, str | None]:
    view = kubelet_view.kubelet_view(machine_file.decode(machine, Location("machine", "$")))
    found = start.resolve(kubelet_config.decode(config, "config"), view)
    refused = start.check_node_allocatable(found) if isinstance(found, NodeRules) else found
    if refused is None:
        return None, None
    return refused.stage.value, wording.text(refused)


@pytest.mark.slow
@pytest.mark.parametrize("name", list(STARTS))
def test_a_start_ends_as_it_was_recorded(name: str) -> None:
    count = 0
    for scenario, config, machine, expect in recorded(name):
        count += 1
        wanted = expect["start_error"] and expect["start_error_stage"], expect["start_error"]
        found = outcome_of(config, machine)
        if wanted[0] in LATER_STAGES:
            assert found[0] in (None, "node-allocatable"), scenario
        else:
            assert wanted == found, scenario
    assert count == STARTS[name]
