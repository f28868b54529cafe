"""The tests of ``tests/lab/guest``, each in the guests that it is for."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from harness import thoroughness
from lab.guests import PATIENCE_SECONDS, Case, run_inside
from numalet.lab.request import Init
from numalet.lab.topology import TOPOLOGIES

pytestmark = [pytest.mark.lab, pytest.mark.timeout(2 * PATIENCE_SECONDS)]

CRASHES = os.environ.get("NUMALET_LAB_CRASHES", "30")
"""A crash and the look after it take half a minute in a guest; the host has many more of them."""

# Other numbers of the same: the real machines of other tests have more of them, and the host kills
# more agents.
MORE_CASES = {
    "crashes": Case(
        tests=("test_crashes_kernel.py", "test_sysfs_truth.py"),
        environment={"NUMALET_LAB_CRASHES": CRASHES},
    ),
    "distances": Case(tests=("test_sysfs_truth.py", "test_promises.py"), topology="4n8c-distances"),
    **{
        name: Case(tests=("test_sysfs_truth.py",), topology=name)
        for name in ("2n16c-smt", "8n8c", "64n")
    },
}

# One guest for all that wants the same machine: a boot and what Python imports for an agent take as
# long as two tests. The longest ones come first, so that the others go beside them.
CASES = {
    "systemd": Case(tests=("test_systemd.py", "test_agent_systemd.py"), init=Init.SYSTEMD),
    "agent": Case(
        tests=("test_enforcement.py", "test_placement.py", "test_agent.py"),
        hugepages="2Mi=0:8,1:16",
        node_memory=("1=320Mi",),
    ),
    "run": Case(tests=("test_run_kernel.py", "test_agent_observes.py", "test_agent_switches.py")),
    "36n": Case(tests=("test_sysfs_truth.py", "test_agent_tray.py"), topology="36n"),
    "hugepages": Case(
        tests=("test_hugepages.py", "test_enforcement_gigantic.py"),
        hugepages="2Mi=0:8,1:16;1Gi=1:1",
    ),
    "memoryless": Case(
        tests=("test_sysfs_truth.py", "test_enforcement_memoryless.py"), topology="3n4c-1memless"
    ),
    **thoroughness.of({}, MORE_CASES),
}

_REBOOTED = Case(tests=("test_reboot.py", "test_agent_reboot.py"))
REBOOTS = {
    "other-memory": (
        # That the same machine starts with its state, restarts on the host show in every run.
        *thoroughness.of((_REBOOTED,), (_REBOOTED, _REBOOTED)),
        replace(_REBOOTED, node_memory=("1=512Mi",)),
    ),
    "a-node-less": (
        Case(tests=("test_reboot.py", "test_sysfs_truth.py"), topology="4n4c+2mem"),
        Case(tests=("test_reboot.py",), topology="4n4c+2mem", without_nodes=(5,)),
    ),
}
BOOTS = {2: ("first", "changed"), 3: ("first", "same", "changed")}


def test_every_topology_is_read_in_some_guest() -> None:
    boots = (case for each in REBOOTS.values() for case in each)
    cases = [*CASES.values(), *MORE_CASES.values(), *boots]
    assert TOPOLOGIES.keys() == {
        case.topology for case in cases if "test_sysfs_truth.py" in case.tests
    }


@pytest.mark.parametrize("name", REBOOTS)
def test_state_survives_a_reboot_but_not_of_a_changed_machine(
    name: str, cache: Path, tmp_path: Path
) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    boots = REBOOTS[name]
    for boot, case in zip(BOOTS[len(boots)], boots, strict=True):
        out = tmp_path / boot
        out.mkdir()
        there = replace(case, disk=disk, environment={"NUMALET_LAB_BOOT": boot})
        outcomes = Counter(run_inside(there, cache, out).outcomes.values())
        # Of each file with tests for three boots those for the others are skipped.
        assert outcomes["skipped"] == 2 * sum("reboot" in each for each in case.tests)
        assert {"passed", "skipped"} == outcomes.keys()


@pytest.mark.parametrize("name", CASES)
def test_inside_a_guest(
    name: str, cache: Path, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    inside = run_inside(CASES[name], cache, tmp_path)
    assert set(inside.outcomes.values()) == {"passed"}
    if (tmp_path / "told").exists():
        record_property("told", f"{name}: {(tmp_path / 'told').read_text()}")
