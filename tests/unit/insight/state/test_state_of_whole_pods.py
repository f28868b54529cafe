"""State files with pods that were placed as a whole are examined and rebased like others."""

from __future__ import annotations

import json
from dataclasses import replace

from numalet.core.config.kubelet_config import ReservedMemory
from numalet.core.config.rules import StartRefused
from numalet.core.model.quantity import Quantity
from numalet.core.node.node import Node
from numalet.insight.state import rebase, verify
from values import whole_pods
from values.whole_pods import asked, config, pod


def busy() -> Node:
    """A node with a pod that was placed as a whole, one of whose containers has ended."""
    parts = {"i0": asked("2", "1Gi"), "c0": asked("2", "1Gi"), "c1": None}
    node, decision = whole_pods.node().admit(pod("u", asked("4", "2Gi"), parts))
    assert decision.admitted
    return node.pod_started("u")


def codes(files: dict[str, str]) -> list[str]:
    reports = verify.verify(files, whole_pods.machine())
    return [finding.code for report in reports for finding in report.findings]


def test_such_files_are_sound() -> None:
    files = busy().state_files()
    assert codes(files) == []


def test_a_pod_that_is_counted_twice_is_noticed() -> None:
    files = busy().state_files()
    memory = json.loads(files["memory_manager_state"])
    memory["machineState"]["0"]["numberOfAssignments"] = 2
    assert "state/assignments" in codes({"memory_manager_state": json.dumps(memory)})


def test_memory_of_a_pod_on_a_node_that_is_not_there_is_noticed() -> None:
    memory = json.loads(busy().state_files()["memory_manager_state"])
    memory["podEntries"]["u"]["memoryBlocks"][0]["numaAffinity"] = [7]
    (report,) = verify.verify({"memory_manager_state": json.dumps(memory)}, whole_pods.machine())
    (named,) = (each for each in report.findings if "pod-block" in each.code)
    assert str(named) == "memory of pod u as a whole is on NUMA nodes [7]; the node map has [0, 1]"
    assert named.where.path == "$.podEntries.u.memoryBlocks[0].numaAffinity"
    # What the blocks add up to says nothing where one of them is nowhere.
    assert "state/sums" not in {each.code for each in report.findings}


def test_such_files_are_kept_on_the_same_machine() -> None:
    node = busy()
    result = rebase.rebase(node.roster, node.state_files())
    assert (result.files, result.lost, result.unusable) == ({}, (), {})


def test_a_pod_is_rebased_as_a_whole() -> None:
    node = busy()
    # The reserved CPU leaves the shared pool, so the file does not fit as it is.
    strict = replace(config(), cpu_manager_policy_options={"strict-cpu-reservation": "true"})
    other = whole_pods.node(strict)
    result = rebase.rebase(other.roster, node.state_files())
    restarted = other.restart(strict, other.rules.machine, {**node.state_files(), **result.files})

    assert "cpu_manager_state" in result.files
    assert not isinstance(restarted, StartRefused)
    assert restarted.snapshot.cpu.pods == node.snapshot.cpu.pods
    assert restarted.snapshot.cpu.exclusive == node.snapshot.cpu.exclusive
    assert restarted.snapshot.memory.pods == node.snapshot.memory.pods


def test_memory_is_rebased_as_a_whole() -> None:
    node = busy()
    reserved = (ReservedMemory(0, {"memory": Quantity.parse("1Gi")}),)
    more = replace(config(), reserved_memory=reserved, kube_reserved={"memory": "924Mi"})
    other = whole_pods.node(more)
    result = rebase.rebase(other.roster, node.state_files())
    restarted = other.restart(more, other.rules.machine, {**node.state_files(), **result.files})

    assert "memory_manager_state" in result.files
    assert not isinstance(restarted, StartRefused)
    assert whole_pods.reserved_mib(restarted) == [2048, 0]
    assert restarted.snapshot.memory.pods == node.snapshot.memory.pods


def test_a_pod_whose_cpus_are_reserved_now_loses_all_of_them() -> None:
    node = busy()
    less = whole_pods.node(replace(config(), reserved_system_cpus="10"))
    result = rebase.rebase(less.roster, node.state_files())

    of_cpus = [each.key.container for each in result.lost if each.file == "cpu_manager_state"]
    assert of_cpus == ["c0", "c1", "i0"]
    assert "podEntries" not in result.files["cpu_manager_state"]


def test_without_the_gate_the_pod_becomes_one_of_its_containers() -> None:
    node = busy()
    off = whole_pods.node(config(gates={}))
    result = rebase.rebase(off.roster, node.state_files())
    restarted = off.restart(config(gates={}), off.rules.machine, {**result.files})

    assert not isinstance(restarted, StartRefused)
    assert restarted.snapshot.cpu.exclusive == node.snapshot.cpu.exclusive
    assert restarted.snapshot.cpu.pods == {}
