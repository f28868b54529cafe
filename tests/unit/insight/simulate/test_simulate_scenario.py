"""Scenarios on the engine: what each step does, and what is written down of it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from numalet.core.admission.decision import Alignment, Decision
from numalet.core.config.kubelet_config import KubeletConfig, ReservedMemory
from numalet.core.hints.policies import Merged
from numalet.core.hints.provider import (
    Candidates,
    Hint,
    Impossible,
    NoPreference,
    NotListed,
    ResourceHints,
)
from numalet.core.managers.device.inventory import Device
from numalet.core.managers.memory.ledger import MemoryBlock, MemoryLedger
from numalet.core.model.machine_info import OperatingSystem
from numalet.core.model.node_constraints import (
    UNCONSTRAINED,
    HostPort,
    NodeConstraints,
    NodeRequirement,
    Term,
)
from numalet.core.model.pod import ContainerKind, Pod, QosClass
from numalet.core.model.quantity import Quantity
from numalet.core.snapshot.snapshot import Snapshot
from numalet.insight.maps import machine_description
from numalet.insight.simulate import outcome, recording, runner
from numalet.insight.simulate.runner import Failed, Passed, Skipped
from numalet.insight.simulate.session import (
    MEMORY_STATE_FILE,
    RemoveStep,
    RestartStep,
    Scenario,
)
from numalet.io.documents.pods import pod_manifest
from values import builders

GI = builders.GI
MACHINE = builders.machine(10, 10, distances=((10, 20), (20, 10)))
CONFIG = KubeletConfig(
    memory_manager_policy="Static",
    topology_manager_policy="restricted",
    kube_reserved={"memory": "1Gi"},
    reserved_memory=(ReservedMemory(0, {"memory": Quantity.parse("1Gi")}),),
)
STATIC_CPU = replace(
    CONFIG, cpu_manager_policy="static", kube_reserved={"memory": "1Gi", "cpu": "1"}
)
BROKEN = replace(CONFIG, memory_manager_policy="Statik")


def scenario(*steps: Any, **fields: Any) -> Scenario:
    """A scenario on two nodes of 10Gi, 1Gi of the first one reserved."""
    fields = {"name": "s", "machine": MACHINE, "config": CONFIG, **fields}
    return Scenario(steps=steps, **fields)


def admit(uid: str, memory: str) -> Pod:
    """A pod of one container arrives."""
    return builders.simple(uid, memory)


def test_a_start_is_recorded_with_both_states() -> None:
    found = runner.run(scenario())
    assert found["start_error"] is None
    assert found["initial_memory_state"]["policyName"] == "Static"
    assert found["initial_cpu_state"]["checksum"] == 1353318690
    assert found["steps"] == []


def test_a_start_that_fails_has_its_text_and_its_stage_and_no_steps() -> None:
    found = runner.run(scenario(admit("a", "1Gi"), config=BROKEN))
    assert found == {
        "start_error": 'unknown policy: "Statik"',
        "start_error_stage": "memory-manager",
        "steps": [],
    }


def test_an_admitted_pod_is_recorded_with_hints_and_memory() -> None:
    (step,) = runner.run(scenario(admit("a", "9Gi")))["steps"]
    hints = [{"nodes": [n], "preferred": True} for n in (0, 1)]
    both = {"nodes": [0, 1], "preferred": False}
    assert step["admitted"] is True
    assert step["hints"] == {"c": {"device": {}, "cpu": {}, "memory": {"memory": [*hints, both]}}}
    assert step["merged"] == {"c": hints[0] | {"admit": True}}
    assert step["affinity"] == {"c": hints[0]}
    assert step["memory"] == {"c": [{"numa_affinity": [0], "type": "memory", "size": 9 * GI}]}
    assert (step["cpuset"], step["devices"], step["devices_by_numa"]) == ({}, {}, {})
    assert step["memory_state"]["entries"]["a"]["c"][0]["size"] == 9 * GI


def test_a_rejected_pod_is_recorded_without_placements() -> None:
    _, step = runner.run(scenario(admit("a", "9Gi"), admit("b", "11Gi")))["steps"]
    assert (step["admitted"], step["reason"]) == (False, "UnexpectedAdmissionError")
    assert {"cpuset", "memory", "devices", "devices_by_numa"}.isdisjoint(step)


def test_nothing_is_said_about_hints_under_the_topology_policy_none() -> None:
    config = replace(CONFIG, topology_manager_policy="none")
    (step,) = runner.run(scenario(admit("a", "9Gi"), config=config))["steps"]
    assert {"hints", "merged", "affinity"}.isdisjoint(step)


def test_a_removed_pod_keeps_its_memory_until_the_next_admission() -> None:
    steps = runner.run(scenario(admit("a", "9Gi"), RemoveStep("a"), admit("b", "1Gi")))["steps"]
    assert steps[1].keys() == {"memory_state", "cpu_state"}
    assert steps[1]["memory_state"] == steps[0]["memory_state"]
    assert list(steps[2]["memory_state"]["entries"]) == ["b"]


def test_containers_of_an_admitted_pod_are_started() -> None:
    pod = builders.pod("a", builders.init("i", "1Gi"), builders.container("c", "2Gi"))
    (step,) = runner.run(scenario(pod))["steps"]
    assert list(step["memory"]) == ["i", "c"]
    assert list(step["memory_state"]["entries"]["a"]) == ["c"]


def test_a_restart_admits_the_pods_again_in_the_given_order() -> None:
    steps = (admit("a", "2Gi"), admit("b", "3Gi"), RestartStep(("b", "a")))
    restarted = runner.run(scenario(*steps))["steps"][2]
    assert restarted["start_error"] is None
    assert [(p["uid"], p["admitted"]) for p in restarted["readmitted"]] == [
        ("b", True),
        ("a", True),
    ]
    assert "memory_state" not in restarted["readmitted"][0]
    assert sorted(restarted["memory_state"]["entries"]) == ["a", "b"]


def test_a_restart_can_change_configuration_machine_and_state_files() -> None:
    none = replace(CONFIG, memory_manager_policy="None", reserved_memory=())
    deleted = RestartStep((), none, builders.machine(4), {MEMORY_STATE_FILE: ""})
    (step,) = runner.run(scenario(deleted))["steps"]
    assert step["memory_state"]["policyName"] == "None"
    kept = RestartStep((), none, None, {})
    (step,) = runner.run(scenario(kept))["steps"]
    assert step["start_error_stage"] == "memory-manager-start"


def test_nothing_follows_a_restart_that_fails() -> None:
    steps = (RestartStep((), BROKEN), admit("a", "1Gi"))
    assert runner.run(scenario(*steps))["steps"] == [
        {"start_error": 'unknown policy: "Statik"', "start_error_stage": "memory-manager"}
    ]


def test_exact_texts_are_recorded_only_when_asked_for() -> None:
    found = runner.run(scenario(admit("a", "1Gi"), record_raw=True))
    assert json.loads(found["initial_memory_state_raw"]) == found["initial_memory_state"]
    assert json.loads(found["initial_cpu_state_raw"]) == found["initial_cpu_state"]
    (step,) = found["steps"]
    assert json.loads(step["memory_state_raw"]) == step["memory_state"]
    assert "memory_state_raw" not in runner.run(scenario(admit("a", "1Gi")))["steps"][0]


def test_blocks_in_no_fixed_order_are_marked_and_have_no_exact_text() -> None:
    machine = builders.machine(10, hugepages={2048: 512})
    step = builders.simple("a", "1Gi", **{"hugepages-2Mi": "4Mi"})
    (found,) = runner.run(scenario(step, machine=machine, record_raw=True))["steps"]
    assert found["memory_state_blocks"] == "sorted"
    assert "memory_state_raw" not in found
    assert [block["type"] for block in found["memory"]["c"]] == ["hugepages-2Mi", "memory"]


def test_a_kubelet_without_managers_has_no_state_files() -> None:
    machine = replace(MACHINE, os=OperatingSystem.WINDOWS)
    found = runner.run(scenario(admit("a", "1Gi"), machine=machine, record_raw=True))
    assert found.keys() == {"start_error", "steps"}
    assert found["steps"][0]["admitted"] is True


def test_every_kind_of_answer_has_its_form() -> None:
    hints: dict[str, ResourceHints] = {
        "indifferent": NoPreference(),
        "impossible": Impossible(NotListed(1)),
        "listed": Candidates((Hint(None, True), Hint(5, False))),
    }
    pod = builders.simple("a", "1Gi")
    empty = Snapshot()
    alignments = {
        "pod": Alignment({"memory": hints}, Merged(Hint(None, False), False)),
        "crashed": Alignment({}, None),
    }
    decision = Decision(pod, None, alignments, {"c": Hint(1, True)}, (), empty, empty)
    found = outcome.verdict(decision, "", "")
    assert found["hints"]["pod"]["memory"] == {
        "indifferent": None,
        "impossible": [],
        "listed": [{"nodes": None, "preferred": True}, {"nodes": [0, 2], "preferred": False}],
    }
    assert found["merged"] == {"pod": {"nodes": None, "preferred": False, "admit": False}}


def test_memory_is_listed_by_type() -> None:
    blocks = tuple(MemoryBlock((0,), name, 1) for name in ("memory", "hugepages-1Gi"))
    snapshot = Snapshot(memory=MemoryLedger({}, {"a": {"c": blocks}}))
    found = outcome.placements(snapshot, builders.simple("a", "1Gi"))
    assert [block["type"] for block in found["memory"]["c"]] == ["hugepages-1Gi", "memory"]


def test_a_scenario_passes_or_names_its_first_difference() -> None:
    one = scenario(admit("a", "1Gi"))
    assert runner.check(replace(one, expect=runner.run(one))) == Passed()
    verdict = runner.check(replace(one, expect={"steps": [{"admitted": False}]}))
    assert isinstance(verdict, Failed)
    assert verdict.first.path == "steps[0].admitted"


def test_a_scenario_without_expectation_is_skipped() -> None:
    verdict = runner.check(scenario())
    assert isinstance(verdict, Skipped)
    assert verdict.why.code == "scenarios/nothing-expected"


def test_exclusive_cpus_and_devices_are_recorded_with_their_places() -> None:
    devices = {"example.com/gpu": (Device("a", (1,)), Device("b", (1,)), Device("free"))}
    pod = builders.pod(
        "p", builders.container("c", "1Gi", ContainerKind.APP, **{"example.com/gpu": "2"})
    )
    (found,) = runner.run(scenario(pod, config=STATIC_CPU, devices=devices))["steps"]

    assert found["devices"] == {"c": {"example.com/gpu": ["a", "b"]}}
    assert found["devices_by_numa"] == {"c": {"example.com/gpu": {"1": 2}}}
    assert found["cpuset"] == {"c": "2"}
    assert found["cpu_state"]["entries"] == {"p": {"c": "2"}}


def written(pod: Pod) -> Pod:
    """The pod after it was written down and read again."""
    return pod_manifest.read_pods(json.dumps(recording.pod_document(pod)), "f").pods[0]


def test_a_recorded_pod_reads_as_the_same_pod() -> None:
    full = replace(
        builders.pod(
            "a",
            builders.init("i", "1Gi"),
            builders.sidecar("s", "1Gi"),
            builders.container("c", "2Gi"),
        ),
        overhead={"memory": Quantity.parse("120Mi")},
        node_name="n1",
        phase="Running",
        labels={"app": "web"},
        priority=7,
        is_static=True,
        constraints=NodeConstraints(
            selector={"disk": "ssd"},
            affinity=(Term((NodeRequirement("disk", "In", ("ssd",)),), ()),),
            ports=(HostPort(80), HostPort(53, "UDP", "127.0.0.1")),
            os_name="linux",
        ),
    )
    assert written(full) == full
    bare = builders.pod("b", builders.container("c"), qos=QosClass.BURSTABLE)
    plain = replace(bare, constraints=UNCONSTRAINED)
    assert written(plain) == plain


def test_a_recorded_scenario_has_everything_that_decides() -> None:
    machine = replace(builders.machine(10, hugepages={2048: 512}), os=OperatingSystem.WINDOWS)
    config = replace(
        CONFIG,
        topology_manager_policy_options={"prefer-closest-numa-nodes": "true"},
        reserved_system_cpus="0",
    )
    one = scenario(
        admit("a", "1Gi"),
        RemoveStep("a"),
        RestartStep(()),
        RestartStep((), config, MACHINE, {MEMORY_STATE_FILE: ""}),
        machine=machine,
        config=config,
        devices={"example.com/gpu": (Device("a", (0,)),)},
        state_files={MEMORY_STATE_FILE: "{}"},
        record_raw=True,
        tags=("t",),
    )
    found = recording.document(one, {"steps": []})
    assert found["machine"] == machine_description.of(machine)
    assert found["machine"]["os"] == "windows"
    assert found["machine"]["numa_nodes"] == [
        {
            "id": 0,
            "memory_bytes": 10 * GI,
            "hugepages": [{"page_size_kib": 2048, "count": 512}],
            "cores": [{"id": 0, "socket": 0, "threads": [0, 1], "uncore_cache": None}],
        }
    ]
    assert found["kubelet_config"]["reservedMemory"] == [
        {"numaNode": 0, "limits": {"memory": "1Gi"}}
    ]
    assert found["kubelet_config"]["reservedSystemCPUs"] == "0"
    assert found["kubelet_config"]["topologyManagerPolicyOptions"] == {
        "prefer-closest-numa-nodes": "true"
    }
    assert "cpuManagerPolicyOptions" not in found["kubelet_config"]
    assert [list(step) for step in found["steps"]] == [["admit"], ["remove"], *[["restart"]] * 2]
    assert found["steps"][2]["restart"] == {"order": []}
    assert found["steps"][3]["restart"].keys() == {
        "order",
        "kubelet_config",
        "machine",
        "state_files",
    }
    assert found["devices"] == [
        {"resource": "example.com/gpu", "devices": [{"id": "a", "numa_nodes": [0]}]}
    ]
    assert (found["record_raw"], found["state_files"]) == (True, {MEMORY_STATE_FILE: "{}"})
    assert found["expect"] == {"steps": []}
    assert json.loads(json.dumps(found)) == found
    assert {"record_raw", "state_files"}.isdisjoint(recording.document(scenario(), {}))


def test_distances_are_recorded_where_they_are_known() -> None:
    assert machine_description.of(MACHINE)["numa_nodes"][1]["distances"] == [20, 10]
