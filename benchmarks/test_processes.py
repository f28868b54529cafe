"""Whole processes: the time from the command line to the end, and the most memory taken.

Bytecode is kept in a folder of this run, as an installed package has it, whatever the
environment says; the first, unmeasured run fills it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

EXAMPLES = Path(__file__).resolve().parents[1] / "examples" / "documented"
SIMULATE = (
    "simulate",
    *("-m", str(EXAMPLES / "machine.yaml")),
    *("--reserved-memory", "0:memory=3Gi;1:memory=2148Mi"),
)
CONFIG = EXAMPLES / "kubelet.yaml"


# A process that starts another one counts as its size until the other is loaded; so the other
# is started by a small one, which tells the most memory that it took.
_TELL_PEAK = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def _environment(bytecode: Path) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPYCACHEPREFIX": str(bytecode)}


@pytest.fixture(scope="module")
def bytecode(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the runs of this module keep their bytecode."""
    return tmp_path_factory.mktemp("bytecode")


def _measure(benchmark: BenchmarkFixture, bytecode: Path, *arguments: str) -> None:
    command = [sys.executable, "-m", "numalet", *arguments]
    environment = _environment(bytecode)

    def whole() -> None:
        subprocess.run(command, stdout=subprocess.DEVNULL, env=environment, check=True)

    benchmark.pedantic(whole, rounds=10, warmup_rounds=1)  # type: ignore[no-untyped-call]
    told = subprocess.run(
        [sys.executable, "-c", _TELL_PEAK, *command],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    benchmark.extra_info["peak_mib"] = round(int(told.stdout) / 1024, 1)


@pytest.mark.benchmark(group="whole processes")
def test_version(benchmark: BenchmarkFixture, bytecode: Path) -> None:
    _measure(benchmark, bytecode, "--version")


@pytest.mark.benchmark(group="whole processes")
def test_help(benchmark: BenchmarkFixture, bytecode: Path) -> None:
    _measure(benchmark, bytecode, "--help")


@pytest.mark.benchmark(group="whole processes")
def test_simulate_one_pod(benchmark: BenchmarkFixture, bytecode: Path) -> None:
    pod = EXAMPLES / "guaranteed.yaml"
    _measure(benchmark, bytecode, *SIMULATE, "-c", str(CONFIG), str(pod))


@pytest.mark.parametrize("output", ["table", "json", "yaml"])
@pytest.mark.benchmark(group="whole processes")
def test_simulate_500_pods(
    output: str, benchmark: BenchmarkFixture, bytecode: Path, tmp_path: Path
) -> None:
    """All are admitted, so there is room for as many."""
    config, pods = tmp_path / "kubelet.yaml", tmp_path / "pods.json"
    config.write_text(f"{CONFIG.read_text()}maxPods: 500\n")
    pods.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": _pods(500)}))
    _measure(benchmark, bytecode, *SIMULATE, "-c", str(config), str(pods), "-o", output)


def _pods(count: int) -> list[dict[str, object]]:
    limits = {"cpu": "20m", "memory": "200Mi"}
    return [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"pod-{number}", "uid": f"uid-{number}"},
            "spec": {"containers": [{"name": "app", "resources": {"limits": limits}}]},
        }
        for number in range(count)
    ]
