"""A simulation as one plain document."""

from __future__ import annotations

import json
from typing import Any

from numalet.core.config.rules import StartRefused, StartStage
from numalet.core.findings.state_files import MemoryStateCorrupted
from numalet.insight.output import json_schema
from numalet.insight.simulate import simulation_document
from numalet.insight.simulate.session import RemoveStep, RestartStep, Step
from values.builders import simple
from values.sessions import begun, taken

GI = 1 << 30


def shown(*steps: Step) -> dict[str, Any]:
    session, records = taken(begun(), *steps)
    whole: dict[str, Any] = json_schema.plain(simulation_document.simulation(session, records))
    assert json.loads(json.dumps(whole)) == whole, "it is plain data"
    return whole


def test_an_admitted_pod_is_reported_with_its_hints_and_its_memory() -> None:
    whole = shown(simple("u", "4Gi"))
    (step,) = whole["steps"]

    assert (whole["schema"], whole["start_error"]) == ("numalet.simulation/1", None)
    assert {key: step["admit"][key] for key in ("name", "uid", "qos_class", "admitted")} == {
        "name": "u",
        "uid": "u",
        "qos_class": "Guaranteed",
        "admitted": True,
    }
    assert step["admit"]["memory"] == {
        "c": [{"numa_affinity": [0], "type": "memory", "size": 4 * GI}]
    }
    assert "why" not in step["admit"]
    assert whole["holders"] == [
        {
            "pod_uid": "u",
            "container": "c",
            "name": "default/u",
            "memory": [{"numa_affinity": [0], "type": "memory", "size": 4 * GI}],
            "cpuset": "",
            "devices": {},
        }
    ]
    assert whole["state_files"]["memory_manager_state"]["policyName"] == "Static"


def test_the_node_map_has_every_figure() -> None:
    node = shown(simple("u", "4Gi"))["nodes"][0]

    assert node == {
        "node_id": 0,
        "class": "cpu",
        "assignments": 1,
        "group": [0],
        "types": [
            {
                "resource": "memory",
                "total_bytes": 10 * GI,
                "system_reserved_bytes": GI,
                "allocatable_bytes": 9 * GI,
                "reserved_bytes": 4 * GI,
                "free_bytes": 5 * GI,
            }
        ],
    }


def test_a_rejected_pod_is_reported_with_the_kubelets_words_and_ours() -> None:
    (step,) = shown(simple("u", "40Gi"))["steps"]
    told = step["admit"]

    assert told["reason"] == "UnexpectedAdmissionError"
    assert told["code"] == "admission/allocation-refused"
    assert told["why"].startswith("The memory manager refused c: ")
    assert told["status"]["phase"] == "Failed"
    assert told["event"] == {
        "type": "Warning",
        "reason": "UnexpectedAdmissionError",
        "message": told["message"],
    }
    assert told["left_behind"] == []


def test_removals_and_restarts_are_steps() -> None:
    whole = shown(
        simple("u", "4Gi"),
        RestartStep(("u",)),
        RemoveStep("u"),
        RestartStep((), state_files={"cpu_manager_state": "{}"}),
    )
    _, restarted, removed, failed = whole["steps"]

    assert restarted["restart"]["readmitted"][0]["uid"] == "u"
    assert removed == {"remove": "u"}
    assert failed["restart"]["start_error"].startswith("start cpu manager error: ")
    assert (whole["holders"], whole["left_behind"][0]["pod_uid"]) == ([], "u")


def test_a_kubelet_that_does_not_start_has_no_steps() -> None:
    refused = StartRefused(
        StartStage.MEMORY_MANAGER_START, (MemoryStateCorrupted(checksum=1, expected=2),)
    )

    told = json_schema.plain(simulation_document.not_started(refused))

    assert (told["start_error_stage"], told["steps"]) == (refused.stage.value, [])
    assert "checkpoint is corrupted" in told["start_error"]
