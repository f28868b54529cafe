"""``numalet nri`` with Debian's container runtimes in guests, on 4 and on 36 NUMA nodes."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.guests import PATIENCE_SECONDS, Case, run_inside
from running import kubelet_programs, suites

pytestmark = [pytest.mark.lab, pytest.mark.large, pytest.mark.timeout(2 * PATIENCE_SECONDS)]

PLACEMENT = "test_runtime_plugin.py"
KILLS = "test_runtime_plugin_kills.py"
LIVES = os.environ.get("NUMALET_PLUGIN_LIVES", "20")

SUITES = ("trixie", "forky")
"""containerd 1.7 and 2.1: the order of the folders in the environment."""

CASES = [
    (KILLS, "trixie", "4n8c-distances"),
    (KILLS, "forky", "4n8c-distances"),
    (PLACEMENT, "trixie", "36n"),
    (PLACEMENT, "forky", "36n"),
    (PLACEMENT, "trixie", "4n8c-distances"),
    (PLACEMENT, "forky", "4n8c-distances"),
]


@pytest.mark.parametrize(("test", "suite", "topology"), CASES)
def test_the_plugin_in_a_guest(
    test: str,
    suite: str,
    topology: str,
    cache: Path,
    tmp_path: Path,
    record_property: Callable[[str, object], None],
) -> None:
    old = os.environ.get(kubelet_programs.RUNTIME_FOLDER, "")
    newer = os.environ.get(kubelet_programs.PLUGIN_RUNTIME_FOLDER, "").split(":")
    if not old or len(newer) < len(SUITES):
        suites.can_not_run("LAB", "the environment names no container runtimes: make lab")
    environment = {
        kubelet_programs.RUNTIME_FOLDER: old,
        kubelet_programs.PLUGIN_RUNTIME_FOLDER: newer[SUITES.index(suite)],
        "NUMALET_PLUGIN_LIVES": LIVES,
    }
    case = Case(tests=(test,), topology=topology, environment=environment)
    inside = run_inside(case, cache, tmp_path)
    assert set(inside.outcomes.values()) == {"passed"}
    if (tmp_path / "told").exists():
        record_property("told", f"{suite} {topology}: {(tmp_path / 'told').read_text()}")
