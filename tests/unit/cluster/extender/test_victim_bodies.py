"""What schedulers send to ``preempt`` and read from it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Final

import pytest

from numalet.cluster.extender import wire
from numalet.core.model.findings import BadInput
from numalet.insight.scheduling.preempting import VictimSet

_NOTES: Final = "NUMALET_NOTES"
"""Names a folder with the bodies that a real scheduler sent."""


def sets(**members: Any) -> dict[str, VictimSet]:
    body = json.dumps({"Pod": {}, **members}).encode()
    return dict(wire.preemption_arguments(body).sets())


def test_victims_come_as_uids_or_as_whole_pods() -> None:
    named = {"n": {"Pods": [{"UID": "a"}, {"UID": "b"}], "NumPDBViolations": 1}}
    whole = {
        "n": {
            "Pods": [{"metadata": {"uid": uid, "name": uid}, "spec": {}} for uid in "ab"],
            "NumPDBViolations": 1,
        }
    }
    expected = {"n": VictimSet(("a", "b"), 1)}
    assert sets(NodeNameToVictims=None, NodeNameToMetaVictims=named) == expected
    # The other member is there and empty.
    assert sets(NodeNameToVictims=whole, NodeNameToMetaVictims={}) == expected


@pytest.mark.parametrize("nothing", [None, {}])
def test_no_victims_are_no_sets(nothing: Any) -> None:
    assert sets() == sets(NodeNameToVictims=nothing, NodeNameToMetaVictims=nothing) == {}
    without = {"n": {"Pods": None}}
    assert sets(NodeNameToMetaVictims=without) == {"n": VictimSet(())}
    assert sets(NodeNameToVictims=without) == {"n": VictimSet(())}


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{}", b'{"Pod": {}, "NodeNameToVictims": 1}', b"\xff"]
)
def test_what_can_not_be_read_is_said(body: bytes) -> None:
    with pytest.raises(BadInput, match="cannot read"):
        wire.preemption_arguments(body)


def test_victims_of_a_node_that_can_not_be_read_are_said() -> None:
    for member in ("NodeNameToVictims", "NodeNameToMetaVictims"):
        with pytest.raises(BadInput, match="cannot read"):
            sets(**{member: {"n": 1}})


def test_uids_are_answered() -> None:
    assert json.loads(wire.preemption_answer({"n": VictimSet(("a",), 2)})) == {
        "NodeNameToMetaVictims": {"n": {"Pods": [{"UID": "a"}], "NumPDBViolations": 2}}
    }
    assert json.loads(wire.preemption_answer({})) == {"NodeNameToMetaVictims": {}}


@pytest.mark.skipif(_NOTES not in os.environ, reason=f"{_NOTES} names no folder")
@pytest.mark.parametrize("scenario", ["preempt", "preempt-full"])
def test_recorded_calls_are_answered_as_the_scheduler_accepted_them(scenario: str) -> None:
    path = Path(os.environ[_NOTES]) / "scheduler-extender-examples.json"
    (run,) = (each for each in json.loads(path.read_text())["runs"] if each["scenario"] == scenario)
    calls = [call for result in run["results"] for call in result["calls"]]
    recorded = [call for call in calls if call["verb"] == "preempt"]
    assert recorded
    for call in recorded:
        asked = wire.preemption_arguments(json.dumps(call["request"]).encode())
        assert json.loads(wire.preemption_answer(asked.sets())) == call["response"]
