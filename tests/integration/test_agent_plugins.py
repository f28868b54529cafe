"""An agent, a sample plugin and clients as processes of their own, over real sockets."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from numalet.agent.servers.sample_device_plugin import environment_name

PATIENCE_SECONDS = 200.0
GPU = "example.com/gpu"
MACHINE = ("--runtime", "fake", "-m", "2n8c1t", "--memory-per-node", "16Gi")


@contextmanager
def started(*words: str) -> Iterator[subprocess.Popen[str]]:
    """A command in a process of its own, ended after the test."""
    process = subprocess.Popen(
        [sys.executable, "-m", "numalet", *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 0


def ended(*words: str, given: str | None = None) -> subprocess.CompletedProcess[str]:
    """How a command ended, and what it printed."""
    command = [sys.executable, "-m", "numalet", *words]
    return subprocess.run(command, input=given, capture_output=True, text=True, check=False)


def run(*words: str, given: str | None = None) -> str:
    """What a command prints. It must end well."""
    done = ended(*words, given=given)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def eventually(found: Callable[[], Any]) -> Any:
    """What is found as soon as something is."""
    until = time.monotonic() + PATIENCE_SECONDS
    while not (value := found()):
        assert time.monotonic() < until, "in vain"
        time.sleep(0.05)
    return value


@pytest.fixture
def root() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="node") as folder:
        yield Path(folder) / "root"


def manifest(name: str, gpus: str, command: tuple[str, ...] = ("serve",)) -> str:
    limits = {"cpu": "1", "memory": "64Mi", GPU: gpus}
    container = {"name": "main", "command": [*command], "resources": {"limits": limits}}
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name},
            "spec": {"containers": [container], "restartPolicy": "Never"},
        }
    )


def asked(root: Path, *words: str) -> dict[str, Any]:
    socket = root / "pod-resources" / "kubelet.sock"
    found: dict[str, Any] = json.loads(
        run("podresources", "--socket", str(socket), "-o", "json", *words)
    )
    return found


def listening(root: Path) -> bool:
    return all(
        (root / name).exists()
        for name in ("agent.sock", "device-plugins/kubelet.sock", "pod-resources/kubelet.sock")
    )


def devices(root: Path) -> list[str]:
    return [each["deviceIds"][0] for each in asked(root, "allocatable").get("devices", ())]


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_plugin_s_devices_are_given_out_and_reported(root: Path) -> None:
    plugin = ("sample-device-plugin", "--device", "gpu0@0", "--device", "gpu1@1")
    with started("agent", "--root", str(root), *MACHINE):
        eventually(lambda: listening(root))
        with started(*plugin, "--root", str(root)) as sample:
            eventually(lambda: devices(root) == ["gpu0", "gpu1"])
            run("apply", "-f", "-", "--root", str(root), given=manifest("trained", "1"))
            (pod,) = asked(root)["podResources"]
            (held,) = pod["containers"][0]["devices"]
            (memory,) = pod["containers"][0]["memory"]
            assert held["topology"] == memory["topology"]
            assert sample.stdin is not None
            sample.stdin.write("unhealthy gpu1\n")
            sample.stdin.flush()
            eventually(lambda: devices(root) == ["gpu0"])
        # The plugin went: nothing can be given out, and what was given stays.
        eventually(lambda: devices(root) == [])
        assert asked(root)["podResources"][0]["containers"][0]["devices"] == [held]
    with started("agent", "--root", str(root), *MACHINE):
        eventually(lambda: listening(root))
        assert asked(root)["podResources"][0]["containers"][0]["devices"] == [held]


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_program_gets_what_its_plugin_hands_out(root: Path) -> None:
    options = ("agent", "--root", str(root), "--ownership", "enforce")
    with started(*options), started_later(root, "--device", "gpu0"):
        eventually(lambda: devices(root) == ["gpu0"])
        command = ("sh", "-c", "echo I have $EXAMPLE_COM_GPU")
        run("apply", "-f", "-", "--root", str(root), given=manifest("shows", "1", command))
        words = ("logs", "--root", str(root), "shows")
        # There is no output before the container was created.
        eventually(lambda: "I have gpu0" in ended(*words).stdout)
        run("delete", "shows", "--root", str(root), "--grace-period", "0")
        eventually(lambda: "podResources" not in asked(root))


@contextmanager
def started_later(root: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    """A sample plugin, once the agent listens."""
    eventually(lambda: listening(root))
    with started("sample-device-plugin", *words, "--root", str(root)) as plugin:
        yield plugin


def test_the_environment_of_the_test_has_no_devices() -> None:
    assert "EXAMPLE_COM_GPU" not in os.environ


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU is kept for the system")
def test_a_command_in_the_foreground_gets_what_a_plugin_hands_out(root: Path) -> None:
    asks = ("run", "-q", "--root", str(root), "--cpus", "1", "--memory", "64Mi")
    with started("agent", "--root", str(root), "--ownership", "enforce"):
        eventually(lambda: listening(root))
        with started("sample-device-plugin", "--device", "gpu0@0", "--root", str(root)):
            eventually(lambda: devices(root) == ["gpu0"])
            shown = run(*asks, "--device", f"{GPU}=1", "--", "env")
            given = dict(line.partition("=")[::2] for line in shown.splitlines())
            assert f"{GPU}=gpu0" == given["NUMALET_DEVICES"]
            assert given[environment_name(GPU)] == "gpu0"
            two = ended(*asks, "--device", f"{GPU}=2", "--", "env")
            assert two.returncode == 125
        unknown = ended(*asks, "--device", "example.com/nic=1", "--", "env")
        assert "unknown devices example.com/nic" in unknown.stderr
