"""The tests of ``tests/lab/guest``, each in the guests that it is for."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lab.guests import PATIENCE_SECONDS, Case, run_inside
from numalet.lab.request import Init
from numalet.lab.topologies import TOPOLOGIES

pytestmark = [pytest.mark.lab, pytest.mark.timeout(2 * PATIENCE_SECONDS)]

CRASHES = os.environ.get("NUMALET_LAB_CRASHES", "12")
"""A crash and the look after it take half a minute in a guest; the host has many more of them."""

CASES = {
    # The longest ones come first, so that the others go beside them.
    "crashes": Case(
        tests=("test_crashes_kernel.py",), environment={"NUMALET_LAB_CRASHES": CRASHES}
    ),
    "placement": Case(tests=("test_placement.py", "test_agent.py", "test_agent_switches.py")),
    "enforcement": Case(
        tests=("test_enforcement.py",), hugepages="2Mi=0:8,1:16", node_memory=("1=512Mi",)
    ),
    "run": Case(tests=("test_run_kernel.py", "test_agent_observes.py")),
    "hugepages": Case(
        tests=("test_hugepages.py", "test_enforcement_gigantic.py"),
        hugepages="2Mi=0:8,1:16;1Gi=1:1",
    ),
    "memoryless": Case(tests=("test_enforcement_memoryless.py",), topology="3n4c-1memless"),
    "systemd": Case(tests=("test_systemd.py", "test_agent_systemd.py"), init=Init.SYSTEMD),
    "distances": Case(tests=("test_sysfs_truth.py", "test_promises.py"), topology="4n8c-distances"),
    **{
        name: Case(tests=("test_sysfs_truth.py",), topology=name)
        for name in TOPOLOGIES
        if name not in ("4n8c-distances", "36n")
    },
    "36n": Case(tests=("test_sysfs_truth.py", "test_agent_tray.py"), topology="36n"),
}


@pytest.mark.parametrize(
    ("change", "tests"),
    [
        ({"node_memory": ("1=512Mi",)}, ("test_reboot.py", "test_agent_reboot.py")),
        ({"topology": "4n4c+2mem", "without_nodes": (5,)}, ("test_reboot.py",)),
    ],
    ids=["other-memory", "a-node-less"],
)
def test_state_survives_a_reboot_but_not_of_a_changed_machine(
    change: dict[str, Any], tests: tuple[str, ...], cache: Path, tmp_path: Path
) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    same = {"topology": change.get("topology", "2n4c")}
    for number, boot in enumerate(("first", "same", "changed")):
        shape = change if boot == "changed" else same
        variables = {"NUMALET_LAB_BOOT": boot}
        case = Case(tests=tests, disk=disk, environment=variables, **shape)
        out = tmp_path / str(number)
        out.mkdir()
        inside = run_inside(case, cache, out)
        assert Counter(inside.outcomes.values()) == {
            "passed": len(tests),
            "skipped": 2 * len(tests),
        }


@pytest.mark.parametrize("name", CASES)
def test_inside_a_guest(
    name: str, cache: Path, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    inside = run_inside(CASES[name], cache, tmp_path)
    assert set(inside.outcomes.values()) == {"passed"}
    if (tmp_path / "told").exists():
        record_property("told", f"{name}: {(tmp_path / 'told').read_text()}")
