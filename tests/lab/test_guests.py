"""The tests of ``tests/lab/guest``, each in the guests that it is for."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.guests import PATIENCE_SECONDS, Case, run_inside

pytestmark = [pytest.mark.lab, pytest.mark.timeout(2 * PATIENCE_SECONDS)]

CASES = {
    "placement": Case(tests=("test_placement.py",)),
    "enforcement": Case(
        tests=("test_enforcement.py",), hugepages="2Mi=0:8,1:16", node_memory=("1=512Mi",)
    ),
    "run": Case(tests=("test_run_kernel.py",)),
    "hugepages": Case(
        tests=("test_hugepages.py", "test_enforcement_gigantic.py"),
        hugepages="2Mi=0:8,1:16;1Gi=1:1",
    ),
    "memoryless": Case(tests=("test_enforcement_memoryless.py",), topology="3n4c-1memless"),
}


@pytest.mark.parametrize("name", CASES)
def test_inside_a_guest(name: str, cache: Path, tmp_path: Path) -> None:
    inside = run_inside(CASES[name], cache, tmp_path)
    assert "passed" in inside.outcomes.values()
