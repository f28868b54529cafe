"""The stages of continuous integration: each says how long it took, and the sum has a limit."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PROGRAM = Path(__file__).parents[2] / ".ci" / "stages.py"
BUSY = "import time\nwhile time.process_time() < 0.5: pass"


def stages(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(PROGRAM), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def quiet_seconds(**changed: float) -> float:
    """What counts of a stage of 100 s on two CPUs, of which it used 150 s."""
    facts = {"wall": 100.0, "own": 150.0, "busy": 150.0, "cpus": 2, "slowness": 1.0} | changed
    code = f"import stages; print(stages.quiet_seconds(*{list(facts.values())}))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=PROGRAM.parent
    )
    return float(done.stdout)


@pytest.mark.parametrize(
    ("changed", "seconds"),
    [
        ({}, 100.0),
        # Others had a quarter of the machine, and without them the stage waits less.
        ({"wall": 200.0, "busy": 250.0}, 150.0),
        # Others had nearly all of it.
        ({"wall": 1000.0, "busy": 1990.0}, 80.0),
        # What others are said to have had leaves the stage its own work.
        ({"wall": 100.0, "busy": 400.0}, 75.0),
        # Half as fast.
        ({"wall": 200.0, "own": 300.0, "busy": 300.0, "slowness": 2.0}, 100.0),
        # Nobody gains from a fast machine what the tests lose.
        ({"slowness": 0.5}, 100.0),
        # A stage that sleeps takes its time.
        ({"own": 1.0, "busy": 1.0}, 100.0),
    ],
)
def test_what_others_took_and_slow_cpus_do_not_count(
    changed: dict[str, float], seconds: float
) -> None:
    assert quiet_seconds(**changed) == pytest.approx(seconds)


def noted(times: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in times.read_text().splitlines()]


def test_a_stage_s_status_and_time_are_kept(tmp_path: Path) -> None:
    times = tmp_path / "times"
    good = stages("run", times, "one", sys.executable, "-c", BUSY)
    bad = stages("run", times, "two", "sh", "-c", "exit 7")
    assert (good.returncode, bad.returncode) == (0, 7)
    assert "one: " in good.stdout
    assert "FAILED with status 7" in bad.stdout
    first, second = noted(times)
    assert first["cpu_seconds"] >= 0.5
    # On two CPUs or more, where the work is spread well.
    assert 0 < first["quiet_seconds"] <= first["wall_seconds"]
    assert (second["stage"], second["status"]) == ("two", 7)


@pytest.mark.parametrize(("limit_minutes", "status"), [(50, 0), (49, 1)])
def test_all_stages_together_have_a_limit(
    tmp_path: Path, limit_minutes: float, status: int
) -> None:
    times = tmp_path / "times"
    for minutes in (30, 19.5):
        stage = {"stage": "one", "status": 0, "cpu_seconds": 1.0, "slowness": 2.0}
        took = {"wall_seconds": 120.0 * minutes, "quiet_seconds": 60.0 * minutes}
        with times.open("a") as file:
            file.write(json.dumps(stage | took) + "\n")
    done = stages("sum", times, limit_minutes)
    assert done.returncode == status
    assert ("OVER the limit" in done.stdout) == bool(status)
    assert "all stages: 49.5 min" in done.stdout
    assert "(99.0 min by the clock)" in done.stdout


def test_a_stage_that_failed_is_named_at_the_end_and_fails_all(tmp_path: Path) -> None:
    times = tmp_path / "times"
    for name, status in (("one", 0), ("two", 2), ("three", 1)):
        stage = {"stage": name, "status": status, "cpu_seconds": 1.0, "slowness": 1.0}
        took = {"wall_seconds": 1.0, "quiet_seconds": 1.0}
        with times.open("a") as file:
            file.write(json.dumps(stage | took) + "\n")
    done = stages("sum", times, 50)
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == ".ci/run: FAILED: two, three"


def test_every_stage_of_continuous_integration_is_timed() -> None:
    script = [line.strip() for line in (PROGRAM.parent / "run").read_text().splitlines()]
    made = [line for line in script if "make " in line and not line.startswith("#")]
    assert made
    assert [line for line in made if not line.startswith("stage ")] == []
    assert any("stages.py sum" in line for line in script)
