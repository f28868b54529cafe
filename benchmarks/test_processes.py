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
    *("-c", str(EXAMPLES / "kubelet.yaml"), "-m", str(EXAMPLES / "machine.yaml")),
    *("--reserved-memory", "0:memory=3Gi;1:memory=2148Mi"),
)


class Command:
    """Runs the command and remembers the most memory that a run took."""

    def __init__(self, bytecode: Path) -> None:
        self.peak_mib = 0.0
        kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        self._environment = {**kept, "PYTHONPYCACHEPREFIX": str(bytecode)}

    def __call__(self, *arguments: str) -> None:
        """Run it to its end."""
        child = subprocess.Popen(
            [sys.executable, "-m", "numalet", *arguments],
            stdout=subprocess.DEVNULL,
            env=self._environment,
        )
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        assert child.returncode == 0
        self.peak_mib = max(self.peak_mib, usage.ru_maxrss / 1024)


@pytest.fixture(scope="module")
def bytecode(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the runs of this module keep their bytecode."""
    return tmp_path_factory.mktemp("bytecode")


def _measure(benchmark: BenchmarkFixture, bytecode: Path, *arguments: str) -> None:
    command = Command(bytecode)
    benchmark.pedantic(command, args=arguments, rounds=10, warmup_rounds=1)
    benchmark.extra_info["peak_mib"] = round(command.peak_mib, 1)


@pytest.mark.benchmark(group="whole processes")
def test_version(benchmark: BenchmarkFixture, bytecode: Path) -> None:
    _measure(benchmark, bytecode, "--version")


@pytest.mark.benchmark(group="whole processes")
def test_help(benchmark: BenchmarkFixture, bytecode: Path) -> None:
    _measure(benchmark, bytecode, "--help")


@pytest.mark.benchmark(group="whole processes")
def test_simulate_one_pod(benchmark: BenchmarkFixture, bytecode: Path) -> None:
    _measure(benchmark, bytecode, *SIMULATE, str(EXAMPLES / "guaranteed.yaml"))


@pytest.mark.parametrize("output", ["table", "json", "yaml"])
@pytest.mark.benchmark(group="whole processes")
def test_simulate_500_pods(
    output: str, benchmark: BenchmarkFixture, bytecode: Path, tmp_path: Path
) -> None:
    pods = tmp_path / "pods.json"
    pods.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": _pods(500)}))
    _measure(benchmark, bytecode, *SIMULATE, str(pods), "-o", output)


def _pods(count: int) -> list[dict[str, object]]:
    limits = {"cpu": "1", "memory": "200Mi"}
    return [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"pod-{number}", "uid": f"uid-{number}"},
            "spec": {"containers": [{"name": "app", "resources": {"limits": limits}}]},
        }
        for number in range(count)
    ]
