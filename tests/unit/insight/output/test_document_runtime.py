"""A simulation's document says what the container runtime would be told."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.config.rules import MemoryPolicy
from numalet.core.model.machine_info import MachineInfo, OperatingSystem
from numalet.insight.output import json_schema
from numalet.insight.simulate import simulation_document
from numalet.insight.simulate.session import Session
from values import builders
from values.builders import simple

LINUX = builders.machine(10, 10)
WINDOWS = replace(LINUX, os=OperatingSystem.WINDOWS)


def _told(on: MachineInfo, policy: MemoryPolicy, memory: str) -> dict[str, Any]:
    """What the document says of one pod."""
    begun = Session(KubeletConfig(), on, builders.node(builders.rules(on, policy=policy)))
    session, records = begun.through([simple("u", memory)])
    whole = json_schema.plain(simulation_document.simulation(session, records))
    admitted: dict[str, Any] = whole["steps"][0]["admit"]
    return admitted


def test_linux_is_told_cpus_and_memory_nodes() -> None:
    found = _told(LINUX, MemoryPolicy.STATIC, "15Gi")
    assert found["runtime"] == {"c": {"cpuset_cpus": "", "cpuset_mems": "0,1"}}


def test_windows_is_told_masks_of_cpu_groups() -> None:
    found = _told(WINDOWS, MemoryPolicy.BEST_EFFORT, "15Gi")
    assert found["runtime"] == {"c": {"affinity_cpus": [{"cpu_group": 0, "cpu_mask": 0b1111}]}}


def test_a_rejected_pod_is_told_to_nobody() -> None:
    assert "runtime" not in _told(LINUX, MemoryPolicy.STATIC, "30Gi")
