"""Node classes where commands show nodes: a tray with four accelerators, a machine with HBM."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cli.commands import Ended, Runner, pod

GRACE = ("-m", "profile:gb200-34n")
ON = (
    "--memory-manager-policy=Static",
    "--topology-manager-policy=best-effort",
    "--topology-manager-policy-options=max-allowable-numa-nodes=34",
)
RESERVED = "--reserved-memory=0:memory=100Mi"


@pytest.fixture
def manifest(tmp_path: Path) -> str:
    """A pod that needs more than a CPU node has."""
    path = tmp_path / "pod.yaml"
    path.write_text(pod("wide", "600Gi"), encoding="utf-8")
    return str(path)


def _lines(ended: Ended) -> list[str]:
    assert ended.status == 0, ended
    return ended.out.splitlines()


def test_a_simulation_shows_classes_and_names_nodes_without_memory_once(
    numalet: Runner, manifest: str
) -> None:
    lines = _lines(numalet("simulate", *GRACE, *ON, RESERVED, manifest))
    assert "NODE  CLASS   GROUP  TYPE    ALLOCATABLE      USED      FREE" in lines
    assert [line.split()[:2] for line in lines if re.match(r" *[0-9]+  ", line)] == [
        ["0", "cpu"],
        ["1", "cpu"],
        *(["2", "memory"], ["10", "memory"], ["18", "memory"], ["26", "memory"]),
    ]
    assert "without memory: NUMA nodes 3-9,11-17,19-25,27-33" in lines


def test_a_node_that_seems_to_have_memory_is_shown(numalet: Runner, tmp_path: Path) -> None:
    none = tmp_path / "none.yaml"
    none.write_text(pod("p", "1Gi"), encoding="utf-8")
    machine = tmp_path / "machine.yaml"
    machine.write_text("nodes: [{memory: 10Gi, cpus: 0-3}, {memory: 0, cpus: 4}]", encoding="utf-8")
    reserved = "--reserved-memory=1:memory=100Mi"
    ended = numalet("simulate", "-m", str(machine), *ON, reserved, str(none))
    assert re.search(r"^   1  empty +memory +16.00Ei", ended.out, re.MULTILINE), ended


def test_an_explanation_shows_classes_in_its_table(numalet: Runner, manifest: str) -> None:
    lines = _lines(numalet("explain", *GRACE, *ON, RESERVED, "--budget", "0", manifest))
    assert [line.split()[:2] for line in lines if re.match(r" *[0-9]+  ", line)][2] == [
        *("2", "memory")
    ]


def test_an_explanation_shows_classes_on_its_boxes(numalet: Runner, manifest: str) -> None:
    lines = _lines(
        numalet("explain", "-m", "profile:hbm-flat", *ON, RESERVED, "--budget", "0", manifest)
    )
    assert any("NUMA node 2, class memory ─" in line for line in lines)
    assert any("NUMA node 0 ─" in line for line in lines)
