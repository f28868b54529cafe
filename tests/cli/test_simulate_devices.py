"""``numalet simulate`` with exclusive CPUs and devices."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli.commands import Ended, Runner

GOLDEN = Path(__file__).parent / "golden"
NODE = (
    *("-m", "2n8c2t", "--memory-per-node", "64Gi"),
    *("--cpu-manager-policy", "static", "--reserved-cpus", "0,16"),
    *("--memory-manager-policy", "Static", "--reserved-memory", "0:memory=100Mi"),
    *("--topology-manager-policy", "restricted"),
)
GPUS = "example.com/gpu=gpu0@0,gpu1@1"
PODS = """
{apiVersion: v1, kind: Pod, metadata: {name: trainer}, spec: {containers: [
  {name: c, resources: {limits: {cpu: "6", memory: 20Gi, example.com/gpu: "1"}}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [
  {name: c, resources: {limits: {cpu: 500m, memory: 1Gi}}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: second}, spec: {containers: [
  {name: c, resources: {limits: {cpu: "3", memory: 20Gi, example.com/gpu: "1"}}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: third}, spec: {containers: [
  {name: c, resources: {limits: {cpu: "2", memory: 20Gi, example.com/gpu: "1"}}}]}}
"""


@pytest.fixture
def pods(tmp_path: Path) -> str:
    """A file with four pods, of which the last finds no device."""
    path = tmp_path / "pods.yaml"
    path.write_text(PODS, encoding="utf-8")
    return str(path)


def test_cpus_and_devices_are_in_the_tables(numalet: Runner, pods: str) -> None:
    ended = numalet("simulate", *NODE, "--device", GPUS, pods)

    assert (ended.status, ended.err) == (1, "")
    assert (GOLDEN / "devices.txt").read_text(encoding="utf-8") == ended.out
    assert max(map(len, ended.out.splitlines())) <= 80


def test_letters_are_coloured_on_a_terminal(
    numalet: Runner, pods: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    ended = numalet("simulate", *NODE, "--device", GPUS, pods)
    assert "\x1b[1;32mB" in ended.out


def _told(ended: Ended) -> dict[str, Any]:
    assert ended.err == ""
    found: dict[str, Any] = json.loads(ended.out)
    return found


def test_cpus_and_devices_are_in_the_document(numalet: Runner, pods: str) -> None:
    told = _told(numalet("simulate", *NODE, "--device", GPUS, pods, "-o", "json"))
    first, second = told["cpus"]

    assert (first["shared"], first["reserved"]) == ("4-7,20-23", "0,16")
    assert list(first["exclusive"].values()) == ["1-3,17-19"]
    assert list(second["exclusive"].values()) == ["8-9,24"]
    assert [
        {
            "resource": "example.com/gpu",
            "numa_nodes": [node],
            "free": [],
            "in_use": [f"gpu{node}"],
            "unhealthy": [],
        }
        for node in (0, 1)
    ] == told["devices"]


def test_the_runtime_is_told_both_sets(numalet: Runner, pods: str) -> None:
    steps = _told(numalet("simulate", *NODE, "--device", GPUS, pods, "-o", "json"))["steps"]
    assert steps[0]["admit"]["runtime"] == {"c": {"cpuset_cpus": "1-3,17-19", "cpuset_mems": "0"}}


def test_devices_come_from_a_file_too(numalet: Runner, pods: str, tmp_path: Path) -> None:
    path = tmp_path / "devices.yaml"
    path.write_text("- {resource: example.com/gpu, devices: [gpu0@0, gpu1@1]}", encoding="utf-8")

    by_file = numalet("simulate", *NODE, "--devices", str(path), pods)
    by_flag = numalet("simulate", *NODE, "--device", GPUS, pods)

    assert by_flag == by_file


def test_a_device_on_no_node_of_the_machine_is_unusable(numalet: Runner, pods: str) -> None:
    ended = numalet("simulate", *NODE, "--device", "example.com/gpu=gpu0@5", pods)
    assert ended.status == 2
    assert "gpu0" in ended.err
    assert "NUMA node 5" in ended.err


def test_what_a_rejected_pod_left_behind_is_listed(numalet: Runner, tmp_path: Path) -> None:
    path = tmp_path / "pods.yaml"
    first = '{name: a, resources: {limits: {cpu: "2", memory: 1Gi, example.com/gpu: "1"}}}'
    second = '{name: b, resources: {limits: {cpu: "2", memory: 1Gi, example.com/gpu: "2"}}}'
    path.write_text(
        "{apiVersion: v1, kind: Pod, metadata: {name: p, uid: p},"
        f" spec: {{containers: [{first}, {second}]}}}}",
        encoding="utf-8",
    )

    ended = numalet("simulate", *NODE, "--device", GPUS, str(path))

    assert "  default/p/a: CPUs 1,17, 1Gi of memory on 0, example.com/gpu gpu0" in ended.out


def test_without_the_static_policy_there_is_no_map_of_cpus(numalet: Runner, pods: str) -> None:
    ended = numalet("simulate", "-m", "2n8c2t", "--memory-per-node", "64Gi", pods)
    assert ended.status == 0
    assert "CPUS" not in ended.out
    assert "RESOURCE" not in ended.out


def test_state_files_hold_all_three_managers(numalet: Runner, pods: str, tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir()
    arguments = ("simulate", *NODE, "--device", GPUS, "--state-dir", str(state))

    first = numalet(*arguments, pods)
    again = numalet(*arguments, pods)

    assert sorted(path.name for path in state.iterdir()) == [
        "cpu_manager_state",
        "kubelet_internal_checkpoint",
        "memory_manager_state",
    ]
    assert "A default/second: 8-9,24" in first.out
    assert "A default/second: 8-9,24" in again.out


def test_devices_of_a_recorded_simulation_are_recorded(
    numalet: Runner, pods: str, tmp_path: Path
) -> None:
    record = str(tmp_path / "record.jsonl")

    numalet("simulate", *NODE, "--device", GPUS, "--record", record, pods)

    assert numalet("replay", record).out.rstrip().endswith("1 passed, 0 failed")
    shown = numalet("simulate", record)
    assert "gpu1" in shown.out
    refused = numalet("simulate", "--device", GPUS, record)
    assert refused.status == 2
    assert "--device" in refused.err
